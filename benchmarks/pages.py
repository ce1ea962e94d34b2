"""Pages of all results, from their JSON files: ``python -m benchmarks.pages``.

Nothing is measured. After a change to the pages, this command writes them again, with the table of
questions and answers in docs/benchmarks.md. A test fails if a page is not what its results give.
"""

import argparse
import importlib
import re
from pathlib import Path

from benchmarks.command import shared_parser
from benchmarks.report import question_and_answer, table
from benchmarks.results import RESULTS, STUDIES, Study, document_of

#: Page with the table of questions and answers.
OVERVIEW = RESULTS.with_suffix(".md")


def render(study: Study) -> str:
    """Return the page of a study, which has results."""
    name = f"benchmarks.{study.command.split()[0]}"
    module = importlib.import_module(name)
    if hasattr(module, "__path__"):
        module = importlib.import_module(f"{name}.__main__")
    return str(module.markdown(document_of(study.name)))


def overview(texts: dict[str, str]) -> str:
    """Return docs/benchmarks.md with a table of the questions and answers of pages."""
    rows = []
    for name, text in texts.items():
        question, answer = question_and_answer(text)
        title = text.splitlines()[0].removeprefix("# ")
        rows.append([question, answer, f"[{title}](benchmarks/{name}.md)"])
    new = table(["question", "answer", "page"], rows, left=None)
    old = OVERVIEW.read_text(encoding="utf-8")
    return re.sub(r"(?ms)^\| question \|.*?\n(?=\n|\Z)", lambda _: f"{new}\n", old)


def pages() -> dict[Path, str]:
    """Return the texts of all pages, by path."""
    texts = {study.name: render(study) for study in STUDIES if document_of(study.name)}
    found = {RESULTS / f"{name}.md": text for name, text in texts.items()}
    return {**found, OVERVIEW: overview(texts)}


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    return shared_parser("benchmarks.pages", __doc__)


def main() -> None:
    """Write all pages."""
    parser().parse_args()
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
