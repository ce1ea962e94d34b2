"""Measures of the amount of code that a reader of the package has to follow.

    python -m tests.passed_through        print each number, and the walk of the smallest run

The walk is the sequence of calls of the package's functions during `TFWord2Vec(corpus_file=...)`,
one epoch on one thread, recorded by `sys.setprofile`.
"""

import ast
import collections
import contextlib
import functools
import io
import sys
import tempfile
import threading
import tokenize
from pathlib import Path

import gensim_tfw2v

PACKAGE = Path(gensim_tfw2v.__file__).parent
PATHS = sorted(PACKAGE.rglob("*.py"))

#: Options whose names are searched in the modules' string literals.
OPTIONS = (
    *("sg", "hs", "negative", "window", "vector_size", "alpha", "sample", "cbow_mean"),
    *("shrink_windows", "ns_exponent", "deterministic", "corrected_cbow", "tables_dir"),
    *("checkpoint_dir", "dbow_words", "dm_concat"),
)
LAYOUT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENDMARKER, tokenize.ENCODING),
}
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
TEXT = "the cat sat on the mat\na dog ran to the cat\n" * 50


def code_of(text):
    """Return numbers of tokens and of lines of code, without docstrings, comments and layout."""
    documented, lines, tokens = set(), set(), 0
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            documented.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT and token.start[0] not in documented:
            tokens += 1
            lines.update(range(token.start[0], token.end[0] + 1))
    return tokens, len(lines)


def side_by_side(text):
    """Return the number of names that assignments like `a, b = x, y` set after the first."""
    return sum(
        len(node.value.elts) - 1
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and isinstance(node.value, ast.Tuple)
    )


def named_in(text):
    """Return the options whose names are string literals in a module."""
    strings = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}
    return strings & set(OPTIONS)


class Walk:
    """Context manager that records the calls of the package's functions.

    Attributes
    ----------
    steps : list of (str, list of str)
        Modules in the order in which they are entered, each with the functions called in it.
    """

    def __init__(self):
        self.steps = []

    def __enter__(self):
        threading.setprofile(self._called)
        sys.setprofile(self._called)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)
        threading.setprofile(None)

    def _called(self, frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(f"{PACKAGE}/"):
            module = code.co_filename[len(f"{PACKAGE}/") : -len(".py")]
            if not self.steps or self.steps[-1][0] != module:
                self.steps.append((module, []))
            self.steps[-1][1].append((code.co_firstlineno, code.co_name))

    @property
    def modules(self):
        return list(dict.fromkeys(module for module, _ in self.steps))

    @property
    def functions(self):
        return {(module, *called) for module, calls in self.steps for called in calls}


@functools.cache
def smallest_training():
    make = gensim_tfw2v.TFWord2Vec
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "text.txt")
        text.write_text(TEXT)
        with Walk() as walk:
            make(corpus_file=str(text), min_count=1, vector_size=10, epochs=1, workers=1)
    return walk


def measured():
    """Return the numbers by name; run in a process that has imported nothing of the package yet."""
    _ = gensim_tfw2v.TFWord2Vec
    loaded = sum(name.partition(".")[0] == "gensim_tfw2v" for name in sys.modules)
    walk = smallest_training()
    texts = [path.read_text("utf-8") for path in PATHS]
    code = [code_of(text) for text in texts]
    lists = collections.Counter(name for text in texts for name in named_in(text))
    return {
        "modules run": len(walk.modules),
        "functions run": len(walk.functions),
        "moves": len(walk.steps),
        "modules loaded": loaded,
        "lists that name an option": max(lists.values()),
        "names set side by side": sum(map(side_by_side, texts)),
        "tokens": sum(tokens for tokens, _ in code),
        "lines": sum(lines for _, lines in code),
        "modules": len(PATHS),
    }


def main():
    numbers = measured()
    for name, number in numbers.items():
        print(f"{number}\t{name}")
    for module, calls in smallest_training().steps:
        print(f"{module}: {' '.join(name for _, name in calls)}")


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        main()
