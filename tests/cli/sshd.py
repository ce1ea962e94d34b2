"""SSH for tests: OpenSSH on loopback, or a stub that runs commands on this machine."""

import contextlib
import os
import shlex
import shutil
import socket
import subprocess
import time
from pathlib import Path

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"

STUB = """#!/bin/bash
# arguments as of OpenSSH: options, --, host, words that the login shell gets as one line
while [ "$1" != -- ]; do shift; done
shift 2
exec "${SHELL:-/bin/sh}" -c "$*"
"""


def stub(folder):
    """Write a stub of ssh that runs its command on this machine; return its path."""
    path = folder / "ssh"
    path.write_text(STUB)
    path.chmod(0o755)
    return str(path)


def why_no_sshd():
    """Return why OpenSSH cannot be used here, or an empty string."""
    for program in (SSHD, "ssh", "ssh-keygen"):
        if not shutil.which(program):
            return f"{program} is not installed"
    return ""


@contextlib.contextmanager
def openssh(folder):
    """Run an OpenSSH server with its own keys; yield the command that connects to it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = configure(folder, "loopback", "127.0.0.1", port)
    with privilege_separation():
        server = subprocess.Popen([SSHD, "-D", "-e", "-f", str(config)], stderr=subprocess.PIPE)
        try:
            _wait_for(port, server)
            yield f"{client(folder)} -p {port}"
        finally:
            server.terminate()
            server.communicate()


def configure(folder, name, address, port):
    """Write a server's configuration, and keys if missing; return the configuration's path."""
    for key in ("host", "user"):
        if not (folder / key).exists():
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)], check=True
            )
    config = folder / f"sshd_config-{name}"
    config.write_text(
        f"Port {port}\nListenAddress {address}\nHostKey {folder}/host\nPidFile none\n"
        f"AuthorizedKeysFile {folder}/user.pub\nStrictModes no\nUsePAM no\n"
        "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
    )
    return config


def client(folder):
    """Return the command that connects to servers configured in a folder."""
    return shlex.join(
        ["ssh", "-F", "none", "-i", str(folder / "user")]
        + ["-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=no"]
        + ["-o", f"UserKnownHostsFile={folder}/known_hosts", "-o", "LogLevel=ERROR"]
    )


@contextlib.contextmanager
def privilege_separation():
    """Create the folder that root's sshd needs, if missing."""
    # otherwise the system creates this folder when it starts the service
    made = Path("/run/sshd")
    is_ours = os.geteuid() == 0 and not made.exists()
    if is_ours:
        made.mkdir(mode=0o755)
    try:
        yield
    finally:
        if is_ours:
            made.rmdir()


def _wait_for(port, server):
    deadline = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            if server.poll() is not None or time.monotonic() > deadline:
                server.kill()
                raise RuntimeError(server.communicate()[1].decode()) from None
            time.sleep(0.05)
