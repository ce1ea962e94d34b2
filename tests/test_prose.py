"""Comments and docstrings begin with what they describe, in words that readers know."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: Openings that need the code, or the next line, to be understood.
OPENING = re.compile(
    r"(What|Whether|How|Of|Those|That of|By which|Whose|Which|The same|They|These|It)\b"
)
#: Words for which there is a usual one.
WORD = re.compile(
    r"\b(anew|so manieth|wild|told|gains?|gained|teach|go(es)? on|one after the other|of which)\b",
    re.IGNORECASE,
)
#: Found so far, in openings and words: lower them with what goes.
LIMITS = {"gensim_tfw2v": (0, 0), "tests": (0, 0), "benchmarks": (0, 0)}


def prose(path: Path) -> Iterator[str]:
    """Docstrings and comments; of comments on successive lines, the whole."""
    text = path.read_text("utf-8")
    lines = enumerate(re.split("\n", text))
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield ast.get_docstring(node) or ""
        found = tokenize.generate_tokens(io.StringIO(text).readline)
        comments = [
            (t.start[0], t.string.lstrip("#: ")) for t in found if t.type == tokenize.COMMENT
        ]
    else:
        comments = [(at, m[1]) for at, line in lines if (m := re.search(r"(?<!:)//\s*(.*)", line))]
    before, block = -1, ""
    for at, comment in comments:
        if at == before + 1:
            block += " " + comment
        else:
            yield block
            block = comment
        before = at
    yield block


@pytest.mark.parametrize("folder", LIMITS)
def test_comments_and_docstrings_open_with_their_subject_and_use_usual_words(folder):
    sources = [path for kind in ("py", "h", "cc") for path in (ROOT / folder).rglob(f"*.{kind}")]
    texts = [(path, text) for path in sources for text in prose(path)]
    openings = [(path, text) for path, text in texts if OPENING.match(text)]
    words = [(path, found[0], text) for path, text in texts for found in WORD.finditer(text)]
    for path, *found in [*openings, *words]:
        print(path.relative_to(ROOT), *found)
    assert len(openings) <= LIMITS[folder][0] and len(words) <= LIMITS[folder][1]
