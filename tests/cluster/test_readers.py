"""Corpora read in parallel by the machines of a cluster's workers, with real tasks."""

import contextlib
import gzip
import logging
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors, Word2Vec
from gensim.models.word2vec import PathLineSentences
from gensim.test.utils import datapath

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster import MissingTasks, readers, sessions
from gensim_tfw2v.cluster.local_cluster import free_ports
from gensim_tfw2v.cluster.spec import Cluster
from gensim_tfw2v.corpus import CorpusDecodeError, run_readers, text_corpus
from gensim_tfw2v.corpus.encoded_corpus import EncodedCorpus
from gensim_tfw2v.corpus.shard_files import FIRST_TAG
from gensim_tfw2v.ops.library import load_ops
from gensim_tfw2v.training.corpus_reader import CorpusReader
from gensim_tfw2v.training.documents import KnownTags, Tags
from tests.corpus.reference import decoded, line_sentences
from tests.forks import SharedLauncher

LEE = datapath("lee_background.cor")

pytestmark = pytest.mark.skipif(load_ops() is None, reason="the compiled kernels are missing")


def start(launcher, cluster, task):
    config = {"TF_CONFIG": cluster.tf_config(task.role, task.index)}
    server = ("gensim_tfw2v.cluster.server", "--with-parent")
    return launcher.start_module(*server, environment=config, stdout=subprocess.PIPE)


@contextlib.contextmanager
def tasks(launcher):
    """Start a ps and two workers; yield the cluster and their processes."""
    ps, *workers = (f"127.0.0.1:{port}" for port in free_ports(3))
    cluster = Cluster((ps,), tuple(workers))
    running = []
    try:
        for task in cluster.servers():
            running.append(start(launcher, cluster, task))
        for process in running:
            assert any(b"serves" in line for line in process.stdout)
        yield cluster, running
    finally:
        for process in running:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()


@pytest.fixture(scope="module")
def launcher(kept_forks):
    with contextlib.closing(SharedLauncher(isolated=False)) as launcher:
        yield launcher


