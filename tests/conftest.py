"""For all tests."""

import signal

import pytest

# Shells start background jobs with SIGINT ignored, and children inherit that: Ctrl-C could not be
# tested there.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: Folders whose tests start processes and wait for them. They come first: a file of few, long tests
#: that began last would have the other cores idle.
LONG = ("browser", "cli", "cluster", "docs", "examples")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files of long tests first, with the order in each as it is."""
    items.sort(key=lambda item: not set(item.path.parts) & set(LONG))
