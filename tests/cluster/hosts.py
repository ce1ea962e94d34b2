"""Machines for tests: network namespaces with addresses of their own, on one switch."""

import contextlib
import itertools
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

PORT = 2222
_number = itertools.count()


def why_not():
    """Why there can be no hosts here, or nothing."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return "only Linux's root makes networks"
    for command in ("ip", "tc"):
        if not shutil.which(command):
            return f"{command} (iproute2) is missing"
    with Hosts() as hosts:
        try:
            hosts.add("try")
        except subprocess.CalledProcessError as error:
            return f"no network can be made here: {error.stderr.strip()}"
    return ""


class Hosts:
    """Hosts with one interface each, ``eth0``, whose other end is in a switch.

    All is in namespaces, and the machine's own network is left as it is. On leaving, the processes
    that were started are killed, and namespaces and their interfaces are removed.
    """

    def __init__(self, *names):
        self.name = f"tfw2v-{os.getpid()}-{next(_number)}"
        self.names, self.first = [], names
        self.processes = []

    def __enter__(self):
        try:
            self.ip("netns", "add", f"{self.name}-switch")
            self.ip("link", "add", "switch", "type", "bridge", of="switch")
            self.ip("link", "set", "switch", "up", of="switch")
            for name in self.first:
                self.add(name)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait(20)
            for pipe in filter(None, (process.stdin, process.stdout)):
                with contextlib.suppress(OSError):
                    pipe.close()
        for name in ["switch", *self.names]:
            with contextlib.suppress(subprocess.CalledProcessError):
                self.ip("netns", "delete", f"{self.name}-{name}")

    def add(self, name):
        host, port = f"{self.name}-{name}", f"port{len(self.names)}"
        self.names.append(name)
        self.ip("netns", "add", host)
        # without segments that only a network card would cut: what is counted are frames
        whole = ("gso_max_segs", "1")
        self.ip("link", "add", "eth0", *whole, "type", "veth", "peer", port, *whole, "netns",
                f"{self.name}-switch", of=name)  # fmt: skip
        self.ip("link", "set", port, "master", "switch", "up", of="switch")
        self.ip("address", "add", f"{self.address(name)}/24", "dev", "eth0", of=name)
        for interface in ("lo", "eth0"):
            self.ip("link", "set", interface, "up", of=name)

    def address(self, name):
        return f"10.77.0.{1 + self.names.index(name)}"

    def ip(self, *arguments, of=None):
        return self._command("ip", of, arguments)

    def _command(self, command, of, arguments):
        return subprocess.run(
            [command, *(["-n", f"{self.name}-{of}"] if of else []), *arguments],
            check=True,
            capture_output=True,
            text=True,
            timeout=20,
        ).stdout

    def start(self, name, *command, **options):
        """Start a process on a host."""
        entering = ["ip", "netns", "exec", f"{self.name}-{name}"]
        self.processes.append(subprocess.Popen([*entering, *command], **options))
        return self.processes[-1]

    def bytes(self, name):
        """What a host has received and sent so far."""
        (link,) = json.loads(self.ip("-j", "-s", "link", "show", "eth0", of=name))
        return link["stats64"]["rx"]["bytes"], link["stats64"]["tx"]["bytes"]

    def limit(self, name, rate):
        """Let no more than this travel to a host, and from it; as tc writes it: 20mbit."""
        port = f"port{self.names.index(name)}"
        for interface, of in (("eth0", name), (port, "switch")):
            self._command(
                "tc", of, ["qdisc", "add", "dev", interface, "root", "tbf", "rate", rate,
                           "burst", "64kb", "latency", "200ms"],
            )  # fmt: skip

    def delay(self, name, milliseconds):
        """Let what a host sends arrive so much later."""
        delay = ["qdisc", "replace", "dev", "eth0", "root", "netem", "limit", "100000"]
        self._command("tc", name, [*delay, "delay", f"{milliseconds}ms"])

    def plug(self, name, plugged):
        """Put a host's cable into the switch, or pull it out."""
        port = f"port{self.names.index(name)}"
        self.ip("link", "set", port, "up" if plugged else "down", of="switch")


class HostCluster:
    """Tasks on hosts of their own, and one host for the program that trains.

    Parameters
    ----------
    hosts : Hosts
        ``chief``, and all of `ps` and `workers` by their names.
    log_dir : Path
    """

    def __init__(self, hosts, ps, workers, log_dir):
        self.hosts, self.log_dir = hosts, Path(log_dir)
        self.roles = {"chief": ["chief"], "ps": list(ps), "worker": list(workers)}
        self.addresses = {
            role: [f"{hosts.address(name)}:{PORT}" for name in names]
            for role, names in self.roles.items()
        }
        for role in ("ps", "worker"):
            for index in range(len(self.roles[role])):
                self.start(role, index)

    def environment(self, role, index):
        config = {"cluster": self.addresses, "task": {"type": role, "index": index}}
        return os.environ | {"TF_CONFIG": json.dumps(config), "CUDA_VISIBLE_DEVICES": ""}

    def start(self, role, index):
        """Start a task by the command that an operator would use."""
        with (self.log_dir / f"{role}-{index}.log").open("ab") as log:
            return self.hosts.start(
                self.roles[role][index],
                *(sys.executable, "-m", "gensim_tfw2v", "task"),
                env=self.environment(role, index),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def train(self, script, *arguments):
        """Run a program on the chief's host, which says and is told lines."""
        with (self.log_dir / "train.log").open("wb") as log:
            process = self.hosts.start(
                "chief",
                *(sys.executable, "-c", script, *map(str, arguments)),
                env=self.environment("chief", 0) | {"PYTHONUNBUFFERED": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        return Talk(process)

    def log(self):
        """What all have written."""
        return "\n".join(
            f"== {path.name}\n{path.read_text(errors='replace')}"
            for path in sorted(self.log_dir.glob("*.log"))
        )


class Talk:
    """Lines of a process, each with a limit of time."""

    def __init__(self, process):
        self.process, self._lines = process, queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def hear(self, seconds):
        """The next line, as JSON; None at the end."""
        line = self._lines.get(timeout=seconds)
        return None if line is None else json.loads(line)

    def say(self, line="on"):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def end(self, seconds):
        """Wait for the end; give the exit status, and the last line before."""
        deadline, last = time.monotonic() + seconds, None
        while (found := self.hear(max(0.1, deadline - time.monotonic()))) is not None:
            last = found
        return self.process.wait(max(0.1, deadline - time.monotonic())), last
