"""Commands that query models, such as ``evaluate``, ``neighbours`` and ``info``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gensim_tfw2v.cli import common
from gensim_tfw2v.cli.common import BadInput, Encoding, Model, Verbose, option, print_table
from gensim_tfw2v.cli.corpus_argument import corpus_arguments, is_stream
from gensim_tfw2v.cli.model_files import UTF8, is_model, load_saved, load_vectors, of_another_kind
from gensim_tfw2v.files.temporary import check_folder
from gensim_tfw2v.messages import quoted, require
from gensim_tfw2v.monitor.progress import phase

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

SPELLINGS_SEARCHED = 50_000  # comparing spellings takes some 10 microseconds per word

Json = Annotated[bool, option("Print JSON instead of text.", "--json")]

#: Kinds of analogy questions, each with its own accuracy.
KINDS = ("total", "semantic", "syntactic")


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
    models = [path for path in dict.fromkeys(paths) if path == paths[0] or is_model(path)]
    if run is not None and (log_dir is None or len(models) > 1):
        raise BadInput("--run names the TensorBoard run of a single MODEL, and needs --log-dir")
    if text is not None and len(models) > 1 and is_stream(text):
        raise BadInput(f"{text}: is needed once per model; write the text to a file")
    if run is not None and (not run or Path(run).is_absolute() or ".." in Path(run).parts):
        raise BadInput(f"--run is {quoted(run)}: give a name, or a path inside the --log-dir")
    if log_dir is not None:
        require("--log-dir", "tensorboard")
        check_folder("log_dir", log_dir)
        runs = {model: log_dir / (run or model.stem) for model in models}
        if len(set(runs.values())) < len(runs):
            raise BadInput("models of the same name would share a run; evaluate them one by one")

        from gensim_tfw2v.monitor.events import do_without_tensorflow
        from gensim_tfw2v.monitor.run import check_run, write_baseline

        for folder in runs.values():
            check_run(folder)
    files = [path for path in paths if path not in models]
    results: dict[str, dict[str, Any]] = {}
    for model in models:
        saved = load_saved(model, encoding)

        from gensim_tfw2v.evaluation import summary

        loss = {} if text is None else {"held_out_loss": _held_out_loss(saved, model, text)}
        with phase("comparing with word pairs and analogies", None):
            result = summary(getattr(saved, "wv", saved), files, standard=standard) | loss
        if log_dir is not None:
            from gensim_tfw2v.options.hyperparameters import hyperparameters

            is_whole = hasattr(saved, "wv")
            made_with = hyperparameters(saved, saved.corpus_total_words) if is_whole else None
            do_without_tensorflow()
            write_baseline(runs[model], result, made_with)
        results[str(model)] = result
    if json:
        typer.echo(dumps(results if len(models) > 1 else result, indent=2, allow_nan=False))
        return
    if len(models) > 1:
        rows = [{"model": name} | _measures(result) for name, result in results.items()]
        print_table(list(rows[0]), [list(row.values()) for row in rows])
        return
    print(f"{model}: {result['words']:,} words x {result['vector_size']} dimensions")
    if loss:
        print(
            f"{text}: held-out loss {loss['held_out_loss']:.4f} nats per prediction (lower is "
            "better; compare only models with the same vocabulary and options)"
        )
    _print_scores(result)


def _print_scores(result: dict[str, Any]) -> None:
    """Print all scores of one model: a table of word pairs, and a table of analogies."""
    rows = []
    for name, score in result["pairs"].items():
        correlations = (_rounded(score[name], 3) for name in ("spearman", "pearson"))
        used = f"{score['used']:,} of {score['pairs']:,}"
        rows.append([Path(name).name, *correlations, used, f"{score['oov_ratio']:.1%}"])
    if rows:
        print_table(["word similarity", "Spearman", "Pearson", "pairs", "unknown"], rows)
    rows = []
    for name, metrics in result["analogies"].items():
        for metric, score in metrics.items():
            asked = [Path(name).name, "known" if metric == "gensim" else metric]
            shares = (f"{score[kind]:.1%}" for kind in KINDS)
            rows.append([*asked, *shares, f"{score['counted']:,}"])
    if rows:
        print_table(["analogies solved", "questions", *KINDS, "number"], rows)


def _measures(result: dict[str, Any]) -> dict[str, str]:
    """Return a model's row in a table of several models: a score per set and metric."""
    numbers = {name: score["spearman"] for name, score in result["pairs"].items()}
    for name, metrics in result["analogies"].items():
        numbers |= {name: metrics["gensim"]["total"], f"{name} (all)": metrics["all"]["total"]}
    if "held_out_loss" in result:
        numbers["held_out_loss"] = result["held_out_loss"]
    found = {name: _rounded(value, 4) for name, value in numbers.items()}
    return {name: str(result[name]) for name in ("words", "vector_size")} | found


