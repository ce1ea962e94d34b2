"""Command ``tfw2v evaluate``, which scores models of words and of nodes."""

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
from gensim_tfw2v.cli.score_tables import print_scores, scores_row
from gensim_tfw2v.files.temporary import check_folder
from gensim_tfw2v.messages import quoted, require
from gensim_tfw2v.monitor.progress import phase


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
        bool | None,
        option(
            "Evaluate on WS353, SimLex-999 and the word2vec analogies; by default, unless --labels "
            "or --edges is given.",
            "--standard/--no-standard",
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        option(
            "Labels of nodes, a node and a label per line: print micro and macro F1 of classifiers "
            "that are trained on 10, 50 and 90% of the nodes."
        ),
    ] = None,
    edges: Annotated[
        Path | None,
        option(
            "Edges of a graph that the model was not trained on, a list or .csv file as for `train "
            "--walks`: print the AUC of predicting them among random pairs of nodes."
        ),
    ] = None,
    known_edges: Annotated[
        Path | None,
        option("Remaining edges of that graph, which are left out of the random pairs."),
    ] = None,
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
            "the curves of training."
        ),
    ] = None,
    run: Annotated[str | None, option("Name of that run; by default the model's.")] = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Evaluate vectors on words or on the nodes of a graph, and models on your own text.

    Word similarity is the rank correlation with human ratings (1 is best). Analogies are scored
    twice: on the questions whose words are all among the 300,000 most frequent ones, as in gensim,
    and on all questions, where an unknown word makes the answer wrong. Nodes are evaluated by their
    labels and by held-out edges, as in the paper on node2vec. Several models are compared in one
    table. To a file or pipe, tables are printed as tab-separated values.
    """
    model_paths = [path for path in dict.fromkeys(paths) if path == paths[0] or is_model(path)]
    if run is not None and (log_dir is None or len(model_paths) > 1):
        raise BadInput("--run names the TensorBoard run of a single MODEL, and needs --log-dir")
    if text is None and (column is not None or recursive):
        raise BadInput("--column and --recursive describe a text: give --text")
    if known_edges is not None and edges is None:
        raise BadInput("--known-edges belongs to the graph of held-out edges: give --edges")
    dialect = dialect_options.dialect_arguments(locals())
    if column is None and dialect:
        raise BadInput("options of tables need the name of a column: give --column")
    if text is not None and len(model_paths) > 1 and is_stream(text):
        raise BadInput(f"{text}: is needed once per model; write the text to a file")
    files = [path for path in paths if path not in model_paths]
    node_files = [path for path in (labels, edges, known_edges) if path is not None]
    for path in files if len(model_paths) == 1 else [*files, *node_files]:
        if is_stream(path):
            raise BadInput(
                f"{path}: is read several times, but is a pipe or a device; write it to a file"
            )
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
        with phase("evaluating vectors", None):
            result = summary(
                vectors,
                files,
                standard=standard,
                labels=labels,
                edges=edges,
                known_edges=known_edges,
            )
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
        rows = [{"model": name} | scores_row(result) for name, result in results.items()]
        print_table(list(rows[0]), [list(row.values()) for row in rows])
        return
    print(f"{model_paths[0]}: {result['words']:,} words x {result['vector_size']} dimensions")
    if text is not None:
        print(
            f"{text}: held-out loss {result['held_out_loss']:.4f} nats per prediction (lower is "
            "better; compare only models with the same vocabulary and options)"
        )
    print_scores(result)


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
