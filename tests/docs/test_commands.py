"""Every command and program of the README, the guides and the reference is run.

They are run in the order of the page, in one folder, the commands of the tool in this process.
What is not run as it stands is in a table here; a command that is neither a call of the tool nor
in a table fails the test.
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
GUIDES = [f"docs/{name}.md" for name in ("deterministic", "doc2vec", "fasttext", "tensorboard")]
REFERENCE = sorted((ROOT / "docs/reference").glob("*.md"))

#: Not run: they install, or would run the tests in the tests. That there are such targets and
#: extras is checked; tests/cli/test_demo.py runs what ``make demo`` does, and CI the rest.
INSTALLING = {
    'make bench CORPUS=corpus.txt BENCH_ARGS="--settings cbow100,sg100 --epochs 1 --kernel avx2"',
    "make demo",
    "make test",
    "python3 -m venv .venv",
    ". .venv/bin/activate",
    "pip install .",
}

#: Not run, for they take hours; that they are programs is checked.
LONG = ("python -m benchmarks.compare",)

#: What there is less of here than on the pages: a run shows that they work, not what is learnt.
LESS = {
    **{"--epochs 20": "--epochs 2", "epochs=20": "epochs=2"},
    **{
        " --fasttext ": " --fasttext --bucket 1000 ",
        "FastText(corpus": "FastText(bucket=1000, corpus",
    },
}

#: These serve until Ctrl-C: they are run until what they serve is there.
SERVING = {"tfw2v tensorboard runs"}

#: Words that the output of a command has to have, by the command's beginning.
PRINTED = {
    "tfw2v train": ("vocabulary", "words/s", "saved"),
    "tfw2v evaluate": ("ws353", "simlex999", "questions-words"),
    "tfw2v neighbours": ("similarity",),
}


@pytest.fixture
def folder(tmp_path, monkeypatch, shared_forks, short_layouts):
    """An empty folder, in which commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command, tfw2v):
    """Run a command line of a page; of one that installs, see that it can be run."""
    if command in INSTALLING:
        assert command.startswith(". ") or exists(words(command))
        return
    if command.startswith(LONG):
        assert exists(words(command))
        return
    if command in SERVING:
        serve(command)
        return
    program, *arguments = words(command)
    if program != "tfw2v":
        pytest.fail(f"{command!r} is no call of tfw2v, and in no table of this file")
    printed = tfw2v(*arguments).output
    for beginning, expected in PRINTED.items():
        if command.startswith(beginning):
            assert all(word in printed for word in expected), printed


def serve(command):
    """Run a command until it has printed an address that answers; then end it."""
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
    """Run all blocks of a page; give the variables of its programs."""
    variables: dict[str, object] = {}
    text = (ROOT / page).read_text(encoding="utf-8")
    for much, little in LESS.items():
        text = text.replace(much, little)
    for block in blocks(text):
        if block.language == "python":
            exec(compile(block.text, f"{page}:{block.line}", "exec"), variables)
        elif block.language == "sh":
            for command in commands(block.text):
                run(command.split("  #")[0].strip(), tfw2v)
        else:
            assert block.language == "text", f"{page}:{block.line}: say python, sh or text"
    return variables


def test_quick_start(folder, tfw2v, capfd):
    """14 s of CPU: all that stands on the page is run."""
    variables = run_page(QUICK_START, tfw2v)
    model = variables["model"]
    assert model.traffic.units and "bytes travelled" in capfd.readouterr().out
    assert type(Word2Vec.load("plain.model")) is Word2Vec
    assert (folder / "news.vectors.txt").read_text(encoding="utf-8").startswith("1750 100")
    assert list((folder / "news.checkpoints").glob("checkpoint-*"))


def test_readme(folder, tfw2v):
    """7 s of CPU: all that stands on the page is run."""
    variables = run_page(README, tfw2v)
    assert variables["model"].traffic.units
    assert (folder / "news.model").is_file()


@pytest.mark.parametrize("page", GUIDES)
def test_guides(page, folder, tfw2v):
    shutil.copy(datapath("lee_background.cor"), "news.txt")  # as the quick start makes them
    for name in ("news.model", "gensim.model"):
        Word2Vec(corpus_file="news.txt", vector_size=10, epochs=1).save(name)
    run_page(page, tfw2v)


@pytest.mark.parametrize("path", REFERENCE, ids=lambda path: path.stem)
def test_reference(path, folder, tfw2v):
    run_page(path.relative_to(ROOT), tfw2v)


def test_a_command_that_is_new_is_considered(tfw2v):
    with pytest.raises(pytest.fail.Exception, match="in no table"):
        run("curl example.org", tfw2v)


def test_tables_have_nothing_that_is_gone():
    pages = (QUICK_START, README, *GUIDES)
    text = "".join((ROOT / page).read_text(encoding="utf-8") for page in pages)
    for command in (*INSTALLING, *LONG, *SERVING, *PRINTED):
        assert re.search(rf"^{re.escape(command)}", text, re.MULTILINE), command
    assert all(much in text for much in LESS)