def _rounded(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _held_out_loss(saved: Any, path: Path, text: Path) -> float:
    from gensim_tfw2v import TFFastText, TFWord2Vec

    corpus = corpus_arguments(text)
    TFFastText.take_over(saved)
    # Doc2Vec models have no vectors for new documents
    if not isinstance(saved, TFWord2Vec) or saved.has_documents:
        raise of_another_kind(saved, path, "--text needs a full model of Word2Vec or FastText")
    return saved.held_out_loss(corpus.get("sentences"), corpus.get("corpus_file"))


def neighbours(
    model: Model,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WORD...]",
            help="Words to look up; without any, those on standard input, one per line.",
        ),
    ] = None,
    number: Annotated[int, option("Neighbours per word.", "-n", "--number", "--topn", min=1)] = 10,
    documents: common.Documents = False,
    index: Annotated[
        Path | None, option("Index of these vectors, from `tfw2v index`, for a faster search.")
    ] = None,
    minus: Annotated[
        list[str] | None,
        option("Word to subtract; all words then form one query (king woman --minus man)."),
    ] = None,
    json: Json = False,
    encoding: Encoding = UTF8,
    verbose: Verbose = False,
) -> None:
    """Print the nearest neighbours of each WORD by cosine similarity.

    Without a WORD, prompts for words on a terminal until an empty line or Ctrl-D. Prints a table on
    a terminal, and tab-separated values to a file or pipe. Unknown words are reported with similar
    spellings. If no word is known, the exit status is 2.
    """
    if both := {*(words or ())} & {*(minus or ())}:
        raise BadInput(
            f"{quoted(min(both))} is a WORD and --minus, which cancel out; leave out one"
        )
    _check_order(model, words or (), "neighbours")
    vectors = load_vectors(model, encoding, documents)
    indexer = None
    if index is not None:
        from gensim_tfw2v import NeighbourIndex

        indexer = NeighbourIndex.load(index, vectors)
    look_up = partial(_look_up, vectors, indexer)
    if words or not sys.stdin.isatty():
        given = words or [*filter(None, map(str.strip, sys.stdin))]
        look_up(given, minus, number, json)
        return
    with suppress(EOFError):
        while word := input("word: ").strip():
            try:
                look_up([word], minus, number, json)
            except BadInput as error:
                print(f"tfw2v: {error}", file=sys.stderr)


def _check_order(model: Path, words: Iterable[str], command: str) -> None:
    """Raise if MODEL is missing, but a WORD is a file."""
    if not model.exists() and (path := next(filter(os.path.isfile, words), None)):
        raise BadInput(f"{model}: no such file; MODEL comes first: tfw2v {command} {path} {model}")


def _look_up(
    vectors: KeyedVectors,
    indexer: Any,
    words: list[str],
    minus: list[str] | None,
    number: int,
    json: bool,
) -> None:
    """Print the neighbours of words; see `neighbours`."""
    messages = _unknown([*words, *(minus or ())], vectors)
    known = [word for word in words if word in vectors]
    if not known or (minus and messages):
        more = f"; and {len(messages) - 5} more" if len(messages) > 5 else ""
        raise BadInput(
            "; ".join(messages[:5]) + more or "give a WORD, as an argument or on standard input"
        )
    for message in messages:
        print(f"tfw2v: {message}", file=sys.stderr)
    if minus:
        query = f"{' + '.join(known)} - {' - '.join(minus)}"
        found = {query: _nearest(vectors, indexer, number, known, minus)}
    else:
        found = {word: _nearest(vectors, indexer, number, [word], []) for word in known}
    if json:
        print(dumps({query: dict(nearest) for query, nearest in found.items()}, indent=2))
    else:
        common.print_neighbours(found)


