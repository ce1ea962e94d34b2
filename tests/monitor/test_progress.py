"""Progress bars: shown on terminals, or with progress=True."""

import builtins
import fcntl
import multiprocessing
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import textwrap
import threading

import pytest
from gensim.models import Word2Vec
from gensim.test.utils import datapath
from tqdm.auto import tqdm

from gensim_tfw2v import TFWord2Vec, train_slice
from gensim_tfw2v.cluster.spec import Cluster, LocalTasks
from gensim_tfw2v.monitor.progress import phase, progress_bar
from gensim_tfw2v.training.corpus_reader import find_corpus
from gensim_tfw2v.training.held_out import held_out_loss
from gensim_tfw2v.training.regime_of_workers import describe_setup
from tests.cli.conftest import ROOT
from tests.engines import train_by_graph

LEE = datapath("lee_background.cor")


def shown(text):
    """Names of the lines and bars, in the order in which they first appear."""
    return list(dict.fromkeys(re.findall(r"\r([a-z][a-zA-Z0-9 ]+?)(?: /\S+)?(?: \.\.\.|:)", text)))


PHASES = ["counting words", "encoding the corpus", "training"]
WITH_GRAPH = [*PHASES[:2], "building the training graph", *PHASES[2:]]


@pytest.mark.parametrize("by_graph", [False, True])
def test_progress_true_shows_each_phase(by_graph, capfd, monkeypatch):
    if by_graph:
        train_by_graph(monkeypatch)
    model = TFWord2Vec(corpus_file=LEE, vector_size=5, epochs=1, workers=1, progress=True)
    errors = capfd.readouterr().err
    assert shown(errors) == (WITH_GRAPH if by_graph else PHASES)
    assert errors.endswith("\r")  # the last bar is erased
    model.train(corpus_file=LEE, total_words=model.corpus_total_words, epochs=1)
    assert shown(capfd.readouterr().err)[0] == "reading the corpus"
    held_out_loss(model, [["the", "of", "in"]] * 9)
    assert shown(capfd.readouterr().err)[0] == "reading the text"


def test_pipe_or_progress_false_shows_nothing(capfd):
    options = dict(vector_size=5, epochs=1, workers=1)
    TFWord2Vec(corpus_file=LEE, **options)
    TFWord2Vec(corpus_file=LEE, progress=False, max_vocab_size=5000, **options)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("which", "text"),
    [
        (LocalTasks(2, 1), "starting 2 ps and 1 worker"),
        (Cluster(ps=("10.0.0.1:1",), worker=("10.0.0.2:1", "10.0.0.3:1")),
         "waiting for 1 ps and 2 workers"),
    ],
)  # fmt: skip
def test_setup_description_counts_the_tasks(which, text):
    assert describe_setup(which) == text


def program(text, *closed):
    """Run a Python program that starts with these file descriptors closed."""
    shell = 'exec "$@" ' + " ".join(f"{number}>&-" for number in closed)
    command = ["sh", "-c", shell, "sh", sys.executable, "-c", textwrap.dedent(text)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


TRAIN = """
    import io, os, sys
    from gensim.test.utils import common_texts
    from gensim_tfw2v import TFWord2Vec, train_slice

    def train(*progress):
        for shown in progress:
            TFWord2Vec(common_texts, min_count=1, vector_size=4, epochs=1, progress=shown)
"""


def test_training_needs_no_standard_error():
    """Services, and programs without a console, may have none."""
    program(
        f"""{TRAIN}
    class Logger:
        def write(self, text): pass
    closed = io.StringIO()
    closed.close()
    for stream in None, Logger(), closed:
        sys.stdout = sys.stderr = stream
        train(None, True)
    os._exit(0)  # a normal exit would need the streams
    """
    )


def test_training_needs_no_standard_streams():
    program(f"{TRAIN}\n    train(None, True)", 0, 1, 2)


def test_training_continues_if_stderr_has_no_reader():
    program(
        f"""{TRAIN}
    theirs, ours = os.pipe()
    os.dup2(ours, 2)
    os.close(theirs)
    train(True)
    os._exit(0)
    """
    )


def test_tqdm_write_clears_the_bar(capfd):
    with phase("working", True):
        tqdm.write("a line", file=sys.stderr)
    assert "\ra line\n" in capfd.readouterr().err.replace(" ", "").replace("aline", "a line")


def test_find_corpus_returns_unit_and_total(tmp_path):
    config = TFWord2Vec()._current_config()

    def extent(source):
        corpus = find_corpus(source, config)
        return corpus.unit, corpus.total

    path = tmp_path / "text.txt"
    path.write_text("a b\n" * 10)
    assert extent(path) == ("B", 40)
    assert extent([["a"]] * 3) == ("sentences", 3)
    assert extent(iter([["a"]])) == ("sentences", 1)  # a list's iterator has a length hint
    assert extent(line for line in [["a"]]) == ("words", None)
    os.mkfifo(tmp_path / "pipe")
    assert extent(tmp_path / "pipe") == ("words", None)


def test_terminal_shows_all_phases_of_a_command(tmp_path):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 400, 0, 0))  # paths are long
    command = [sys.executable, "-m", "gensim_tfw2v", "train", LEE, "-o", str(tmp_path / "model")]
    process = subprocess.Popen(
        [*command, "--epochs", "1", "--vector-size", "5"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    given_up = threading.Timer(120, process.kill)
    given_up.start()
    text = b""
    try:
        while block := os.read(ours, 4096):
            text += block
    except OSError:  # the other end of the terminal is closed
        pass
    finally:
        os.close(ours)
        process.wait()
        given_up.cancel()
    assert process.returncode == 0, text
    assert shown(text.decode()) == ["loading gensim", *PHASES, "saving"]
    assert text.endswith(b"\r")


def test_forked_child_in_a_notebook_shows_no_bar(monkeypatch):
    """The notebook would keep the child's widget, because it never hears of its end."""
    shell = type("ZMQInteractiveShell", (), {})
    monkeypatch.setattr(builtins, "get_ipython", shell, raising=False)
    assert not progress_bar("training", None).disable
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(_is_hidden)


def _is_hidden():
    return progress_bar("training", None).disable


class WithoutLength:
    """Corpus that gensim trains on, although nobody can ask for its length or truth."""

    def __iter__(self):
        return iter([["a", "b", "c"]] * 50)

    def __len__(self):
        raise NotImplementedError("streamed")

    __length_hint__ = __bool__ = __len__


@pytest.mark.parametrize("class_", [Word2Vec, TFWord2Vec])
def test_corpus_whose_length_raises_is_trained(class_):
    model = class_(WithoutLength(), vector_size=4, min_count=1, epochs=2, workers=1, sample=0)
    assert (model.corpus_count, model.corpus_total_words) == (50, 150)
    model.train(WithoutLength(), total_examples=50, epochs=1)
    model.build_vocab(WithoutLength(), update=True)
    if class_ is TFWord2Vec:
        model.partial_fit(WithoutLength())
        assert model.held_out_loss(WithoutLength()) > 0
        train_slice(model, WithoutLength())
