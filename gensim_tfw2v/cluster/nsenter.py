"""Make or enter a network namespace: a script, run by its path, of Linux's calls alone.

``nsenter.py make`` makes one with a loopback interface that is up, says on standard output which
of ``/proc/PID/ns`` it has made, and ends when its standard input is closed. ``nsenter.py enter
FD,... COMMAND...`` enters those that these file descriptors stand for, and becomes the command: its
process is the caller's own child, so that signals and statuses are the command's.

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
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


def call(name: str, *arguments: int) -> None:
    """Call the C library; OSError if it refuses, or has no such function."""
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if function is None:
        raise OSError(f"this system has no {name}()")
    if function(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def make() -> str:
    """Move this process to a network namespace of its own; give the names of what was made.

    Who may not do so as it is, does so in a user namespace of its own, where its user keeps its
    number. Who may is better off without: in one, root is no root to the files of others.
    """
    try:
        call("unshare", CLONE_NEWNET)
        made = "net"
    except PermissionError:
        user, group = os.geteuid(), os.getegid()
        call("unshare", CLONE_NEWUSER | CLONE_NEWNET)
        for name, text in (
            ("setgroups", "deny"),  # else the groups could not be written
            ("gid_map", f"{group} {group} 1"),
            ("uid_map", f"{user} {user} 1"),
        ):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
        made = "user,net"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        name, flags = struct.unpack(
            "16sh", fcntl.ioctl(any_socket, SIOCGIFFLAGS, struct.pack("16sh", b"lo", 0))
        )
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh", name, flags | IFF_UP))
    return made


def main() -> None:
    """Do what the first argument says."""
    if sys.argv[1] == "make":
        print(make(), flush=True)
        sys.stdin.read()
        return
    for descriptor in map(int, sys.argv[2].split(",")):
        call("setns", descriptor, 0)
        os.close(descriptor)
    os.execv(sys.argv[3], sys.argv[3:])


if __name__ == "__main__":
    main()
