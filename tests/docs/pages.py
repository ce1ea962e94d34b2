"""What the pages hold: their fenced blocks, and the commands in these and in running text."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]

#: Pages that people write. Those in docs/benchmarks are written by benchmarks.
PAGES = [
    *(
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "cluster/README.md")
    ),
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "benchmarks"),
]

#: What commands begin with that are this project's, or Python's.
PROGRAMS = ("make", "tfw2v", "python", "python3", "pip")


class Block(NamedTuple):
    """A fenced block: its language, where it begins, and its text."""

    language: str
    line: int
    text: str


def blocks(text: str) -> list[Block]:
    """Fenced blocks of a page, in order."""
    found = re.finditer(r"^( *)```(\w*)\n(.*?)^\1```$", text, re.MULTILINE | re.DOTALL)
    return [Block(m[2], text.count("\n", 0, m.start()) + 1, m[3]) for m in found]


def commands(block: str) -> list[str]:
    """Command lines of a block for a shell, without comments; lines that go on are one."""
    lines = block.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def words(command: str) -> list[str]:
    """Words of a command line, without the variables set before it and a comment after it."""
    found = shlex.split(command, comments=True)
    while found and re.match(r"[A-Z_]+=", found[0]):
        found.pop(0)
    return found


def mentioned(page: Path) -> list[str]:
    """Commands of this project's that a page names, in blocks or in running text."""
    text = page.read_text(encoding="utf-8")
    fenced = [b for b in blocks(text) if b.language in ("", "sh")]
    lines = [line for block in fenced for line in commands(block.text)]
    running = re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.MULTILINE | re.DOTALL)
    spans = re.findall(r"(?<!`)`([^`]+)`(?!`)", running)
    lines += [" ".join(span.split()) for span in spans]
    return [line.strip() for line in lines if line.split() and line.split()[0] in PROGRAMS]
