"""A program that trains with checkpoints, for tests that kill it and resume with other workers.

It appends the entries of each trained work unit to a file, so that tests can tell which entries
were trained in which epoch.
"""

import json
import time
from typing import NamedTuple

from gensim.models.doc2vec import TaggedDocument
from gensim.models.word2vec import LineSentence
from gensim.test.utils import datapath

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec, unit_sizes
from gensim_tfw2v.training.session import Training

EPOCHS = 3
OPTIONS = {
    "vector_size": 24,
    "epochs": EPOCHS,
    "alpha": 0.05,
    "seed": 5,
    "compute_loss": True,
    "checkpoint_minutes": 0.001,
}
CLASSES = {
    "word2vec": (TFWord2Vec, {"sg": 1}),
    "fasttext": (TFFastText, {"sg": 1, "bucket": 5000}),
    "doc2vec": (TFDoc2Vec, {"dm": 0, "dbow_words": 1}),
}

#: Maximum entries of a work unit on one machine. On a cluster, the number of threads decides.
LOCAL_ENTRIES = 3000
#: Minimum entries of a work unit on a cluster.
MIN_ENTRIES = 500
#: Seconds between the reports of two units, so that training lasts long enough to be killed.
PAUSE_SECONDS = 0.02


class Way(NamedTuple):
    """Where a program trains."""

    workers: int
    cluster: str | None = None
    regime: str | None = None


def read_corpus(name):
    sentences = list(LineSentence(datapath("lee_background.cor")))
    if name == "doc2vec":
        return [TaggedDocument(words, [number]) for number, words in enumerate(sentences)]
    return sentences


def train(name, way, folder, log, started):
    """Train a model of a class, with checkpoints in `folder`.

    The file `log` gets a line when training begins or resumes, and a line for each trained unit.
    The connection `started` gets a message after the first unit. The losses of a complete run are
    written next to the log.
    """
    unit_sizes.UNIT_ENTRIES = LOCAL_ENTRIES
    unit_sizes.PAIRED_ENTRIES = LOCAL_ENTRIES
    unit_sizes.MIN_ENTRIES = MIN_ENTRIES
    count = Training.count
    resume = Training._resume

    def write(**line):
        with log.open("a") as file:
            file.write(f"{json.dumps(line)}\n")

    def count_and_write(training, epoch_log, report):
        time.sleep(PAUSE_SECONDS)
        ((start, stop),) = training.corpus.unit_ranges([report.unit])
        write(epoch=training.position.epoch, start=start, stop=stop)
        count(training, epoch_log, report)
        if not started.closed:
            started.send(None)
            started.close()

    def resume_and_write(training):
        has_resumed = resume(training)
        position = training.position
        epoch = training._units_of(position.epoch)
        ranges = epoch.trained_ranges(training.corpus, position.done)
        write(begins=position.epoch, ranges=ranges)
        return has_resumed

    Training.count = count_and_write
    Training._resume = resume_and_write
    class_, options = CLASSES[name]
    model = class_(read_corpus(name), **OPTIONS, **options, **way._asdict(), checkpoint_dir=folder)
    log.with_suffix(".losses").write_text(json.dumps(model.mean_losses))
