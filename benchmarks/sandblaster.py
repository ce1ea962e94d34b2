"""SGD, Downpour and L-BFGS, pass by pass: ``python -m benchmarks.sandblaster CORPUS``.

Skip-gram with negative sampling. After some passes over the corpus, the vectors of each are put
into the batch objective that L-BFGS minimizes, with its own draws of windows and negatives, and
with others: what is lower with the first alone has been learnt of the draws, not of the text. One
line of JSON for each, and with matplotlib and ``--plot`` a picture.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

RUNS: dict[str, dict[str, Any]] = {
    "local": {},
    "downpour": {"regime": "downpour"},
    "sandblaster": {"regime": "sandblaster"},
}
PASSES = [1, 2, 3, 5, 10, 20, 40]


class Snapshots:
    """A callback that copies a model's vectors after some of its epochs."""

    def __init__(self, after: list[int]) -> None:
        self.after, self.taken = after, {}  # type: ignore[var-annotated]
        self._epoch, self._begun, self._seconds = 0, 0.0, 0.0

    def on_train_begin(self, model: Any) -> None:
        """Nothing has been trained."""

    def on_train_end(self, model: Any) -> None:
        """All has been trained."""

    def on_epoch_begin(self, model: Any) -> None:
        """Look at the clock."""
        self._begun = time.perf_counter()

    def on_epoch_end(self, model: Any) -> None:
        """Copy, and note the seconds of all epochs so far."""
        self._epoch += 1
        self._seconds += time.perf_counter() - self._begun
        if self._epoch in self.after:
            vectors = model.wv.vectors.copy(), model.syn1neg.copy()
            self.taken[self._epoch] = (self._seconds, *vectors)


class BatchObjective:
    """The function that L-BFGS minimizes, for a prediction.

    Parameters
    ----------
    corpus : str
    options : dict
        Of the model; its seed is that of the draws.
    """

    def __init__(self, corpus: str, options: dict[str, Any]) -> None:
        from gensim_tfw2v import TFWord2Vec

        self._corpus = corpus
        self._model = TFWord2Vec(**options, regime="sandblaster", compute_loss=True)
        self._model.build_vocab(corpus_file=corpus)

    def __call__(self, vectors: Any, outputs: Any) -> float:
        """Evaluate it."""
        model = self._model
        model.wv.vectors[:], model.syn1neg[:] = vectors, outputs
        model.train_count = 0  # the draws of another training are others
        words = model.corpus_total_words
        model.train(
            corpus_file=self._corpus, total_words=words, total_examples=model.corpus_count, epochs=1
        )
        return float(model.mean_losses[0])


def measure(corpus: str, name: str, options: dict[str, Any], after: list[int]) -> Snapshots:
    """Train once."""
    from gensim_tfw2v import TFWord2Vec

    snapshots = Snapshots(after)
    TFWord2Vec(
        corpus_file=corpus, epochs=max(after), callbacks=[snapshots], **options, **RUNS[name]
    )
    return snapshots


def plot(found: list[dict[str, Any]], path: Path) -> None:
    """Draw the losses over the passes."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    for name in dict.fromkeys(one["run"] for one in found):
        own = [one for one in found if one["run"] == name]
        passes = [one["passes"] for one in own]
        (line,) = axes.plot(passes, [one["loss"] for one in own], "o-", label=name)
        other = [one["loss of other draws"] for one in own]
        axes.plot(passes, other, "--", color=line.get_color())
    axes.set(xlabel="passes over the corpus", ylabel="loss of a prediction", xscale="log")
    axes.legend(title="dashed: other draws")
    figure.savefig(path, bbox_inches="tight")


def main(argv: list[str] | None = None) -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sandblaster", description=__doc__)
    add = parser.add_argument
    add("corpus", type=Path, help="text, one sentence a line, words separated by spaces")
    add("--passes", type=int, nargs="+", default=PASSES, help=f"after which to look ({PASSES})")
    add("--runs", nargs="+", default=list(RUNS), choices=RUNS, help="(all)")
    add("--size", type=int, default=50, help="dimensions (50)")
    add("--workers", type=int, default=2, help="threads (2)")
    add("--seed", type=int, default=1, help="(1)")
    add("--plot", type=Path, help="a file for the picture")
    given = parser.parse_args(argv)
    corpus = str(given.corpus)
    options = {"sg": 1, "vector_size": given.size, "workers": given.workers, "seed": given.seed}
    objective = BatchObjective(corpus, options)
    others = BatchObjective(corpus, options | {"seed": given.seed + 1})
    found = []
    for name in given.runs:
        snapshots = measure(corpus, name, options, given.passes)
        for passes, (seconds, *vectors) in snapshots.taken.items():
            one = {
                "run": name,
                "passes": passes,
                "seconds": round(seconds, 2),
                "loss": round(objective(*vectors), 5),
                "loss of other draws": round(others(*vectors), 5),
            }
            print(json.dumps(one), flush=True)
            found.append(one)
    if given.plot is not None:
        plot(found, given.plot)


if __name__ == "__main__":
    main()
