"""Pages of docs/how-to, which run: ``python -m docs.how_to [NAME ...]``.

Runs the blocks of each page in the order of the page, in an empty folder, and writes their output
and their pictures to the page. A test compares the output that a page shows with a new run.

- A ``python`` or ``sh`` block runs. Python blocks share their variables.
- A ``text`` block that follows it immediately is its output. "..." in it stands for any text.
- A ``console`` block does not run: it installs something, or needs a network.
- A file ``NAME.svg`` that the page of this name writes is its picture.
"""

import contextlib
import io
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

FOLDER = Path(__file__).parent / "how-to"

#: Pictures that the pages have drawn.
PICTURES = FOLDER / "pictures"

#: Page without blocks that run.
GALLERY = "index"

#: Seconds after which a command of a page is killed.
COMMAND_SECONDS = 300

#: Tolerances for figures in an output, which depend on the processor and on threads.
RELATIVE, ABSOLUTE = 0.1, 0.05

_BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.M | re.S)

_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")


class Step(NamedTuple):
    """Block that runs, and the output that the page shows; None if it shows none."""

    language: str
    code: str
    shown: str | None
    line: int


def names() -> list[str]:
    """Return the names of the pages that run."""
    return sorted(path.stem for path in FOLDER.glob("*.md") if path.stem != GALLERY)


def steps(text: str) -> list[Step]:
    """Return the blocks of a page that run, in order."""
    return [
        Step(m[1], m[2], m[3], text.count("\n", 0, m.start()) + 2) for m in _BLOCK.finditer(text)
    ]


def run(name: str, folder: Path) -> Iterator[tuple[Step, str]]:
    """Run a page in a folder; yield each block with its output."""
    path = FOLDER / f"{name}.md"
    variables: dict[str, Any] = {"__name__": "__main__"}
    for step in steps(path.read_text(encoding="utf-8")):
        with _working_directory(folder):
            if step.language == "python":
                with contextlib.redirect_stdout(io.StringIO()) as output:
                    code = "\n" * (step.line - 1) + step.code
                    exec(compile(code, path, "exec"), variables)
                yield step, output.getvalue()
            else:
                yield step, _run_commands(step.code)


def _run_commands(script: str) -> str:
    """Run a block of commands; return what they print."""
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": programs, "COLUMNS": "100"}
    run = subprocess.run(
        ["sh", "-e", "-c", script],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=COMMAND_SECONDS,
    )
    if run.returncode:
        raise RuntimeError(f"{script}failed: {run.stdout}")
    return run.stdout


@contextlib.contextmanager
def _working_directory(folder: Path) -> Iterator[None]:
    """Work in a folder: `contextlib.chdir`, which Python 3.10 lacks."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def difference(shown: str, output: str) -> str:
    """Return how an output differs from the output that the page shows; "" if it does not.

    Numbers may differ by a tenth, or by 0.05.
    """
    pattern, numbers = "", []
    for part in re.split(r"(\.\.\.)", shown.strip()):
        if part == "...":
            pattern += ".*?"
            continue
        at = 0
        for found in _NUMBER.finditer(part):
            pattern += _pattern_of_text(part[at : found.start()]) + f"({_NUMBER.pattern})"
            numbers.append(found[0])
            at = found.end()
        pattern += _pattern_of_text(part[at:])
    match = re.fullmatch(pattern, output.strip(), re.DOTALL)
    if match is None:
        return f"shown:\n{shown}\nprinted:\n{output}"
    for number, printed in zip(numbers, match.groups(), strict=True):
        values = (float(text.replace(",", "")) for text in (number, printed))
        if not math.isclose(*values, rel_tol=RELATIVE, abs_tol=ABSOLUTE):
            return f"{number} is shown, and {printed} printed, in:\n{output}"
    return ""


def _pattern_of_text(text: str) -> str:
    """Return a pattern of a text, in which white space matches any white space."""
    return r"\s+".join(re.escape(word) for word in re.split(r"\s+", text))


def update(name: str) -> None:
    """Run a page; write its output and its picture."""
    path = FOLDER / f"{name}.md"
    # identifiers in a picture are random otherwise, and it contains the date
    plain = matplotlib.rc_context({"svg.hashsalt": name})
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    with plain, tempfile.TemporaryDirectory() as folder:
        outputs = iter([output for _, output in run(name, Path(folder))])
        picture = Path(folder, f"{name}.svg")
        if picture.exists():
            PICTURES.mkdir(exist_ok=True)
            shutil.copy(picture, PICTURES)

    def replaced(match: re.Match[str]) -> str:
        output, shown = next(outputs), match[3]
        if shown is None or not difference(shown, output):
            return match[0]
        return match[0].replace(f"```text\n{shown}```", f"```text\n{output.rstrip()}\n```")

    path.write_text(_BLOCK.sub(replaced, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    for page in sys.argv[1:] or names():
        print(page, flush=True)
        update(page)
