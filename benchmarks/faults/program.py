"""The program that meets faults: it trains, saves its model, and says where it is.

``python -m benchmarks.faults.program SETTINGS`` prints a line of JSON for each event.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from pathlib import Path
from typing import Any

from gensim.models.callbacks import CallbackAny2Vec

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.cli.model_files import save_whole
from gensim_tfw2v.corpus import files
from gensim_tfw2v.kernel import sizes
from gensim_tfw2v.training import plan
from gensim_tfw2v.training.session import Training

#: Seconds between two looks at how far the training is.
LOOK_SECONDS = 0.1


def say(event: str, **more: Any) -> None:
    """Print an event."""
    print(json.dumps({"event": event, **more}), flush=True)


class Tell(CallbackAny2Vec):
    """Says how far a training is, from a thread of its own."""

    def on_train_begin(self, model: Any) -> None:
        """Begin to look."""
        self._over = threading.Event()
        threading.Thread(target=self._look, args=(model,), daemon=True).start()

    def on_train_end(self, model: Any) -> None:
        """Look no more."""
        self._over.set()

    def _look(self, model: Any) -> None:
        told = None
        while not self._over.wait(LOOK_SECONDS):
            held = model._training
            if held is not None:
                at = held.position.epoch, len(held.position.done)
                if at != told:
                    say("trained", epoch=at[0], units=at[1])
                    told = at


def announce_exports() -> None:
    """Have exports of the vectors, at the end of each epoch, say that they begin."""
    export = Training.export

    def telling(self: Any) -> None:
        say("exporting")
        export(self)

    setattr(Training, "export", telling)  # noqa: B010  mypy knows it as a method


def main(path: str) -> None:
    """Train as a file of settings says: corpus, output, small_units and options of the class."""
    logging.basicConfig(
        level=logging.WARNING, format="%(asctime)s %(name)s %(message)s", stream=sys.stderr
    )
    settings = json.loads(Path(path).read_text())
    # units and runs of a large corpus, for a small one
    for module, name, value in (
        (sizes, "UNIT_ENTRIES", settings["unit_entries"]),
        (sizes, "CLUSTER_ENTRIES", settings["unit_entries"]),
        (files, "BYTES_A_RUN", settings["bytes_a_run"]),
        (plan, "READY_SECONDS", 120.0),
    ):
        setattr(module, name, value)
    announce_exports()
    model = TFWord2Vec(**settings["options"])
    corpus = settings["corpus"]
    say("counting")
    model.build_vocab(corpus_file=corpus)
    say("training")
    counts = model.train(
        corpus_file=corpus,
        total_words=model.corpus_total_words,
        epochs=model.epochs,
        callbacks=[Tell()],
    )
    say("saving")
    save_whole(Path(settings["output"]), model.save)
    traffic = model.traffic
    say(
        "done",
        words=counts[1],
        of_words=model.corpus_total_words * model.epochs,
        repeated=0 if traffic is None else traffic.repeated,
    )


if __name__ == "__main__":
    main(sys.argv[1])
