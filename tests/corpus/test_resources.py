"""Memory, disk space, processes and folders: bounded, reported, and released."""

import errno
import gc
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from gensim_tfw2v.corpus.scanner import library
from tests.corpus.reference import (
    LEE,
    encode_sentences,
    folder_is_empty,
    scan_sentences,
    scan_texts,
)

ROOT = Path(__file__).parents[2]


SCAN = """
import os, sys
from gensim_tfw2v.corpus import encode, sentence_corpus, text_corpus, scanner

def scan_texts(paths, progress=None):
    corpus = text_corpus.open_paths([str(path) for path in paths], False)
    return encode.scan_corpus(corpus, progress=progress)
"""


def script(text: str, *arguments: object, **options) -> subprocess.Popen:
    code = SCAN + textwrap.dedent(text)
    command = [sys.executable, "-c", code, *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=ROOT, **pipes, **options)


def test_corpus_modules_import_no_heavy_packages():
    heavy = "gensim tensorflow smart_open scipy multiprocessing".split()
    process = script("print(*[m for m in sys.argv[1:] if m in sys.modules])", *heavy)
    assert process.communicate() == ("\n", "")


@pytest.mark.parametrize("line", [b"a b c d e f g h\n", b"a b c d e f g h "])
def test_memory_of_a_scan_is_bounded(tmp_path, line):
    if library() is None and b"\n" not in line:
        pytest.skip("pure Python reads whole lines, as gensim does")
    path = tmp_path / "text.txt"
    path.write_bytes(line * (40 * 2**20 // len(line)))
    peaks = """
        import resource
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        before = peak()
        with scan_texts([sys.argv[1]]) as scan:
            with scan.encode({"a": 0, "b": 1, "c": 2, "d": 3, "e": 4}) as encoded:
                encoded.units(1 << 16)
                assert encoded.total_raw_words > 20_000_000
        print(peak() - before)
    """
    output, errors = script(peaks, path).communicate()
    assert not errors
    # the ids are 94 MB; a shard is 4 MB, with a few copies of other types
    assert int(output) < 60 * 1024  # KiB


@pytest.mark.parametrize("bytes_a_run", [1 << 20, 1 << 30])
def test_file_size_limit_is_reported_and_files_are_removed(tmp_path, temporary, bytes_a_run):
    path = tmp_path / "text.txt"
    path.write_bytes(b"a b c d e f g\n" * 200_000)  # 6.4 MB of ids
    small = """
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
        text_corpus.BYTES_PER_RUN = int(sys.argv[2])
        try:
            scan_texts([sys.argv[1]])
        except OSError as error:
            print(error.errno, error)
    """
    output, errors = script(small, path, bytes_a_run).communicate()
    assert not errors
    assert output.startswith(f"{errno.EFBIG} ")
    assert "bytes of encoded corpus; free space there, or use a different folder" in output
    assert "after 0 bytes" not in output and str(temporary) in output
    assert folder_is_empty(temporary)


@pytest.mark.parametrize("folder", [True, False])
def test_full_disk_is_reported_and_files_are_removed(tmp_path, temporary, monkeypatch, folder):
    def full(path, *args, **kwargs):
        is_shard = path.suffix == ".int32"
        return own(Path("/dev/full") if is_shard else path, *args, **kwargs)

    own = Path.open
    monkeypatch.setattr(Path, "open", full)
    place = tmp_path / "place"
    place.mkdir()
    with pytest.raises(OSError, match="No space left on device, after 0 bytes") as caught:
        encode_sentences([["the"]], {"the": 0}, place if folder else None)
    assert caught.value.errno == errno.ENOSPC
    assert folder_is_empty(place) and folder_is_empty(temporary)


def interrupted():
    yield ["a", "b"] * 5000
    raise KeyboardInterrupt


def test_interrupt_removes_the_files(temporary):
    with pytest.raises(KeyboardInterrupt):
        scan_sentences(interrupted())
    with pytest.raises(KeyboardInterrupt):
        encode_sentences(interrupted(), {"a": 0})
    assert folder_is_empty(temporary)


def test_garbage_collection_removes_the_files(temporary):
    scan = scan_texts([LEE])
    corpus = scan.encode({"the": 0})
    assert len(list(temporary.iterdir())) == 2
    del scan
    gc.collect()
    (unit,) = corpus.units(1 << 20)
    assert unit.read().max() == 0
    del corpus
    gc.collect()
    assert folder_is_empty(temporary)


def test_exit_removes_the_files(temporary):
    kept = """
        scan = encode.scan_corpus(sentence_corpus.SentenceCorpus([['a']]))
        kept = scan.encode({'a': 0})
        print(kept.folder)
    """
    output, errors = script(kept).communicate()
    assert not errors and output.startswith(str(temporary))
    assert folder_is_empty(temporary)


def test_forked_child_does_not_remove_the_folder():
    with encode_sentences([["a"]], {"a": 0}) as corpus:
        child = os.fork()
        if not child:
            corpus.close()
            os._exit(0)
        os.waitpid(child, 0)
        assert corpus.folder.exists()


INTERRUPTED = """
    import threading, time
    def progress(*state):
        if not state[0]:
            return
        print("reading", flush=True)
        while True:
            time.sleep(1)
    text_corpus.BYTES_PER_RUN = 1 << 20
    scan_texts([sys.argv[1]], progress=progress)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_killed_or_interrupted_program_leaves_no_files(tmp_path, temporary, how):
    path = tmp_path / "text.txt"
    path.write_bytes(b"a b c d e f g\n" * 1_000_000)
    process = script(INTERRUPTED, path)
    assert process.stdout.readline() == "reading\n"
    process.send_signal(how)
    _, errors = process.communicate(timeout=60)  # it would never exit by itself
    if how == signal.SIGINT:
        assert errors.strip().endswith("KeyboardInterrupt") and errors.count("Traceback") == 1
        assert folder_is_empty(temporary)
    # the next process removes the folder of a killed one when it creates its own
    assert script(
        "encode.encode_corpus(sentence_corpus.SentenceCorpus([['a']]), {'a': 0})"
    ).communicate() == (
        "",
        "",
    )
    assert folder_is_empty(temporary)


@pytest.mark.parametrize("is_pipe", [True, False])
def test_interrupt_stops_reading_threads(tmp_path, temporary, is_pipe):
    """Threads stop within a block of text, and do not wait for a silent pipe."""
    path = tmp_path / "text"
    if is_pipe:
        os.mkfifo(path)
        feeder = os.open(path, os.O_RDWR)
        os.write(feeder, b"a b\n")
    else:
        path.write_bytes(b"a b c d e f g\n" * 1_000_000)
    slow = """
        text_corpus.BYTES_PER_RUN = 1 << 20
        scanner.BLOCK_BYTES = 1  # reading takes a minute
        print("reading", flush=True)
        scan_texts([sys.argv[1]])
    """
    process = script(slow, path)
    assert process.stdout.readline() == "reading\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert errors.strip().endswith("KeyboardInterrupt")
    assert folder_is_empty(temporary)


def test_script_without_main_guard_can_scan(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(
        "import sys; sys.path.append(sys.argv[1])\n"
        f"{SCAN}\n"
        "print(scan_texts([sys.argv[2]]).corpus_count)\n"
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if sys.version_info >= (3, 11):  # older Pythons put the working folder first
        (elsewhere / "numpy.py").write_text("raise SystemExit('not this one')")
    done = subprocess.run(
        [sys.executable, path, ROOT, LEE], cwd=elsewhere, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("300\n", "")
