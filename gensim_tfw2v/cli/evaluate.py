"""Command ``tfw2v evaluate``, which scores models by word pairs, analogies and a text."""

from __future__ import annotations

import shlex
from json import dumps
from pathlib import Path
from typing import Annotated, Any

import typer

from gensim_tfw2v.cli import dialect_options
from gensim_tfw2v.cli.common import BadInput, Encoding, Json, Verbose, option, print_table
from gensim_tfw2v.cli.corpus_argument import corpus_arguments, is_stream
from gensim_tfw2v.cli.model_files import (
    UTF8,
    has_integers,
    is_model,
    load_saved,
    trained_vectors,
    wrong_kind_error,
)
from gensim_tfw2v.files.temporary import check_folder
from gensim_tfw2v.messages import quoted, require
from gensim_tfw2v.monitor.progress import phase

#: Accuracies on analogies: attributes of `AnalogyScore`, and headings of the printed table.
ACCURACIES = ("total", "semantic", "syntactic")


def evaluate(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL... [FILE...]",
            help="Models or vectors saved by gensim (files you trust: loading one can run code), "
            "or word2vec's text or binary format; then your own evaluation files, word pairs with "
            "ratings or analogies. Formats are detected automatically.",
        ),
    ],
    encoding: Encoding = UTF8,
    standard: Annotated[
        bool, option("Evaluate on WS353, SimLex-999 and the word2vec analogies.")
    ] = True,
    text: Annotated[
        Path | None,
        option(
            "Print the held-out loss, in nats per prediction, on this text that the model was not "
            "trained on, one sentence per line; - reads standard input. Needs a full model.",
            allow_dash=True,
        ),
    ] = None,
    column: Annotated[
        str | None, option("Column of --text, if it is a table, as for tfw2v train.")
    ] = None,
    sep: dialect_options.Sep = None,
    quotechar: dialect_options.Quotechar = '"',
    escapechar: dialect_options.Escapechar = None,
    header: dialect_options.Header = True,
    newlines: dialect_options.Newlines = False,
    table_encoding: dialect_options.TableEncoding = None,
    lists: dialect_options.Lists = None,
    recursive: Annotated[
        bool, option("Read the files in subfolders of --text, too.", "--recursive")
    ] = False,
    log_dir: Annotated[
        Path | None,
        option(
            "TensorBoard log folder: the scores are added to it as a run, for comparison with "
            "trainings."
        ),
    ] = None,
    run: Annotated[str | None, option("Name of that run; by default the model's.")] = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Evaluate vectors on word similarity and analogies, and models on your own text.

    Word similarity is the rank correlation with human ratings (1 is best). Analogies are scored
    twice: on the questions whose words are all among the 30,000 most frequent ones, as in gensim,
    and on all questions, where an unknown word makes the answer wrong. Several models are compared
    in one table. To a file or pipe, tables are printed as tab-separated values.
    """
    model_paths = [path for path in dict.fromkeys(paths) if path == paths[0] or is_model(path)]
    if run is not None and (log_dir is None or len(model_paths) > 1):
        raise BadInput("--run names the TensorBoard run of a single MODEL, and needs --log-dir")
    if text is None and (column is not None or recursive):
        raise BadInput("--column and --recursive describe a text: give --text")
    dialect = dialect_options.dialect_arguments(locals())
    if column is None and dialect:
        raise BadInput("options of tables need the name of a column: give --column")
    if text is not None and len(model_paths) > 1 and is_stream(text):
        raise BadInput(f"{text}: is needed once per model; write the text to a file")
    if run is not None and (not run or Path(run).is_absolute() or ".." in Path(run).parts):
        raise BadInput(f"--run is {quoted(run)}: give a name, or a path inside the --log-dir")
    if log_dir is not None:
        require("--log-dir", "tensorboard")
        check_folder("log_dir", log_dir)
        runs = {path: log_dir / (run or path.stem) for path in model_paths}
        if len(set(runs.values())) < len(runs):
            raise BadInput("models of the same name would share a run; evaluate them one by one")

        from gensim_tfw2v.monitor.evaluation_run import check_run, write_baseline
        from gensim_tfw2v.monitor.events import do_without_tensorflow

        for folder in runs.values():
            check_run(folder)
    files = [path for path in paths if path not in model_paths]
    results: dict[str, dict[str, Any]] = {}
    corpus = {}
    if text is not None:
        command = f"tfw2v evaluate {shlex.quote(str(model_paths[0]))} --text"
        corpus = corpus_arguments(text, column, recursive=recursive, command=command, **dialect)
    for path in model_paths:
        saved = load_saved(path, encoding)
        vectors = trained_vectors(saved, path)

        from gensim_tfw2v.evaluation import summary

        loss = None if text is None else _held_out_loss(saved, path, corpus)
        with phase("comparing with word pairs and analogies", None):
            result = summary(vectors, files, standard=standard)
        if loss is not None:
            result["held_out_loss"] = loss
        if log_dir is not None:
            from gensim_tfw2v.options.hyperparameters import hyperparameters

            options = None
            if hasattr(saved, "wv"):  # only full models have options
                options = hyperparameters(saved, saved.corpus_total_words)
            do_without_tensorflow()
            write_baseline(runs[path], result, options)
        results[str(path)] = result
    if json:
        typer.echo(dumps(results if len(model_paths) > 1 else result, indent=2, allow_nan=False))
        return
    if len(model_paths) > 1:
        rows = [{"model": name} | _scores_row(result) for name, result in results.items()]
        print_table(list(rows[0]), [list(row.values()) for row in rows])
        return
    print(f"{model_paths[0]}: {result['words']:,} words x {result['vector_size']} dimensions")
    if text is not None:
        print(
            f"{text}: held-out loss {result['held_out_loss']:.4f} nats per prediction (lower is "
            "better; compare only models with the same vocabulary and options)"
        )
    _print_scores(result)


def _print_scores(result: dict[str, Any]) -> None:
    """Print all scores of one model: a table of word pairs, and a table of analogies."""
    rows = []
    for file, score in result["pairs"].items():
        rows.append(
            [
                Path(file).name,
                _format_score(score["spearman"], 3),
                _format_score(score["pearson"], 3),
                f"{score['used']:,} of {score['pairs']:,}",
                f"{score['oov_ratio']:.1%}",
            ]
        )
    if rows:
        print_table(["word similarity", "Spearman", "Pearson", "pairs", "unknown"], rows)
    rows = []
    for file, metrics in result["analogies"].items():
        for metric, score in metrics.items():
            questions = "known" if metric == "gensim" else metric
            accuracies = [f"{score[name]:.1%}" for name in ACCURACIES]
            rows.append([Path(file).name, questions, *accuracies, f"{score['counted']:,}"])
    if rows:
        print_table(["analogies solved", "questions", *ACCURACIES, "number"], rows)


def _scores_row(result: dict[str, Any]) -> dict[str, str]:
    """Return a model's row in the table of several models: its size, and all scores."""
    scores = {name: score["spearman"] for name, score in result["pairs"].items()}
    for name, metrics in result["analogies"].items():
        scores[name] = metrics["gensim"]["total"]
        scores[f"{name} (all)"] = metrics["all"]["total"]
    if "held_out_loss" in result:
        scores["held_out_loss"] = result["held_out_loss"]
    row = {name: str(result[name]) for name in ("words", "vector_size")}
    return row | {name: _format_score(score, 4) for name, score in scores.items()}


def _format_score(score: float | None, digits: int) -> str:
    """Return a score with `digits` decimals as text; "-" for an undefined score (None)."""
    return "-" if score is None else f"{score:.{digits}f}"


def _held_out_loss(saved: Any, path: Path, corpus: dict[str, Any]) -> float:
    """Return the mean loss of a full model's predictions on a text."""
    from gensim_tfw2v import TFFastText, TFWord2Vec

    TFFastText.take_over(saved)
    # A Doc2Vec model predicts from documents' vectors too, and has none for the text's lines.
    if not isinstance(saved, TFWord2Vec) or saved.has_documents:
        raise wrong_kind_error(saved, path, "--text needs a full model of Word2Vec or FastText")
    sentences, corpus_file = corpus.get("sentences"), corpus.get("corpus_file")
    if has_integers(saved.wv):
        from gensim.models.word2vec import LineSentence

        from gensim_tfw2v.typed_words import TypedSentences

        sentences = TypedSentences(sentences or LineSentence(corpus_file), saved.wv)
        corpus_file = None
    return saved.held_out_loss(sentences, corpus_file)
