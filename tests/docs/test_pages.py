"""Files, pictures, figures and commands on the pages are right."""

import functools
import importlib.util
import inspect
import re

import pytest
import typer

import gensim_tfw2v
from docs import architecture, pictures
from gensim_tfw2v.cli.main import app
from gensim_tfw2v.cli.train import train
from gensim_tfw2v.merging.methods import METHODS
from gensim_tfw2v.options.regimes import REGIMES
from gensim_tfw2v.regimes.parameter_server import LAYOUTS
from gensim_tfw2v.training.early_stopping import SETS
from tests.docs.pages import PAGES, ROOT, blocks, mentioned, page, words

PACKAGE = ROOT / "gensim_tfw2v"

LINKED = [*PAGES, ROOT / "SECURITY.md"]


def test_every_module_is_listed():
    components, modules = architecture.components(), architecture.modules()
    assert architecture.shown("components") == components, "run python -m docs.architecture"
    assert architecture.shown("modules") == modules, "run python -m docs.architecture"
    named = re.findall(r"\]\(\.\./gensim_tfw2v/([\w/]+\.py)\)", components + modules)
    assert sorted(named) == sorted(
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if not any(part.startswith("_") for part in path.relative_to(PACKAGE).parts)
    )


def test_every_folder_of_native_sources_is_listed():
    source = PACKAGE / "kernel/native/src"
    table = page("architecture.md").split("## The sources in C++\n")[1].split("\n## ")[0]
    folders = {f"src/{path.name}" for path in source.iterdir() if path.is_dir()}
    assert set(re.findall(r"^\| `(src[\w/]*)` \|", table, re.MULTILINE)) == {"src", *folders}


def test_nouns_of_the_architecture_are_classes():
    table = page("architecture.md").split("## The nouns\n")[1].split("\n## ")[0]
    nouns = re.findall(r"^\|[^|]+\| `(\w+)` \|", table, re.MULTILINE)
    source = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    assert len(nouns) > 20
    assert not [name for name in nouns if not re.search(rf"^class {name}\b", source, re.MULTILINE)]


def test_papers_are_numbered_and_cited():
    text, papers = page("files-and-papers.md").split("## Papers\n")
    listed = {int(number) for number in re.findall(r"^(\d+)\. ", papers, re.MULTILINE)}
    used = {int(number) for number in re.findall(r"\[(\d+)\](?!\()", text)}
    assert used == listed == set(range(1, len(listed) + 1))


def test_committed_pictures_are_up_to_date():
    assert {path.stem for path in pictures.FOLDER.iterdir()} == set(pictures.PICTURES)
    for name, draw in pictures.PICTURES.items():
        drawn = (pictures.FOLDER / f"{name}.svg").read_text(encoding="utf-8")
        assert drawn == draw().svg(), "run python -m docs.pictures"


@pytest.mark.parametrize("path", LINKED, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_have_targets(path):
    """Linked files and headings exist, including files that are not part of the site."""
    for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        if not re.match(r"\w+:", link):
            name, _, anchor = link.partition("#")
            target = path.parent / name if name else path
            assert target.exists(), f"{path}: {link}"
            assert not anchor or anchor in anchors(target), f"{path}: {link}"


def test_files_that_contributors_are_sent_to_exist():
    """Paths are relative to the repository, to the package or to its sources in C++."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    suffix = r"(?:py|h|cc|md|yml|cff|txt)|(?<=/)"  # a file, or a folder
    paths = re.findall(rf"(?<!`)`([\w.*-]+(?:/[\w.*-]+)*[./](?:{suffix}))`", text)
    assert len(paths) > 50
    folders = ROOT, PACKAGE, PACKAGE / "kernel/native/src"
    assert not [path for path in paths if not any(any(folder.glob(path)) for folder in folders)]


def anchors(path):
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_commands_on_pages_exist(path):
    """Targets, commands, options, modules and extras that a page names exist."""
    for command in mentioned(path):
        assert exists(words(command)), f"{command!r} does not exist"


def test_check_of_commands_accepts_and_rejects():
    for right in (
        "make docs",
        "tfw2v cluster ssh --hosts x -- train c -o m --sg",
        "python -m benchmarks.compare --help",
        "pip install '.[cluster]'",
    ):
        assert exists(words(right)), right
    for wrong in (
        "make coffee",
        "tfw2v fly",
        "tfw2v train --fly",
        "tfw2v cluster local -- train c --fly",
        "python -m benchmarks.fly",
        "python -m benchmarks.compare --fly",
        "pip install '.[fly]'",
    ):
        assert not exists(words(wrong)), wrong


def test_fenced_blocks_are_found():
    text = "a\n```sh\nmake x \\\n  y\n```\n\n```python\n1\n```\n"
    assert [(b.language, b.line) for b in blocks(text)] == [("sh", 2), ("python", 7)]
    assert blocks(text)[0].text == "make x \\\n  y\n"


def exists(command):
    program, *rest = command
    if program == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        return all(word in targets for word in rest if "=" not in word)
    if program == "tfw2v":
        return is_tfw2v_command(rest)
    if program == "pip":
        return all(is_known_requirement(word) for word in rest[1:] if not word.startswith("-"))
    if rest[:1] == ["-m"]:
        return is_module(rest[1], rest[2:])
    return all((ROOT / word).is_file() for word in rest[:1] if not word.startswith("-"))


@functools.cache
def app_command():
    """Return the command tfw2v, whose options take longer to collect than a page to check."""
    return typer.main.get_command(app)


def is_tfw2v_command(arguments):
    """Return whether tfw2v has the command and each option, before and after ``--``."""
    command = app_command()
    known = {"--help"}
    while arguments and arguments[0] != "--":
        word, *arguments = arguments
        if word.startswith("-"):
            if word.split("=")[0] not in known | options(command):
                return False
        elif hasattr(command, "commands"):
            if word not in command.commands:
                return not is_name(word)  # a placeholder such as CORPUS is allowed
            command = command.commands[word]
    rest = arguments[1:]  # a command of its own, or values such as -3
    return not rest or not is_name(rest[0].lstrip("-")) or is_tfw2v_command(rest)


def is_name(word):
    return re.fullmatch(r"[a-z-]+", word) is not None


def options(command):
    return {name for each in command.params for name in (*each.opts, *each.secondary_opts)}


def is_known_requirement(requirement):
    """Return whether a requirement is this package with known extras, or listed in an extra."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    known = re.findall(
        r"^(\w+) = \[",
        project.split("[project.optional-dependencies]\n")[1].split("\n[")[0],
        re.MULTILINE,
    )
    name, extras = re.fullmatch(r"([\w.-]+)(?:\[([\w,]+)\])?", requirement).groups()
    if name != "." and f'name = "{name}"' not in project:
        return False
    return set((extras or "").split(",")) - {""} <= set(known)


