"""Command ``tfw2v train``, which trains a model on a corpus."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gensim_tfw2v.cli import (
    common,
    dialect_options,
    formats,
    model_files,
    model_training,
    walk_options,
)
from gensim_tfw2v.cli.align import train_by_compass
from gensim_tfw2v.cli.common import BadInput, Verbose, find_user_options, one_line, option
from gensim_tfw2v.cli.continuing import continue_training
from gensim_tfw2v.cli.corpus_argument import corpus_arguments, is_stream
from gensim_tfw2v.cli.training_options import (
    COMMAND_OPTIONS,
    check_combination,
    check_objective,
)
from gensim_tfw2v.cli.walk_options import WALK_OPTIONS
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.monitor.progress import phase

if TYPE_CHECKING:
    from gensim_tfw2v import TFWord2Vec

#: Parameters of `train` for TensorBoard, with their names in `TensorBoardLog`.
LOG_OPTIONS = {
    "log_pairs": "word_pairs",
    "log_words": "probe_words",
    "projector_words": "projector_words",
    "projector_each_epoch": "projector_each_epoch",
}

#: Default of --patience.
DEFAULT_PATIENCE = 2

# Functions that declare an option in one of the panels of --help.
_model_option = partial(option, rich_help_panel="Model")
_fasttext_option = partial(option, rich_help_panel="FastText")
_doc2vec_option = partial(option, rich_help_panel="Doc2Vec")
_vocabulary_option = partial(option, rich_help_panel="Vocabulary")
_run_option = partial(option, rich_help_panel="Running")
_log_option = partial(option, rich_help_panel="TensorBoard")


# The defaults below are gensim's; a test compares them.
def train(
    context: typer.Context,
    corpus: Annotated[
        Path,
        typer.Argument(
            metavar="CORPUS",
            help="Text file with one sentence per line, plain or compressed, or a folder of such "
            "files; - reads standard input. With --column, a table or a folder of tables. With "
            "--walks, a list or table of edges.",
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
    walks: Annotated[
        bool,
        option(
            "Train on random walks on a graph: CORPUS is a list of edges, two names per line, or a "
            "table of edges (Parquet, Arrow, ORC, CSV). --seed is also the seed of the walks, "
            "--min-count is 1 by default.",
            "--walks",
            rich_help_panel="Walks",
        ),
    ] = False,
    num_walks: walk_options.NumWalks = 10,
    walk_length: walk_options.WalkLength = 80,
    p: walk_options.P = 1,
    q: walk_options.Q = 1,
    weight: Annotated[
        str | None,
        option(
            "Column of weights: with --walks, as in tfw2v walks. With --column, a row of weight "
            "2.5 is trained twice per epoch, and a third time with probability 0.5.",
        ),
    ] = None,
    directed: walk_options.Directed = False,
    restart: walk_options.Restart = 0,
    start_nodes: walk_options.StartNodes = None,
    extend: walk_options.Extend = False,
    fixed: walk_options.Fixed = False,
    node_types: walk_options.NodeTypes = None,
    relation: walk_options.Relation = None,
    metapath: walk_options.Metapath = None,
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
    vector_size: Annotated[int, _model_option("Dimensions of the vectors.", min=1)] = 100,
    window: Annotated[
        int, _model_option("Maximum distance between a word and its context.", min=1)
    ] = 5,
    sg: Annotated[
        bool, _model_option("Skip-gram, or continuous bag of words.", "--sg/--cbow")
    ] = False,
    negative: Annotated[
        int, _model_option("Negative samples per prediction; 0: none (needs --hs).", min=0)
    ] = 5,
    ns_exponent: Annotated[
        float,
        _model_option("Negatives are drawn in proportion to word counts raised to this power."),
    ] = 0.75,
    hs: Annotated[
        bool,
        _model_option(
            "Hierarchical softmax, in addition to negative sampling unless --negative 0."
        ),
    ] = False,
    cbow_mean: Annotated[
        bool, _model_option("Average the context in CBOW, or sum it.", "--cbow-mean/--cbow-sum")
    ] = True,
    corrected_cbow: Annotated[
        bool,
        _model_option("CBOW with the exact gradient of the loss, unlike gensim; raise --alpha."),
    ] = False,
    deterministic: Annotated[
        bool,
        _model_option(
            "Bit-identical results with any number of --workers, or of a cluster's tasks."
        ),
    ] = False,
    shrink_windows: Annotated[
        bool,
        _model_option("Draw the size of each window from 1 to --window, or always use --window."),
    ] = True,
    sample: Annotated[
        float,
        _model_option(
            "Randomly drop words whose relative frequency is above this threshold; 0: keep all.",
            min=0,
        ),
    ] = 1e-3,
    alpha: Annotated[float, _model_option("Learning rate at the start.", min=0)] = 0.025,
    min_alpha: Annotated[float, _model_option("Learning rate at the end.", min=0)] = 0.0001,
    epochs: Annotated[int, _model_option("Passes over the corpus; 10 with --doc2vec.", min=1)] = 5,
    seed: Annotated[int, _model_option("Seed of the random numbers.", min=0, max=2**32 - 1)] = 1,
    fasttext: Annotated[
        bool,
        _fasttext_option(
            "FastText: also train vectors of character n-grams, which give unknown words a vector.",
            "--fasttext",
        ),
    ] = False,
    min_n: Annotated[int | None, _fasttext_option("Shortest n-gram (3).", min=1)] = None,
    max_n: Annotated[
        int | None, _fasttext_option("Longest n-gram (6); if below --min-n, none are used.", min=0)
    ] = None,
    bucket: Annotated[
        int | None, _fasttext_option("Rows that n-grams are hashed into (2000000).", min=1)
    ] = None,
    doc2vec: Annotated[
        bool, _doc2vec_option("Also train a vector for each line.", "--doc2vec")
    ] = False,
    dm: Annotated[
        bool | None,
        _doc2vec_option("Distributed memory, or distributed bag of words.", "--dm/--dbow"),
    ] = None,
    dbow_words: Annotated[
        bool, _doc2vec_option("With --dbow, train words too.", "--dbow-words")
    ] = False,
    min_count: Annotated[
        int,
        _vocabulary_option("Drop words that occur less often than this; 1 with --walks.", min=0),
    ] = 5,
    max_vocab_size: Annotated[
        int | None,
        _vocabulary_option(
            "While counting, drop rare words if there are more distinct words than this.", min=1
        ),
    ] = None,
    max_final_vocab: Annotated[
        int | None, _vocabulary_option("Keep about this many of the most frequent words.", min=1)
    ] = None,
    sorted_vocab: Annotated[
        bool, _vocabulary_option("Order the vocabulary by descending frequency.")
    ] = True,
    workers: Annotated[int, _run_option("Number of training threads.", min=1)] = 3,
    batch_words: Annotated[
        int, _run_option("gensim's batch size; it affects only the final learning rate.", min=1)
    ] = 10_000,
    compute_loss: Annotated[
        bool,
        _run_option("Compute the loss of all predictions and print its mean.", "--compute-loss"),
    ] = False,
    early_stopping: Annotated[
        str | None,
        _run_option(
            "Stop when this score no longer improves, and keep the best epoch: ws353, simlex999, "
            "questions-words, a file of word pairs or analogies, or loss."
        ),
    ] = None,
    patience: Annotated[
        int | None,
        _run_option("Epochs without improvement that --early-stopping allows (2).", min=0),
    ] = None,
    encoded_dir: Annotated[
        Path | None, _run_option("Folder for the temporary encoded corpus.")
    ] = None,
    tables_dir: Annotated[
        Path | None,
        _run_option(
            "Keep the model's tables in memory-mapped files in this folder, if they exceed memory."
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        _run_option(
            "Train on a cluster: local:ps=P,worker=N starts one on this machine, TF_CONFIG "
            "uses the one that this environment variable describes."
        ),
    ] = None,
    hosts: common.Hosts = None,
    regime: Annotated[
        str | None,
        _run_option(
            "Distributed training strategy: asynchronous (clusters' default), synchronous, "
            "downpour, sandblaster, submodels; with options as in downpour:n_fetch=8,n_push=8."
        ),
    ] = None,
    layout: Annotated[
        str | None,
        _run_option(
            "Distribution of vectors over a cluster's ps tasks: rows, or columns, for long vectors."
        ),
    ] = None,
    wire: Annotated[
        str | None,
        _run_option("Type in which a cluster sends rows: int8 (default), bfloat16 or float32."),
    ] = None,
    checkpoint_dir: Annotated[
        Path | None,
        _run_option("Write checkpoints to this folder, and resume from the latest one in it."),
    ] = None,
    checkpoint_minutes: Annotated[
        float | None,
        _run_option(
            "Minutes between checkpoints (10), which are also written after each epoch.", min=0.01
        ),
    ] = None,
    log_dir: Annotated[
        Path | None,
        _log_option(
            "Write TensorBoard logs to this folder; use a separate one per training run.",
            envvar="TFW2V_LOG_DIR",
        ),
    ] = None,
    log_pairs: Annotated[
        list[str] | None,
        _log_option(
            "After each epoch, compare the vectors with a file of word pairs and ratings, or "
            "with ws353 or simlex999. May be repeated."
        ),
    ] = None,
    log_words: Annotated[
        list[str] | None,
        _log_option("Log this word's neighbours after each epoch. May be repeated."),
    ] = None,
    projector_words: Annotated[
        int | None, _log_option("Number of words in the projector (10000); 0: no projector.", min=0)
    ] = None,
    projector_each_epoch: Annotated[
        bool, _log_option("Update the projector after each epoch.", "--projector-each-epoch")
    ] = False,
    progress: Annotated[
        bool | None,
        _run_option("Show progress (by default only on a terminal).", "--progress/--no-progress"),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Train vectors on CORPUS and save the model.

    The model is saved when training has finished. Nothing is saved after Ctrl-C, but with
    --checkpoint-dir, the same command resumes.
    """
    options = find_user_options(context)
    check_combination(options)
    if "hs" in options or (init is None and compass is None):  # otherwise hs is the model's
        check_objective(hs, negative)
    dialect = dialect_options.dialect_arguments(options)
    walk_arguments = {name: options[name] for name in WALK_OPTIONS & options.keys()}
    for name in COMMAND_OPTIONS & options.keys():
        del options[name]
    if hosts is not None:
        from gensim_tfw2v.cluster.descriptions import read_hosts

        options["cluster"] = read_hosts(hosts)
    inputs = {corpus: "is the corpus"}
    make: Callable[..., TFWord2Vec] = model_training.new_model
    if init is not None:
        make = partial(continue_training, init)
        inputs[init] = "is the model to continue"
    if compass is not None:
        make = partial(train_by_compass, compass)
        inputs[compass] = "is the compass"
    if start_nodes is not None:
        inputs[start_nodes] = "has the names of --start-nodes"
    if node_types is not None:
        inputs[node_types] = "has the types of --node-types"
    model_files.check_outputs(output, vectors, binary, inputs)
    formats.check_model_name(output)
    with phase("loading gensim", progress):
        model_training.model_class()  # imports the package with garbage collection suspended
        if not walks:
            if weight is not None:
                dialect["weight"] = weight
            options |= corpus_arguments(corpus, column, doc2vec, recursive, **dialect)
        is_line_iterator = column is None and "sentences" in options
        is_read_once = not walks and (is_stream(corpus) or (doc2vec and is_line_iterator))
        if max_vocab_size is not None and is_read_once:
            raise BadInput(
                f"{corpus}: --max-vocab-size reads the corpus twice, which is impossible here; "
                "write the text to a file, uncompressed"
            )
        replace_log_options(options)
        if early_stopping is not None:
            from gensim_tfw2v import EarlyStopping

            patience = DEFAULT_PATIENCE if patience is None else patience
            options["callbacks"] = [EarlyStopping(early_stopping, patience=patience)]
    if walks:
        options["sentences"] = walk_options.read_walks(corpus, walk_arguments, seed, progress)
        if init is None and compass is None:
            options.setdefault("min_count", walk_options.MIN_VISITS)
    saved: list[Path] = []
    try:
        model, seconds = model_training.train_model(make, **options)
        for path in model_files.save_model(model, output, vectors, binary, progress):
            saved.append(path)
    except (KeyboardInterrupt, common.Terminated) as error:
        result = "nothing was saved"
        if saved:
            result = f"saved {', '.join(str(path) for path in saved)} only"
        common.fail_stopped(error, f"; {result}{_resume_advice(checkpoint_dir)}")
    has_relations = relation is not None and metapath is None
    words = "nodes" if walks and not has_relations else "words"
    model_training.print_results(model, seconds, saved, walks, words)
    from gensim_tfw2v.typed_words import find_key

    unknown_words = [word for word in log_words or () if find_key(word, model.wv) is None]
    for word in dict.fromkeys(unknown_words):
        print(f"tfw2v: --log-words: {quoted(word)} is not in the vocabulary", file=sys.stderr)


