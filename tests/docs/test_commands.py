"""Run every command and program of the README, the guides and the reference.

They run in the order of the page, in one folder; commands of tfw2v run in this process. Tables in
this file list the commands that are not run, or run differently. A command that is neither a call
of tfw2v nor in a table fails the test.
"""

import re
import shutil
import signal
import subprocess
import sys
import threading
import urllib.request

import pytest
from gensim.models import Word2Vec
from gensim.test.utils import datapath

from tests.docs.pages import ROOT, blocks, commands, words
from tests.docs.test_pages import exists

QUICK_START, README = "docs/quick-start.md", "README.md"
GUIDES = [
    f"docs/{name}.md"
    for name in (
        *("deterministic", "doc2vec", "fasttext", "first-cluster", "graphs", "index-of-neighbours"),
        *("tensorboard", "time-slices"),
    )
]
REFERENCE = sorted((ROOT / "docs/reference").glob("*.md"))

#: Not run, because they install, or would run the tests within the tests. Their targets and extras
#: must exist. tests/cli/test_demo.py does the same as ``make demo``; CI runs the rest.
INSTALLING = {
    'make bench CORPUS=corpus.txt BENCH_ARGS="--settings cbow100,sg100 --epochs 1"',
    "make demo",
    "make test",
    "python3 -m venv .venv",
    ". .venv/bin/activate",
    "pip install .",
}

#: Replacements that shorten the runs: tests check that pages work, not the quality of vectors.
SHORTENED = {
    **{"--epochs 20": "--epochs 2", "epochs=20": "epochs=2"},
    **{
        " --fasttext ": " --fasttext --bucket 1000 ",
        "FastText(corpus": "FastText(bucket=1000, corpus",
    },
}

#: Servers, which run until Ctrl-C. Tests stop them after the first answer.
SERVING = {"tfw2v tensorboard runs"}

#: Words that the output of a command must contain, by the beginning of the command; the first
#: beginning that fits counts.
PRINTED = {
    "tfw2v train edges.tsv --walks": ("vocabulary", "nodes/s", "saved"),
    "tfw2v train examples/les-miserables.tsv --walks": ("vocabulary", "nodes/s", "saved"),
    "tfw2v train": ("vocabulary", "words/s", "saved"),
    "tfw2v evaluate": ("ws353", "simlex999", "questions-words"),
    "tfw2v neighbours": ("similarity",),
}


@pytest.fixture
def folder(tmp_path, monkeypatch, shared_forks, short_layouts):
    """Empty folder in which commands run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def run(command, tfw2v):
    """Run a command of a page; only check that it exists if it installs."""
    if command in INSTALLING:
        assert command.startswith(". ") or exists(words(command))
        return
    if command in SERVING:
        serve(command)
        return
    program, *arguments = words(command)
    if program != "tfw2v":
        pytest.fail(f"{command!r} is not a tfw2v command, and in no table of this file")
    printed = tfw2v(*arguments).output
    for beginning, expected in PRINTED.items():
        if command.startswith(beginning):
            assert all(word in printed for word in expected), printed
            break


def serve(command):
    """Run a server until the address that it prints answers; then stop it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gensim_tfw2v", *words(command)[1:]],
        stdout=subprocess.PIPE,
        text=True,
    )
    killing = threading.Timer(300, process.kill)
    killing.start()
    try:
        address = re.search(r"http://\S+", process.stdout.readline())
        assert address
        with urllib.request.urlopen(address[0], timeout=300) as answer:
            assert b"TensorBoard" in answer.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 0
    finally:
        killing.cancel()
        process.kill()
        process.communicate()


def run_page(page, tfw2v):
    """Run all blocks of a page; return the variables of its Python blocks."""
    variables: dict[str, object] = {}
    text = (ROOT / page).read_text(encoding="utf-8")
    for much, little in SHORTENED.items():
        text = text.replace(much, little)
    for block in blocks(text):
        if block.language == "python":
            exec(compile(block.text, f"{page}:{block.line}", "exec"), variables)
        elif block.language == "sh":
            for command in commands(block.text):
                run(command.split("  #")[0].strip(), tfw2v)
        else:
            assert block.language == "text", f"{page}:{block.line}: use python, sh or text"
    return variables


def test_quick_start_runs(folder, tfw2v, capfd):
    """14 s of CPU: runs everything on the page."""
    variables = run_page(QUICK_START, tfw2v)
    model = variables["model"]
    assert model.traffic.units and "bytes travelled" in capfd.readouterr().out
    assert type(Word2Vec.load("plain.model")) is Word2Vec
    assert (folder / "news.vectors.txt").read_text(encoding="utf-8").startswith("1750 100")
    assert list((folder / "news.checkpoints").glob("checkpoint-*"))


def test_readme_runs(folder, tfw2v):
    """8 s of CPU: runs everything on the page."""
    variables = run_page(README, tfw2v)
    assert variables["model"].traffic.units
    assert (folder / "news.model").is_file()


@pytest.mark.parametrize("page", GUIDES)
def test_guides_run(page, folder, tfw2v):
    shutil.copy(datapath("lee_background.cor"), "news.txt")  # as made by the quick start
    for name in ("news.model", "gensim.model"):
        Word2Vec(corpus_file="news.txt", vector_size=10, epochs=1).save(name)
    (folder / "slices").mkdir()
    for year in (2019, 2020):
        shutil.copy("news.txt", f"slices/{year}.txt")
    run_page(page, tfw2v)


@pytest.mark.parametrize("path", REFERENCE, ids=lambda path: path.stem)
def test_reference_runs(path, folder, tfw2v):
    run_page(path.relative_to(ROOT), tfw2v)


def test_unlisted_command_fails(tfw2v):
    with pytest.raises(pytest.fail.Exception, match="in no table"):
        run("curl example.org", tfw2v)


def test_tables_list_only_commands_on_pages():
    pages = (QUICK_START, README, *GUIDES, *REFERENCE)
    text = "".join((ROOT / page).read_text(encoding="utf-8") for page in pages)
    for command in (*INSTALLING, *SERVING, *PRINTED):
        assert re.search(rf"^{re.escape(command)}", text, re.MULTILINE), command
    assert all(much in text for much in SHORTENED)
