"""``tfw2v train`` trains a model on a corpus, and ``tfw2v demo`` on one that gensim contains."""

from __future__ import annotations

import contextlib
import logging
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gensim_tfw2v.cli import common, dialect_options, formats, model_files
from gensim_tfw2v.cli.align import train_by_compass
from gensim_tfw2v.cli.common import BadInput, Verbose, given, one_line, option, print_rows
from gensim_tfw2v.cli.continuing import continue_model
from gensim_tfw2v.cli.corpus_argument import corpus_arguments, is_stream
from gensim_tfw2v.cli.training_options import OF_THE_COMMAND, check_combination
from gensim_tfw2v.files.temporary import check_folder
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.monitor.progress import phase

if TYPE_CHECKING:
    from gensim_tfw2v import TFWord2Vec

#: Options for TensorBoard, and their names in `TensorBoardLog`.
LOGGED = {
    "log_pairs": "word_pairs",
    "log_words": "probe_words",
    "projector_words": "projector_words",
    "projector_each_epoch": "projector_each_epoch",
}

#: Modules whose log is printed: where a training resumes, and which subfolders are left out.
SESSION = "gensim_tfw2v.training.session"
TABLES = "gensim_tfw2v.corpus.tables.table_folders"

#: Words whose neighbours `demo` prints.
PROBES = ("attacks", "israeli", "qantas", "economy", "cricket")

_model = partial(option, rich_help_panel="Model")
_fasttext = partial(option, rich_help_panel="FastText")
_doc2vec = partial(option, rich_help_panel="Doc2Vec")
_counting = partial(option, rich_help_panel="Vocabulary")
_running = partial(option, rich_help_panel="Running")
_log = partial(option, rich_help_panel="TensorBoard")


