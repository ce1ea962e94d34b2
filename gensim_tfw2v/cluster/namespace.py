"""A network of their own for processes of this machine, which nothing else reaches.

TensorFlow's servers have no authentication, and listen on all interfaces. In a network namespace
of Linux (network_namespaces(7)) all interfaces are one loopback, whose ports are closed to other
processes of the machine, and to other machines.
"""

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from gensim_tfw2v.processes.children import start_module

# isolated, without site-packages: started twice as fast, and no thread is started by what is there
_NSENTER = (sys.executable, "-I", "-S", str(Path(__file__).with_name("nsenter.py")))


class NoNamespace(OSError):
    """The system makes no network namespace for this user; the message says why."""


class Namespace:
    """A network namespace with a loopback interface, and nothing else.

    It lasts as long as this process, or a process in it, does: no other process keeps it.

    Raises
    ------
    NoNamespace
        If the system is not Linux, or forbids it, as containers mostly do.

    Attributes
    ----------
    descriptors : tuple of int
        Open files that stand for it: its user namespace, if it has its own, and it.
    """

    def __init__(self) -> None:
        self.descriptors: tuple[int, ...] = ()
        try:
            with subprocess.Popen(
                [*_NSENTER, "make"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            ) as maker:
                assert maker.stdout is not None
                for name in filter(None, maker.stdout.readline().strip().split(",")):
                    found = os.open(f"/proc/{maker.pid}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC)
                    self.descriptors += (found,)
                _, errors = maker.communicate()
            if self.descriptors:
                # making is allowed in places where entering is not
                tried = subprocess.run(
                    [*self.launcher, sys.executable, "-I", "-S", "-c", ""],
                    pass_fds=self.descriptors,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                )
                errors += tried.stderr
            if errors or not self.descriptors:
                raise NoNamespace((errors.strip().splitlines() or ["no namespace was made"])[-1])
        except OSError as error:
            self.close()
            raise error if isinstance(error, NoNamespace) else NoNamespace(str(error)) from error

    @property
    def launcher(self) -> list[str]:
        """What to put before a command; the descriptors have to be passed to it."""
        return [*_NSENTER, "enter", ",".join(map(str, self.descriptors))]

    def start_module(
        self, module: str, *arguments: str, **options: Any
    ) -> "subprocess.Popen[bytes]":
        """Run a module of this package in it; see `children.start_module`."""
        return start_module(
            module, *arguments, launcher=self.launcher, pass_fds=self.descriptors, **options
        )

    def close(self) -> None:
        """Leave it to the processes that are in it."""
        descriptors, self.descriptors = self.descriptors, ()
        for descriptor in descriptors:
            with contextlib.suppress(OSError):
                os.close(descriptor)
