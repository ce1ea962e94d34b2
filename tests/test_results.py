"""The command that runs all studies: what it runs, what it keeps, and hashes of the kernels."""

import importlib
import json
import re
from argparse import Namespace
from types import SimpleNamespace

import pytest

from benchmarks import pages, results
from benchmarks.graphs import __main__ as graphs_command
from benchmarks.graphs.records import Task
from benchmarks.machine import KERNEL, describe, kernels_hash
from benchmarks.report import notice, question_and_answer, score
from benchmarks.results import STUDIES, Study, arguments, describe_lack, is_current, main


@pytest.fixture
def given(tmp_path):
    for name in ("text", "large", "pairs"):
        (tmp_path / name).write_text("some words\n")
    text, large, pairs = (tmp_path / name for name in ("text", "large", "pairs"))
    return Namespace(corpus=text, large=large, eval=[pairs], graphs=[], only=None)


@pytest.mark.parametrize("study", STUDIES, ids=[study.name for study in STUDIES])
def test_studies_have_valid_commands(study, given):
    _, module, *options = arguments(study, given)
    try:
        known = importlib.import_module(f"{module}.__main__")
    except ModuleNotFoundError:
        known = importlib.import_module(module)
    parsed = known.parser().parse_args(options)
    assert getattr(parsed, "name", study.name) == study.name
    assert "{pairs}" not in study.command or parsed.eval == given.eval


def test_study_of_graphs_gets_its_graphs_and_is_not_run_without(given):
    study = Study("graphs", "graphs {graphs}", 1)
    assert describe_lack(study, given) == "--graphs EDGES LABELS P Q"
    given.graphs = [Task(given.corpus, given.large, 0.25, 4), Task(given.large, given.corpus, 1, 2)]
    assert describe_lack(study, given) is None
    parsed = graphs_command.parser().parse_args(arguments(study, given)[2:])
    assert parsed.graphs == given.graphs
    assert describe_lack(Study("graphs", "graphs", 1, "no-such-package"), given) == (
        "pip install no-such-package"
    )


def test_study_of_one_maker_is_not_run_on_processors_of_another(given, monkeypatch):
    monkeypatch.setattr(results, "cpu_model", lambda: "Intel(R) Xeon(R) Processor")
    lacks = [
        describe_lack(Study("kernels", "kernels", 1, maker=maker), given)
        for maker in ("", "Intel", "AMD")
    ]
    assert lacks == [None, None, "a processor of AMD"]


def test_each_page_of_results_has_a_study():
    pages = {path.stem for path in results.RESULTS.glob("*.md")}
    assert pages <= {study.name for study in STUDIES}


@pytest.fixture(scope="module")
def rendered():
    return pages.pages()


PAGES = [*(results.RESULTS / f"{study.name}.md" for study in STUDIES), pages.OVERVIEW]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_committed_pages_equal_what_the_results_give(rendered, path):
    assert path.read_text("utf-8") == rendered[path], "run python -m benchmarks.pages"


@pytest.mark.parametrize("path", PAGES[:-1], ids=lambda path: path.stem)
def test_pages_open_with_question_and_answer_and_name_columns_apart(rendered, path):
    text = rendered[path]
    question, answer = question_and_answer(text)
    assert question.endswith("?") and answer.endswith(".")
    for head in re.findall(r"^(\|.*\|)\n\| -", text, re.MULTILINE):
        columns = head.strip("| ").split(" | ")
        assert len({*columns}) == len(columns), columns


def test_pages_have_different_titles(rendered):
    titles = [rendered[path].splitlines()[0] for path in PAGES]
    assert len({*titles}) == len(titles)


def test_scores_are_written_without_a_zero_before_the_point():
    assert [score(0.65), score(-0.65), score(1), score(-0.0001)] == [
        ".650",
        "-.650",
        "1.000",
        ".000",
    ]
    assert [score(0.65, "+.3f"), score(-0.0001, "+.3f")] == ["+.650", "+.000"]


@pytest.mark.parametrize(
    ("change", "is_same"),
    [
        (lambda text: "// a comment\n" + text.replace("\n", "\n\n"), True),
        (lambda text: text + "int x;", False),
        (lambda text: text + 'auto s = "a // b";', False),
    ],
    ids=["comment", "code", "string"],
)
def test_hash_of_kernels_ignores_comments_and_layout(tmp_path, change, is_same):
    text = (KERNEL / "native/src/kernels/draws.h").read_text(encoding="utf-8")
    for name, of_file in (("old", text), ("new", change(text))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "draws.h").write_text(of_file)
    assert (kernels_hash(tmp_path / "old") == kernels_hash(tmp_path / "new")) == is_same


def test_strings_are_no_comments(tmp_path):
    for name, word in (("old", "b"), ("new", "c")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.h").write_text(f'auto s = "a // {word}";')
    assert kernels_hash(tmp_path / "old") != kernels_hash(tmp_path / "new")


def test_results_of_older_kernels_say_so():
    machine = describe()
    document = {"date": "2025-01-31", "machine": machine}
    assert notice(document) == "" and is_current(document) and not is_current(None)
    document["machine"] = machine | {"kernels": "older", "commit": "1234abcd"}
    assert notice(document) == (
        "Measured on 2025-01-31 with commit 1234abcd; the kernels have changed since."
    )
    assert notice({}) == "Measured earlier; the kernels have changed since."


@pytest.fixture
def folders(tmp_path, monkeypatch, given):
    """Folders for results, in place of the documentation's, and a command line."""
    made = SimpleNamespace(results=tmp_path / "results", partial=tmp_path / "partial")
    made.results.mkdir()
    monkeypatch.setattr(results, "RESULTS", made.results)
    monkeypatch.setattr(results, "PARTIAL", made.partial)
    monkeypatch.setattr("sys.argv", ["results", str(given.corpus), str(given.large)])
    return made


def test_studies_run_once_and_failures_keep_earlier_results(folders, monkeypatch, capfd):
    right = Study("online", "online {lee} --seeds 1 --epochs 1", 1)
    wrong = Study("wrong", "online {lee} --seeds 0", 2)
    absent = Study("absent", "online {lee}", 3, "a-package-that-is-missing")
    monkeypatch.setattr(results, "STUDIES", (right, wrong, absent))
    earlier = {"date": "2025-01-31", "machine": {"kernels": "older"}}
    (folders.results / "wrong.json").write_text(json.dumps(earlier))
    with pytest.raises(SystemExit, match="not run: wrong, absent"):
        main()
    printed = capfd.readouterr().out
    assert "1/3 online: about 1 minutes; all that is left: 0.1 hours" in printed
    assert "pip install a-package-that-is-missing" in printed
    document = json.loads((folders.results / "online.json").read_text())
    assert document["machine"]["kernels"] == kernels_hash() and document["minutes"] >= 0
    assert (folders.results / "online.md").read_text().startswith("# New words")
    assert json.loads((folders.results / "wrong.json").read_text()) == earlier
    with pytest.raises(SystemExit, match="not run: wrong, absent"):
        main()
    assert "online: about" not in capfd.readouterr().out
