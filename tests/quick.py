"""Pytest plugin: run only the test files that are nearest to what has changed since a commit.

``make quick`` loads it. The distance of a test file from a changed file is the number of imports
from the one to the other, deferred ones included: 1 if the test imports the file, 2 if it imports a
module that imports the file. Of each changed file, the tests with the smallest distance run. A test
that starts a program, or reads a page, a source or a stored file, imports nothing of it, so
``make test`` can fail where this passes.
"""

import ast
import functools
import math
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

#: Packages whose modules are followed.
PACKAGES = ("gensim_tfw2v", "benchmarks", "tests")

#: Full names of modules in strings: tests patch, import and run modules by their names.
NAMES = re.compile(rf"""["']((?:{"|".join(PACKAGES)})(?:\.\w+)+)["']""")

#: Files whose change concerns all tests.
GLOBAL = frozenset({"pyproject.toml", "tests/conftest.py"})

#: Folder of the compiled sources, and the module that counts as changed if one of them is.
SOURCES = "gensim_tfw2v/kernel/native/src/"
LIBRARY = "gensim_tfw2v/compiled_library.py"


def pytest_addoption(parser):
    for name, default, help_text in (
        ("--since", "HEAD", "commit with which the files are compared"),
        ("--further", 0, "also run tests that are further away, by this number of imports"),
    ):
        parser.addoption(name, default=default, type=type(default), help=help_text)


def pytest_ignore_collect(collection_path, config):
    """Leave out test files that are not near to any changed file."""
    if collection_path.name.startswith("test_") and collection_path.suffix == ".py":
        changes = changed_files(config.getoption("since"))
        path = collection_path.relative_to(ROOT).as_posix()
        return path not in near_tests(changes, config.getoption("further")) or None
    return None


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK


@functools.cache
def changed_files(commit):
    """Return the paths of files that differ from a commit, including new ones."""
    paths = set()
    for arguments in (
        ("diff", "--merge-base", "--name-only", "--no-renames", commit),
        ("ls-files", "--others", "--exclude-standard"),
    ):
        output = subprocess.check_output(["git", *arguments], cwd=ROOT, text=True)
        paths |= set(output.splitlines())
    if any(path.startswith(SOURCES) for path in paths):
        paths.add(LIBRARY)
    return frozenset(paths)


@functools.cache
def near_tests(changes, further):
    """Return the paths of the tests that are nearest to each changed file."""
    tests = [path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/**/test_*.py")]
    if not GLOBAL.isdisjoint(changes):
        return frozenset(tests)
    near = set()
    for change in changes:
        distances = {test: find_distance(test, change) for test in tests}
        limit = min(distances.values()) + further
        near |= {test for test, distance in distances.items() if distance <= limit < math.inf}
    return frozenset(near)


def find_distance(test, change):
    """Return the number of imports from a test to a changed file, or infinity."""
    reached = set()
    level = {test}
    distance = 0
    while level:
        if change in level:
            return distance
        reached |= level
        level = set().union(*map(imports_of, level)) - reached
        distance += 1
    return math.inf


@functools.cache
def imports_of(path):
    """Return the paths of the files that a file imports or names, and of its conftest.py."""
    names = set(NAMES.findall((ROOT / path).read_text("utf-8")))
    for statement in run_statements(parse(path).body):
        if isinstance(statement, ast.Import):
            names |= {alias.name for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom):
            names |= {f"{statement.module}.{alias.name}" for alias in statement.names}
    files = set().union(*map(files_of_name, names))
    conftest = Path(path).with_name("conftest.py").as_posix()
    return files | {conftest} if (ROOT / conftest).is_file() else files


@functools.cache
def parse(path):
    return ast.parse((ROOT / path).read_text("utf-8"))


def run_statements(statements):
    """Yield statements and those in them, except imports that only type checkers read."""
    for statement in statements:
        yield statement
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
            continue
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from run_statements(getattr(statement, field, ()))


@functools.cache
def files_of_name(name):
    """Return the paths of a module with its packages; an attribute's name names its module."""
    parts = name.split(".")
    if parts[0] not in PACKAGES:
        return frozenset()
    files = set()
    for n in range(1, len(parts) + 1):
        base = "/".join(parts[:n])
        paths = [path for path in (f"{base}/__init__.py", f"{base}.py") if (ROOT / path).is_file()]
        if paths:
            files.add(paths[0])
        elif not (ROOT / base).is_dir():  # an attribute, which its package may import on demand
            package = f"{'/'.join(parts[: n - 1])}/__init__.py"
            full_name = exported_names(package).get(parts[n - 1], "")
            return frozenset(files | files_of_name(full_name))
    return frozenset(files)


@functools.cache
def exported_names(package):
    """Return the full names of what a package's ``__init__.py`` imports, by their short names."""
    if not (ROOT / package).is_file():
        return {}
    return {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(parse(package))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
