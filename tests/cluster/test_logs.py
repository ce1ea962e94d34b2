"""What tasks write, with the names of tasks before it."""

import io
import logging
import time

import pytest

from gensim_tfw2v.cluster.logs import is_noise, logging_files, prefixed, show_lines
from gensim_tfw2v.cluster.spec import Task

TASKS = [Task("ps", 0, "a:1"), Task("worker", 1, "b:2")]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR",
        "I0000 00:00:1763676203.123456   12345 grpc_server_lib.cc:463] Started server with target",
        "2026-11-20 22:03:00.104: I tensorflow/core/platform/cpu_feature_guard.cc:210] This TF",
        "2026-11-20 22:03:00.104: I external/local_xla/xla/tsl/cuda/cudart_stub.cc:31] Could not "
        "find cuda drivers on your machine, GPU will not be used.",
        "E0000 00:00:1763676203.123456 12 cuda_dnn.cc:8579] Unable to register cuDNN factory",
        "2026-11-20 22:03:00.1: E external/local_xla/xla/stream_executor/cuda/cuda_platform.cc:51] "
        "failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit",
    ],
)
def test_what_tensorflow_says_as_it_starts_is_noise(line):
    assert is_noise(line)


@pytest.mark.parametrize(
    "line",
    [
        "worker 1 (b:2) serves",
        "Traceback (most recent call last):",
        "2026-11-20 22:03:00.104: E tensorflow/core/rpc/grpc_server_lib.cc:611] Address in use",
        "2026-11-20 22:03:00.104: W tensorflow/core/framework/op_kernel.cc:1] RESOURCE_EXHAUSTED",
        "E0000 00:00:1763676203.123456 12 grpc_server_lib.cc:611] Unknown: Could not start",
        "bash: tfw2v: command not found",
    ],
)
def test_what_goes_wrong_is_none(line):
    assert not is_noise(line)


def test_lines_of_a_stream():
    shown = []
    show_lines(io.BytesIO(b"one\r\n\n\xff two\nlast, unfinished"), shown.append)
    assert [prefixed(TASKS[1], line) for line in shown] == [
        "worker 1 | one", "worker 1 | \ufffd two", "worker 1 | last, unfinished"
    ]  # fmt: skip


def test_files_are_logged_as_they_grow(tmp_path, caplog):
    files = {task: tmp_path / f"{task.role}.log" for task in TASKS}
    for file in files.values():
        file.write_text("before\n")
    caplog.set_level(logging.INFO, "gensim_tfw2v.cluster")
    with logging_files(TASKS, files.__getitem__), files[TASKS[0]].open("a") as file:
        for text in ("half a ", "line\nand a", " half\nI0000 00:00:1.2 3 x.cc:1] noise\n"):
            print(text, end="", file=file, flush=True)
            time.sleep(0.7)
        with files[TASKS[1]].open("a") as other:
            print("last", file=other)
    assert [(record.name, record.levelname) for record in caplog.records] == [
        ("gensim_tfw2v.cluster", "INFO")
    ] * 5
    assert sorted(caplog.messages) == [
        "ps 0 | and a half", "ps 0 | before", "ps 0 | half a line", "worker 1 | before",
        "worker 1 | last",
    ]  # fmt: skip


def test_files_need_not_be_there_if_nobody_listens(tmp_path, caplog):
    caplog.set_level(logging.WARNING, "gensim_tfw2v.cluster")
    with logging_files(TASKS, lambda task: tmp_path / "none"):
        pass
