"""Bytes carried both ways between two connected sockets, each direction closed when its source is."""

import asyncio
import socket
import struct

_CHUNK = 1 << 16


async def pump(one: socket.socket, other: socket.socket) -> None:
    """Carry until both directions ended or one broke. Leaves the sockets open; they must not block."""
    for end in (one, other):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    directions = [asyncio.create_task(_carry(one, other)), asyncio.create_task(_carry(other, one))]
    try:
        await asyncio.gather(*directions)
    finally:
        for direction in directions:
            direction.cancel()
        await asyncio.gather(*directions, return_exceptions=True)


async def _carry(source: socket.socket, target: socket.socket) -> None:
    loop, buffer = asyncio.get_running_loop(), memoryview(bytearray(_CHUNK))
    while count := await loop.sock_recv_into(source, buffer):
        await loop.sock_sendall(target, buffer[:count])
    target.shutdown(socket.SHUT_WR)


def close_with_reset(end: socket.socket) -> None:
    """Close so that the peer sees an error and not an end: what it got so far is not all there was."""
    try:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    finally:
        end.close()
