"""``tfw2v tensorboard``: TensorBoard on what trainings and ``tfw2v projector`` have written."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import Annotated

import typer

from gensim_tfw2v.cli.failures import BadInput, Verbose


def tensorboard(
    log_dir: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of a training, or of several.")
    ],
    port: Annotated[
        int | None,
        typer.Option(
            help="By default 6006 or the next one that is free; 0: any that is free.",
            min=0,
            max=65_535,
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on. Whoever reaches it sees what is in DIR: TensorBoard asks "
            "for no password."
        ),
    ] = "127.0.0.1",
    verbose: Verbose = False,
) -> None:
    """Show the folder DIR in TensorBoard, until Ctrl-C."""
    if not log_dir.is_dir():
        raise BadInput(f"{log_dir}: {'is a file' if log_dir.exists() else 'no such folder'}")

    from gensim_tfw2v.monitor.serving import serve

    url = serve(log_dir, host, port)
    with contextlib.suppress(KeyboardInterrupt):
        print(f"TensorBoard on {log_dir}: {url} (Ctrl-C ends it)", flush=True)
        threading.Event().wait()
