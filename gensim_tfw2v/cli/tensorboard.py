"""Commands ``tensorboard``, and ``projector``, which writes vectors for TensorBoard."""

import contextlib
import shlex
import threading
from pathlib import Path
from typing import Annotated

import typer

from gensim_tfw2v.cli.common import (
    BadInput,
    Encoding,
    Model,
    Terminated,
    Verbose,
    option,
    print_rows,
)
from gensim_tfw2v.cli.model_files import UTF8, describe_random_vectors, load_saved, notify
from gensim_tfw2v.files.temporary import check_folder
from gensim_tfw2v.messages import require


def tensorboard(
    log_dir: Annotated[
        Path, typer.Argument(metavar="DIR", help="Log folder of one or more training runs.")
    ],
    port: Annotated[
        int | None,
        option("Port; by default 6006 or the next free one; 0: any free one.", min=0, max=65_535),
    ] = None,
    host: Annotated[
        str,
        option(
            "Address to listen on. Anyone who can reach it can read the contents of DIR: "
            "TensorBoard has no password."
        ),
    ] = "127.0.0.1",
    verbose: Verbose = False,
) -> None:
    """Serve the folder DIR with TensorBoard until Ctrl-C."""
    require("tfw2v tensorboard", "tensorboard")
    if not log_dir.is_dir():
        problem = "is a file" if log_dir.exists() else "no such folder"
        raise BadInput(f"{log_dir}: {problem}; give the --log-dir of a training run")
    if not host:
        raise BadInput("--host is empty: give an address of this machine, such as 127.0.0.1")

    from gensim_tfw2v.monitor.serving import serve

    url = serve(log_dir, host, port)
    with contextlib.suppress(KeyboardInterrupt):
        print(f"TensorBoard on {log_dir}: {url} (Ctrl-C ends it)", flush=True)
        try:
            threading.Event().wait()
        except Terminated as error:  # SIGTERM is the usual way to stop a server: no message
            raise typer.Exit(143) from error


def projector(
    model: Model,
    log_dir: Annotated[Path, option("TensorBoard log folder, created if missing.")],
    n_words: Annotated[
        int, option("Number of most frequent words to write.", "--words", min=1, max=100_000)
    ] = 10_000,
    encoding: Encoding = UTF8,
    verbose: Verbose = False,
) -> None:
    """Write vectors for TensorBoard's projector, which shows words as points in space.

    Replaces earlier projector data in that folder.
    """
    require("tfw2v projector", "tensorboard")
    check_folder("log_dir", log_dir)
    saved = load_saved(model, encoding)
    vectors = getattr(saved, "wv", saved)
    documents = getattr(saved, "dv", ())
    reason = describe_random_vectors(saved)
    if reason:
        notify(model, [reason])

    from gensim_tfw2v.monitor.projector import write_projector

    paths = write_projector(vectors, log_dir, n_words, documents=documents)
    words_result = (
        f"{min(n_words, len(vectors)):,} of {len(vectors):,} x {vectors.vector_size} dimensions"
    )
    documents_result = None
    if documents:
        documents_result = f"{min(n_words, len(documents)):,} of {len(documents):,}"
    print_rows([("words", words_result), ("documents", documents_result)], paths)
    hint = None
    if vectors.vector_size >= 50:  # from 50 dimensions up, the projector centres vectors by default
        hint = 'untick "Spherize data" there for the neighbours that tfw2v prints'
    command = f"tfw2v tensorboard {shlex.quote(str(log_dir))}"
    print_rows([("look", command), ("hint", hint)])
