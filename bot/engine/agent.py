"""PID 1 of a sandbox: starts commands, reaps orphans, opens files and connections for the engine.

Run by `python3 -I -S` from a read-only mount. Its imports are start-up time of every sandbox, so it takes the C modules
below `socket` and `signal`, and reads its requests with `marshal`: that halves the time until the first command. What
it answers is JSON, since the engine must not unmarshal what may be hostile. Messages travel on one SEQPACKET socket,
file descriptors beside them; what a command is to run comes in a memfd, because a message is limited to the socket's
buffer while a command line is not. When the engine's end closes, this process ends, and the kernel ends all others.
"""

import _signal as signal  # type: ignore[import-not-found]
import _socket as socket
import array
import ctypes
import errno
import marshal
import os
import select
import sys

MAX_MESSAGE = 1 << 16
MAX_DESCRIPTORS = 8
MOST_DESCRIPTORS = 1 << 20
PR_SET_DUMPABLE = 4
if False:  # the words of the annotations below; importing typing would cost every sandbox's start
    from collections.abc import Sequence
    from typing import Any

    Request = dict[str, Any]
    Descriptors = Sequence[int]
    Answer = tuple[dict[str, object], Descriptors]

IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE)
RESTORED = (*IGNORED, signal.SIGCHLD, signal.SIGXFSZ)


class Refused(Exception):
    """A command could not be started: at which step, and why."""

    def __init__(self, step: str, number: int) -> None:
        super().__init__(step, number)
        self.step, self.number = step, number


class Agent:
    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.commands: dict[int, int] = {}  # pid of a process group's leader -> the engine's number of the command
        self.wakeup, self.wakeup_writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def serve(self) -> None:
        signal.set_wakeup_fd(self.wakeup_writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in IGNORED:
            signal.signal(number, signal.SIG_IGN)
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(self.wakeup, select.POLLIN)
        self.tell({"event": "ready"})
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == self.wakeup:
                    self.reap()
                elif not self.answer():
                    return

    def tell(self, message: dict[str, object], descriptors: "Descriptors" = ()) -> None:
        sent = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        self.control.sendmsg([encode(message)], sent)

    def reap(self) -> None:
        os.read(self.wakeup, 4096)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self.commands:
                code = os.waitstatus_to_exitcode(status)
                self.tell(
                    {"event": "exit", "command": self.commands.pop(pid), "code": code if code >= 0 else 128 - code}
                )

    def answer(self) -> bool:
        """Serve one request; false when the engine is gone."""
        room = socket.CMSG_LEN(4 * MAX_DESCRIPTORS)
        data, extra, _, _ = self.control.recvmsg(MAX_MESSAGE, room, socket.MSG_CMSG_CLOEXEC)
        if not data:
            return False
        descriptors = array.array("i")
        for level, kind, payload in extra:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(payload[: len(payload) - len(payload) % 4])
        request = marshal.loads(data)  # noqa: S302 - from the engine, which made us
        try:
            answer, sent = getattr(self, "do_" + request["do"])(request, descriptors)
        except Refused as refused:
            answer, sent = {"errno": refused.number, "step": refused.step}, ()
        except OSError as error:
            answer, sent = {"errno": error.errno or errno.EIO}, ()
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        self.tell({"event": "answer", "id": request["id"], **answer}, sent)
        for descriptor in sent:
            os.close(descriptor)
        return True

    def do_run(self, request: "Request", descriptors: "Descriptors") -> "Answer":
        """Start a command: descriptors are its description (a memfd), then standard input, output and error."""
        description, *streams = descriptors
        command = marshal.loads(os.pread(description, os.fstat(description).st_size, 0))  # noqa: S302 - as above
        failed, failure = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            become(command, streams, failure)
        os.close(failure)
        reason = os.read(failed, 64).split()
        os.close(failed)
        if reason:
            os.waitpid(pid, 0)
            raise Refused(reason[0].decode(), int(reason[1]))
        self.commands[pid] = request["command"]
        return {"pid": pid}, ()

    def do_kill(self, request: "Request", _: "Descriptors") -> "Answer":
        """Signal the process group of a command."""
        for pid, command in self.commands.items():
            if command == request["command"]:
                os.killpg(pid, request["signal"])
        return {}, ()

    def do_open(self, request: "Request", _: "Descriptors") -> "Answer":
        """Open a file for reading. Never waits: a FIFO without a writer opens at once and is refused by the engine."""
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
        return {}, (os.open(request["path"], flags),)

    def do_terminal(self, request: "Request", _: "Descriptors") -> "Answer":
        """A new terminal: the end that a person has, then the end that a command has."""
        return {}, os.openpty()

    def do_connect(self, request: "Request", _: "Descriptors") -> "Answer":
        """Start connecting to a port of this sandbox; the engine waits for the connection, this process must not."""
        family, host = (socket.AF_INET6, "::1") if request["family"] == "inet6" else (socket.AF_INET, "127.0.0.1")
        connection = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            connection.connect((host, request["port"]))
        except BlockingIOError:
            pass
        except OSError:
            connection.close()
            raise
        return {}, (connection.detach(),)


def encode(message: dict[str, object]) -> bytes:
    """JSON of whole numbers and plain words."""
    pairs = (f'"{key}":{value}' if isinstance(value, int) else f'"{key}":"{value}"' for key, value in message.items())
    return f"{{{','.join(pairs)}}}".encode()


def become(command: "Request", streams: "Descriptors", failure: int) -> None:
    """In a forked child: turn into the command, or say why not through `failure` and exit."""
    step = "start"
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in RESTORED:
            signal.signal(number, signal.SIG_DFL)
        for target, stream in enumerate(streams):
            os.dup2(stream, target)
        if command["terminal"]:
            # The first terminal that the leader of a session opens is the one that its keys act on.
            os.close(os.open(os.ttyname(0), os.O_RDWR))
        step = "cwd"
        os.chdir(command["cwd"])
        step = "executable"
        os.execvpe(command["argv"][0], command["argv"], command["env"])  # noqa: S606 - there is no shell
    except OSError as error:
        os.write(failure, f"{step} {error.errno}".encode())
    except BaseException:
        os.write(failure, f"{step} {errno.EINVAL}".encode())
    finally:
        os._exit(127)


def main() -> None:
    # Without this a command (same uid) could read our memory and descriptors, or stop us with ptrace.
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    control = socket.socket(fileno=int(sys.argv[1]))
    os.set_inheritable(control.fileno(), False)  # noqa: FBT003 - it takes no keyword
    os.closerange(3, control.fileno())
    os.closerange(control.fileno() + 1, MOST_DESCRIPTORS)
    nothing = os.open("/dev/null", os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    Agent(control).serve()


if __name__ == "__main__":
    main()
