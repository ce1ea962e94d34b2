"""Script that runs a command in a new network namespace.

``python unshare.py COMMAND...`` creates a namespace whose loopback interface is up, and replaces
itself by the command. So the command's process is the caller's child, and receives the signals that
the caller sends.

It is run by its path, and imports nothing from this package or from installed libraries. Only a
process without threads may enter a user namespace, and libraries start threads.
"""

import ctypes
import fcntl
import os
import socket
import struct
import sys

# from Linux's sched.h, sockios.h and if.h
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
IFF_UP = 1


def unshare(flags: int) -> None:
    """Call the C library's ``unshare``; raise OSError if it fails or does not exist."""
    function = getattr(ctypes.CDLL(None, use_errno=True), "unshare", None)
    if function is None:
        raise OSError("this system has no unshare()")
    if function(flags):
        error_number = ctypes.get_errno()
        raise OSError(error_number, f"unshare: {os.strerror(error_number)}")


def leave_network() -> None:
    """Move this process to a new network namespace.

    If this user may not create one, it is created in a new user namespace, in which the user keeps
    its id. For root, who may, no user namespace is created: in it, root would lose access to the
    files of other users.
    """
    try:
        unshare(CLONE_NEWNET)
    except PermissionError:
        user = os.geteuid()
        group = os.getegid()
        unshare(CLONE_NEWUSER | CLONE_NEWNET)
        for name, text in (
            ("setgroups", "deny"),  # otherwise gid_map cannot be written
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
