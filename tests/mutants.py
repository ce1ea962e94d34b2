"""Test of the tests: put single faults into a copy of the package, and run tests on each.

::

    python -m tests.mutants gensim_tfw2v/planning tests/test_planning.py --number 20

A fault that no test notices is printed as a patch. It may be harmless (a message, a limit that is
arbitrary, code that cannot be reached); otherwise a test is missing. Faults are drawn at random;
the same seed draws the same ones.
"""

import argparse
import ast
import copy
import difflib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]

#: Pairs of operators and functions that replace each other.
PAIRS = [
    (ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn), (ast.And, ast.Or), (ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv),
    (ast.LShift, ast.RShift), (ast.BitAnd, ast.BitOr), ("min", "max"), ("any", "all"),
]  # fmt: skip
SWAPS = {old: new for pair in PAIRS for old, new in (pair, pair[::-1])} | {ast.Div: ast.Mult}


class Mutant(NamedTuple):
    """A fault in lines ``start`` to ``end`` (from 1) of a file; `text` is the file with it."""

    path: Path
    kind: str
    start: int
    end: int
    text: str

    def patch(self) -> str:
        """Return the difference from the file as a patch with one line of context."""
        lines = self.path.read_text("utf-8").splitlines(), self.text.splitlines()
        name = self.path.relative_to(ROOT).as_posix()
        return "\n".join(difflib.unified_diff(*lines, name, self.kind, n=1, lineterm=""))


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield all faults of a module; messages, annotations and docstrings stay as they are."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in _nodes(ast.parse(source)):
        for kind, old, new in _changes(node):
            begin = starts[old.lineno - 1] + old.col_offset
            end = starts[old.end_lineno - 1] + old.end_col_offset
            # In parentheses, an expression may span lines, as the old one did.
            code = "pass" if new is None else ast.unparse(new)
            code = code if isinstance(old, ast.stmt) else f"({code})"
            text = (source[:begin] + code.encode() + source[end:]).decode()
            yield Mutant(path, kind, old.lineno, old.end_lineno, text)


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below a node, except for annotations, f-strings and lines of a log."""
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns", "decorator_list"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                call = child.value if isinstance(child, ast.Expr) else None
                if not (isinstance(call, ast.Call) and ast.unparse(call.func) == "logger.info"):
                    yield child
                    yield from _nodes(child)


def _changes(node: ast.AST) -> Iterator[tuple[str, Any, ast.AST | None]]:
    """Yield faults of a node: the kind, the node that is replaced, and the new one or None."""
    match node:
        case ast.Compare(ops=[op, *others]) if type(op) in SWAPS:
            yield "comparison", node, _with(node, ops=[SWAPS[type(op)](), *others])
        case ast.BoolOp(op=op) | ast.BinOp(op=op) if type(op) in SWAPS:
            yield "operator", node, _with(node, op=SWAPS[type(op)]())
        case ast.Name(id=name) if name in SWAPS:
            yield "function", node, _with(node, id=SWAPS[name])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not", node, operand
        case ast.Constant(value=bool(value)):
            yield "constant", node, _with(node, value=not value)
        case ast.Constant(value=int(value)):
            yield "constant", node, _with(node, value=value + 1)
        case ast.Constant(value=float(value)):
            yield "constant", node, _with(node, value=2 * value or 1.0)
        case ast.Return(value=ast.AST() as value) if not isinstance(value, ast.Constant):
            yield "return", node, ast.Return(ast.Constant(None))
        case ast.IfExp(test=test) | ast.If(test=test) if not isinstance(test, ast.Compare):
            yield "condition", test, ast.UnaryOp(ast.Not(), test)
        case ast.ExceptHandler(type=ast.AST() as caught):
            yield "handler", caught, ast.Tuple([], ast.Load())
        case ast.Call(keywords=[_, *_] as keywords):
            for keyword in keywords:
                if keyword.arg:
                    rest = [other for other in keywords if other is not keyword]
                    yield "keyword", node, _with(node, keywords=rest)
        case (
            ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom())
            | ast.AugAssign()
            | ast.Assign(targets=[ast.Attribute() | ast.Subscript()])
            | ast.Raise()
            | ast.Delete()
            | ast.Continue()
            | ast.Break()
        ):
            yield "statement", node, None


def _with(node, **fields):
    changed = copy.copy(node)
    vars(changed).update(fields)
    return changed


def draw(paths: list[Path], number: int, seed: int) -> list[Mutant]:
    """Draw up to `number` faults, each of another line."""
    lines = {}
    for mutant in sorted(m for path in paths for m in mutants(path)):
        lines.setdefault((mutant.path, mutant.start), []).append(mutant)
    random_numbers = random.Random(seed)
    chosen = random_numbers.sample(sorted(lines), min(number, len(lines)))
    return [random_numbers.choice(lines[line]) for line in chosen]


def is_noticed(mutant: Mutant, tree: Path, tests: list[str], seconds: float) -> bool:
    """Return whether a test fails, or takes longer than `seconds`, in a copy with the fault."""
    path = tree / mutant.path.relative_to(ROOT)
    original = path.read_bytes()
    path.write_text(mutant.text, "utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    # Bytecode is recognised by its source's size and time in seconds, which two mutants may share.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(tree)}
    process = subprocess.Popen(
        command,
        cwd=tree,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(seconds) != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        path.write_bytes(original)


def main() -> None:
    """Draw faults, run the tests on each, and print those that no test notices."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="+", help="modules or folders to change, and tests to run")
    parser.add_argument("--number", type=int, default=20, help="number of faults")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120, help="time limit of each run")
    options = parser.parse_args()
    tests = [path for path in options.paths if path.startswith("tests")]
    places = [ROOT / path for path in options.paths if path not in tests]
    modules = [m for place in places for m in ([*place.rglob("*.py")] or [place])]
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "__pycache__", "site"))
        living = 0
        drawn = draw(modules, options.number, options.seed)
        for mutant in drawn:
            if not is_noticed(mutant, tree, tests, options.seconds):
                living += 1
                print(mutant.patch(), flush=True)
    print(f"{living} of {len(drawn)} faults were not noticed")


if __name__ == "__main__":
    main()
