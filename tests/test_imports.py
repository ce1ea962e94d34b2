"""Imports inside the package go one way, and sources name no paths of a machine."""

from __future__ import annotations

import ast
import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "gensim_tfw2v"

# A component is a folder or file directly inside the package. It may import components of
# lower levels only; those not listed (files, processes, ...) are level 0 and may import each
# other, as long as there are no circles. "" is the package's own __init__, which the
# command line may import as any user does.
AXES = ("corpus", "merging", "evaluation")
ABOVE = (
    *"monitor kernel unit_sizes ops graph cluster parameter_server planning options".split(),
    "walks",
    "engines",
    "regimes",
    *"neighbours checks training stored_model model fasttext doc2vec merged".split(),
    *"time_slices patch".split(),
    *("", "cli", "__main__"),
)
LEVELS = dict.fromkeys(AXES, 1) | {name: level for level, name in enumerate(ABOVE, 2)}

CLASSES = {"Word2Vec", "FastText", "Doc2Vec"}

#: Groups of modules that must not import each other.
APART = (
    ("graph.objectives",),
    ("parameter_server.layout", "parameter_server.rows", "parameter_server.columns"),
)


def modules(root: Path, package: str) -> dict[str, Path]:
    """Dotted names of the package's modules, with their files."""
    found = {}
    for path in sorted((root / package).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def statements(body: list[ast.stmt], *, deferred: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """Import statements of a module: all, or without `deferred` those that run on import."""
    for node in body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from statements(node.body if deferred else node.orelse, deferred=deferred)
        elif deferred or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for field in ("body", "orelse", "finalbody"):
                yield from statements(getattr(node, field, []), deferred=deferred)
            for handler in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
                yield from statements(handler.body, deferred=deferred)


def imported(name: str, known: dict[str, Path], *, deferred: bool) -> set[str]:
    """Modules among the known ones that a module imports by name."""
    path = known[name]
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    targets: set[str] = set()
    for node in statements(ast.parse(path.read_text(encoding="utf-8")).body, deferred=deferred):
        if isinstance(node, ast.Import):
            targets.update(alias.name for alias in node.names)
            continue
        base = package[: len(package) - node.level + 1] if node.level else []
        source = ".".join([*base, *([node.module] if node.module else [])])
        for alias in node.names:
            member = f"{source}.{alias.name}"
            targets.add(member if member in known else source)
    return {target for target in targets if target in known and target != name}


def component(name: str) -> str:
    """The part of the package that a module belongs to; "" is the package's own __init__."""
    return (name.split(".") + [""])[1]


def violations(known: dict[str, Path]) -> list[str]:
    """Imports of components that are not of a lower level, also inside functions."""
    wrong = []
    for name in known:
        here = component(name)
        for target in sorted(imported(name, known, deferred=True)):
            there = component(target)
            lower = LEVELS.get(there, 0) < LEVELS.get(here, 0)
            both_low = LEVELS.get(there, 0) == LEVELS.get(here, 0) == 0
            if here != there and not lower and not both_low:
                wrong.append(f"{name} imports {target}")
    return wrong


def circle(known: dict[str, Path]) -> list[str]:
    """One circle of imports that run at import time, or an empty list."""
    graph = {name: sorted(imported(name, known, deferred=False)) for name in known}
    done: set[str] = set()

    def visit(name: str, trail: list[str]) -> list[str]:
        if name in trail:
            return [*trail[trail.index(name) :], name]
        if name in done:
            return []
        for target in graph[name]:
            if found := visit(target, [*trail, name]):
                return found
        done.add(name)
        return []

    return next((found for name in graph if (found := visit(name, []))), [])


def test_imports_go_down_the_levels() -> None:
    known = modules(ROOT, PACKAGE)
    assert known, f"no modules found in {PACKAGE}"
    assert not violations(known), "see CONTRIBUTING.md, Layout; a new level goes into LEVELS"


def test_groups_apart_do_not_import_each_other() -> None:
    known = modules(ROOT, PACKAGE)
    axes = [tuple(f"{PACKAGE}.{module}" for module in axis) for axis in APART]
    for here, there in itertools.permutations(axes, 2):
        inside = [name for name in known if name.startswith(here)]
        assert inside, here
        for name in inside:
            found = imported(name, known, deferred=True)
            assert not [target for target in found if target.startswith(there)], name


def test_modules_have_no_import_circle() -> None:
    found = circle(modules(ROOT, PACKAGE))
    assert not found, " -> ".join(found)


@pytest.mark.parametrize(
    ("path", "source", "wrong"),
    [
        ("kernel/a.py", "from gensim_tfw2v.regimes import local", True),
        ("kernel/a.py", "def f():\n    from ..regimes.local import x", True),
        ("kernel/a.py", "from ..options import x", True),
        ("kernel/a.py", "from ..files import x", False),
        ("options/a.py", "from ..kernel import a", False),
        ("options/a.py", "from ..model import x", True),
        ("regimes/local.py", "import gensim_tfw2v.corpus.b", False),
        ("regimes/local.py", "from .. import model", True),
        ("model.py", "from .regimes.local import x", False),
        ("model.py", "try:\n    from .cli import main\nexcept ImportError:\n    pass", True),
        ("cli/main.py", "from gensim_tfw2v import TFWord2Vec", False),
        ("corpus/b.py", "from gensim_tfw2v import TFWord2Vec", True),
    ],
)
def test_violations_finds_imports_of_higher_levels(
    tmp_path: Path, path: str, source: str, wrong: bool
) -> None:
    names = (
        "__init__",
        "files",
        "model",
        "cli/__init__",
        "cli/main",
        "options/__init__",
        "options/a",
        "regimes/__init__",
    )
    names += ("regimes/local", "corpus/__init__", "corpus/b", "kernel/__init__", "kernel/a")
    for name in names:
        file = tmp_path / PACKAGE / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    (tmp_path / PACKAGE / path).write_text(source)
    assert bool(violations(modules(tmp_path, PACKAGE))) is wrong


def test_circle_is_found_but_deferred_imports_are_allowed(tmp_path: Path) -> None:
    folder = tmp_path / PACKAGE
    folder.mkdir()
    (folder / "a.py").write_text("from . import b")
    (folder / "b.py").write_text("def f():\n    from .a import x")
    assert not circle(modules(tmp_path, PACKAGE))
    (folder / "b.py").write_text("if True:\n    from .a import x")
    assert circle(modules(tmp_path, PACKAGE)) == [f"{PACKAGE}.{n}" for n in "aba"]


def loaded_with(module: str, known: dict[str, Path]) -> set[str]:
    """Modules of the package that importing `module` runs, including itself."""
    reached: set[str] = set()
    waiting = [f"{PACKAGE}.{module}"]
    while waiting:
        name = waiting.pop()
        if name in reached or name not in known:
            continue
        reached.add(name)
        waiting += imported(name, known, deferred=False)
        waiting += [name.rpartition(".")[0]]  # a module's package is imported before it
    return reached


#: Modules that training on one machine must not load.
FOR_CLUSTERS = (
    *("parameter_server", "regimes.parameter_server"),
    *("regimes.coordinator", "regimes.coordinated_regime"),
    *("processes.children", "cluster.launcher", "evaluation", "merging"),
    *("training.sub_model_training", "training.early_stopping"),
)


def test_importing_the_model_loads_no_cluster_modules() -> None:
    found = loaded_with("model", modules(ROOT, PACKAGE))
    assert f"{PACKAGE}.training.session" in found
    others = tuple(f"{PACKAGE}.{module}" for module in FOR_CLUSTERS)
    assert not [name for name in found if name.startswith(others)]
    cluster = {name for name in found if name.startswith(f"{PACKAGE}.cluster")}
    without_connections = {
        f"{PACKAGE}.cluster.{name}" for name in ("addresses", "descriptions", "spec")
    }
    assert cluster == {f"{PACKAGE}.cluster"} | without_connections


# gensim imports SciPy, which would cost each process of a cluster a second.
@pytest.mark.parametrize("process", ["cluster.server", "regimes.coordinator"])
def test_processes_of_a_cluster_do_not_import_gensim(process: str) -> None:
    known = modules(ROOT, PACKAGE)
    reached = loaded_with(process, known)
    for name in reached:
        for node in statements(ast.parse(known[name].read_text("utf-8")).body, deferred=False):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names]
            assert "gensim" not in {str(found).split(".")[0] for found in names}, name
    assert len(reached) > 5


def test_modules_do_not_import_gensim_test() -> None:
    """gensim.test.utils builds a vocabulary on import, and logs that at level INFO."""
    for name, path in modules(ROOT, PACKAGE).items():
        for node in statements(ast.parse(path.read_text("utf-8")).body, deferred=False):
            found = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
            assert not str(found).startswith("gensim.test"), name


def test_gensims_classes_come_from_one_module() -> None:
    """gensim's modules may hold patched classes under these names when a module is imported."""
    for name, path in modules(ROOT, PACKAGE).items():
        for node in statements(ast.parse(path.read_text("utf-8")).body, deferred=False):
            names = {alias.name for alias in node.names if isinstance(node, ast.ImportFrom)}
            is_gensims = getattr(node, "module", None) == "gensim.models"
            assert not is_gensims or name.endswith(".gensim_classes") or not names & CLASSES, name


# Split, so that this file does not match itself.
MACHINE_PATH = re.compile(r"(?<![\w./~-])/(tmp/" + r"w|work|root)(?![\w-])")
SKIPPED = {"build", "dist", "__pycache__"}
SOURCES = {".py", ".md", ".toml", ".cfg", ".yaml", ".yml", ".json", ".ipynb", ".sh", ""}


def test_sources_contain_no_machine_paths() -> None:
    wrong = []
    paths = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = {name for name in folders if name[0] != "." or name == ".ci"} - SKIPPED
        paths += [Path(folder, name) for name in names if name[0] != "."]
    for path in sorted(path for path in paths if path.suffix in SOURCES and path.is_file()):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        wrong += [
            f"{path}:{number}: {line.strip()[:80]}"
            for number, line in enumerate(lines, 1)
            if MACHINE_PATH.search(line)
        ]
    assert not wrong, "\n".join(wrong)
