"""``tfw2v train``: a corpus to a model; ``tfw2v demo``: training without a corpus of one's own."""

from __future__ import annotations

import contextlib
import gzip
import logging
import shlex
import zlib
from collections.abc import Iterator
from functools import partial
from lzma import LZMAError
from pathlib import Path
from typing import Annotated, Any

import typer

from gensim_tfw2v.cli import common, model_files, training
from gensim_tfw2v.cli.common import BadInput, Verbose, option
from gensim_tfw2v.cli.evaluate import print_neighbours
from gensim_tfw2v.monitor.progress import phase

#: Options of `train` that are not its model's, and switches that gensim's class does not know.
OF_THE_COMMAND = {"corpus", "output", "vectors", "binary", "verbose"}
OWN_SWITCHES = {"corrected_cbow", "projector_each_epoch"}

#: Options of FastText alone.
OF_FASTTEXT = ("min_n", "max_n", "bucket")

#: The words whose neighbours `demo` prints.
PROBES = ("attacks", "israeli", "qantas", "economy", "cricket")

_model = partial(option, rich_help_panel="Model")
_fasttext = partial(option, rich_help_panel="FastText")
_counting = partial(option, rich_help_panel="Vocabulary")
_running = partial(option, rich_help_panel="Running")
_log = partial(option, rich_help_panel="TensorBoard")


