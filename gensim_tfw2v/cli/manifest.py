"""``tfw2v cluster manifest``: files that start a cluster and a training on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gensim_tfw2v.cluster.manifests import Sizes


from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gensim_tfw2v.cli.failures import Verbose
from gensim_tfw2v.cli.given_training import WITH_TRAINING, given_training

if TYPE_CHECKING:
    from gensim_tfw2v.cluster.manifests import Deployment

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
    from gensim_tfw2v.cluster.manifests import kubernetes_file

    deployment = _deployment(context, image=image, port=port)
    _write(kubernetes_file(deployment, claim, storage, log_claim, log_class), output)


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

    _write(compose_file(_deployment(context, image=image, port=port)), output)


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
    from gensim_tfw2v.cluster.manifests import slurm_file

    _write(slurm_file(_deployment(context), port, setup), output)


def _deployment(context: typer.Context, **of_containers: Any) -> Deployment:
    """The cluster of the command's options, and the training after ``--``."""
    from gensim_tfw2v.cluster.manifests import Deployment, Size, Sizes, TrainCommand

    given = context.params
    arguments, training = given_training(context)
    estimated = estimated_sizes(
        training, *(given[name] for name in ("ps", "workers", "vocab", "tokens"))
    )

    def size(role: str) -> Size:
        one = getattr(estimated, role)
        of_role = f"{role}_" if f"{role}_cpus" in given else ""  # Slurm: one size for all
        return Size(given[f"{of_role}cpus"] or one.cpus, given[f"{of_role}memory"] or one.memory)

    names = {"corpus": "CORPUS", "output": "--output", "vectors": "--vectors"}
    names |= {"encoded_dir": "--encoded-dir", "tables_dir": "--tables-dir"}
    paths = {of: str(training[name]) for name, of in names.items() if training[name] is not None}
    checkpoints = training["checkpoint_dir"]
    if checkpoints is None:
        checkpoints = f"{paths['--output']}.checkpoints"
    else:
        # without the option and its value: the file says it itself
        pairs = zip(["", *arguments], arguments, strict=False)
        arguments = [
            one for before, one in pairs
            if "--checkpoint-dir" not in (before, one.partition("=")[0])
        ]  # fmt: skip
    log_dir = None if training["log_dir"] is None else str(training["log_dir"])
    return Deployment(
        TrainCommand(tuple(arguments), paths, str(checkpoints), log_dir),
        given["ps"],
        given["workers"],
        given["name"],
        sizes=Sizes(size("ps"), size("worker"), size("coordinator"), estimated.basis),
        **of_containers,
    )


def _write(text: str, output: Path | None) -> None:
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")


def estimated_sizes(
    training: Mapping[str, Any], ps: int, workers: int, vocab: int, tokens: str
) -> Sizes:
    """Estimate what tasks need, as ``tfw2v plan`` does.

    Parameters
    ----------
    training : mapping
        The options of ``tfw2v train``.
    ps, workers : int
        How many tasks.
    vocab : int
        Words of the vocabulary.
    tokens : str
        Words of the corpus.

    Raises
    ------
    BadInput
        If `tokens` is no number.
    ValueError
        If the training's regime is invalid.
    """
    from gensim_tfw2v.cli.plan import quantity
    from gensim_tfw2v.cluster.manifests import Size, Sizes
    from gensim_tfw2v.planning import Machines, Workload, compare, ps_cores, task_memory
    from gensim_tfw2v.regimes.options import parse_regime

    words, dim, threads = (
        quantity(tokens, "", "--tokens"), training["vector_size"], training["workers"],
    )  # fmt: skip
    work = Workload.of_text(
        vocab, words, dim, training["window"], max(1, training["negative"]), training["sg"],
        training["sample"],
    )  # fmt: skip
    regime = parse_regime(training["regime"] or "asynchronous")
    name = "columns" if training["layout"] == "columns" else "rows, asynchronous"
    if regime.trains_apart:
        name = "sub-models"
    choices = {one.name: one for one in compare(work, words, Machines(workers, ps, threads))}
    more = {} if regime.copies is None else {"copies": regime.copies}
    memory = task_memory(work, choices[name], threads, **more)
    return Sizes(
        Size(ps_cores(choices[name]), memory.ps),
        Size(threads, memory.worker),
        Size(2, memory.coordinator),
        basis=f"Memory is for {vocab:,} words of {dim} numbers: --vocab says how many there are, "
        f"and\n--tokens how long the corpus is, {words:,.0f} words.",
    )
