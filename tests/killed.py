"""Processes that are killed at a system call."""

import ctypes
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

TRACEME, SYSCALL, SETOPTIONS = 0, 24, 0x4200
OPTIONS = 1 | 1 << 20  # stops at system calls can be recognized; the child dies with its tracer
STOPPED_AT_CALL = signal.SIGTRAP | 0x80


def changing_calls(work: Callable[[], object], folder: Path) -> tuple[list[int], list[int]]:
    """Run `work` in a child process; return the numbers of the stops after which a folder differs.

    The first list has those that made, removed or renamed files, the second those that only wrote
    to files. A child stops before and after each system call.
    """
    names, writes = [], []
    before = _status(folder)

    def stop(number: int) -> bool:
        nonlocal before
        now = _status(folder)
        if now != before:
            is_same_set = [entry[:2] for entry in now] == [entry[:2] for entry in before]
            (writes if is_same_set else names).append(number)
        before = now
        return False

    assert _trace(work, stop) == 0, "the child process failed"
    return names, writes


def kill_at(work: Callable[[], object], number: int) -> bool:
    """Run `work` in a child process and kill it at a stop; return False if it was over before."""
    status = _trace(work, lambda stop: stop == number)
    assert status in (0, -signal.SIGKILL), "the child process failed"
    return status < 0


def _trace(work: Callable[[], object], stop: Callable[[int], bool]) -> int:
    """Trace a child process, kill it when `stop` returns True, and return its exit status."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not sys.platform.startswith("linux"):
        pytest.skip("tracing needs Linux")
    libc.ptrace.restype = ctypes.c_long
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    child = os.fork()
    if not child:
        status = 1
        try:
            if libc.ptrace(TRACEME, 0, None, None):
                status = 2
            else:
                os.kill(os.getpid(), signal.SIGSTOP)
                work()
                status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    status = os.waitpid(child, 0)[1]
    if os.WIFEXITED(status):
        pytest.skip("no permission to trace processes")
    libc.ptrace(SETOPTIONS, child, None, OPTIONS)
    number = 0
    passed = 0
    while True:
        libc.ptrace(SYSCALL, child, None, passed)
        status = os.waitpid(child, 0)[1]
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status)
        at_call = os.WSTOPSIG(status) == STOPPED_AT_CALL
        passed = 0 if at_call else os.WSTOPSIG(status)
        if at_call:
            if stop(number):
                os.kill(child, signal.SIGKILL)
            number += 1


def _status(folder: Path) -> list[tuple[str, int, int, int]]:
    """Return the path, inode, size and mode of a folder and of all files and folders in it."""
    entries = []
    for at, _, files in os.walk(folder):
        for path in [at, *(os.path.join(at, file) for file in files)]:
            try:
                status = os.lstat(path)
            except FileNotFoundError:  # the parent lists, the child removes
                continue
            entries.append((path, status.st_ino, status.st_size, status.st_mode))
    return sorted(entries)
