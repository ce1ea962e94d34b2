"""Tables of docs/architecture.md, from the sources: ``python -m docs.architecture`` writes them.

Each table stands between the comments ``<!-- NAME -->`` and ``<!-- end -->``. The descriptions are
the first lines of the modules' docstrings. Tests compare the page with new tables.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

from tests.test_imports import LEVELS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "gensim_tfw2v"
PAGE = Path(__file__).with_suffix(".md")

_TABLE = re.compile(r"^<!-- (\w+) -->\n(.*?)^<!-- end -->\n", re.M | re.S)


def shown(name: str) -> str:
    """Return a table as the page shows it."""
    tables = {found[1]: found[2] for found in _TABLE.finditer(PAGE.read_text(encoding="utf-8"))}
    return tables[name].strip()


def summary(path: Path) -> str:
    """Return the first paragraph of a module's docstring, in Markdown."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("``", "`").replace("|", "\\|")


def link(path: Path) -> str:
    """Return a link to a module, under its name in the package."""
    name = path.relative_to(PACKAGE).with_suffix("").as_posix()
    return f"[`{name}`](../gensim_tfw2v/{name}.py)"


def _is_public(path: Path) -> bool:
    return not any(part.startswith("_") for part in path.relative_to(PACKAGE).parts)


def _table(title: str, rows: list[tuple[str, str]]) -> str:
    lines = [f"| {title} | contents |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows)]
    return "\n".join(lines)


def _folders() -> list[Path]:
    """Return the subpackages, with those inside them."""
    folders = [path.parent for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE]
    return sorted(folder for folder in folders if _is_public(folder))


def components() -> str:
    """Return the table of subpackages and modules of the package, the highest level first."""
    found = [path for path in PACKAGE.glob("*.py") if _is_public(path)]
    found += [folder for folder in _folders() if folder.parent == PACKAGE]
    rows = []
    for path in sorted(found, key=lambda path: (-LEVELS.get(path.stem, 0), path.name)):
        if path.is_dir():
            rows.append((f"[`{path.name}/`](#{path.name})", summary(path / "__init__.py")))
        else:
            rows.append((link(path), summary(path)))
    return _table("subpackage or module", rows)


def modules() -> str:
    """Return a heading and a table of modules for each subpackage."""
    sections = []
    for folder in _folders():
        paths = sorted(path for path in folder.glob("*.py") if _is_public(path))
        if paths:
            name = folder.relative_to(PACKAGE).as_posix()
            rows = [(link(path), summary(path)) for path in paths]
            sections.append(f"### {name}\n\n{_table('module', rows)}")
    return "\n\n".join(sections)


def walk(steps: str) -> str:
    """Return the table of the modules that a training run enters, from what the walk prints."""
    names = dict.fromkeys(re.findall(r"^([\w/]+):", steps, re.MULTILINE))
    paths = [PACKAGE / f"{name}.py" for name in names]
    return _table("module", [(link(path), summary(path)) for path in paths])


def main() -> None:
    """Write the tables to the page."""
    command = [sys.executable, "-m", "tests.passed_through"]
    steps = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    tables = {"components": components(), "modules": modules(), "walk": walk(steps)}

    def replaced(match: re.Match[str]) -> str:
        return f"<!-- {match[1]} -->\n\n{tables[match[1]]}\n\n<!-- end -->\n"

    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_TABLE.sub(replaced, page), encoding="utf-8")


if __name__ == "__main__":
    main()
