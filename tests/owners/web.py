"""A little web server that answers as a test wants."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def listening(answer: Answer) -> AsyncIterator[str]:
    """A TCP server on loopback; its URL. `answer` gets each connection, which is closed afterwards."""

    under_way: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        under_way.add(asyncio.current_task())
        try:
            await answer(reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


def saying(status: str, body: bytes = b"", *headers: str) -> Answer:
    """Always this status and body."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers, "", ""]
        writer.write("\r\n".join(head).encode() + body)
        await writer.drain()

    return answer
