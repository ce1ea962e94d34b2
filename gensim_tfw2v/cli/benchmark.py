"""``tfw2v benchmark``: what a training gains from more workers, on this machine and beyond."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gensim_tfw2v.cli.failures import BadInput, Verbose
from gensim_tfw2v.cli.plan import quantity

app = typer.Typer(no_args_is_help=True, help="Measure how training scales.")


@app.callback()
def benchmark() -> None:
    """Measure how training scales."""


@app.command()
def scaling(
    corpus: Annotated[
        Path,
        typer.Argument(
            metavar="CORPUS",
            help="Text, one sentence a line, not compressed.",
            exists=True,
            dir_okay=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for NAME.md, NAME.json and the pictures.")],
    name: Annotated[str, typer.Option(help="Name of the files with the results.")] = "scaling",
    workers: Annotated[str, typer.Option(help="Numbers of workers.")] = "1,2,4,6,8,10,16,32",
    real: Annotated[
        int, typer.Option(help="Up to how many workers the cluster is really run.", min=1)
    ] = 4,
    rounds: Annotated[int, typer.Option(help="How often each cluster is run.", min=1)] = 3,
    seeds: Annotated[
        str, typer.Option(help="Seeds of the runs for quality; none leaves them out.")
    ] = "1",
    threads: Annotated[int, typer.Option(help="Threads of each worker.", min=1)] = 1,
    vector_size: Annotated[int, typer.Option(help="Dimensions of the vectors.", min=1)] = 100,
    epochs: Annotated[int, typer.Option(help="Passes over the corpus.", min=2)] = 5,
    sg: Annotated[bool, typer.Option("--sg/--cbow", help="Skip-gram, or CBOW.")] = True,
    cores: Annotated[
        float,
        typer.Option(help="Cores of each simulated machine; 0: as many as this one has.", min=0),
    ] = 0,
    net: Annotated[str, typer.Option(help="Network of each simulated machine.")] = "10Gbit",
    latency: Annotated[float, typer.Option(help="Round trip on that network, in ms.", min=0)] = 0.2,
    pairs: Annotated[
        list[Path] | None,
        typer.Option("--eval", help="A file of rated word pairs; may be given again.", exists=True),
    ] = None,
    plots: Annotated[bool, typer.Option(help="Draw pictures (needs matplotlib).")] = True,
    verbose: Verbose = False,
) -> None:
    """Study what training gains from more workers.

    Clusters are run on this machine as far as --real says, and simulated beyond, with costs that
    are measured here; quality is computed by the schedule of so many workers.
    """
    import json
    from importlib.util import find_spec

    from gensim_tfw2v.evaluation import read_pairs
    from gensim_tfw2v.processes.machine import usable_cores
    from gensim_tfw2v.scaling import Host, Question
    from gensim_tfw2v.scaling.document import study
    from gensim_tfw2v.scaling.plots import draw
    from gensim_tfw2v.scaling.report import page

    if corpus.suffix in (".gz", ".bz2", ".xz"):
        raise BadInput(f"{corpus} is compressed: give the text itself")
    if plots and find_spec("matplotlib") is None:
        raise BadInput(
            "pictures need matplotlib: pip install 'gensim-tfw2v[benchmark]'; or --no-plots"
        )
    for path in pairs or ():
        read_pairs(path)
    if threads > 1 and threads * real > len(usable_cores()):
        raise BadInput(
            f"--threads {threads} for --real {real} workers: this machine has "
            f"{len(usable_cores())} cores; give --real {max(1, len(usable_cores()) // threads)}"
        )
    question = Question(
        corpus=corpus.resolve(),
        options={"sg": int(sg), "vector_size": vector_size, "epochs": epochs},
        workers=tuple(sorted(numbers(workers, "--workers", least=1))),
        real=real,
        seeds=tuple(numbers(seeds, "--seeds", least=0))
        if seeds.strip() not in ("", "none")
        else (),
        cores=len(usable_cores()),
        threads=threads,
        host=Host(cores or len(usable_cores()), quantity(net, "bit", "--net") / 8),
        latency=latency / 1e3,
        pairs={"WS353": "ws353", "SimLex999": "simlex999"}
        | {path.stem: str(path.resolve()) for path in pairs or ()},
    )
    out.mkdir(parents=True, exist_ok=True)
    base = out / name
    for document in study(question, rounds, typer.echo):
        base.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
        base.with_suffix(".md").write_text(page(document))
    if plots:
        draw(document, base)
    typer.echo(f"written: {base}.md and {base}.json")


def numbers(text: str, option: str, least: int) -> list[int]:
    """Numbers with commas between.

    Raises
    ------
    BadInput
        If one is none, or below the least.
    """
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < least:
        raise BadInput(f"{option} is {text!r}: give whole numbers from {least} on, such as 1,2,4")
    return found
