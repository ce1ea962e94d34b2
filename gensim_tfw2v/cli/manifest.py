"""``tfw2v cluster manifest``: files that start a cluster and a training on it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gensim_tfw2v.cli.common import Ps, Tokens, Verbose, Workers, option
from gensim_tfw2v.cli.plan import quantity
from gensim_tfw2v.cli.supervised import TAKES_TRAINING, parse_training

if TYPE_CHECKING:
    from gensim_tfw2v.cluster.manifests import Deployment, Sizes

app = typer.Typer(
    no_args_is_help=True, help="Print the files that start a cluster and a training on it."
)

#: Where sizes are from that are not given.
ESTIMATED = "by default as tfw2v plan estimates."

Name = Annotated[str, option("What all that belongs to this cluster is called by.")]
Image = Annotated[str, option("Container image; without a / it is never pulled.")]
Port = Annotated[int, option("At which each task listens.")]
Vocab = Annotated[int, option("Words of the vocabulary: memory is for so many.", min=1)]
PsCpus = Annotated[int | None, option(f"CPUs of a ps; {ESTIMATED}", min=1)]
PsMemory = Annotated[int | None, option(f"GiB of a ps; {ESTIMATED}", min=1)]
WorkerCpus = Annotated[
    int | None, option("CPUs of a worker; by default the training's --workers.", min=1)
]
WorkerMemory = Annotated[int | None, option(f"GiB of a worker; {ESTIMATED}", min=1)]
Cpus = Annotated[int, option("CPUs of the coordinator.", min=1)]
Memory = Annotated[
    int | None, option(f"GiB of the coordinator, which holds the model; {ESTIMATED}", min=1)
]
Output = Annotated[
    Path | None, option("Write the file there, instead of printing.", "--output", "-o")
]


@app.command(context_settings=TAKES_TRAINING)
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
        str | None, option("PersistentVolumeClaim that is there; by default NAME-data is made.")
    ] = None,
    storage: Annotated[int, option("GiB of the claim that is made.", min=1)] = 10,
    log_claim: Annotated[
        str | None, option("PersistentVolumeClaim for --log-dir; by default NAME-logs is made.")
    ] = None,
    log_class: Annotated[
        str | None, option("StorageClass of NAME-logs, whose volumes many nodes can write.")
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


@app.command(context_settings=TAKES_TRAINING)
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


@app.command(context_settings=TAKES_TRAINING)
def slurm(
    context: typer.Context,
    ps: Ps = 1,
    workers: Workers = 2,
    name: Name = "tfw2v",
    cpus: Annotated[
        int | None, option("CPUs of each task; by default the training's --workers.", min=1)
    ] = None,
    vocab: Vocab = 1_000_000,
    tokens: Tokens = "1G",
    memory: Annotated[int | None, option(f"GiB of each task; {ESTIMATED}", min=1)] = None,
    port: Annotated[
        int | None, option("First of the ports; by default it follows from the job's number.")
    ] = None,
    setup: Annotated[str, option("Line of shell before all else, as '. venv/bin/activate'.")] = "",
    output: Output = None,
    verbose: Verbose = False,
) -> None:
    """A script for sbatch: tfw2v cluster manifest slurm --ps 2 --workers 4 -- train CORPUS -o ...

    One job, which ends with the training and has its exit status. What else there is to choose
    (--partition, --time, --nodes) is given to sbatch.
    """
    from gensim_tfw2v.cluster.manifests import slurm_file

    _write(slurm_file(_deployment(context), port, setup), output)


def _deployment(context: typer.Context, **container: Any) -> Deployment:
    """The cluster of the command's options, and the training after ``--``."""
    from gensim_tfw2v.cluster.manifests import Deployment, TrainCommand

    options = context.params
    arguments, training = parse_training(context)
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
        *(options["ps"], options["workers"], options["name"]),
        sizes=_sizes(training, options),
        **container,
    )


def _sizes(training: Mapping[str, Any], options: Mapping[str, Any]) -> Sizes:
    """What tasks need: as the command's options say, else estimated as by ``tfw2v plan``."""
    from gensim_tfw2v.cluster.manifests import Size, Sizes
    from gensim_tfw2v.planning import Machines, Workload, compare, ps_cores, task_memory
    from gensim_tfw2v.regimes.options import parse_regime

    vocab, words = options["vocab"], quantity(options["tokens"], "", "--tokens")
    dim, threads = training["vector_size"], training["workers"]
    window, negative = training["window"], max(1, training["negative"])
    work = Workload.of_text(vocab, words, dim, window, negative, training["sg"], training["sample"])
    regime = parse_regime(training["regime"] or "asynchronous")
    name = "columns" if training["layout"] == "columns" else "rows, asynchronous"
    if regime.trains_apart:
        name = "sub-models"
    machines = Machines(options["workers"], options["ps"], threads)
    choice = next(one for one in compare(work, words, machines) if one.name == name)
    more = {} if regime.copies is None else {"copies": regime.copies}
    needed = task_memory(work, choice, threads, **more)

    def size(role: str, cpus: int, memory: int) -> Size:
        prefix = f"{role}_" if f"{role}_cpus" in options else ""  # Slurm: one size for all
        return Size(options[f"{prefix}cpus"] or cpus, options[f"{prefix}memory"] or memory)

    return Sizes(
        size("ps", ps_cores(choice), needed.ps),
        size("worker", threads, needed.worker),
        size("coordinator", 2, needed.coordinator),
        basis=f"Memory is for {vocab:,} words of {dim} numbers: --vocab says how many there are, "
        f"and\n--tokens how long the corpus is, {words:,.0f} words.",
    )


def _write(text: str, output: Path | None) -> None:
    content = text.encode("utf-8", "surrogateescape")  # whatever the terminal's encoding
    if output is None:
        typer.echo(content, nl=False)
    else:
        output.write_bytes(content)
