"""Selection of the tests for an environment without TensorFlow and TensorBoard (``make light``).

A test is left out if it names a feature that needs one of the two: in its code, in code of its file
that it uses, or by its fixtures or parameters; unless it is marked ``light``. A file is left out if
its imports fail.
"""

import ast
import functools
import re

import pytest

from gensim_tfw2v.messages import quoted

#: Names of features that need TensorFlow or TensorBoard, and of what tests use them by.
NEEDING = re.compile(
    r"tensorflow|tensorboard|keras|grpc|\btf\b|_ops$|cluster|regime|\blayout|log.dir|projector|forks"
    "|graph|coordinator|worker=",
    re.IGNORECASE,
)


@functools.cache
def words_of(path):
    """Return names and strings in each function, class and constant of a file, by its name."""
    found = {}
    for statement in ast.parse(path.read_text("utf-8")).body:
        # without decorators, which hold the parameters of all tests
        parts = [*getattr(statement, "body", [statement]), getattr(statement, "args", ast.Pass())]
        nodes = [node for part in parts for node in ast.walk(part)]
        docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        fields = [
            getattr(node, field, None)
            for node in nodes
            if id(node) not in docstrings
            for field in ("id", "attr", "arg", "value", "module", "name")
        ]
        words = {word for word in fields if isinstance(word, str)}
        targets = map(ast.unparse, getattr(statement, "targets", ()))
        found |= dict.fromkeys([getattr(statement, "name", ""), *targets], words)
    return found


def is_light(item):
    """Return whether a test needs neither TensorFlow nor TensorBoard."""
    if item.get_closest_marker("light"):
        return True
    of_file = words_of(item.path)
    words = {quoted(item.callspec.params)} if hasattr(item, "callspec") else set()
    waiting = {item.function.__name__, getattr(item.cls, "__name__", ""), *item.fixturenames}
    used = set()
    while waiting:
        used |= waiting
        words |= waiting & set(item.fixturenames)
        waiting = set().union(*(of_file.get(name, ()) for name in waiting))
        words |= waiting
        waiting -= used
    return not any(map(NEEDING.search, words))


def pytest_collection_modifyitems(config, items):
    left = {item for item in items if not is_light(item)}
    config.hook.pytest_deselected(items=[*left])
    items[:] = [item for item in items if item not in left]


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makemodule():
    module = yield
    try:
        module.obj  # noqa: B018  imports the file
    except pytest.skip.Exception:  # of pytest.importorskip; here it would skip all files
        return None
    except pytest.Collector.CollectError as error:
        if isinstance(error.__cause__, ModuleNotFoundError):
            return None
        raise
    return module
