"""Hosts for tests: network namespaces with their own addresses, connected by a switch."""

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

import psutil

from tests.cli.sshd import SSHD, client, configure, privilege_separation, why_no_sshd

PORT = 2222
_number = itertools.count()


def why_not():
    """Return why hosts cannot be created here, or an empty string."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return "network namespaces need Linux and root"
    for command in ("ip", "tc"):
        if not shutil.which(command):
            return f"{command} (iproute2) is missing"
    with Hosts() as hosts:
        try:
            hosts.add("try")
        except subprocess.CalledProcessError as error:
            return f"no network can be created here: {error.stderr.strip()}"
    return ""


class Hosts:
    """Hosts with one interface each, ``eth0``, connected to a switch.

    Everything is in namespaces, and the machine's own network does not change. `close` kills the
    started processes, and removes the namespaces and their interfaces.
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
        # no segmentation offload, so that the counters count frames as sent
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
        """Return the bytes that a host has received and sent so far."""
        (link,) = json.loads(self.ip("-j", "-s", "link", "show", "eth0", of=name))
        return link["stats64"]["rx"]["bytes"], link["stats64"]["tx"]["bytes"]

    def limit(self, name, rate):
        """Limit the rate of a host's link in both directions; in the syntax of tc, e.g. 20mbit."""
        port = f"port{self.names.index(name)}"
        for interface, of in (("eth0", name), (port, "switch")):
            self._command(
                "tc", of, ["qdisc", "add", "dev", interface, "root", "tbf", "rate", rate,
                           "burst", "64kb", "latency", "200ms"],
            )  # fmt: skip

    def plug(self, name, plugged):
        """Connect a host to the switch, or disconnect it."""
        port = f"port{self.names.index(name)}"
        self.ip("link", "set", port, "up" if plugged else "down", of="switch")


class HostCluster:
    """Tasks on one host each, and a host for the program that trains.

    Parameters
    ----------
    hosts : Hosts
        Hosts that include ``chief`` and all names in `ps` and `workers`.
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
        """Start a task with ``tfw2v task``, as an operator would."""
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
        """Run a program on the chief's host; return a `Talk` for its output and input lines."""
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
        """Return all log files, concatenated."""
        return "\n".join(
            f"== {path.name}\n{path.read_text(errors='replace')}"
            for path in sorted(self.log_dir.glob("*.log"))
        )


class Talk:
    """Lines to and from a process, read with a timeout."""

    def __init__(self, process):
        self.process, self._lines = process, queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def hear(self, seconds):
        """Return the next line, parsed as JSON; None at the end."""
        line = self._lines.get(timeout=seconds)
        return None if line is None else json.loads(line)

    def say(self, line="on"):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def end(self, seconds):
        """Wait for the exit; return the exit status, and the last line read."""
        deadline, last = time.monotonic() + seconds, None
        while (found := self.hear(max(0.1, deadline - time.monotonic()))) is not None:
            last = found
        return self.process.wait(max(0.1, deadline - time.monotonic())), last


class SshHosts(Hosts):
    """Hosts reachable by ssh, each with its own folder for temporary files.

    Uses OpenSSH if it is installed, otherwise a script that runs commands on the host.

    Parameters
    ----------
    folder : Path
        Folder for keys, logs and temporary files.
    """

    def __init__(self, folder, *names):
        super().__init__(*names)
        self.folder, self._cleanup = folder, contextlib.ExitStack()

    def __enter__(self):
        super().__enter__()
        try:
            for name in self.names:
                self.temporary(name).mkdir(exist_ok=True)
            if why_no_sshd():
                self.ssh = self._stub()
            else:
                self._cleanup.enter_context(privilege_separation())
                for name in self.names:
                    self._serve(name)
                self.ssh = client(self.folder)
        except BaseException:
            self.close()
            raise
        return self

    def close(self):
        for name in self.names:
            for process in self.running(name):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        super().close()
        self._cleanup.close()

    def _serve(self, name):
        config = configure(self.folder, name, self.address(name), 22)
        with config.open("a", encoding="utf-8") as file:
            file.write(f"SetEnv TMPDIR={self.temporary(name)}\n")
        with (self.folder / f"sshd-{name}.log").open("wb") as log:
            self.start(name, SSHD, "-D", "-e", "-f", str(config), stdin=subprocess.DEVNULL,
                       stdout=log, stderr=log)  # fmt: skip
        deadline = time.monotonic() + 20
        while 22 not in self.listening(name):
            assert time.monotonic() < deadline, "sshd did not start"
            time.sleep(0.05)

    def _stub(self):
        path = self.folder / "ssh"
        cases = "".join(
            f"{self.address(name)}) name={self.name}-{name}; TMPDIR={self.temporary(name)};;\n"
            for name in self.names
        )
        path.write_text(
            '#!/bin/bash\nwhile [ "$1" != -- ]; do shift; done\nexport TMPDIR\n'
            f'case "$2" in\n{cases}esac\nshift 2\nexec ip netns exec $name sh -c "$*"\n'
        )
        path.chmod(0o755)
        return str(path)

    def temporary(self, name):
        return self.folder / f"tmp-{name}"

    def running(self, name):
        """Return the processes on a host, except sshd and zombies."""
        try:
            listed = self.ip("netns", "pids", f"{self.name}-{name}").split()
        except subprocess.CalledProcessError:
            return []  # the namespace is gone
        found = []
        for pid in map(int, listed):
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(pid)
                if "sshd" not in process.name() and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def process(self, name, called):
        """Return the process on a host that ``ps`` shows as `called`."""
        (found,) = (
            process
            for process in self.running(name)
            if Path(f"/proc/{process.pid}/comm").read_text().strip().replace(" ", "-") == called
        )
        return found

    def listening(self, name):
        """Return the TCP ports on which a process listens on a host."""
        ports = set()
        for table in ("tcp", "tcp6"):
            lines = subprocess.run(
                ["ip", "netns", "exec", f"{self.name}-{name}", "cat", f"/proc/self/net/{table}"],
                capture_output=True, text=True, timeout=20,
            ).stdout.splitlines()[1:]  # fmt: skip
            ports |= {int(line.split()[1].rpartition(":")[2], 16) for line in lines
                      if line.split()[3] == "0A"}  # fmt: skip
        return ports

    def left(self, name):
        """Return the processes, ports and temporary files that remain on a host."""
        return [
            *(" ".join(process.cmdline()) or process.name() for process in self.running(name)),
            *(f"port {port}" for port in self.listening(name) - {22}),
            *(path.name for path in self.temporary(name).iterdir() if "filled" not in path.name),
        ]

    def drop(self, sender, receiver):
        """Silently drop packets that a host sends to the task on a different host."""
        rules = (
            "add table inet tests; add chain inet tests in { type filter hook input priority 0; }; "
            f"add rule inet tests in ip saddr {self.address(sender)} tcp dport {PORT} drop"
        )
        subprocess.run(
            ["ip", "netns", "exec", f"{self.name}-{receiver}", "nft", rules],
            check=True, capture_output=True, text=True, timeout=20,
        )  # fmt: skip
