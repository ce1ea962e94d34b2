"""The package stays small: its lines that hold code, and its modules, may only become fewer."""

import ast
import collections
import io
import tokenize
from pathlib import Path

import gensim_tfw2v

#: Lower them with what goes. The aim is 10,000 lines in 105 modules.
LINES, MODULES = 14_087, 119

LAYOUT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    tokenize.ENDMARKER,
}
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
PATHS = sorted(Path(gensim_tfw2v.__file__).parent.rglob("*.py"))


def code_lines(text):
    """Lines that hold code: no docstring, comment or blank line."""
    documented, code = set(), set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            documented.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - documented)


def test_what_is_counted():
    text = '"""Of a module.\n\nMore."""\n\nx = (  # a comment\n    1,\n)\n\n\n'
    text += 'def f():\n    """Of f."""\n'
    assert code_lines(text) == 4
    assert code_lines('y = """Not a\ndocstring."""\n') == 2


def test_the_package_is_no_larger():
    assert sum(code_lines(path.read_text("utf-8")) for path in PATHS) <= LINES
    assert len(PATHS) <= MODULES


def test_no_file_name_stands_twice():
    names = collections.Counter(path.name for path in PATHS if path.stem != "__init__")
    assert [name for name, times in names.items() if times > 1] == []
