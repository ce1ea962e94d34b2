"""Pytest plugin: CPU seconds of each test file, including its processes.

A run ends with a list of the most expensive files. On shared cores, CPU seconds measure the cost of
a test; its duration does not.

``--record-durations`` writes the durations of all files to RECORD. Later runs start with the
longest files, because a long file that starts last would leave the other cores idle. Waiting counts
too.
"""

import collections
import json
import resource
import time
from pathlib import Path

import psutil
import pytest

from tests import forks

RECORD = Path(__file__).with_name("durations.json")
SHOWN = 10  # number of files that are listed
TOLD = 5.0  # CPU seconds from which single tests are listed

_taken: dict[str, float] = {}  # test id -> CPU seconds; in xdist's controller, of all workers
_durations: dict[str, float] = {}  # test id -> seconds; in xdist's controller, of all workers


def used() -> float:
    """Return CPU seconds of this process, of exited children, and of shared fork servers."""
    servers = []
    for pid in forks.shared():
        try:
            servers.append(sum(psutil.Process(pid).cpu_times()[:4]))
        except psutil.NoSuchProcess:
            continue  # exited: included in the children's usage
    of_this, from_children = map(
        resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    own = [usage.ru_utime + usage.ru_stime for usage in (of_this, from_children)]
    return sum(own) + sum(servers)


def by_file(taken):
    files = collections.Counter()
    for test, seconds in taken.items():
        files[test.partition("::")[0]] += seconds
    return files


def pytest_addoption(parser):
    parser.addoption("--record-durations", action="store_true", help=f"rewrite {RECORD.name}")


def pytest_collection_modifyitems(items):
    """Put the longest files first; keep the order within each file."""
    recorded = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    items.sort(key=lambda item: -recorded.get(item.nodeid.partition("::")[0], 0))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    before, start = used(), time.monotonic()
    try:
        return (yield)
    finally:
        _taken[item.nodeid] = used() - before
        _durations[item.nodeid] = time.monotonic() - start


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    forks.close()
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        name = session.config.workerinput["workerid"]
        rest = used() - sum(_taken.values())
        output["cpu_seconds"] = _taken | {f"(start and end of {name})": rest}
        output["durations"] = _durations


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    output = getattr(node, "workeroutput", {})
    _taken.update(output.get("cpu_seconds", {}))
    _durations.update(output.get("durations", {}))


def pytest_terminal_summary(terminalreporter, config):
    if not _taken or hasattr(config, "workerinput"):
        return
    files = by_file(_taken)
    terminalreporter.section(f"CPU seconds: {sum(files.values()):.0f}")
    for name, seconds in files.most_common(SHOWN):
        terminalreporter.line(f"{seconds:7.1f} {name}")
    longest = collections.Counter(_taken).most_common()
    for name, seconds in longest:
        if seconds >= TOLD and "::" in name:
            terminalreporter.line(f"{seconds:7.1f} {name}")
    if config.getoption("record_durations"):
        longest_first = by_file(_durations).most_common()
        ordered = {name: round(seconds) for name, seconds in longest_first if seconds >= 1}
        RECORD.write_text(json.dumps(ordered, indent=0) + "\n")
