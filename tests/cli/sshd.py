"""What tests take for ssh: OpenSSH on a loopback, or a script that runs commands here."""

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
# as OpenSSH: options, --, the host, and words that its login shell gets in one line
while [ "$1" != -- ]; do shift; done
shift 2
exec "${SHELL:-/bin/sh}" -c "$*"
"""


def stub(folder):
    """A script in the place of ssh, which runs what it is given on this machine."""
    path = folder / "ssh"
    path.write_text(STUB)
    path.chmod(0o755)
    return str(path)


def why_no_sshd():
    """Why OpenSSH cannot be used here, or nothing."""
    for program in (SSHD, "ssh", "ssh-keygen"):
        if not shutil.which(program):
            return f"{program} is not installed"
    return ""


@contextlib.contextmanager
def openssh(folder):
    """A server of OpenSSH with keys of its own; the command that connects to it."""
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
    """Make keys in a folder, if there are none, and a server's configuration; give its path."""
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
    """The command that connects to servers configured in a folder."""
    return shlex.join(
        ["ssh", "-F", "none", "-i", str(folder / "user")]
        + ["-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=no"]
        + ["-o", f"UserKnownHostsFile={folder}/known_hosts", "-o", "LogLevel=ERROR"]
    )


@contextlib.contextmanager
def privilege_separation():
    """Have the folder that root's sshd asks for, if there is none."""
    # root's sshd asks for a folder that the system makes when it starts the service
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
