"""Modules that the smallest training run passes through: few, and listed in architecture.md."""

import collections
import functools
import subprocess
import sys

from docs import architecture
from tests.passed_through import PATHS, code_of, named_in, side_by_side

#: Maximum numbers of modules and of moves between modules in the smallest training run. They leave
#: room for changes, and only detect mistakes; the remaining measures are printed.
LIMITS = {"modules run": 30, "moves": 200}


@functools.cache
def printed():
    """Output of a fresh process: the numbers, and the walk."""
    command = [sys.executable, "-m", "tests.passed_through"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def test_smallest_training_passes_through_few_modules():
    for _ in range(3):  # on a busy machine a thread that is waited for adds a move or two
        print(printed())
        numbers = dict(line.split("\t")[::-1] for line in printed().splitlines() if "\t" in line)
        over = {name: numbers[name] for name, limit in LIMITS.items() if int(numbers[name]) > limit}
        if not over:
            break
        printed.cache_clear()
    assert not over


def test_the_documentation_shows_the_walk():
    shown, walked = architecture.shown("walk"), architecture.walk(printed())
    assert shown == walked, "run python -m docs.architecture"


def test_what_is_counted():
    text = '"""Of a module.\n\nMore."""\n\nx = (  # a comment\n    1,\n)\n\n\n'
    text += 'def f():\n    """Of f."""\n'
    assert code_of(text) == (6 + 5, 4)
    assert code_of('y = """Not a\ndocstring."""\n') == (3, 2)
    assert side_by_side("a, b, c = 1, 2, 3\nd, e = f()\n") == 2
    assert named_in("x = ['sg', 'window']; window = 'a sg'") == {"sg", "window"}


def test_no_file_name_stands_twice():
    names = collections.Counter(path.name for path in PATHS if path.stem != "__init__")
    assert [name for name, times in names.items() if times > 1] == []