# the defaults below are gensim's; a test compares them
def train(
    corpus: Annotated[
        Path,
        typer.Argument(
            metavar="CORPUS",
            help="Text file with one sentence a line, compressed or not, or a folder of such; - "
            "reads standard input.",
        ),
    ],
    output: common.Output,
    vectors: common.Vectors = None,
    binary: common.Binary = False,
    vector_size: Annotated[int, _model("Dimensions of the vectors.", min=1)] = 100,
    window: Annotated[int, _model("Largest distance between a word and its context.", min=1)] = 5,
    sg: Annotated[bool, _model("Skip-gram, or continuous bag of words.", "--sg/--cbow")] = False,
    negative: Annotated[
        int, _model("Negative samples for each prediction; 0: none (needs --hs).", min=0)
    ] = 5,
    ns_exponent: Annotated[
        float, _model("Power of the word counts that negatives are drawn by.")
    ] = 0.75,
    hs: Annotated[
        bool, _model("Hierarchical softmax; beside negative sampling, unless --negative 0.")
    ] = False,
    cbow_mean: Annotated[
        bool, _model("Average the context in CBOW, or sum it.", "--cbow-mean/--cbow-sum")
    ] = True,
    corrected_cbow: Annotated[
        bool, _model("CBOW with the exact gradient of the loss, unlike gensim; raise --alpha then.")
    ] = False,
    shrink_windows: Annotated[
        bool, _model("Draw each word's window from 1 to --window, or use it whole.")
    ] = True,
    sample: Annotated[
        float,
        _model("Leave out words at random that are a larger share of the corpus; 0: none.", min=0),
    ] = 1e-3,
    alpha: Annotated[float, _model("Learning rate at the start.", min=0)] = 0.025,
    min_alpha: Annotated[float, _model("Learning rate at the end.", min=0)] = 0.0001,
    epochs: Annotated[int, _model("Passes over the corpus.", min=1)] = 5,
    seed: Annotated[int, _model("Seed of the random numbers.")] = 1,
    fasttext: Annotated[
        bool,
        _fasttext(
            "Vectors of words and of their character n-grams, so that unknown words have some too.",
            "--fasttext",
        ),
    ] = False,
    min_n: Annotated[int | None, _fasttext("Shortest n-grams (3).", min=1)] = None,
    max_n: Annotated[
        int | None, _fasttext("Longest n-grams (6); below the shortest: none.", min=0)
    ] = None,
    bucket: Annotated[
        int | None, _fasttext("Rows that n-grams are hashed into (2000000).", min=1)
    ] = None,
    min_count: Annotated[int, _counting("Leave out words that are rarer than this.", min=0)] = 5,
    max_vocab_size: Annotated[
        int | None, _counting("While counting, drop rare words beyond this many.", min=1)
    ] = None,
    max_final_vocab: Annotated[
        int | None, _counting("Keep at most about this many of the words.", min=1)
    ] = None,
    sorted_vocab: Annotated[bool, _counting("Order the vocabulary by falling frequency.")] = True,
    workers: Annotated[int, _running("Threads that train.", min=1)] = 3,
    batch_words: Annotated[
        int, _running("Target size, in words, of a thread's batch.", min=1)
    ] = 10_000,
    compute_loss: Annotated[
        bool, _running("Sum the training loss and print it.", "--compute-loss")
    ] = False,
    encoded_dir: Annotated[
        Path | None, _running("Put the temporary encoded corpus into this folder.")
    ] = None,
    tables_dir: Annotated[
        Path | None,
        _running(
            "Keep the model's tables in files of this folder, mapped into memory, where they "
            "are larger than memory."
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        _running(
            "Train on a cluster: local:ps=P,worker=N starts one on this machine, TF_CONFIG "
            "takes the one that this environment variable describes."
        ),
    ] = None,
    regime: Annotated[
        str | None,
        _running(
            "How workers share the training: asynchronous (clusters' default), synchronous, "
            "downpour, sandblaster, submodels; with options as in downpour:n_fetch=8,n_push=8."
        ),
    ] = None,
    layout: Annotated[
        str | None,
        _running(
            "How the ps tasks of a cluster share the vectors: rows, or columns, for long vectors."
        ),
    ] = None,
    checkpoint_dir: Annotated[
        Path | None, _running("Write checkpoints there, and go on from one that is there.")
    ] = None,
    checkpoint_minutes: Annotated[
        float | None, _running("How often, beside the end of each epoch (10).", min=0.01)
    ] = None,
    log_dir: Annotated[
        Path | None,
        _log(
            "Log for TensorBoard into this folder: give each training one of its own.",
            envvar="TFW2V_LOG_DIR",
        ),
    ] = None,
    log_pairs: Annotated[
        list[str] | None,
        _log(
            "After each epoch, compare the vectors with a file of word pairs and ratings, or "
            "with ws353 or simlex999. May be given again."
        ),
    ] = None,
    log_words: Annotated[
        list[str] | None,
        _log("After each epoch, write down this word's neighbours. May be given again."),
    ] = None,
    projector_words: Annotated[
        int | None, _log("The projector shows so many words (10000); 0: no projector.", min=0)
    ] = None,
    projector_each_epoch: Annotated[
        bool, _log("Write its vectors after each epoch.", "--projector-each-epoch")
    ] = False,
    progress: Annotated[
        bool | None,
        _running(
            "Show what is being done, and how far it is (by default on a terminal only).",
            "--progress/--no-progress",
        ),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Train vectors on CORPUS and save the model.

    The model is saved when training has ended; interrupted by Ctrl-C, nothing is, but the same
    command with --checkpoint-dir goes on from where it was.
    """
    options = {name: value for name, value in locals().items() if value is not None}
    left_out = OF_THE_COMMAND | {name for name in OWN_SWITCHES if not options[name]}
    options = {name: value for name, value in options.items() if name not in left_out}
    if not hs and not negative:
        raise BadInput("--negative 0 without --hs leaves nothing to learn; give one of the two")
    if not fasttext and (given := [name for name in OF_FASTTEXT if name in options]):
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise BadInput(f"{flags}: of FastText's n-grams; give --fasttext too, or leave it out")
    if max_vocab_size is not None and training.is_stream(corpus):
        raise BadInput(
            f"{corpus}: can be read once, but --max-vocab-size reads the corpus twice; write the "
            "text to a file"
        )
    model_files.check_outputs(output, vectors, binary, [corpus], "is the corpus")
    with phase("loading gensim", progress):
        options |= training.corpus_arguments(corpus)
        training.set_log(options)
        training.model_class()
    saved: list[Path] = []
    try:
        with contextlib.nullcontext() if verbose else _telling_what_is_resumed():
            model, seconds = training.train_model(**options)
        for path in model_files.save_model(model, output, vectors, binary, progress):
            saved.append(path)
    except KeyboardInterrupt:
        from gensim_tfw2v.training.checkpoints import has_checkpoint

        kept = f"saved {', '.join(map(str, saved))} only" if saved else "nothing was saved"
        if checkpoint_dir is not None and has_checkpoint(checkpoint_dir):
            kept += f"; {checkpoint_dir} has a checkpoint: the same command goes on from it"
        common.fail_interrupted(f"; {kept}")
    except (UnicodeDecodeError, EOFError, zlib.error, LZMAError, gzip.BadGzipFile) as error:
        message = common.one_line(error)
        if str(corpus) not in message:
            if isinstance(error, UnicodeDecodeError):
                message = f"is not UTF-8 text ({error.reason})"
            message = f"{corpus}: {message}"
        raise BadInput(message) from error
    training.print_training(model, seconds, saved)


@contextlib.contextmanager
def _telling_what_is_resumed() -> Iterator[None]:
    """Print on stderr what a training goes on from, which --verbose does among much else."""
    session, shown = logging.getLogger("gensim_tfw2v.training.session"), logging.StreamHandler()
    before = session.level
    shown.setFormatter(logging.Formatter("tfw2v: %(message)s"))
    session.addHandler(shown)
    session.setLevel(logging.INFO)
    try:
        yield
    finally:
        session.removeHandler(shown)
        session.setLevel(before)


def demo(
    out: Annotated[Path | None, option("Save the model there.")] = None,
    cluster: Annotated[
        str, option("Where to train; 'none' is in this process.")
    ] = "local:ps=2,worker=2",
    log_dir: Annotated[Path | None, option("Log for TensorBoard into this folder.")] = None,
    epochs: Annotated[int, option("Passes over the corpus.", min=1)] = 30,
    verbose: Verbose = False,
) -> None:
    """Train skip-gram vectors on a cluster of this machine, and print neighbours of some words.

    The corpus is 300 Australian news texts of 2001 (60,000 words) that come with gensim.
    """
    if out is not None:
        model_files.check_can_save(out)
    where = "in this process" if cluster == "none" else f"on {cluster}"
    print(f"Training skip-gram vectors on 300 news texts of 2001, {where} ...", flush=True)
    with phase("loading gensim", None):
        from gensim.test.utils import datapath
        from gensim.utils import simple_preprocess

        training.model_class()
    with open(datapath("lee_background.cor"), encoding="utf-8") as texts:
        sentences = [simple_preprocess(text) for text in texts]
    options: dict[str, Any] = {"sg": 1, "vector_size": 100, "epochs": epochs}
    if cluster != "none":
        options["cluster"] = cluster
    if log_dir is not None:
        options["log_dir"] = log_dir
    model, seconds = training.train_model(sentences=sentences, **options)
    saved = [] if out is None else model_files.save_whole(out, model.save)
    training.print_training(model, seconds, saved)
    if log_dir is not None:
        common.print_rows([("look", f"tfw2v tensorboard {shlex.quote(str(log_dir))}")])
    print_neighbours({word: model.wv.most_similar(word, topn=5) for word in PROBES})
