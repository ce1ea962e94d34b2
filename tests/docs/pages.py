"""Contents of the pages: fenced blocks, and commands in blocks and running text."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]

#: Handwritten pages. Pages in docs/benchmarks are written by benchmarks.
PAGES = [
    *(
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "cluster/README.md")
    ),
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "benchmarks"),
]

#: First words of the commands that are checked.
PROGRAMS = ("make", "tfw2v", "python", "python3", "pip")


def page(name):
    """Return the text of a file in docs."""
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


class Block(NamedTuple):
    """Fenced block: its language, first line and text."""

    language: str
    line: int
    text: str


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    found = re.finditer(r"^( *)```(\w*)\n(.*?)^\1```$", text, re.MULTILINE | re.DOTALL)
    return [Block(m[2], text.count("\n", 0, m.start()) + 1, m[3]) for m in found]


def commands(block: str) -> list[str]:
    """Return the commands of a shell block, without comments, continuation lines joined."""
    lines = block.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def words(command: str) -> list[str]:
    """Split a command line; drop variables set before it and a comment after it."""
    found = shlex.split(command, comments=True)
    while found and re.match(r"[A-Z_]+=", found[0]):
        found.pop(0)
    return found


def mentioned(page: Path) -> list[str]:
    """Return the commands of `PROGRAMS` on a page, in blocks or running text."""
    text = page.read_text(encoding="utf-8")
    fenced = [b for b in blocks(text) if b.language in ("", "sh")]
    lines = [line for block in fenced for line in commands(block.text)]
    running = re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.MULTILINE | re.DOTALL)
    spans = re.findall(r"(?<!`)`([^`]+)`(?!`)", running)
    lines += [" ".join(span.split()) for span in spans]
    return [line.strip() for line in lines if line.split() and line.split()[0] in PROGRAMS]
