"""``tfw2v neighbours``: the words nearest to a word."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gensim_tfw2v.cli.failures import BadInput, Verbose

if TYPE_CHECKING:
    from gensim.models import KeyedVectors
    from rich.table import Table

SPELLINGS_SEARCHED = 50_000  # comparing spellings takes some 10 microseconds a word


def neighbours(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help="Model or vectors, in any form that `evaluate` reads."
        ),
    ],
    words: Annotated[list[str], typer.Argument(metavar="WORD...", help="Words to look up.")],
    number: Annotated[int, typer.Option("-n", "--number", help="Neighbours a word.", min=1)] = 10,
    minus: Annotated[
        list[str] | None,
        typer.Option(
            help="A word to subtract; all words then make one query (king woman --minus man)."
        ),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Print the nearest neighbours of each WORD by cosine similarity.

    A word that the model does not know is reported with close spellings; if none is known the
    exit status is 2.
    """
    from rich.console import Console

    from gensim_tfw2v.cli.model_files import load_vectors

    vectors = load_vectors(model)
    unknown = [word for word in [*words, *(minus or ())] if word not in vectors]
    messages = [f"{word!r} is not in the vocabulary{_hint(word, vectors)}" for word in unknown]
    known = [word for word in words if word in vectors]
    if not known or (minus and unknown):
        raise BadInput("; ".join(messages))
    for message in messages:
        print(f"tfw2v: {message}", file=sys.stderr)
    if minus:
        nearest = vectors.most_similar(positive=known, negative=minus, topn=number)
        columns = {f"{' + '.join(known)} - {' - '.join(minus)}": nearest}
    else:
        columns = {word: vectors.most_similar(word, topn=number) for word in known}
    Console(highlight=False).print(neighbours_table(columns))


def neighbours_table(columns: dict[str, list[tuple[str, float]]]) -> Table:
    """Lay out ``{query: [(word, similarity), …]}`` as a table, a row a neighbour of a query."""
    from rich.table import Table
    from rich.text import Text

    table = Table()
    table.add_column("word")
    table.add_column("neighbour")
    table.add_column("similarity", justify="right")
    for query, nearest in columns.items():
        for rank, (word, similarity) in enumerate(nearest):
            # words are data: Text keeps "[b]" in one from being read as markup
            table.add_row(Text("" if rank else query), Text(word), f"{similarity:.3f}")
        table.add_section()
    return table


def _hint(word: str, vectors: KeyedVectors) -> str:
    from difflib import get_close_matches

    spelled: dict[str, str] = {}
    for candidate in vectors.index_to_key[:SPELLINGS_SEARCHED]:
        spelled.setdefault(candidate.casefold(), candidate)
    close = get_close_matches(word.casefold(), spelled, n=3)
    return f" (close: {', '.join(spelled[match] for match in close)})" if close else ""
