"""``tfw2v train``: a corpus to a model."""

from __future__ import annotations

import contextlib
import gzip
import logging
import zlib
from collections.abc import Iterator
from lzma import LZMAError
from pathlib import Path
from typing import Annotated, Any

import typer

from gensim_tfw2v.cli.failures import BadInput, Verbose, fail_interrupted, named
from gensim_tfw2v.cli.training import set_log

FOLDERS = ("encoded_dir", "tables_dir")
CHECKPOINTS = ("checkpoint_dir", "checkpoint_minutes")

MODEL, COUNTING, SPEED, LOG = "Model", "Vocabulary", "Running", "TensorBoard"


def _option(*names: str, help: str, panel: str = MODEL, **limits: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, **limits)


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
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to save the model (gensim's form).")
    ],
    vectors: Annotated[
        Path | None,
        typer.Option(help="Also write the vectors alone, in word2vec's text form."),
    ] = None,
    binary: Annotated[
        bool, typer.Option("--binary", help="Write --vectors in binary form.")
    ] = False,
    vector_size: Annotated[int, _option(help="Dimensions of the vectors.", min=1)] = 100,
    window: Annotated[
        int, _option(help="Largest distance between a word and its context.", min=1)
    ] = 5,
    sg: Annotated[
        bool, _option("--sg/--cbow", help="Skip-gram, or continuous bag of words.")
    ] = False,
    negative: Annotated[
        int, _option(help="Negative samples for each prediction; 0: none (needs --hs).", min=0)
    ] = 5,
    ns_exponent: Annotated[
        float, _option(help="Power of the word counts that negatives are drawn by.")
    ] = 0.75,
    hs: Annotated[
        bool,
        _option(
            "--hs/--no-hs",
            help="Hierarchical softmax; beside negative sampling, unless --negative 0.",
        ),
    ] = False,
    cbow_mean: Annotated[
        bool, _option("--cbow-mean/--cbow-sum", help="Average the context in CBOW, or sum it.")
    ] = True,
    corrected_cbow: Annotated[
        bool,
        _option(
            help="CBOW with the exact gradient of the loss, unlike gensim; raise --alpha then."
        ),
    ] = False,
    shrink_windows: Annotated[
        bool, _option(help="Draw each word's window from 1 to --window, or use it whole.")
    ] = True,
    sample: Annotated[
        float,
        _option(
            help="Leave out words at random that are a larger share of the corpus; 0: none.", min=0
        ),
    ] = 1e-3,
    alpha: Annotated[float, _option(help="Learning rate at the start.", min=0)] = 0.025,
    min_alpha: Annotated[float, _option(help="Learning rate at the end.", min=0)] = 0.0001,
    epochs: Annotated[int, _option(help="Passes over the corpus.", min=1)] = 5,
    seed: Annotated[int, _option(help="Seed of the random numbers.")] = 1,
    min_count: Annotated[
        int, _option(panel=COUNTING, help="Leave out words that are rarer than this.", min=0)
    ] = 5,
    max_vocab_size: Annotated[
        int | None,
        _option(panel=COUNTING, help="While counting, drop rare words beyond this many.", min=1),
    ] = None,
    max_final_vocab: Annotated[
        int | None,
        _option(panel=COUNTING, help="Keep at most about this many of the words.", min=1),
    ] = None,
    sorted_vocab: Annotated[
        bool, _option(panel=COUNTING, help="Order the vocabulary by falling frequency.")
    ] = True,
    workers: Annotated[int, _option(panel=SPEED, help="Threads that train.", min=1)] = 3,
    batch_words: Annotated[
        int, _option(panel=SPEED, help="Target size, in words, of a thread's batch.", min=1)
    ] = 10_000,
    compute_loss: Annotated[
        bool, _option("--compute-loss", panel=SPEED, help="Sum the training loss and print it.")
    ] = False,
    encoded_dir: Annotated[
        Path | None,
        _option(panel=SPEED, help="Put the temporary encoded corpus into this folder."),
    ] = None,
    tables_dir: Annotated[
        Path | None,
        _option(
            panel=SPEED,
            help="Keep the model's tables in files of this folder, mapped into memory, where they "
            "are larger than memory.",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        _option(
            panel=SPEED,
            help="Train on a cluster: local:ps=P,worker=N starts one on this machine, TF_CONFIG "
            "takes the one that this environment variable describes.",
        ),
    ] = None,
    regime: Annotated[
        str | None,
        _option(
            panel=SPEED,
            help="How workers share the training: asynchronous (clusters' default), synchronous, "
            "downpour, sandblaster, submodels; with options as in downpour:n_fetch=8,n_push=8.",
        ),
    ] = None,
    layout: Annotated[
        str | None,
        _option(
            panel=SPEED,
            help="How the ps tasks of a cluster share the vectors: rows, or columns, for long "
            "vectors.",
        ),
    ] = None,
    checkpoint_dir: Annotated[
        Path | None,
        _option(panel=SPEED, help="Write checkpoints there, and go on from one that is there."),
    ] = None,
    checkpoint_minutes: Annotated[
        float | None,
        _option(panel=SPEED, help="How often, beside the end of each epoch (10).", min=0.01),
    ] = None,
    log_dir: Annotated[
        Path | None,
        _option(
            panel=LOG,
            envvar="TFW2V_LOG_DIR",
            help="Log for TensorBoard into this folder: give each training one of its own.",
        ),
    ] = None,
    log_pairs: Annotated[
        list[str] | None,
        _option(
            panel=LOG,
            help="After each epoch, compare the vectors with a file of word pairs and ratings, or "
            "with ws353 or simlex999. May be given again.",
        ),
    ] = None,
    log_words: Annotated[
        list[str] | None,
        _option(
            panel=LOG,
            help="After each epoch, write down this word's neighbours. May be given again.",
        ),
    ] = None,
    projector_words: Annotated[
        int | None,
        _option(
            panel=LOG, help="The projector shows so many words (10000); 0: no projector.", min=0
        ),
    ] = None,
    projector_each_epoch: Annotated[
        bool,
        _option("--projector-each-epoch", panel=LOG, help="Write its vectors after each epoch."),
    ] = False,
    progress: Annotated[
        bool | None,
        _option(
            "--progress/--no-progress",
            panel=SPEED,
            help="Show what is being done, and how far it is (by default on a terminal only).",
        ),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Train vectors on CORPUS and save the model.

    The model is saved when training has ended; interrupted by Ctrl-C, nothing is, but the same
    command with --checkpoint-dir goes on from where it was.
    """
    options = dict(locals())
    for name in ("corpus", "output", "vectors", "binary", "verbose"):
        del options[name]
    for name in (
        "encoded_dir",
        "tables_dir",
        "progress",
        "cluster",
        "regime",
        "layout",
        *CHECKPOINTS,
    ):
        if options[name] is None:
            del options[name]
    if not corrected_cbow:
        del options["corrected_cbow"]
    if not hs and not negative:
        raise BadInput("--negative 0 without --hs leaves nothing to learn; give one of the two")
    if binary and vectors is None:
        raise BadInput("--binary is the form of --vectors; give --vectors FILE too")

    from gensim_tfw2v.cli import corpus as corpora
    from gensim_tfw2v.cli import model_files as saving

    if max_vocab_size is not None and corpora.is_stream(corpus):
        raise BadInput(
            f"{corpus}: can be read once, but --max-vocab-size reads the corpus twice; write the "
            "text to a file"
        )

    outputs = [path for path in (output, vectors) if path is not None]
    for path in outputs:
        saving.check_can_save(path)
        if path.resolve() == corpus.resolve():
            raise BadInput(f"{path}: is the corpus; give the output another name")
    if vectors is not None and vectors.resolve() == output.resolve():
        raise BadInput(f"{vectors}: named by both --output and --vectors")

    from gensim_tfw2v.cli import training as trainings
    from gensim_tfw2v.monitor.progress import phase
    from gensim_tfw2v.training.checkpoints import has_checkpoint

    with phase("loading gensim", progress):
        arguments = corpora.corpus_arguments(corpus)
        set_log(options)
        trainings.model_class()
    options = {name: str(v) if isinstance(v, Path) else v for name, v in options.items()}
    saved: list[Path] = []
    try:
        with _saying_what_is_resumed(verbose):
            training = trainings.train_model(**arguments, **options)
        saved += saving.save_whole(output, training.model.save, progress)
        if vectors is not None:
            saved += saving.save_whole(
                vectors,
                lambda name: training.model.wv.save_word2vec_format(name, binary=binary),
                progress,
            )
    except KeyboardInterrupt:
        kept = f"saved {', '.join(map(str, saved))} only" if saved else "nothing was saved"
        if checkpoint_dir is not None and has_checkpoint(checkpoint_dir):
            kept += f"; {checkpoint_dir} has a checkpoint: the same command goes on from it"
        fail_interrupted(f"; {kept}")
    except (UnicodeDecodeError, EOFError, zlib.error, LZMAError, gzip.BadGzipFile) as error:
        raise BadInput(named(error, corpus)) from error

    training.print(saved)


@contextlib.contextmanager
def _saying_what_is_resumed(verbose: bool) -> Iterator[None]:
    """Print on stderr what a training goes on from, which --verbose does among much else."""
    if verbose:
        yield
        return
    said, shown = logging.getLogger("gensim_tfw2v.training.session"), logging.StreamHandler()
    before = said.level
    shown.setFormatter(logging.Formatter("tfw2v: %(message)s"))
    said.addHandler(shown)
    said.setLevel(logging.INFO)
    try:
        yield
    finally:
        said.removeHandler(shown)
        said.setLevel(before)
