"""``tfw2v projector``: vectors for the projector of TensorBoard."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from gensim_tfw2v.cli.failures import BadInput, Verbose

#: Where the page begins to move the vectors' mean to the origin, unless told not to.
SPHERIZED = 50


def projector(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help="Model or vectors, in any form that `evaluate` reads."
        ),
    ],
    log_dir: Annotated[Path, typer.Option(help="Folder for TensorBoard; made if it is not there.")],
    words: Annotated[
        int, typer.Option(help="How many of the most frequent words.", min=1, max=100_000)
    ] = 10_000,
    verbose: Verbose = False,
) -> None:
    """Write vectors for TensorBoard's projector, which shows words as points in space.

    What the projector showed from that folder before is replaced.
    """
    from gensim_tfw2v.cli.loading import load_vectors

    if log_dir.exists() and not log_dir.is_dir():
        raise BadInput(f"{log_dir}: is a file; give a folder")
    vectors = load_vectors(model)

    from gensim_tfw2v.monitor.projector import write_projector

    written = write_projector(vectors, log_dir, words)
    size = vectors.vector_size
    print(f"{'words':<11}{min(words, len(vectors)):,} of {len(vectors):,} x {size} dimensions")
    for path in written:
        print(f"{'saved':<11}{path}")
    print(f"{'look':<11}tfw2v tensorboard {shlex.quote(str(log_dir))}")
    if size >= SPHERIZED:
        print(f'{"hint":<11}untick "Spherize data" there for the neighbours that tfw2v prints')
