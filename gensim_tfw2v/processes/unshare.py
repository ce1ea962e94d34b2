"""Run a command in a network namespace of its own: a script, run by its path.

``unshare.py COMMAND...`` makes a namespace with a loopback interface that is up, and becomes the
command: its process is the caller's own child, so that signals and statuses are the command's.

It imports nothing of the package and nothing installed: only a process without threads may enter
a user namespace, and libraries start some.
"""

import ctypes
import fcntl
import os
import socket
import struct
import sys

# of Linux's sched.h, sockios.h and if.h
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
IFF_UP = 1


def unshare(flags: int) -> None:
    """Call the C library's function; OSError if it refuses, or is not there."""
    function = getattr(ctypes.CDLL(None, use_errno=True), "unshare", None)
    if function is None:
        raise OSError("this system has no unshare()")
    if function(flags):
        number = ctypes.get_errno()
        raise OSError(number, f"unshare: {os.strerror(number)}")


def leave_network() -> None:
    """Move this process to a network namespace of its own.

    Who may not do so as it is, does so in a user namespace of its own, where its user keeps its
    number. Who may is better off without: in one, root is no root to the files of others.
    """
    try:
        unshare(CLONE_NEWNET)
    except PermissionError:
        user = os.geteuid()
        group = os.getegid()
        unshare(CLONE_NEWUSER | CLONE_NEWNET)
        for name, text in (
            ("setgroups", "deny"),  # else the groups could not be written
            ("gid_map", f"{group} {group} 1"),
            ("uid_map", f"{user} {user} 1"),
        ):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        name, flags = struct.unpack(
            "16sh", fcntl.ioctl(any_socket, SIOCGIFFLAGS, struct.pack("16sh", b"lo", 0))
        )
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh", name, flags | IFF_UP))


if __name__ == "__main__":
    leave_network()
    os.execv(sys.argv[1], sys.argv[1:])