def _resume_advice(checkpoint_dir: Path | None) -> str:
    """Return advice on resuming; "" if no checkpoint is left after this command."""
    from gensim_tfw2v.files.temporary import is_temporary
    from gensim_tfw2v.training.checkpoints import has_checkpoint

    if checkpoint_dir is None or is_temporary(checkpoint_dir) or not has_checkpoint(checkpoint_dir):
        return ""
    return f"; {checkpoint_dir} has a checkpoint: the same command resumes from it"


def replace_log_options(options: dict[str, Any]) -> None:
    """Replace the options for TensorBoard by a `TensorBoardLog` if --log-dir is set."""
    log_options = {LOG_OPTIONS[name]: options.pop(name) for name in LOG_OPTIONS.keys() & options}
    if "log_dir" not in options:
        if log_options:
            raise BadInput("options for TensorBoard logs need a folder: give --log-dir")
        return

    from gensim_tfw2v.evaluation import NAMED_SETS, EvaluationFileError
    from gensim_tfw2v.monitor.tensorboard_log import TensorBoardLog

    try:
        options["log_dir"] = TensorBoardLog(options["log_dir"], **log_options)
    except (EvaluationFileError, OSError) as error:
        message = f"--log-pairs: {one_line(error)}"
        if isinstance(error, FileNotFoundError):
            message += f"; give {', '.join(NAMED_SETS)} or a file"
        raise BadInput(message) from error