def _nearest(
    vectors: KeyedVectors,
    indexer: Any,
    number: int,
    positive: list[str],
    negative: list[str],
) -> list[tuple[str, float]]:
    """Return the nearest words; an indexer, if not None, finds the words of the query, too."""
    asked = {*positive, *negative}
    found = vectors.most_similar(positive, negative, number + len(asked), indexer=indexer)
    return [each for each in found if each[0] not in asked][:number]


def similarity(
    model: Model,
    word: Annotated[str, typer.Argument(metavar="WORD", help="First word.")],
    other: Annotated[str, typer.Argument(metavar="WORD", help="Second word.")],
    encoding: Encoding = UTF8,
    verbose: Verbose = False,
) -> None:
    """Print the cosine similarity of two words."""
    _check_order(model, [word, other], "similarity")
    vectors = load_vectors(model, encoding)
    if messages := _unknown([word, other], vectors):
        raise BadInput("; ".join(messages))
    print(f"{vectors.similarity(word, other):.6f}")


def vectors(
    model: Model,
    sentences: Annotated[
        bool, option("Print one vector per line of text: the mean of its words' unit vectors.")
    ] = False,
    infer: Annotated[
        bool, option("Print one vector per line of text, inferred by Doc2Vec.", "--infer")
    ] = False,
    encoding: Encoding = UTF8,
    verbose: Verbose = False,
) -> None:
    """Print the vectors of words that are read from standard input, one word per line.

    Each line of output is a word and its numbers, as in word2vec's text format; with --sentences
    or --infer, only the numbers. Unknown words are skipped with a warning on stderr, except with a
    FastText model, which has vectors for them too. If no word is known, the exit status is 2.
    """
    saved = load_saved(model, encoding)
    if infer:
        from gensim_tfw2v import TFDoc2Vec

        if not isinstance(TFDoc2Vec.take_over(saved), TFDoc2Vec):
            raise of_another_kind(saved, model, "--infer needs a Doc2Vec model")
        for row in saved.infer_vectors(line.split() for line in sys.stdin):
            print(*_digits(row))
        return
    loaded = getattr(saved, "wv", saved)
    n_words = n_known = 0
    for line in sys.stdin:
        words = line.split() if sentences else [line.strip()]
        n_words += len([*filter(None, words)])
        known = [word for word in words if word in loaded]
        for word in filter(None, words):
            if word not in loaded:
                print(f"tfw2v: {quoted(word)} is not in the vocabulary", file=sys.stderr)
        n_known += len(known)
        if sentences:
            mean = loaded.get_mean_vector(known) if known else [0.0] * loaded.vector_size
            print(*_digits(mean))
            continue
        for word in known:
            print(word, *_digits(loaded[word]))
    if not n_words:
        raise BadInput("standard input has no words; write one per line, as in: echo WORD | tfw2v")
    if not n_known:
        raise BadInput(f"{model}: has none of the words on standard input; see tfw2v info")


def _digits(numbers: Iterable[float]) -> Iterator[str]:
    return (f"{number:.9g}" for number in numbers)


def info(
    model: Model, json: Json = False, encoding: Encoding = UTF8, verbose: Verbose = False
) -> None:
    """Describe a model: its class, vocabulary and options."""
    saved = load_saved(model, encoding)
    held = getattr(saved, "wv", saved)
    from gensim_tfw2v.options.table import named

    found = {"kind": type(saved).__name__, "words": len(held), "vector_size": held.vector_size}
    found |= {name: getattr(saved, name) for name in named("info") if hasattr(saved, name)}
    if hasattr(saved, "dv"):
        found["documents"] = len(saved.dv)
    if hasattr(saved, "corpus_total_words"):
        found["corpus_words"] = saved.corpus_total_words
    found["most_frequent"] = held.index_to_key[:10]
    if json:
        print(dumps(found, indent=2))
        return
    found["most_frequent"] = " ".join(map(str, found["most_frequent"]))
    common.print_rows((f"{name:<14}", str(value)) for name, value in found.items())


def _unknown(words: list[str], vectors: KeyedVectors) -> list[str]:
    """Return a message for each unknown word, with known words of similar spelling."""
    messages = []
    for word in words:
        if word not in vectors:
            known = reversed(vectors.index_to_key[:SPELLINGS_SEARCHED])
            spelled = {candidate.casefold(): candidate for candidate in known}
            close = get_close_matches(word.casefold(), spelled, n=3)
            hint = f" (close: {', '.join(spelled[match] for match in close)})" if close else ""
            messages.append(f"{quoted(word)} is not in the vocabulary{hint}")
    return messages