def is_module(name, arguments):
    """Return whether a module exists and, if it is a benchmark, accepts the options."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return False
    if spec is None:
        return False
    if not name.startswith("benchmarks."):
        return True
    if spec.submodule_search_locations is not None:  # a package parses its options in __main__
        name = f"{name}.__main__"
    known = importlib.import_module(name).parser()._option_string_actions
    return {word for word in arguments if word.startswith("--")} <= known.keys()


def shown_in_navigation(name):
    return f": {name}\n" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", REGIMES)
def test_every_regime_is_documented(name):
    """A failure lists the places that do not mention the regime."""
    class_, chosen = REGIMES[name].__name__, f"--regime {name}"
    stem = "sub-models" if name == "submodels" else name
    help_text = inspect.signature(train).parameters["regime"].annotation
    reference, choosing, gensims = map(
        page, ("reference/regimes.md", "choosing.md", "coming-from-gensim.md")
    )
    places = {
        f"the help of {chosen}": name in str(help_text),
        f"docs/regimes/{stem}.md": (ROOT / f"docs/regimes/{stem}.md").is_file(),
        "the navigation of mkdocs.yml": shown_in_navigation(f"regimes/{stem}.md"),
        f"docs/choosing.md, a link to regimes/{stem}.md": f"regimes/{stem}.md" in choosing,
        "docs/reference/regimes.md": f".{class_}\n" in reference + "\n",
        "docs/coming-from-gensim.md": f'"{name}"' in gensims,
        "__all__ of the package": class_ in gensim_tfw2v.__all__,
        "_MODULES of the package": gensim_tfw2v._MODULES.get(class_) == "options.regimes",
        "the docstring of TFWord2Vec": class_ in (gensim_tfw2v.TFWord2Vec.__doc__ or ""),
    }
    assert not [place for place, is_there in places.items() if not is_there]


@pytest.mark.parametrize(("names", "places"), [
    (METHODS, ("docs/merging.md", "gensim_tfw2v/cli/merge.py", "gensim_tfw2v/merged.py")),
    (LAYOUTS, ("docs/layouts.md", "gensim_tfw2v/cli/train.py", "docs/coming-from-gensim.md",
               "gensim_tfw2v/model.py")),
    (SETS, ("gensim_tfw2v/cli/train.py", "gensim_tfw2v/training/early_stopping.py")),
], ids=["merging", "layouts", "evaluation sets"])  # fmt: skip
def test_choices_are_documented(names, places):
    texts = {place: (ROOT / place).read_text(encoding="utf-8").lower() for place in places}
    assert not [(name, place) for name in names for place in places if name not in texts[place]]


def test_every_command_is_on_a_page():
    """Every command has a help text, from which the reference is made, and is on another page."""
    command, written = (
        app_command(),
        "".join(path.read_text(encoding="utf-8") for path in PAGES if path.name != "CHANGELOG.md"),
    )
    names = [*command.commands]
    names += [f"cluster {name}" for name in command.commands["cluster"].commands]
    assert not [name for name in names if not command_of(command, name).help]
    shown = [name for name in names if not command_of(command, name).hidden]
    assert not [name for name in shown if f"tfw2v {name}" not in written]


def command_of(command, name):
    for word in name.split():
        command = command.commands[word]
    return command


def test_pages_are_in_the_navigation():
    """Pages of regimes and of the reference too, which no other page has to link to."""
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert not [
        path
        for path in pages
        if not path.startswith("benchmarks/") and not shown_in_navigation(path)
    ]
