"""``tfw2v evaluate``: how good the vectors of a file are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gensim_tfw2v.cli.failures import BadInput, Verbose

if TYPE_CHECKING:
    from rich.table import Table


def evaluate(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="Model or vectors saved by gensim (files you trust: loading one can run code), "
            "or word2vec's text or binary form.",
        ),
    ],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Files of one's own: rated word pairs, or analogies (told by the content).",
        ),
    ] = None,
    standard: Annotated[
        bool, typer.Option(help="Evaluate on WS353, SimLex-999 and the word2vec analogies.")
    ] = True,
    text: Annotated[
        Path | None,
        typer.Option(
            help="Text that the model was not trained on, a sentence a line; - reads standard "
            "input: print the mean loss of a prediction, in nats. Needs a whole model."
        ),
    ] = None,
    log_dir: Annotated[
        Path | None,
        typer.Option(
            help="Folder that TensorBoard is shown: the scores become a run in it, beside those "
            "of trainings."
        ),
    ] = None,
    run: Annotated[
        str | None, typer.Option(help="Name of that run; by default the model's.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    verbose: Verbose = False,
) -> None:
    """Evaluate vectors on word similarity and analogies, and models on a text of your own.

    Word similarity: how well the vectors order pairs of words as people did (1 is best). Analogies:
    the share answered right, twice: of the questions whose words are all among the 30,000 most
    frequent ones, as gensim counts; and of all, where an unknown word makes the answer wrong.
    """
    if run is not None and log_dir is None:
        raise BadInput("--run names a run for TensorBoard; give --log-dir too")

    if log_dir is not None:
        _check_run(log_dir := log_dir / (run or model.stem))

    from rich.console import Console

    from gensim_tfw2v.cli.model_files import load_saved
    from gensim_tfw2v.monitor.progress import phase

    saved = load_saved(model)

    from gensim_tfw2v.evaluation import summary

    loss = None if text is None else _held_out_loss(saved, model, text)
    with phase("comparing with word pairs and analogies", None):
        result = summary(getattr(saved, "wv", saved), files or (), standard=standard)
    if loss is not None:
        result["held_out_loss"] = loss
    if log_dir is not None:
        from gensim_tfw2v.monitor.events import do_without_tensorflow
        from gensim_tfw2v.monitor.run import write_baseline

        do_without_tensorflow()
        write_baseline(log_dir, saved, result)
    console = Console(highlight=False)
    if json:
        from json import dumps

        typer.echo(dumps(result, indent=2, ensure_ascii=False, allow_nan=False))
        return
    console.print(f"{model}: {result['words']:,} words x {result['vector_size']} dimensions")
    if loss is not None:
        console.print(
            f"{text}: a prediction costs {loss:.4f} nats (less is better, of models with the same "
            "vocabulary and options)",
            soft_wrap=True,
        )
    if result["pairs"]:
        console.print(_pairs_table(result["pairs"]))
    if result["analogies"]:
        console.print(_analogies_table(result["analogies"]))


def _check_run(folder: Path) -> None:
    """Refuse the run of a training before anything takes its time."""
    from gensim_tfw2v.monitor.run import check_run

    try:
        check_run(folder)
    except ValueError as error:
        raise BadInput(f"{error} (--run)") from error


def _held_out_loss(saved: Any, path: Path, text: Path) -> float:
    from gensim.models import Word2Vec

    from gensim_tfw2v.cli.corpus import corpus_arguments
    from gensim_tfw2v.monitor.progress import phase

    corpus = corpus_arguments(text)
    with phase("loading gensim", None):
        from gensim_tfw2v import TFWord2Vec
    if type(saved) is Word2Vec:
        saved.__class__ = TFWord2Vec  # as TFWord2Vec.load does
    if not isinstance(saved, TFWord2Vec):
        raise BadInput(
            f"{path}: holds a {type(saved).__name__}; how badly a text is predicted is told by a "
            "whole Word2Vec model"
        )
    return saved.held_out_loss(corpus.get("sentences"), corpus.get("corpus_file"))


def _pairs_table(results: dict[str, dict[str, Any]]) -> Table:
    table = _table("Word similarity", "set", "Spearman", "Pearson", "pairs", "unknown")
    for name, score in results.items():
        correlations = ("-" if score[kind] is None else f"{score[kind]:.3f}"
                        for kind in ("spearman", "pearson"))  # fmt: skip
        pairs = f"{score['used']:,} of {score['pairs']:,}"
        table.add_row(Path(name).name, *correlations, pairs, f"{score['oov_ratio']:.1%}")
    return table


def _analogies_table(results: dict[str, dict[str, Any]]) -> Table:
    table = _table(
        "Analogies answered right", "set", "questions", "total", "semantic", "syntactic", "number"
    )
    table.caption = (
        "known: all four words are among the 30,000 most frequent ones, as gensim counts; "
        "all: questions with unknown words are wrong"
    )
    table.caption_justify = "left"
    for name, metrics in results.items():
        for metric, score in metrics.items():
            accuracies = (f"{score[kind]:.1%}" for kind in ("total", "semantic", "syntactic"))
            questions = "known" if metric == "gensim" else metric
            table.add_row(Path(name).name, questions, *accuracies, f"{score['counted']:,}")
    return table


def _table(title: str, first: str, *columns: str) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    table.add_column(first)
    for column in columns:
        table.add_column(column, justify="left" if column == "questions" else "right")
    return table