@pytest.fixture(scope="module")
def cluster(launcher):
    with tasks(launcher) as (cluster, _):
        yield cluster


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Let machines share small texts too."""
    monkeypatch.setattr(readers, "MIN_BYTES", 1)
    monkeypatch.setattr(text_corpus, "BYTES_PER_RUN", 20_000)


@pytest.fixture(autouse=True)
def apart(monkeypatch):
    """Make each task appear as a different machine, with different files in `different`."""
    look = readers.RemoteReader.look

    def look_apart(self, sizes):
        look(self, {path: size - ("/different/" in path) for path, size in sizes.items()})
        return self.name, 2

    monkeypatch.setattr(readers.RemoteReader, "look", look_apart)


@pytest.fixture
def shards(tmp_path):
    """Folder of text files, one of them empty."""
    folder = tmp_path / "texts"
    folder.mkdir()
    lines = Path(LEE).read_bytes().splitlines(keepends=True)
    for number in range(0, len(lines), 90):
        (folder / f"{number:03}.txt").write_bytes(b"".join(lines[number : number + 90]))
    (folder / "095.txt").touch()
    return folder


def sentences_of(corpus: EncodedCorpus, model):
    return decoded(corpus, model.wv.index_to_key)


@pytest.mark.parametrize("source", [pytest.param("file", marks=pytest.mark.slow), "folder"])
def test_machines_of_workers_read_the_corpus(
    source, launcher, shards, tmp_path, monkeypatch, caplog
):
    """Uses its own tasks, because tasks restart after a training run."""
    coordinators = "gensim_tfw2v.cluster.local_cluster.start_module"
    monkeypatch.setattr(coordinators, launcher.start_module)
    corpus = {"corpus_file": LEE} if source == "file" else {"sentences": PathLineSentences(shards)}
    monkeypatch.chdir(tmp_path)  # tasks have a different working folder
    options = dict(min_count=2, vector_size=8, sg=1, epochs=1, seed=1)
    with caplog.at_level(logging.INFO, "gensim_tfw2v"), tasks(launcher) as (cluster, _):
        model = TFWord2Vec(**corpus, **options, cluster=cluster, encoded_dir=".")
    gensim = Word2Vec(**corpus, **options)
    assert model.wv.index_to_key == gensim.wv.index_to_key
    assert list(model.wv.expandos["count"]) == list(gensim.wv.expandos["count"])
    for name in ("corpus_count", "corpus_total_words", "raw_vocab"):
        assert getattr(model, name) == getattr(gensim, name)
    assert model.traffic.tokens > 20_000 and model.traffic.corpus_bytes == 0
    assert caplog.text.count("reading the corpus on 3 machines: this machine, worker 0 (") == 1
    assert not list(tmp_path.glob("tfw2v*"))


def test_corpus_encoded_by_workers_equals_the_text(cluster, shards, tmp_path):
    model = TFWord2Vec(min_count=2, cluster=cluster, encoded_dir=tmp_path)
    reader = model._state.corpus_reader
    reader.keeps_scan = True
    model.build_vocab(sentences := PathLineSentences(shards))
    known_words, config = model.wv.key_to_index, model._current_config()
    expected = line_sentences(LEE, known_words)
    counted = reader.encode(sentences, known_words, config)
    assert sentences_of(counted, model) == expected
    known = reader.encode(sentences, known_words, config)  # reads the text again
    assert sentences_of(known, model) == expected
    assert known.total_raw_words == counted.total_raw_words == model.corpus_total_words
    for encoded in (counted, known):
        assert np.concatenate([unit.read() for unit in encoded.units(999)]).max() < len(model.wv)
    counted.close()
    known.close()


def test_all_machines_read_and_each_run_is_read_once(cluster, tmp_path, monkeypatch):
    by, read, scan = [], readers.RemoteReader.read, run_readers.scan

    def counted(self, run, *arguments):
        part = read(self, run, *arguments)
        by.append((self.name, run))
        return part

    def counted_here(run, *arguments):
        deadline = time.monotonic() + 60
        while len({name for name, _ in by} - {"here"}) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        by.append(("here", run))
        return scan(run, *arguments)

    monkeypatch.setattr(readers.RemoteReader, "read", counted)
    monkeypatch.setattr(run_readers, "scan", counted_here)
    model = TFWord2Vec(min_count=2, cluster=cluster, encoded_dir=tmp_path)
    model.build_vocab(corpus_file=LEE)
    names, runs = zip(*by, strict=True)
    assert sorted(runs) == text_corpus.cut_texts([text_corpus.whole_file(LEE)])
    assert len(set(names)) == 3


def test_run_whose_last_line_has_grown_is_read_here(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text("a b\nc d")
    run = [text_corpus.whole_file(str(path))]
    with path.open("a") as file:
        file.write("e\n")
    reader = readers.RemoteReader.__new__(readers.RemoteReader)  # which needs no task for this run
    assert reader.read(run, tmp_path / "part-", None, False, threading.Event()) is None


def test_errors_on_any_machine_are_raised_with_the_file(cluster, shards, tmp_path):
    (shards / "500.txt").write_bytes(b"caf\xe9 noir\n")
    with pytest.raises(CorpusDecodeError, match="500.txt is not UTF-8 text.* at byte 3 "):
        TFWord2Vec(PathLineSentences(shards), cluster=cluster, encoded_dir=tmp_path)
    (shards / "500.txt").rename(shards / "500.txt.gz")
    with pytest.raises(OSError, match="500.txt.gz is damaged, cut short, or not what"):
        TFWord2Vec(PathLineSentences(shards), cluster=cluster, encoded_dir=tmp_path)
    assert not list(tmp_path.glob("tfw2v*"))


@pytest.mark.parametrize(("of_text", "of_folder"), [("different", "same"), ("same", "different")])
def test_workers_with_different_files_do_not_read(of_text, of_folder, cluster, tmp_path, caplog):
    folder, text = tmp_path / of_folder, tmp_path / of_text / "text"
    for made in (folder, text.parent):
        made.mkdir()
    text.write_bytes(Path(LEE).read_bytes())
    with caplog.at_level(logging.INFO, "gensim_tfw2v"):
        model = TFWord2Vec(min_count=2, cluster=cluster, encoded_dir=folder)
        model.build_vocab(corpus_file=str(text))
    assert model.corpus_count == 300
    assert caplog.text.count(" does not read the corpus: ") == 2
    size = os.path.getsize(LEE) if of_text == "different" else 0
    assert f"(it has {size:,} bytes there, {size - 1:,} here)" in caplog.text
    assert "machines:" not in caplog.text


def test_growing_text_is_read_locally(cluster, tmp_path, monkeypatch):
    text = tmp_path / "text"
    text.write_bytes(Path(LEE).read_bytes())
    wait = readers.wait_for_tasks

    def growing(*arguments):
        with text.open("ab") as file:
            file.write(b"\nand more\n")
        wait(*arguments)

    monkeypatch.setattr(readers, "wait_for_tasks", growing)
    model = TFWord2Vec(min_count=2, cluster=cluster, encoded_dir=tmp_path)
    model.build_vocab(corpus_file=str(text))
    assert model.corpus_count >= 301


def test_missing_worker_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(readers.find_readers, "__defaults__", (0.5,))
    missing = Cluster(*((f"127.0.0.1:{port}",) for port in free_ports(2)))
    model = TFWord2Vec(min_count=2, cluster=missing, encoded_dir=tmp_path)
    with pytest.raises(MissingTasks, match="no answer within 0.5 s from worker 0"):
        model.build_vocab(corpus_file=LEE)
    assert not list(tmp_path.glob("tfw2v*"))
    monkeypatch.setattr(readers, "MIN_BYTES", os.path.getsize(LEE) + 1)
    model.build_vocab(corpus_file=LEE)  # small texts are read locally, without contacting workers
    assert model.corpus_count == 300


@pytest.mark.parametrize(
    "how", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.slow)]
)
def test_parts_of_a_lost_machine_are_read_elsewhere(how, launcher, tmp_path, monkeypatch, caplog):
    text = tmp_path / "text.txt"
    text.write_bytes((Path(LEE).read_bytes() + b"\n") * 10)  # 4 MB
    monkeypatch.setattr(text_corpus, "BYTES_PER_RUN", 1 << 18)
    monkeypatch.setattr(readers, "RUN_SECONDS", 4.0)
    # the default of the argument `operation_seconds`
    monkeypatch.setattr(sessions.session.__wrapped__, "__defaults__", (None, 5.0))
    monkeypatch.setattr(readers, "PROBE_SECONDS", 1.0)
    monkeypatch.setattr(readers, "ANSWER_SECONDS", 2.0)
    run_op, wait = readers.RemoteReader._run, readers.wait_for_tasks

    def patient(self, what, given, seconds, stopped):  # the other worker may be slow
        is_lost = self.name.startswith("worker 0") and began.is_set()
        return run_op(self, what, given, seconds if is_lost else 300.0, stopped)

    monkeypatch.setattr(readers.RemoteReader, "_run", patient)
    monkeypatch.setattr(
        readers,
        "wait_for_tasks",
        lambda tasks, seconds: wait(tasks, seconds if tasks[0].index == 0 else 60.0),
    )
    began = threading.Event()
    with tasks(launcher) as (cluster, processes):
        read = readers.RemoteReader.read

        def stop(self, *arguments):
            if self.name.startswith("worker 0") and not began.is_set():
                began.set()
                processes[1].send_signal(signal.SIGSTOP)  # it gets the request, but never answers
                threading.Timer(0.5, processes[1].send_signal, [how]).start()
            return read(self, *arguments)

        monkeypatch.setattr(readers.RemoteReader, "read", stop)
        model = TFWord2Vec(min_count=2, cluster=cluster, encoded_dir=tmp_path)
        model.build_vocab(corpus_file=str(text))
        assert (model.corpus_count, began.is_set()) == (3_000, True)
        assert caplog.text.count("stopped reading the corpus") == 1
        assert "worker 0 (" in caplog.text
        processes[1].kill()
    model._state.corpus_reader = None  # drops the reader and its files
    deadline = time.monotonic() + 120
    while "tfw2v" in (names := " ".join(thread.name for thread in threading.enumerate())):
        assert time.monotonic() < deadline, names
        time.sleep(0.1)
    assert not [name for name in os.listdir(tmp_path) if name != "text.txt"]


def test_reading_is_retried_on_a_restarted_task(launcher, tmp_path, monkeypatch):
    with tasks(launcher) as (cluster, running):
        machine = readers.find_readers(cluster, [LEE], tmp_path)[0]
        made, first = [], running[1]

        @contextlib.contextmanager
        def session_before(*arguments):
            with sessions.session(*arguments) as run:
                made.append(run)
                if len(made) == 1:
                    with arguments[1].as_default():
                        run(tf.constant(0))  # opens the session
                    first.kill()
                    running.append(start(launcher, cluster, cluster.servers()[1]))
                    assert any(b"serves" in line for line in running[-1].stdout)
                yield run

        monkeypatch.setattr(readers, "session", session_before)
        run = [text_corpus.whole_file(LEE)]
        part = machine.read(run, tmp_path / "part-", None, False, threading.Event())
        assert (part.n_sentences, len(made)) == (300, 2)


def test_compressed_files_are_read_locally(cluster, shards, tmp_path, monkeypatch):
    for path in shards.iterdir():
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    model = TFWord2Vec(min_count=2, cluster=cluster, encoded_dir=tmp_path)
    model.build_vocab(PathLineSentences(shards))
    assert model.corpus_count == 300


def test_process_that_lost_tensorflow_reads_alone(tmp_path, monkeypatch):
    text = tmp_path / "text"
    text.write_bytes(Path(LEE).read_bytes())
    monkeypatch.setattr(readers, "tensorflow_is_lost", lambda: True)
    nobody = Cluster(("127.0.0.1:1",), ("127.0.0.1:2",))
    assert not readers.find_readers(nobody, [str(text)], tmp_path, seconds=0.1)


def test_document_numbers_do_not_depend_on_the_machine(cluster, tmp_path):
    """Lines get the same tags on any machine."""
    text = Path(LEE).read_bytes().replace(b"the", b"\n")
    (path := tmp_path / "text").write_bytes(text)
    model = TFWord2Vec(min_count=1, cluster=cluster, encoded_dir=tmp_path)
    reader = CorpusReader()
    config = model._current_config()
    scan = reader.scan(path, config, Tags())
    tags = KnownTags(KeyedVectors(1, count=scan.corpus_count))
    lines = text.decode().split("\n")
    assert scan.corpus_count == len(lines) > 3000
    known = {word: n for n, word in enumerate(scan.raw_vocab)}
    expected = []
    for n, line in enumerate(lines):
        if words := line.split():
            expected += [FIRST_TAG - n, *map(known.get, words), -1]
    for _ in range(2):  # from the scan, and read again
        with reader.encode(path, known, config, tags) as corpus:
            entries = np.concatenate([unit.read() for unit in corpus.units(999)]).tolist()
        assert entries == expected
