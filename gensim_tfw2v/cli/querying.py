"""Commands that query a model: ``neighbours``, ``similarity``, ``vectors`` and ``info``."""

from __future__ import annotations

import math
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

#: Only the spellings of this many words, the most frequent ones, are compared with an unknown word.
#: A comparison takes some 10 microseconds.
MAX_COMPARED_WORDS = 50_000


def neighbours(
    model: Model,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WORD...]",
            help="Words to look up; without any, those on standard input, one per line.",
        ),
    ] = None,
    n_neighbours: Annotated[
        int, option("Neighbours per word.", "-n", "--number", "--topn", min=1)
    ] = 10,
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
    cancelled = {*(words or ())} & {*(minus or ())}
    if cancelled:
        raise BadInput(
            f"{quoted(min(cancelled))} is a WORD and --minus, which cancel out; leave out one"
        )
    _check_order(model, words or (), "neighbours")
    vectors = load_vectors(model, encoding, documents)
    indexer = None
    if index is not None:
        from gensim_tfw2v import NeighbourIndex

        indexer = NeighbourIndex.load(index, vectors)
    look_up = partial(_look_up, vectors, indexer)
    if words or not sys.stdin.isatty():
        queries = words or [line.strip() for line in sys.stdin if line.strip()]
        look_up(queries, minus, n_neighbours, json)
        return
    with suppress(EOFError):
        while word := input("word: ").strip():
            try:
                look_up([word], minus, n_neighbours, json)
            except BadInput as error:
                print(f"tfw2v: {error}", file=sys.stderr)


def _check_order(model: Path, words: Iterable[str], command: str) -> None:
    """Raise if MODEL is missing, but a WORD is a file: the user may have exchanged the two."""
    if model.exists():
        return
    for word in words:
        if os.path.isfile(word):
            raise BadInput(
                f"{model}: no such file; MODEL comes first: tfw2v {command} {word} {model}"
            )


def _look_up(
    vectors: KeyedVectors,
    indexer: Any,
    words: list[str],
    minus: list[str] | None,
    n_neighbours: int,
    json: bool,
) -> None:
    """Print the neighbours of words.

    BadInput is raised if no word is known, or if `minus` is set and any word is unknown. A word
    whose vector is all 0 is treated like an unknown one.
    """
    from numpy.linalg import norm

    keys, messages = _find_keys([*words, *(minus or ())], vectors)
    for word in [word for word, key in keys.items() if not norm(vectors.get_vector(key))]:
        del keys[word]
        messages.append(f"{quoted(word)} has a vector of length 0, so it has no neighbours")
    known_words = [word for word in words if word in keys]
    if not known_words or (minus and messages):
        more = f"; and {len(messages) - 5} more" if len(messages) > 5 else ""
        raise BadInput(
            "; ".join(messages[:5]) + more or "give a WORD, as an argument or on standard input"
        )
    for message in messages:
        print(f"tfw2v: {message}", file=sys.stderr)
    if minus:
        query = f"{' + '.join(known_words)} - {' - '.join(minus)}"
        positive = [keys[word] for word in known_words]
        negative = [keys[word] for word in minus]
        results = {query: _find_neighbours(vectors, indexer, n_neighbours, positive, negative)}
    else:
        results = {
            word: _find_neighbours(vectors, indexer, n_neighbours, [keys[word]], [])
            for word in known_words
        }
    if json:
        # In a JSON object, names are strings. So if any word is an integer, the neighbours are
        # printed as pairs in a list instead.
        if all(isinstance(key, str) for key in vectors.index_to_key):
            print(_to_json({query: dict(pairs) for query, pairs in results.items()}))
        else:
            print(_to_json(results))
    else:
        common.print_neighbours(results)


def _find_neighbours(
    vectors: KeyedVectors,
    indexer: Any,
    n_neighbours: int,
    positive: list[Any],
    negative: list[Any],
) -> list[tuple[Any, float]]:
    """Return the nearest words and their similarities.

    The words of the query are left out, and so are words whose vectors are all 0: they have no
    similarity.
    """
    import numpy as np

    inputs = {*positive, *negative}
    # an indexer, unlike an exact search, returns the words of the query, too
    n_candidates = n_neighbours + len(inputs)
    with np.errstate(invalid="ignore"):  # gensim divides by the lengths of zero vectors
        candidates = vectors.most_similar(positive, negative, n_candidates, indexer=indexer)
    neighbours = [(word, score) for word, score in candidates if word not in inputs]
    return [(word, score) for word, score in neighbours if not math.isnan(score)][:n_neighbours]


