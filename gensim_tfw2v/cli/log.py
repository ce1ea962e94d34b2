"""Warnings of the library on stderr, as lines of the tool ``tfw2v``."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

from gensim_tfw2v.cli.option_wording import name_options

#: Logger whose information is printed, too: it reports from which checkpoint training resumes.
RESUMING_LOG = "gensim_tfw2v.training.resumption"


@contextlib.contextmanager
def print_warnings(command: Any) -> Iterator[None]:
    """Print the library's warnings within this context, with the names of the command's options."""

    class Formatter(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return name_options(f"tfw2v: {record.getMessage()}", command)

    package_logger = logging.getLogger("gensim_tfw2v")
    resuming_logger = logging.getLogger(RESUMING_LOG)
    previous_level = resuming_logger.level
    handler = logging.StreamHandler()
    handler.setFormatter(Formatter())
    package_logger.addHandler(handler)
    resuming_logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        package_logger.removeHandler(handler)
        resuming_logger.setLevel(previous_level)
