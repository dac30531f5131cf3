"""File descriptors that arrive beside a message on a UNIX socket, never inherited by what is executed later.

By hand because `socket.recv_fds` drops the flags that it is given, and
without `MSG_CMSG_CLOEXEC` every descriptor in flight would leak into programs started meanwhile.
"""

import array
import socket


def receive(end: socket.socket, size: int, most: int) -> tuple[bytes, list[int]]:
    """One message of at most `size` bytes with at most `most` descriptors; the kernel closes further ones."""
    data, extra, _, _ = end.recvmsg(size, socket.CMSG_LEN(4 * most), socket.MSG_CMSG_CLOEXEC)
    descriptors = array.array("i")
    for level, kind, payload in extra:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(payload[: len(payload) - len(payload) % descriptors.itemsize])
    return data, descriptors.tolist()
