"""Loss of SGD, Downpour and L-BFGS after each pass: ``python -m benchmarks.sandblaster CORPUS``.

All three train skip-gram with negative sampling. After some numbers of passes over the corpus, the
vectors are evaluated on the batch objective that L-BFGS minimizes. The objective depends on random
draws of windows and negatives. It is evaluated with the draws that L-BFGS trained on, and with
different ones: a loss that is lower only with the former shows overfitting to the draws. The
command prints a line of JSON per evaluation. The plot needs matplotlib.
"""

import argparse
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gensim.models.callbacks import CallbackAny2Vec

from benchmarks.command import shared_parser
from benchmarks.one_run import text_source, train
from benchmarks.report import begin, facts, page, table, write
from gensim_tfw2v import TFWord2Vec

#: Regime of each run, by the name of the run.
RUNS = {"local": None, "downpour": "downpour", "sandblaster": "sandblaster"}

#: Default of --passes.
PASSES = [1, 2, 3, 5, 10, 20, 40]


class Snapshots(CallbackAny2Vec):
    """Callback that copies a model's vectors after the epochs in `epochs`, counted from 1.

    `copies` maps the number of an epoch to the seconds of all epochs up to it, and the copies of
    the input and the output vectors.
    """

    def __init__(self, epochs: list[int]) -> None:
        self.epochs = epochs
        self.copies: dict[int, tuple[float, Any, Any]] = {}
        self._epoch = 0
        self._start = 0.0
        self._seconds = 0.0

    def on_epoch_begin(self, model: Any) -> None:
        """Start the clock."""
        self._start = time.perf_counter()

    def on_epoch_end(self, model: Any) -> None:
        """Stop the clock, and copy the vectors."""
        self._epoch += 1
        self._seconds += time.perf_counter() - self._start
        if self._epoch in self.epochs:
            inputs = model.wv.vectors.copy()
            outputs = model.syn1neg.copy()
            self.copies[self._epoch] = (self._seconds, inputs, outputs)


class BatchObjective:
    """Function that L-BFGS minimizes: the loss per prediction on draws that depend on the seed."""

    def __init__(self, corpus: str, options: dict[str, Any]) -> None:
        self._source = text_source(corpus, from_file=True)
        self._model = TFWord2Vec(**options, epochs=1, regime="sandblaster", compute_loss=True)
        self._model.build_vocab(**self._source)

    def __call__(self, vectors: Any, outputs: Any) -> float:
        """Return the loss of these vectors."""
        model = self._model
        model.wv.vectors[:], model.syn1neg[:] = vectors, outputs
        model.train_count = 0  # so that the draws are the same each time
        train(model, self._source)
        return float(model.mean_losses[0])


def plot(records: list[dict[str, Any]], path: Path) -> None:
    """Plot the losses over the passes."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    for name in dict.fromkeys(record["run"] for record in records):
        run_records = [record for record in records if record["run"] == name]
        passes = [record["passes"] for record in run_records]
        (line,) = axes.plot(passes, [record["loss"] for record in run_records], "o-", label=name)
        losses = [record["loss of other draws"] for record in run_records]
        axes.plot(passes, losses, "--", color=line.get_color())
    axes.set(xlabel="passes over the corpus", ylabel="loss per prediction", xscale="log")
    axes.legend(title="dashed: other draws")
    figure.savefig(path, bbox_inches="tight")


QUESTION = """\
Does Sandblaster L-BFGS lower the loss faster than stochastic gradient descent (SGD), and does it
find better vectors?"""

METHOD = """\
The regimes local and Downpour, which are SGD, and Sandblaster, which is L-BFGS, each trained
skip-gram with negative sampling, with {options}. After some numbers of passes over the text, the
vectors were evaluated on the batch objective that L-BFGS minimizes: the mean loss per prediction,
in nats, where lower is better. This objective depends on random draws of windows and negatives.
It was evaluated with the draws that L-BFGS trained on, and with other draws. A loss that is lower
only with the former shows overfitting to these draws."""

PICTURE = """\
![Loss per prediction by number of passes for the three regimes; solid lines with the draws of
L-BFGS, dashed lines with other draws.](sandblaster.svg)"""


def markdown(document: Mapping[str, Any]) -> str:
    """Return the page of a document."""
    found = {(record["run"], record["passes"]): record for record in document["found"]}
    passes = sorted({n for _, n in found})
    losses = ["loss", "loss of other draws"]
    rows = [
        [f"{n}", *(f"{found[run, n][loss]:.4f}" for run in RUNS for loss in losses)]
        for n in passes
        if all((run, n) in found for run in RUNS)
    ]
    last = {run: found[run, passes[-1]] for run in RUNS if (run, passes[-1]) in found}
    loss, other = (
        ", ".join(f"{record[kind]:.2f} with {run}" for run, record in last.items())
        for kind in losses
    )
    return page(
        "Sandblaster L-BFGS",
        QUESTION,
        METHOD.format(options=", ".join(f"`{k}={v}`" for k, v in document["options"].items())),
        [f"After {passes[-1]} passes, the loss is {loss}; with other draws, {other}."],
        PICTURE,
        table(
            ["passes", *(f"{run}{kind}" for run in RUNS for kind in ("", ", other draws"))], rows
        ),
        facts(document),
    )


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    argument_parser = shared_parser(
        "benchmarks.sandblaster", __doc__, "corpus", "--threads", "--vector-size"
    )
    argument_parser.set_defaults(vector_size=50)
    add = argument_parser.add_argument
    add(
        "--passes",
        type=int,
        nargs="+",
        default=PASSES,
        help=f"numbers of passes after which to evaluate ({PASSES})",
    )
    add("--out", type=Path, help="folder for sandblaster.json, sandblaster.md and sandblaster.svg")
    return argument_parser


def main() -> None:
    """Train, evaluate and print."""
    args = parser().parse_args()
    corpus = str(args.corpus)
    options = {"sg": 1, "vector_size": args.vector_size, "workers": args.threads, "seed": 1}
    objective = BatchObjective(corpus, options)
    other_objective = BatchObjective(corpus, options | {"seed": 2})
    records: list[dict[str, Any]] = []
    document = begin(args.corpus) | {"options": options, "found": records}
    for name, regime in RUNS.items():
        snapshots = Snapshots(args.passes)
        run_options = {
            **options,
            "epochs": max(args.passes),
            "callbacks": [snapshots],
            "regime": regime,
        }
        TFWord2Vec(corpus_file=corpus, **run_options)
        for passes, (seconds, *vectors) in snapshots.copies.items():
            record = {
                "run": name,
                "passes": passes,
                "seconds": round(seconds, 2),
                "loss": round(objective(*vectors), 5),
                "loss of other draws": round(other_objective(*vectors), 5),
            }
            print(json.dumps(record), flush=True)
            records.append(record)
    if args.out is not None:
        write(args.out / "sandblaster", document, markdown(document))
        plot(records, args.out / "sandblaster.svg")


if __name__ == "__main__":
    main()
