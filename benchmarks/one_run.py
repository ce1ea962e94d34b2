"""One training run of a gensim class or of a class of this package, measured in its own process."""

import os
import pkgutil
import resource
import sys
import time
from typing import Any

from benchmarks.quality import evaluate, evaluate_documents, evaluate_unknown


def text_source(corpus: str, from_file: bool) -> dict[str, Any]:
    """Return the argument of gensim's classes for a text, as a file or as an iterable."""
    if from_file:
        return {"corpus_file": corpus}
    from gensim.models.word2vec import LineSentence

    return {"corpus_iterable": LineSentence(corpus)}


def train(model: Any, source: dict[str, Any]) -> float:
    """Train on the text from which the vocabulary was built; return the seconds."""
    start = time.perf_counter()
    model.train(
        **source,
        total_examples=model.corpus_count,
        total_words=model.corpus_total_words,
        epochs=model.epochs,
    )
    return time.perf_counter() - start


def peak_bytes() -> int:
    """Return the peak resident memory of this process so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def cpu_seconds() -> float:
    """Return the CPU time of this process and its finished children."""
    return sum(os.times()[:4])


def measure(
    target: str,
    from_file: bool,
    corpus: str,
    options: dict[str, Any],
    pairs: dict[str, str],
    quality: bool,
    start_time: float,
) -> dict[str, Any]:
    """Train, and return the measured fields of `benchmarks.records.Run`.

    Parameters
    ----------
    target : str
        The class to train, as ``module:Class``.
    from_file : bool
        Train from ``corpus_file=``; if False, from an iterable.
    corpus : str
        Path of the text.
    options : dict
        Arguments of the constructor.
    pairs : dict of str to str
        Files of word pairs, by name.
    quality : bool
        Also evaluate the vectors.
    start_time : float
        `time.time()` just before the process was started.
    """
    import_start = time.perf_counter()
    engine = pkgutil.resolve_name(target)
    import_end = time.perf_counter()
    source = text_source(corpus, from_file)
    model = engine(**options)
    model.build_vocab(**source)
    counting_end = time.perf_counter()
    cpu = cpu_seconds()
    seconds = train(model, source)
    answer = {
        "raw_words": model.corpus_total_words,
        "vocabulary": len(model.wv),
        "epochs": model.epochs,
        "import_seconds": import_end - import_start,
        "vocab_seconds": counting_end - import_end,
        "train_seconds": seconds,
        "process_seconds": time.time() - start_time,
        "cpu_seconds": cpu_seconds() - cpu,
        "peak_bytes": peak_bytes(),
    }
    if traffic := getattr(model, "traffic", None):
        answer["bytes_per_token"] = traffic.bytes_per_token
    if quality and hasattr(model, "dv"):
        answer["quality"] = evaluate_documents(model, corpus)
    elif quality:
        answer["quality"] = evaluate(model.wv, pairs)
        if hasattr(model.wv, "vectors_ngrams"):
            scores, answer["n_pairs"] = evaluate_unknown(model.wv, pairs)
            answer["quality"] |= scores
    return answer
