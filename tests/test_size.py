"""A reader passes through no more of the package than before: each number may only fall."""

import collections
import subprocess
import sys

from tests.passed_through import PATHS, code_of, named_in, side_by_side

#: Lower them with what goes. Lines and modules are printed only.
LIMITS = {
    "modules run": 28,
    "functions run": 202,
    "moves": 119,
    "modules loaded": 51,
    "lists that name an option": 3,
    "names set side by side": 3,
    "tokens": 128_400,
}


def test_a_reader_passes_through_no_more():
    command = [sys.executable, "-m", "tests.passed_through"]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    print(printed)
    numbers = dict(line.split("\t")[::-1] for line in printed.splitlines() if "\t" in line)
    over = {name: numbers[name] for name, most in LIMITS.items() if int(numbers[name]) > most}
    assert not over


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
