"""``tfw2v evaluate``: how good vectors are; ``tfw2v neighbours``: the words nearest to a word."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from functools import partial
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Column, Table

from gensim_tfw2v.cli.common import BadInput, Encoding, Model, Verbose, option, print_neighbours
from gensim_tfw2v.cli.model_files import UTF8, load_saved, load_vectors
from gensim_tfw2v.cli.train import corpus_arguments
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.monitor.progress import phase

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

SPELLINGS_SEARCHED = 50_000  # comparing spellings takes some 10 microseconds a word

_right = partial(Column, justify="right")


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
            help="Your own evaluation files, word pairs with ratings or analogies; the format is "
            "detected automatically.",
        ),
    ] = None,
    encoding: Encoding = UTF8,
    standard: Annotated[
        bool, option("Evaluate on WS353, SimLex-999 and the word2vec analogies.")
    ] = True,
    text: Annotated[
        Path | None,
        option(
            "Text that the model was not trained on, a sentence a line; - reads standard "
            "input: print the mean loss of a prediction, in nats. Needs a whole model."
        ),
    ] = None,
    log_dir: Annotated[
        Path | None,
        option(
            "Folder that TensorBoard is shown: the scores become a run in it, beside those "
            "of trainings."
        ),
    ] = None,
    run: Annotated[str | None, option("Name of that run; by default the model's.")] = None,
    json: Annotated[bool, option("Print JSON instead of tables.", "--json")] = False,
    verbose: Verbose = False,
) -> None:
    """Evaluate vectors on word similarity and analogies, and models on a text of your own.

    Word similarity is the rank correlation with human ratings (1 is best). Analogies are scored
    twice: on the questions whose words are all among the 30,000 most frequent ones, as in gensim,
    and on all questions, where an unknown word makes the answer wrong.
    """
    if run is not None and log_dir is None:
        raise BadInput("--run names a run for TensorBoard; give --log-dir too")
    if log_dir is not None:
        from gensim_tfw2v.monitor.events import do_without_tensorflow
        from gensim_tfw2v.monitor.run import check_run, write_baseline

        log_dir /= run or model.stem
        try:
            check_run(log_dir)
        except ValueError as error:
            raise BadInput(f"{error} (--run)") from error
    saved = load_saved(model, encoding)

    from gensim_tfw2v.evaluation import summary

    loss = None if text is None else _held_out_loss(saved, model, text)
    with phase("comparing with word pairs and analogies", None):
        result = summary(getattr(saved, "wv", saved), files or (), standard=standard)
    if loss is not None:
        result["held_out_loss"] = loss
    if log_dir is not None:
        do_without_tensorflow()
        write_baseline(log_dir, saved, result)
    if json:
        typer.echo(dumps(result, indent=2, allow_nan=False))
        return
    console = Console(highlight=False)
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


def _held_out_loss(saved: Any, path: Path, text: Path) -> float:
    corpus = corpus_arguments(text)
    with phase("loading gensim", None):
        from gensim_tfw2v import TFFastText, TFWord2Vec
    for ours in (TFWord2Vec, TFFastText):
        ours.take_over(saved)
    if not isinstance(saved, TFWord2Vec):
        raise BadInput(
            f"{path}: holds a {type(saved).__name__}; how badly a text is predicted is told by a "
            "whole model of Word2Vec or FastText"
        )
    return saved.held_out_loss(corpus.get("sentences"), corpus.get("corpus_file"))


def _pairs_table(results: dict[str, dict[str, Any]]) -> Table:
    headings = map(_right, ("Spearman", "Pearson", "pairs", "unknown"))
    table = Table("set", *headings, title="Word similarity", title_justify="left")
    for name, score in results.items():
        both = (score["spearman"], score["pearson"])
        correlations = ("-" if value is None else f"{value:.3f}" for value in both)
        pairs = f"{score['used']:,} of {score['pairs']:,}"
        table.add_row(Path(name).name, *correlations, pairs, f"{score['oov_ratio']:.1%}")
    return table


def _analogies_table(results: dict[str, dict[str, Any]]) -> Table:
    kinds = ("total", "semantic", "syntactic")
    table = Table(
        "set",
        "questions",
        *map(_right, (*kinds, "number")),
        title="Analogies answered right",
        title_justify="left",
        caption="known: all four words are among the 30,000 most frequent ones, as gensim counts; "
        "all: questions with unknown words are wrong",
        caption_justify="left",
    )
    for name, metrics in results.items():
        for metric, score in metrics.items():
            accuracies = (f"{score[kind]:.1%}" for kind in kinds)
            questions = "known" if metric == "gensim" else metric
            table.add_row(Path(name).name, questions, *accuracies, f"{score['counted']:,}")
    return table


def neighbours(
    model: Model,
    words: Annotated[list[str], typer.Argument(metavar="WORD...", help="Words to look up.")],
    number: Annotated[int, option("Neighbours per word.", "-n", "--number", min=1)] = 10,
    minus: Annotated[
        list[str] | None,
        option("A word to subtract; all words then make one query (king woman --minus man)."),
    ] = None,
    encoding: Encoding = UTF8,
    verbose: Verbose = False,
) -> None:
    """Print the nearest neighbours of each WORD by cosine similarity.

    Unknown words are reported with similar spellings. If no word is known, the exit status is 2.
    """
    vectors = load_vectors(model, encoding)
    unknown = [word for word in [*words, *(minus or ())] if word not in vectors]
    messages = [
        f"{quoted(word)} is not in the vocabulary{_hint(word, vectors)}" for word in unknown
    ]
    known = [word for word in words if word in vectors]
    if not known or (minus and unknown):
        raise BadInput("; ".join(messages))
    for message in messages:
        print(f"tfw2v: {message}", file=sys.stderr)
    if minus:
        nearest = vectors.most_similar(positive=known, negative=minus, topn=number)
        print_neighbours({f"{' + '.join(known)} - {' - '.join(minus)}": nearest})
    else:
        print_neighbours({word: vectors.most_similar(word, topn=number) for word in known})


def _hint(word: str, vectors: KeyedVectors) -> str:
    spelled: dict[str, str] = {}
    for candidate in vectors.index_to_key[:SPELLINGS_SEARCHED]:
        spelled.setdefault(candidate.casefold(), candidate)
    close = get_close_matches(word.casefold(), spelled, n=3)
    return f" (close: {', '.join(spelled[match] for match in close)})" if close else ""
