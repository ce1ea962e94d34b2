"""Messages that docs/troubleshooting.md quotes are messages of the package, of setup.py or gensim.

The page quotes messages as code, and "…" stands for what varies. A fragment is right if some string
of the sources contains it, with any text for "…".
"""

import ast
import functools
import importlib.util
import re
from pathlib import Path

import pytest

from tests.docs.pages import PROGRAMS, ROOT, page

#: Placeholder of what varies in a message: a field of an f-string, or a conversion such as %s.
FIELD = "\0"

#: First words of code that is a command, not a message.
COMMANDS = (*PROGRAMS, "git", "gzip", "iconv")


def fragments() -> list[str]:
    """Return the messages that the page quotes: code of at least three words, but no commands."""
    text = re.sub(r"^( *)```.*?^\1```$", "", page("troubleshooting.md"), flags=re.M | re.S)
    spans = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", text)]
    return [span for span in spans if len(span.split()) >= 3 and span.split()[0] not in COMMANDS]


def _text(node: ast.expr) -> str | None:
    """Return the text of a string or an f-string; None for other expressions."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"%[-.\d]*[sgifdr]", FIELD, node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or FIELD for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return (_text(node.left) or FIELD) + (_text(node.right) or FIELD)
    return None


def strings_of(source: str) -> set[str]:
    """Return the strings of a Python source on one line each, without docstrings."""
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr)]
    texts = [_text(node) for node in nodes if id(node) not in docstrings]
    return {" ".join(text.split()) for text in texts if text and " " in text}


@functools.cache
def messages() -> str:
    """Return all strings of the sources, one per line."""
    gensim = Path(importlib.util.find_spec("gensim").origin).parent / "models"
    paths = [ROOT / "setup.py", *(ROOT / "gensim_tfw2v").rglob("*.py")]
    paths += [gensim / "word2vec.py", gensim / "keyedvectors.py"]
    return "\n".join(
        sorted({text for path in paths for text in strings_of(path.read_text(encoding="utf-8"))})
    )


def is_message(fragment: str, texts: str) -> bool:
    """Return whether one of the texts, which are on a line each, contains a fragment."""
    parts = [re.escape(part.strip()) for part in fragment.split("…")]
    pattern = r"[^\n]*".join(parts)
    return re.search(pattern, texts) is not None


@pytest.mark.parametrize("fragment", fragments())
def test_quoted_message_is_in_the_sources(fragment):
    assert is_message(fragment, messages()), f"no message contains {fragment!r}"


def test_page_explains_many_messages():
    assert len(set(fragments())) >= 30


@pytest.mark.parametrize(
    ("source", "fragment", "expected"),
    [
        ("raise ValueError(f'{path} is ' 'no text')", "is no text", True),
        ("raise ValueError(f'read {n} of {m} words')", "read … of … words", True),
        ("logger.warning('%i workers wait' + advice, n)", "workers wait", True),
        ("raise ValueError('one', 'two')", "one two", False),
        ("def f():\n    'a docstring only'", "a docstring only", False),
        ("x = 'a b'\ny = 'c d'", "a b … c d", False),
    ],
)
def test_fragments_are_found_within_one_string(source, fragment, expected):
    assert is_message(fragment, "\n".join(strings_of(source))) == expected
