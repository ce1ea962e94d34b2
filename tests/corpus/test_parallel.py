"""Runs that remote machines read, too: each is read once, even if machines are lost."""

import contextlib
import itertools
import threading
import time

import pytest

from gensim_tfw2v.corpus import run_readers, text_corpus
from gensim_tfw2v.corpus.encode import scan_corpus
from gensim_tfw2v.corpus.run_readers import read_runs
from gensim_tfw2v.corpus.scanner import library, scan
from gensim_tfw2v.processes.threads import usable_cores
from tests.corpus.reference import LEE, line_sentences, scan_texts, text_of

pytestmark = pytest.mark.skipif(library() is None, reason="the compiled library is missing")


class Host:
    """Stand-in for another machine, which reads by calling `read`."""

    def __init__(self, name, read):
        self.name, self.read = name, read


def made(run, prefix, known, tagged, stopped):
    return scan(run, prefix, known, tagged)


def lost(*_):
    raise ConnectionError("it is gone")


def late(*arguments):
    time.sleep(0.1)
    return made(*arguments)


def refusing(*_):
    return None


@pytest.mark.parametrize(
    "ways", [[made], [made, late], [lost, late], [lost, made, lost], [refusing], [lost, lost]]
)
def test_every_run_is_read_once_though_machines_are_lost(ways, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(text_corpus, "BYTES_PER_RUN", 20_000)
    all_called, called = threading.Event(), set()

    def note(name, way):
        def read(*arguments):
            called.add(name)
            if len(called) == len(ways):
                all_called.set()
            return way(*arguments)

        return Host(name, read)

    def wait_for_machines(*arguments):
        assert all_called.wait(60)
        return scan(*arguments)

    monkeypatch.setattr(run_readers, "scan", wait_for_machines)
    machines = [note(f"host {number}", way) for number, way in enumerate(ways)] * 2
    runs = text_corpus.cut_texts(text_of([LEE]).ranges)
    reports = []

    def report(*counts):
        reports.append(counts)

    parts = list(read_runs(runs, tmp_path, remote_readers=machines, progress=report))
    assert len(parts) == len(runs) > 10
    expected = line_sentences(LEE)
    assert sum(part.n_sentences for part in parts) == len(expected)
    assert reports[-1][:2] == (sum(map(len, expected)), len(expected))
    words = dict.fromkeys(word for part in parts for word in part.words.decode().split("\n")[:-1])
    assert list(words) == list(dict.fromkeys(word for sentence in expected for word in sentence))
    warned = [record.args[0] for record in caplog.records]
    # each lost machine is warned of once
    assert sorted(warned) == [f"host {n}" for n, way in enumerate(ways) if way is lost]


def test_error_stops_the_reading_of_other_machines(tmp_path, monkeypatch):
    """An error here sets `stopped`, which machines wait for."""
    path = tmp_path / "text"
    path.write_bytes(b"a b\n" * 20_000 + b"\xff\n")
    monkeypatch.setattr(text_corpus, "BYTES_PER_RUN", 10_000)
    begun, told = threading.Event(), threading.Event()

    def waiting(run, prefix, known, tagged, stopped):
        begun.set()
        assert stopped.wait(60)
        told.set()
        raise run_readers.Stopped

    def failing(*_):
        assert begun.wait(60)
        raise OSError(5, "here")

    monkeypatch.setattr(run_readers, "scan", failing)
    with pytest.raises(OSError, match="here"):
        scan_corpus(text_of([path], remote_readers=[Host("host", waiting)]), tmp_path)
    assert told.is_set()


def test_threads_have_stopped_reading_when_an_error_is_raised(tmp_path, monkeypatch):
    path = tmp_path / "text"
    path.write_bytes(b"a b\n" * 20_000)
    monkeypatch.setattr(text_corpus, "BYTES_PER_RUN", 10_000)
    scan, reading = run_readers.scan, []

    def slow(*arguments):
        reading.append(arguments)
        time.sleep(0.2)
        try:
            return scan(*arguments)
        finally:
            reading.remove(arguments)

    def full(*_):
        raise OSError(28, "full")

    monkeypatch.setattr(run_readers, "scan", slow)
    monkeypatch.setattr(text_corpus, "save_ids", full)
    with pytest.raises(OSError, match="full"):
        scan_texts([str(path)], tmp_path)
    assert reading == []


def test_runs_are_not_read_while_many_parts_wait_to_be_merged(tmp_path, monkeypatch):
    path = tmp_path / "text"
    path.write_bytes(b"a b\n" * 20_000)
    monkeypatch.setattr(text_corpus, "BYTES_PER_RUN", 500)
    monkeypatch.setattr(run_readers, "PARTS_PER_READER", 3)
    scan_run, n_scanned = run_readers.scan, itertools.count()

    def counting_scan(*arguments):
        next(n_scanned)
        return scan_run(*arguments)

    monkeypatch.setattr(run_readers, "scan", counting_scan)
    runs = text_corpus.cut_texts(text_of([str(path)]).ranges)
    assert len(runs) > 100
    with contextlib.closing(read_runs(runs, tmp_path)) as parts:
        next(parts)
        time.sleep(0.5)  # enough for all runs
        assert next(n_scanned) <= 3 * len(usable_cores())
        assert 1 + len(list(parts)) == len(runs)