def similarity(
    model: Model,
    word: Annotated[str, typer.Argument(metavar="WORD", help="First word.")],
    second_word: Annotated[str, typer.Argument(metavar="WORD", help="Second word.")],
    documents: common.Documents = False,
    encoding: Encoding = UTF8,
    verbose: Verbose = False,
) -> None:
    """Print the cosine similarity of two words."""
    _check_order(model, [word, second_word], "similarity")
    vectors = load_vectors(model, encoding, documents)
    keys, messages = _find_keys([word, second_word], vectors)
    if messages:
        raise BadInput("; ".join(messages))
    print(f"{vectors.similarity(keys[word], keys[second_word]):.6f}")


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
    if sentences and infer:
        raise BadInput("--sentences and --infer are two ways to represent a line: leave out one")
    saved = load_saved(model, encoding)
    if infer:
        from gensim_tfw2v import TFDoc2Vec
        from gensim_tfw2v.typed_words import TypedSentences

        if not isinstance(TFDoc2Vec.take_over(saved), TFDoc2Vec):
            raise wrong_kind_error(saved, model, "--infer needs a Doc2Vec model")
        lines: Any = (line.split() for line in sys.stdin)
        if has_integers(saved.wv):
            lines = TypedSentences(lines, saved.wv)
        n_lines = 0
        for row in saved.infer_vectors(lines):
            print(*_format_elements(row))
            n_lines += 1
        if not n_lines:
            raise BadInput("standard input is empty; write one text per line")
        return
    from gensim_tfw2v.typed_words import find_key

    vectors = trained_vectors(saved, model)
    n_words = 0
    n_known = 0
    for line in sys.stdin:
        words = line.split()
        if words and not sentences:
            words = [line.strip()]  # a key can be a phrase, with blanks
        keys = [find_key(word, vectors) for word in words]
        for word, key in zip(words, keys, strict=True):
            if key is None:
                print(f"tfw2v: {quoted(word)} is not in the vocabulary", file=sys.stderr)
        known_keys = [key for key in keys if key is not None]
        n_words += len(words)
        n_known += len(known_keys)
        if sentences:
            mean: Any = [0.0] * vectors.vector_size
            if known_keys:
                mean = vectors.get_mean_vector(known_keys)
            print(*_format_elements(mean))
            continue
        for key in known_keys:
            print(key, *_format_elements(vectors[key]))
    if not n_words:
        raise BadInput("standard input has no words; write one per line, as in: echo WORD | tfw2v")
    if not n_known:
        raise BadInput(f"{model}: has none of the words on standard input; see tfw2v info")


def _format_elements(vector: Iterable[float]) -> Iterator[str]:
    """Yield the elements of a vector as text from which float32 can be read without loss."""
    return (f"{element:.9g}" for element in vector)


def info(
    model: Model, json: Json = False, encoding: Encoding = UTF8, verbose: Verbose = False
) -> None:
    """Describe a model: its class, vocabulary and options."""
    saved = load_saved(model, encoding)
    vectors = getattr(saved, "wv", saved)
    from gensim_tfw2v.options.option import Use
    from gensim_tfw2v.options.table import option_names

    facts = {
        "kind": type(saved).__name__,
        "words": len(vectors),
        "vector_size": vectors.vector_size,
    }
    facts |= {name: getattr(saved, name) for name in option_names(Use.INFO) if hasattr(saved, name)}
    if hasattr(saved, "dv"):
        facts["dm"] = int(not saved.sg)
        facts["dbow_words"] = int(getattr(saved, "dbow_words", 0))
        facts["documents"] = len(saved.dv)
    if hasattr(saved, "corpus_total_words"):
        facts["corpus_words"] = saved.corpus_total_words
    most_frequent = vectors.index_to_key[:10]
    if json:
        print(_to_json(facts | {"most_frequent": most_frequent}))
        return
    facts["most_frequent"] = " ".join(str(key) for key in most_frequent)
    common.print_rows((f"{name:<14}", str(value)) for name, value in facts.items())


def _to_json(content: Any) -> str:
    """Return `content` as JSON.

    NumPy integers become integers; words of any other type that JSON lacks become strings.
    """
    from gensim_tfw2v.typed_words import is_integer

    def plain_word(word: Any) -> int | str:
        return int(word) if is_integer(word) else str(word)

    return dumps(content, indent=2, default=plain_word, allow_nan=False)


def _find_keys(words: list[str], vectors: KeyedVectors) -> tuple[dict[str, Any], list[str]]:
    """Return the keys of the known words, by the typed word, and a message for each unknown word.

    A message lists words of similar spelling.
    """
    from gensim_tfw2v.typed_words import find_key, typed_form

    keys = {}
    messages = []
    for word in dict.fromkeys(words):
        key = find_key(word, vectors)
        if key is not None:
            keys[word] = key
            continue
        spellings = {}
        # In reverse order: of words that differ only in case, the most frequent one is set last.
        for known_word in reversed(vectors.index_to_key[:MAX_COMPARED_WORDS]):
            candidate = typed_form(known_word)
            if candidate is not None:
                spellings[candidate.casefold()] = candidate
        matches = [spellings[m] for m in get_close_matches(word.casefold(), spellings, n=3)]
        hint = f" (close: {', '.join(matches)})" if matches else ""
        messages.append(f"{quoted(word)} is not in the vocabulary{hint}")
    return keys, messages
