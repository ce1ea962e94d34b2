"""Training as the commands do it: a corpus, a model, its log, and a summary of what it took."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gensim_tfw2v.cli.common import BadInput, one_line, print_rows

if TYPE_CHECKING:
    from gensim_tfw2v import TFWord2Vec

STDIN = Path("/dev/stdin")


def corpus_arguments(path: Path) -> dict[str, Any]:
    """Turn a path into ``corpus_file=`` or ``sentences=`` of a model's constructor.

    One sentence a line, words separated by blanks, UTF-8. Of a folder, files are taken in the order
    of their names, hidden ones and subfolders left out. ``-`` is standard input.
    """
    from gensim.models.word2vec import LineSentence

    from gensim_tfw2v.corpus.files import COMPRESSED, MAGIC, is_compressed

    if path == Path("-"):
        path = STDIN
    if path.is_dir():
        return {"sentences": _folder(path)}
    if is_stream(path):
        return {"corpus_file": str(path)}
    if not path.is_file():
        raise BadInput(f"{path}: no such file or folder")
    with path.open("rb") as file:
        start = file.read(8)
    if not start:
        raise BadInput(f"{path}: is empty; give one sentence a line, words separated by blanks")
    if is_compressed(path):
        return {"sentences": LineSentence(str(path))}
    for magic, (ending, _) in MAGIC.items():
        if start.startswith(magic) and ending in COMPRESSED:
            if path == STDIN:
                raise BadInput(
                    f"standard input is compressed ({ending}); decompress it, as in: "
                    "zcat FILE | tfw2v train - ..."
                )
            raise BadInput(f"{path}: is compressed; give it a name that ends in {ending}")
    return {"corpus_file": str(path)}


def is_stream(path: Path) -> bool:
    """Return whether this is standard input, a pipe or a terminal, which can be read only once."""
    return path == Path("-") or path.is_fifo() or path.is_char_device()


def _folder(path: Path) -> Any:
    from gensim.models.word2vec import PathLineSentences

    sentences = PathLineSentences(str(path))
    files = map(Path, sentences.input_files)
    sentences.input_files = [
        str(file) for file in files if file.is_file() and not file.name.startswith(".")
    ]
    if not sentences.input_files:
        raise BadInput(f"{path}: holds no files with text")
    return sentences


def set_log(options: dict[str, Any]) -> None:
    """Put a `TensorBoardLog` in place of the options for it, if they name a folder."""
    names = {"log_pairs": "word_pairs", "log_words": "probe_words"}
    names |= {name: name for name in ("projector_words", "projector_each_epoch")}
    given = {names[name]: options.pop(name) for name in names if name in options}
    if "log_dir" not in options:
        if given:
            raise BadInput("what is to be logged for TensorBoard needs a folder: give --log-dir")
        return

    from gensim_tfw2v.evaluation import EvaluationFileError
    from gensim_tfw2v.monitor.tensorboard_log import TensorBoardLog

    try:
        options["log_dir"] = TensorBoardLog(options["log_dir"], **given)
    except (EvaluationFileError, OSError) as error:
        raise BadInput(f"--log-pairs: {one_line(error)}") from error


def model_class(fasttext: bool = False) -> type[TFWord2Vec]:
    """Give the class that the commands train."""
    from gensim_tfw2v import TFFastText, TFWord2Vec

    return TFFastText if fasttext else TFWord2Vec


def train_model(fasttext: bool = False, **arguments: Any) -> tuple[TFWord2Vec, float]:
    """Construct a model, which trains it; give it with the seconds that this took."""
    start = time.perf_counter()
    try:
        model = model_class(fasttext)(**arguments)
    except RuntimeError as error:
        if "build vocabulary" not in str(error):
            raise
        raise BadInput(
            "the corpus holds no word that is frequent enough (--min-count); lower it, or give "
            "a larger corpus"
        ) from error
    return model, time.perf_counter() - start


def print_training(model: TFWord2Vec, seconds: float, saved: Iterable[Path] = ()) -> None:
    """Print what a user wants to know of a training that took so long, a line each.

    Words a second are those of the corpus, before subsampling and before rare words are left out,
    over the time inside ``train()``; without those that a checkpoint had.
    """
    words = model.corpus_total_words * model.epochs
    before = getattr(model, "_restored_words", 0)
    speed = (words - before) / max(model.total_train_time, 1e-9)
    rows = [
        ("vocabulary", f"{len(model.wv):,} words x {model.vector_size} dimensions"),
        ("corpus", f"{model.corpus_total_words:,} words, {model.epochs} epochs"),
        ("speed", f"{speed:,.0f} words/s"),
        ("time", f"{seconds:.1f} s, {model.total_train_time:.3g} s of it training"),
    ]
    if before:
        rows.append(("resumed", f"{before:,} of {words:,} words had been trained before"))
    if model.compute_loss:
        rows.append(("loss", f"{model.get_latest_training_loss():,.1f}"))
    traffic = getattr(model, "traffic", None)
    if traffic is not None and model.cluster is not None:
        rows += traffic.rows()
    if (report := getattr(model, "merge_report", None)) is not None:
        rows.append(("merged", str(report)))
    print_rows([*rows, *(("saved", str(path)) for path in saved)])