# The defaults below are gensim's; a test compares them.
def train(
    context: typer.Context,
    corpus: Annotated[
        Path,
        typer.Argument(
            metavar="CORPUS",
            help="Text file with one sentence per line, plain or compressed, or a folder of such "
            "files; - reads standard input. With --column, a table or a folder of tables.",
            allow_dash=True,
        ),
    ],
    output: common.Output,
    column: Annotated[
        str | None,
        option(
            "Column of CORPUS, a table (Parquet, Arrow, ORC, CSV, JSON), with a text or a list of "
            "words per row.",
            rich_help_panel="Table",
        ),
    ] = None,
    sep: dialect_options.Sep = None,
    quotechar: dialect_options.Quotechar = '"',
    escapechar: dialect_options.Escapechar = None,
    header: dialect_options.Header = True,
    newlines: dialect_options.Newlines = False,
    table_encoding: dialect_options.TableEncoding = None,
    lists: dialect_options.Lists = None,
    recursive: Annotated[
        bool, option("Read the files in subfolders of CORPUS, too.", "--recursive")
    ] = False,
    vectors: common.Vectors = None,
    binary: common.Binary = False,
    init: Annotated[
        Path | None,
        option(
            "Continue training this model or these vectors, and add the new words of CORPUS. "
            "Options that are not set are the model's."
        ),
    ] = None,
    compass: Annotated[
        Path | None,
        option(
            "Train a model of a time slice, in the space of this full model of all slices. Options "
            "that are not set are the model's."
        ),
    ] = None,
    vector_size: Annotated[int, _model("Dimensions of the vectors.", min=1)] = 100,
    window: Annotated[int, _model("Maximum distance between a word and its context.", min=1)] = 5,
    sg: Annotated[bool, _model("Skip-gram, or continuous bag of words.", "--sg/--cbow")] = False,
    negative: Annotated[
        int, _model("Negative samples per prediction; 0: none (needs --hs).", min=0)
    ] = 5,
    ns_exponent: Annotated[
        float, _model("Negatives are drawn in proportion to word counts raised to this power.")
    ] = 0.75,
    hs: Annotated[
        bool, _model("Hierarchical softmax, in addition to negative sampling unless --negative 0.")
    ] = False,
    cbow_mean: Annotated[
        bool, _model("Average the context in CBOW, or sum it.", "--cbow-mean/--cbow-sum")
    ] = True,
    corrected_cbow: Annotated[
        bool, _model("CBOW with the exact gradient of the loss, unlike gensim; raise --alpha.")
    ] = False,
    deterministic: Annotated[
        bool,
        _model("Bit-identical results with any number of --workers, or of a cluster's tasks."),
    ] = False,
    shrink_windows: Annotated[
        bool, _model("Draw the size of each window from 1 to --window, or always use --window.")
    ] = True,
    sample: Annotated[
        float,
        _model(
            "Randomly drop words whose relative frequency is above this threshold; 0: keep all.",
            min=0,
        ),
    ] = 1e-3,
    alpha: Annotated[float, _model("Learning rate at the start.", min=0)] = 0.025,
    min_alpha: Annotated[float, _model("Learning rate at the end.", min=0)] = 0.0001,
    epochs: Annotated[int, _model("Passes over the corpus; 10 with --doc2vec.", min=1)] = 5,
    seed: Annotated[int, _model("Seed of the random numbers.", min=0, max=2**32 - 1)] = 1,
    fasttext: Annotated[
        bool,
        _fasttext(
            "FastText: also train vectors of character n-grams, which give unknown words a vector.",
            "--fasttext",
        ),
    ] = False,
    min_n: Annotated[int | None, _fasttext("Shortest n-gram (3).", min=1)] = None,
    max_n: Annotated[
        int | None, _fasttext("Longest n-gram (6); if below --min-n, none are used.", min=0)
    ] = None,
    bucket: Annotated[
        int | None, _fasttext("Rows that n-grams are hashed into (2000000).", min=1)
    ] = None,
    doc2vec: Annotated[bool, _doc2vec("Also train a vector for each line.", "--doc2vec")] = False,
    dm: Annotated[
        bool | None, _doc2vec("Distributed memory, or distributed bag of words.", "--dm/--dbow")
    ] = None,
    dbow_words: Annotated[bool, _doc2vec("With --dbow, train words too.", "--dbow-words")] = False,
    min_count: Annotated[int, _counting("Drop words that occur less often than this.", min=0)] = 5,
    max_vocab_size: Annotated[
        int | None,
        _counting(
            "While counting, drop rare words if there are more distinct words than this.", min=1
        ),
    ] = None,
    max_final_vocab: Annotated[
        int | None, _counting("Keep about this many of the most frequent words.", min=1)
    ] = None,
    sorted_vocab: Annotated[
        bool, _counting("Order the vocabulary by descending frequency.")
    ] = True,
    workers: Annotated[int, _running("Number of training threads.", min=1)] = 3,
    batch_words: Annotated[
        int, _running("gensim's batch size; it affects only the final learning rate.", min=1)
    ] = 10_000,
    compute_loss: Annotated[
        bool, _running("Compute the loss of all predictions and print its mean.", "--compute-loss")
    ] = False,
    early_stopping: Annotated[
        str | None,
        _running(
            "Stop when this score no longer improves, and keep the best epoch: ws353, simlex999, "
            "questions-words, a file of word pairs or analogies, or loss."
        ),
    ] = None,
    patience: Annotated[
        int | None, _running("Epochs without improvement that --early-stopping allows (2).", min=0)
    ] = None,
    encoded_dir: Annotated[
        Path | None, _running("Folder for the temporary encoded corpus.")
    ] = None,
    tables_dir: Annotated[
        Path | None,
        _running(
            "Keep the model's tables in memory-mapped files in this folder, if they exceed memory."
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        _running(
            "Train on a cluster: local:ps=P,worker=N starts one on this machine, TF_CONFIG "
            "uses the one that this environment variable describes."
        ),
    ] = None,
    hosts: common.Hosts = None,
    regime: Annotated[
        str | None,
        _running(
            "Distributed training strategy: asynchronous (clusters' default), synchronous, "
            "downpour, sandblaster, submodels; with options as in downpour:n_fetch=8,n_push=8."
        ),
    ] = None,
    layout: Annotated[
        str | None,
        _running(
            "Distribution of vectors over a cluster's ps tasks: rows, or columns, for long vectors."
        ),
    ] = None,
    wire: Annotated[
        str | None,
        _running("Type in which a cluster sends rows: int8 (default), bfloat16 or float32."),
    ] = None,
    checkpoint_dir: Annotated[
        Path | None,
        _running("Write checkpoints to this folder, and resume from the latest one in it."),
    ] = None,
    checkpoint_minutes: Annotated[
        float | None,
        _running(
            "Minutes between checkpoints (10), which are also written after each epoch.", min=0.01
        ),
    ] = None,
    log_dir: Annotated[
        Path | None,
        _log(
            "Write TensorBoard logs to this folder; use a separate one per training.",
            envvar="TFW2V_LOG_DIR",
        ),
    ] = None,
    log_pairs: Annotated[
        list[str] | None,
        _log(
            "After each epoch, compare the vectors with a file of word pairs and ratings, or "
            "with ws353 or simlex999. May be repeated."
        ),
    ] = None,
    log_words: Annotated[
        list[str] | None, _log("Log this word's neighbours after each epoch. May be repeated.")
    ] = None,
    projector_words: Annotated[
        int | None, _log("Number of words in the projector (10000); 0: no projector.", min=0)
    ] = None,
    projector_each_epoch: Annotated[
        bool, _log("Update the projector after each epoch.", "--projector-each-epoch")
    ] = False,
    progress: Annotated[
        bool | None,
        _running("Show progress (by default only on a terminal).", "--progress/--no-progress"),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Train vectors on CORPUS and save the model.

    The model is saved when training has finished. Nothing is saved after Ctrl-C, but with
    --checkpoint-dir, the same command resumes.
    """
    options = given(context)
    check_combination(options)
    if not hs and not negative:
        raise BadInput("--negative 0 without --hs leaves nothing to train; change one of the two")
    dialect = dialect_options.dialect_arguments(options)
    for name in OF_THE_COMMAND & options.keys():
        del options[name]
    if hosts is not None:
        from gensim_tfw2v.cluster.spec import read_hosts

        options["cluster"] = read_hosts(hosts)
    inputs = {corpus: "is the corpus"}
    make: Callable[..., TFWord2Vec] = new_model
    if init is not None:
        make = partial(continue_model, init)
        inputs[init] = "is the model to continue"
    if compass is not None:
        make = partial(train_by_compass, compass)
        inputs[compass] = "is the compass"
    model_files.check_outputs(output, vectors, binary, inputs)
    formats.check_model_name(output)
    with phase("loading gensim", progress):
        model_class()  # first, because it suspends garbage collection
        with contextlib.nullcontext() if verbose else _printing(TABLES, context.command):
            options |= corpus_arguments(corpus, column, doc2vec, recursive, **dialect)
        of_lines = column is None and "sentences" in options
        if max_vocab_size is not None and (is_stream(corpus) or doc2vec and of_lines):
            raise BadInput(
                f"{corpus}: --max-vocab-size reads the corpus twice, which is impossible here; "
                "write the text to a file, uncompressed"
            )
        set_log(options)
        if early_stopping is not None:
            from gensim_tfw2v import EarlyStopping

            waits = 2 if patience is None else patience
            options["callbacks"] = [EarlyStopping(early_stopping, patience=waits)]
    saved: list[Path] = []
    try:
        with contextlib.nullcontext() if verbose else _printing(SESSION, context.command):
            model, seconds = train_model(make, **options)
        for path in model_files.save_model(model, output, vectors, binary, progress):
            saved.append(path)
    except (KeyboardInterrupt, common.Terminated) as error:
        kept = f"saved {', '.join(map(str, saved))} only" if saved else "nothing was saved"
        common.fail_stopped(error, f"; {kept}{_resumable(checkpoint_dir)}")
    print_training(model, seconds, saved)
    for word in {*(log_words or ())} - model.wv.key_to_index.keys():
        print(f"tfw2v: --log-words: {quoted(word)} is not in the vocabulary", file=sys.stderr)


def _resumable(checkpoint_dir: Path | None) -> str:
    """Return the advice to resume from a checkpoint, if one outlives this command."""
    from gensim_tfw2v.files.temporary import is_temporary
    from gensim_tfw2v.training.checkpoints import has_checkpoint

    if checkpoint_dir is None or is_temporary(checkpoint_dir) or not has_checkpoint(checkpoint_dir):
        return ""
    return f"; {checkpoint_dir} has a checkpoint: the same command resumes from it"


@contextlib.contextmanager
def _printing(name: str, command: Any) -> Iterator[None]:
    """Print the log of a module on stderr, as --verbose does anyway."""

    class Formatter(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return common.naming_options(f"tfw2v: {record.getMessage()}", command)

    logger = logging.getLogger(name)
    handler = logging.StreamHandler()
    before = logger.level
    handler.setFormatter(Formatter())
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def demo(
    out: Annotated[Path | None, option("Where to save the model.")] = None,
    cluster: Annotated[
        str, option("Cluster to train on; 'none' trains in this process.")
    ] = "local:ps=2,worker=2",
    log_dir: Annotated[Path | None, option("Write TensorBoard logs to this folder.")] = None,
    epochs: Annotated[int, option("Passes over the corpus.", min=1)] = 30,
    verbose: Verbose = False,
) -> None:
    """Train skip-gram vectors on a local cluster, and print the neighbours of some words.

    The corpus is 300 Australian news texts of 2001 (60,000 words) that come with gensim.
    """
    if out is not None:
        model_files.check_can_save(out)
        formats.check_model_name(out)
    on = None if cluster == "none" else cluster
    if on is not None:
        from gensim_tfw2v.cluster.spec import parse_cluster

        parse_cluster(on)
    if log_dir is not None:
        check_folder("log_dir", log_dir)
    where = "in this process" if on is None else f"on {on}"
    print(f"Training skip-gram vectors on 300 news texts of 2001, {where} ...", flush=True)
    with phase("loading gensim", None):
        from gensim.test.utils import datapath
        from gensim.utils import simple_preprocess

        model_class()
    with open(datapath("lee_background.cor"), encoding="utf-8") as texts:
        sentences = [simple_preprocess(text) for text in texts]
    model, seconds = train_model(
        new_model, sentences=sentences, sg=1, epochs=epochs, cluster=on, log_dir=log_dir
    )
    saved = [] if out is None else model_files.save_atomically(out, model.save)
    print_training(model, seconds, saved)
    if log_dir is not None:
        print_rows([("look", f"tfw2v tensorboard {shlex.quote(str(log_dir))}")])
    common.print_neighbours({word: model.wv.most_similar(word, topn=5) for word in PROBES})


def set_log(options: dict[str, Any]) -> None:
    """Replace the options for TensorBoard by a `TensorBoardLog`, if there is a folder."""
    logged = {LOGGED[name]: options.pop(name) for name in LOGGED.keys() & options}
    if "log_dir" not in options:
        if logged:
            raise BadInput("options for TensorBoard logs need a folder: give --log-dir")
        return

    from gensim_tfw2v.evaluation import NAMED_SETS, EvaluationFileError
    from gensim_tfw2v.monitor.tensorboard_log import TensorBoardLog

    try:
        options["log_dir"] = TensorBoardLog(options["log_dir"], **logged)
    except (EvaluationFileError, OSError) as error:
        sets = isinstance(error, FileNotFoundError) * f"; give {', '.join(NAMED_SETS)} or a file"
        raise BadInput(f"--log-pairs: {one_line(error)}{sets}") from error


def model_class(fasttext: bool = False, doc2vec: bool = False) -> type[TFWord2Vec]:
    """Return the class of model that these options select."""
    from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec

    return TFFastText if fasttext else TFDoc2Vec if doc2vec else TFWord2Vec


def new_model(fasttext: bool = False, doc2vec: bool = False, **arguments: Any) -> TFWord2Vec:
    """Make a new model and train it."""
    if doc2vec:
        arguments["documents"] = arguments.pop("sentences", None)
    return model_class(fasttext, doc2vec)(**arguments)


def train_model(make: Callable[..., TFWord2Vec], **arguments: Any) -> tuple[TFWord2Vec, float]:
    """Call a function that makes a model and trains it; return the model and the seconds."""
    start = time.perf_counter()
    try:
        model = make(**arguments)
    except RuntimeError as error:
        if "build vocabulary" not in str(error) and "none of the corpus" not in str(error):
            raise
        raise BadInput(
            "the corpus contains no word that is frequent enough; lower --min-count, or use a "
            "larger corpus"
        ) from error
    return model, time.perf_counter() - start


def print_training(model: TFWord2Vec, seconds: float, saved: Iterable[Path] = ()) -> None:
    """Print the results of a training that took `seconds`, a line each.

    Speed is raw words of the corpus, before subsampling and including rare words, per second inside
    ``train()``; words from before a checkpoint are not counted.
    """
    epochs = len(model.history) or model.epochs
    words = model.corpus_total_words * epochs
    before = model._restored_words
    best = None
    loss = None
    if model.history:
        best = f"epoch {(model.best_epoch or 0) + 1}: {model.best_score:.4f}"
    if model.compute_loss:
        loss = f"{model.mean_losses[-1]:.4f} nats per prediction in the last epoch"
    speed = (words - before) / max(model.total_train_time, 1e-9)
    rows: list[tuple[str, object]] = [
        ("vocabulary", f"{len(model.wv):,} words x {model.vector_size} dimensions"),
        ("documents", f"{len(model.dv):,}" if model.has_documents else None),
        ("corpus", f"{model.corpus_total_words:,} words, {epochs} epochs"),
        ("speed", f"{speed:,.0f} words/s" if words > before else None),
        ("time", f"{seconds:.1f} s, {model.total_train_time:.3g} s of it training"),
        ("best", best),
        ("resumed", f"{before:,} of {words:,} words had been trained before" if before else None),
        ("loss", loss),
    ]
    if model.traffic is not None and model.cluster is not None:
        rows += model.traffic.rows()
    rows.append(("merged", model.merge_report))
    print_rows(rows, saved)
