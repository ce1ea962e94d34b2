"""``tfw2v cluster manifest``: files that start a cluster and a training on it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gensim_tfw2v.cli.failures import Verbose
from gensim_tfw2v.cli.given import WITH_TRAINING, given_training
from gensim_tfw2v.cli.sizes import estimated_sizes

if TYPE_CHECKING:
    from gensim_tfw2v.cluster.manifests import Plan, Training

app = typer.Typer(
    no_args_is_help=True,
    help="Print the files that start a cluster and a training on it.",
)

#: Where sizes are from that are not given.
ESTIMATED = "by default as tfw2v plan estimates."

Ps = Annotated[int, typer.Option(help="Tasks that hold the vectors.", min=1)]
Workers = Annotated[int, typer.Option(help="Tasks that train.", min=1)]
Name = Annotated[str, typer.Option(help="What all that belongs to this cluster is called by.")]
Image = Annotated[str, typer.Option(help="Container image; without a / it is never pulled.")]
Port = Annotated[int, typer.Option(help="At which each task listens.")]
Vocab = Annotated[int, typer.Option(help="Words of the vocabulary: memory is for so many.", min=1)]
Tokens = Annotated[str, typer.Option(help="Words of the corpus: 17e6, 100e9, 2.5G.")]
PsCpus = Annotated[int | None, typer.Option(help=f"CPUs of a ps; {ESTIMATED}", min=1)]
PsMemory = Annotated[int | None, typer.Option(help=f"GiB of a ps; {ESTIMATED}", min=1)]
WorkerCpus = Annotated[
    int | None,
    typer.Option(help="CPUs of a worker; by default the training's --workers.", min=1),
]
WorkerMemory = Annotated[int | None, typer.Option(help=f"GiB of a worker; {ESTIMATED}", min=1)]
Cpus = Annotated[int, typer.Option(help="CPUs of the coordinator.", min=1)]
Memory = Annotated[
    int | None,
    typer.Option(help=f"GiB of the coordinator, which holds the model; {ESTIMATED}", min=1),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the file there, instead of printing.")
]


@app.command(context_settings=WITH_TRAINING)
def kubernetes(
    context: typer.Context,
    ps: Ps = 1,
    workers: Workers = 2,
    name: Name = "tfw2v",
    image: Image = "gensim-tfw2v",
    port: Port = 2222,
    vocab: Vocab = 1_000_000,
    tokens: Tokens = "1G",
    ps_cpus: PsCpus = None,
    ps_memory: PsMemory = None,
    worker_cpus: WorkerCpus = None,
    worker_memory: WorkerMemory = None,
    coordinator_cpus: Cpus = 2,
    coordinator_memory: Memory = None,
    claim: Annotated[
        str | None,
        typer.Option(help="PersistentVolumeClaim that is there; by default NAME-data is made."),
    ] = None,
    storage: Annotated[int, typer.Option(help="GiB of the claim that is made.", min=1)] = 10,
    log_claim: Annotated[
        str | None,
        typer.Option(help="PersistentVolumeClaim for --log-dir; by default NAME-logs is made."),
    ] = None,
    log_class: Annotated[
        str | None,
        typer.Option(help="StorageClass of NAME-logs, whose volumes many nodes can write."),
    ] = None,
    output: Output = None,
    verbose: Verbose = False,
) -> None:
    """Objects for kubectl apply: tfw2v cluster manifest kubernetes -- train /data/CORPUS -o ...

    A StatefulSet each of ps and workers, a Job that trains, and a NetworkPolicy that lets only
    them reach each other. Files of the training are below /data, a volume; with --log-dir below
    /logs, another, all tasks log there, and TensorBoard is started.
    """
    from gensim_tfw2v.cluster.manifests import Volume, kubernetes_file

    plan = _plan(context)
    _write(kubernetes_file(plan, Volume(claim, storage, log_claim, log_class)), output)


@app.command(context_settings=WITH_TRAINING)
def compose(
    context: typer.Context,
    ps: Ps = 1,
    workers: Workers = 2,
    name: Name = "tfw2v",
    image: Image = "gensim-tfw2v",
    port: Port = 2222,
    vocab: Vocab = 1_000_000,
    tokens: Tokens = "1G",
    ps_cpus: PsCpus = None,
    ps_memory: PsMemory = None,
    worker_cpus: WorkerCpus = None,
    worker_memory: WorkerMemory = None,
    coordinator_cpus: Cpus = 2,
    coordinator_memory: Memory = None,
    output: Output = None,
    verbose: Verbose = False,
) -> None:
    """A compose.yaml: tfw2v cluster manifest compose -- train /data/CORPUS -o /data/MODEL ...

    Containers of one machine, in a network that is shut off from outside. Files of the training
    are below /data, a volume; with --log-dir below /logs, another, all tasks log there, and
    TensorBoard is started, for browsers of the machine.
    """
    from gensim_tfw2v.cluster.manifests import compose_file

    _write(compose_file(_plan(context)), output)


@app.command(context_settings=WITH_TRAINING)
def slurm(
    context: typer.Context,
    ps: Ps = 1,
    workers: Workers = 2,
    name: Name = "tfw2v",
    cpus: Annotated[
        int | None,
        typer.Option(help="CPUs of each task; by default the training's --workers.", min=1),
    ] = None,
    vocab: Vocab = 1_000_000,
    tokens: Tokens = "1G",
    memory: Annotated[
        int | None, typer.Option(help=f"GiB of each task; {ESTIMATED}", min=1)
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(help="First of the ports; by default it follows from the job's number."),
    ] = None,
    setup: Annotated[
        str,
        typer.Option(help="Line of shell before all else, as '. venv/bin/activate'."),
    ] = "",
    output: Output = None,
    verbose: Verbose = False,
) -> None:
    """A script for sbatch: tfw2v cluster manifest slurm --ps 2 --workers 4 -- train CORPUS -o ...

    One job, which ends with the training and has its exit status. What else there is to choose
    (--partition, --time, --nodes) is given to sbatch.
    """
    from gensim_tfw2v.cluster.manifests import Allocation, Plan, Size, slurm_file

    training, values = _training(context)
    sizes = estimated_sizes(values, ps, workers, vocab, tokens)
    size = Size(cpus or values["workers"], memory or sizes.largest)
    plan = Plan(training, ps, workers, name, sizes=sizes)
    _write(slurm_file(plan, Allocation(size, port, setup)), output)


def _plan(context: typer.Context) -> Plan:
    from gensim_tfw2v.cluster.manifests import Plan, Size, Sizes

    training, values = _training(context)
    given = context.params
    sizes = estimated_sizes(values, *(given[name] for name in ("ps", "workers", "vocab", "tokens")))

    def size(role: str, estimated: Size) -> Size:
        cpus, memory = given[f"{role}_cpus"], given[f"{role}_memory"]
        return Size(cpus or estimated.cpus, memory or estimated.memory)

    return Plan(
        training,
        given["ps"],
        given["workers"],
        given["name"],
        given["image"],
        given["port"],
        Sizes(
            size("ps", sizes.ps),
            size("worker", sizes.worker),
            size("coordinator", sizes.coordinator),
            basis=sizes.basis,
        ),
    )


def _training(context: typer.Context) -> tuple[Training, dict[str, Any]]:
    """The training after ``--``, and what it says."""
    from gensim_tfw2v.cluster.manifests import Training

    arguments, given = given_training(context)
    names = {"corpus": "CORPUS", "output": "--output", "vectors": "--vectors"}
    names |= {"encoded_dir": "--encoded-dir", "tables_dir": "--tables-dir"}
    paths = {shown: str(given[name]) for name, shown in names.items() if given[name] is not None}
    folder = given["checkpoint_dir"]
    checkpoint_dir = f"{paths['--output']}.checkpoints" if folder is None else str(folder)
    if folder is not None:
        arguments = _without(arguments, "--checkpoint-dir")
    log_dir = None if given["log_dir"] is None else str(given["log_dir"])
    return Training(tuple(arguments), paths, checkpoint_dir, log_dir), given


def _without(arguments: list[str], option: str) -> list[str]:
    """Arguments without an option and its value."""
    kept, skip = [], False
    for argument in arguments:
        if not skip and argument != option and not argument.startswith(f"{option}="):
            kept.append(argument)
        skip = not skip and argument == option
    return kept


def _write(text: str, output: Path | None) -> None:
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")
