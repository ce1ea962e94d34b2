"""Commands that query a model: ``neighbours``, ``similarity``, ``vectors`` and ``info``."""

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
from gensim_tfw2v.cli.common import BadInput, Encoding, Json, Model, Verbose, option
from gensim_tfw2v.cli.model_files import (
    UTF8,
    has_integers,
    load_saved,
    load_vectors,
    trained_vectors,
    wrong_kind_error,
)
from gensim_tfw2v.messages import quoted

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

SPELLINGS_SEARCHED = 50_000  # comparing spellings takes some 10 microseconds per word


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
    keys, messages = _find_keys([*words, *(minus or ())], vectors)
    known = [word for word in words if word in keys]
    if not known or (minus and messages):
        more = f"; and {len(messages) - 5} more" if len(messages) > 5 else ""
        raise BadInput(
            "; ".join(messages[:5]) + more or "give a WORD, as an argument or on standard input"
        )
    for message in messages:
        print(f"tfw2v: {message}", file=sys.stderr)
    if minus:
        query = f"{' + '.join(known)} - {' - '.join(minus)}"
        positive, negative = ([keys[word] for word in side] for side in (known, minus))
        found = {query: _nearest(vectors, indexer, number, positive, negative)}
    else:
        found = {word: _nearest(vectors, indexer, number, [keys[word]], []) for word in known}
    if json:
        # names in a JSON object are strings, so keys that are integers are printed in pairs
        is_text = all(isinstance(key, str) for key in vectors.index_to_key)
        shown = {query: dict(near) if is_text else near for query, near in found.items()}
        print(dumps(shown, indent=2, default=_plain))
    else:
        common.print_neighbours(found)


def _nearest(
    vectors: KeyedVectors,
    indexer: Any,
    number: int,
    positive: list[Any],
    negative: list[Any],
) -> list[tuple[Any, float]]:
    """Return the nearest words; an indexer, if not None, finds the words of the query, too."""
    asked = {*positive, *negative}
    found = vectors.most_similar(positive, negative, number + len(asked), indexer=indexer)
    return [each for each in found if each[0] not in asked][:number]


def similarity(
    model: Model,
    word: Annotated[str, typer.Argument(metavar="WORD", help="First word.")],
    other: Annotated[str, typer.Argument(metavar="WORD", help="Second word.")],
    documents: common.Documents = False,
    encoding: Encoding = UTF8,
    verbose: Verbose = False,
) -> None:
    """Print the cosine similarity of two words."""
    _check_order(model, [word, other], "similarity")
    vectors = load_vectors(model, encoding, documents)
    keys, messages = _find_keys([word, other], vectors)
    if messages:
        raise BadInput("; ".join(messages))
    print(f"{vectors.similarity(keys[word], keys[other]):.6f}")


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
        from gensim_tfw2v.typed_words import TypedSentences

        if not isinstance(TFDoc2Vec.take_over(saved), TFDoc2Vec):
            raise wrong_kind_error(saved, model, "--infer needs a Doc2Vec model")
        lines: Any = (line.split() for line in sys.stdin)
        if has_integers(saved.wv):
            lines = TypedSentences(lines, saved.wv)
        for row in saved.infer_vectors(lines):
            print(*_digits(row))
        return
    from gensim_tfw2v.typed_words import find_key

    loaded = trained_vectors(saved, model)
    n_words = n_known = 0
    for line in sys.stdin:
        words = [*filter(None, line.split() if sentences else [line.strip()])]
        keys = [find_key(word, loaded) for word in words]
        for word, key in zip(words, keys, strict=True):
            if key is None:
                print(f"tfw2v: {quoted(word)} is not in the vocabulary", file=sys.stderr)
        known = [key for key in keys if key is not None]
        n_words += len(words)
        n_known += len(known)
        if sentences:
            mean = loaded.get_mean_vector(known) if known else [0.0] * loaded.vector_size
            print(*_digits(mean))
            continue
        for key in known:
            print(key, *_digits(loaded[key]))
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
        found["dm"] = int(not saved.sg)
        found["dbow_words"] = int(getattr(saved, "dbow_words", 0))
        found["documents"] = len(saved.dv)
    if hasattr(saved, "corpus_total_words"):
        found["corpus_words"] = saved.corpus_total_words
    found["most_frequent"] = held.index_to_key[:10]
    if json:
        print(dumps(found, indent=2, default=_plain))
        return
    found["most_frequent"] = " ".join(map(str, found["most_frequent"]))
    common.print_rows((f"{name:<14}", str(value)) for name, value in found.items())


def _plain(word: Any) -> int | str:
    """Return the form in JSON of a word of another type than Python's strings and integers."""
    from gensim_tfw2v.typed_words import is_integer

    return int(word) if is_integer(word) else str(word)


def _find_keys(words: list[str], vectors: KeyedVectors) -> tuple[dict[str, Any], list[str]]:
    """Return the keys of typed words, and a message for each unknown one.

    The message lists known words of similar spelling.
    """
    from gensim_tfw2v.typed_words import find_key, typed_form

    keys = {}
    messages = []
    for word in dict.fromkeys(words):
        if (key := find_key(word, vectors)) is not None:
            keys[word] = key
            continue
        known = map(typed_form, reversed(vectors.index_to_key[:SPELLINGS_SEARCHED]))
        spelled = {candidate.casefold(): candidate for candidate in known if candidate is not None}
        close = get_close_matches(word.casefold(), spelled, n=3)
        hint = f" (close: {', '.join(spelled[match] for match in close)})" if close else ""
        messages.append(f"{quoted(word)} is not in the vocabulary{hint}")
    return keys, messages
