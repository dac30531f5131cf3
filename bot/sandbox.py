"""Sandboxes, through the vercel SDK: the only file that talks to the Sandbox API.

The SDK's errors become ours here; what a command prints is masked and cut to its tail here.
"""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2
from vercel.sandbox import (
    GitSource,
    Sandbox,
    SandboxApiError,
    SandboxClient,
    SandboxCredentials,
    SandboxCredentialsError,
    SandboxError,
    SandboxQueryByCreatedAt,
    SandboxResources,
    SandboxServiceOptions,
    SandboxStatus,
    SandboxTerminalStateError,
    TagFilter,
)

from bot.diagnosis import fetch_failure
from bot.errors import OperatorFault, SandboxGone, SandboxUnavailable, SourceUnavailable
from bot.output import Tail, Whole, merged
from bot.plan import Argv
from bot.redaction import Redactor

TAG = "branch-preview"
"""Every sandbox of ours carries this tag, so that a lost one can be found."""
TAIL_CHARACTERS = 64_000
"""How much of a command's output is kept."""
WHOLE_CHARACTERS = 24_000_000
"""How long the output may be of which all is needed: a listing of 200,000 files is."""
CONNECTIONS = 400
"""Each running command and open log holds one: https://github.com/vercel/vercel-py"""


@dataclass(frozen=True, slots=True)
class Commit:
    """What to clone. `credentials` are (username, password) for the fetch alone."""

    clone_url: str
    sha: str
    credentials: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that ended: its exit code (128 + n for signal n) and the masked tail of its output."""

    exit_code: int
    output: str


class Sandboxes:
    """The sandboxes of one Sandbox API. Every method may raise SandboxUnavailable and OperatorFault."""

    def __init__(
        self, base_url: str | None, token: str, redactor: Redactor, *, instance: str, vcpus: int, time_limit: int
    ) -> None:
        """`base_url` None is Vercel's own service, with the credentials that the SDK finds in its environment."""
        factory = (lambda: _given(token)) if token else None
        options = SandboxServiceOptions(base_url=base_url, credentials_factory=factory)
        self._client = SandboxClient.create(options=options, httpx_client_factory=_connect)
        self._redactor = redactor
        self._tag = {TAG: instance}
        self._vcpus = vcpus
        self._time_limit = time_limit

    async def find(self, name: str) -> "Box | None":
        """The sandbox of that name, running or not; None when there is none."""
        try:
            async with _translated():
                return Box(await self._client.get_sandbox(name=name), self._redactor)
        except SandboxGone:
            return None

    async def create(self, name: str, commit: Commit, port: int) -> "Box":
        """A new sandbox with that commit checked out; one that exists by that name is taken as it is.

        Raises SourceUnavailable when the commit cannot be cloned.
        """
        username, password = commit.credentials or (None, None)
        source = GitSource(url=commit.clone_url, revision=commit.sha, depth=1, username=username, password=password)
        try:
            async with _translated(cloning=True):
                box = await self._client.create_sandbox(
                    name=name,
                    source=source,
                    ports=[port],
                    tags=self._tag,
                    persistent=False,
                    resources=SandboxResources(vcpus=self._vcpus),
                    execution_time_limit=self._time_limit,
                )
                return Box(box, self._redactor)
        except _Conflict:
            found = await self.find(name)
            if found is None:
                raise SandboxUnavailable(f"sandbox {name} was taken and is gone again") from None
            return found
        except SourceUnavailable:
            await self.destroy(name)  # the hosted service keeps a sandbox whose clone failed
            raise

    async def destroy(self, name: str) -> None:
        """End a sandbox and all that runs in it. One that is gone already is fine."""
        try:
            async with _translated():
                box = await self._client.get_sandbox(name=name)
                await box.destroy(delete_orphan_snapshots=True)
        except SandboxGone:
            return

    async def names(self) -> list[str]:
        """The names of all sandboxes that carry our tag. A page that cannot be read raises: no list is a part."""
        query = SandboxQueryByCreatedAt(tag=TagFilter(key=TAG, value=self._tag[TAG]))
        async with _translated():
            return [box.name async for box in self._client.query_sandboxes(query=query, page_size=50)]

    async def close(self) -> None:
        """Let go of the connections; sandboxes go on."""
        await self._client.aclose()


class Box:
    """One sandbox: run, start, look, kill. Paths are relative to the clone."""

    def __init__(self, sandbox: Sandbox, redactor: Redactor) -> None:
        self._sandbox = sandbox
        self._redactor = redactor

    @property
    def name(self) -> str:
        """The sandbox's name."""
        return self._sandbox.name

    @property
    def running(self) -> bool:
        """Whether its session runs, as of when it was found."""
        return self._sandbox.status in {SandboxStatus.RUNNING, SandboxStatus.PENDING}

    async def run(
        self,
        argv: Argv,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        limit: float,
    ) -> Finished:
        """Run a command to its end, or kill it after `limit` seconds (exit code 137). Output streams are merged."""
        tail = Tail(TAIL_CHARACTERS)
        command, *words = merged(argv)
        async with _translated():
            done = await self._sandbox.run_process(
                command, words, cwd=self._path(cwd), env=env, kill_after=limit, stdout=tail, stderr=subprocess.STDOUT
            )
        return Finished(done.returncode, self._redactor.mask(tail.text()))

    async def read(self, argv: Argv, *, limit: float = 60) -> bytes:
        """The standard output of a command of ours, run in the clone. Raises SandboxUnavailable when it fails.

        The sandbox's code may have put another program in its place: whatever comes back proves nothing.
        """
        out, err = Whole(WHOLE_CHARACTERS), Tail(300)
        command, *words = argv
        async with _translated():
            done = await self._sandbox.run_process(command, words, kill_after=limit, stdout=out, stderr=err)
        if done.returncode:
            raise SandboxUnavailable(f"{argv[0]} failed in the sandbox: {err.text()!r}")
        return out.getvalue().encode("utf-8", "surrogateescape")

    async def start(self, argv: Argv, *, cwd: str | None = None, env: Mapping[str, str] | None = None) -> str:
        """Start a command in the background; its process id is returned."""
        command, *words = merged(argv)
        async with _translated():
            process = await self._sandbox.create_process(
                command, words, cwd=self._path(cwd), env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        return process.id

    async def exit_code(self, process_id: str, *, wait: bool = False) -> int | None:
        """A background command's exit code; None while it runs, unless told to wait."""
        async with _translated():
            process = await self._sandbox.get_process(process_id, wait=wait)
        return process.returncode

    async def output(self, process_id: str, *, lines_within: float = 0.3, at_most: float = 10) -> str:
        """The masked tail of what a background command has printed so far; one that never pauses is cut short."""
        tail = Tail(TAIL_CHARACTERS)
        async with _translated():
            process = await self._sandbox.get_process(process_id)
            reader = process.stdout
            try:
                async with asyncio.timeout(at_most):
                    while reader is not None:
                        async with asyncio.timeout(lines_within):
                            line = await reader.readline()
                        if not line:
                            break
                        tail.write(line)
            except TimeoutError:
                pass  # it runs, and is quiet now or never
            finally:
                if reader is not None:
                    await reader.aclose()
        return self._redactor.mask(tail.text())

    async def kill_all(self, *, keep: Sequence[str] = ()) -> None:
        """Kill every command of this session but `keep`, and return when they are dead.

        With nothing to keep, that goes for daemons too, which are nobody's children any more.
        """
        async with _translated():
            doomed = [
                process
                for process in await self._sandbox.query_processes()
                if process.returncode is None and process.id not in keep
            ]
            for process in doomed:
                await process.kill()
            for process in doomed:
                await process.wait()
        if not keep:
            await self.run(("sh", "-c", "kill -9 -1"), limit=10)

    async def route(self, port: int) -> str:
        """The URL under which that port answers; opened if it was not yet."""
        routes = {route.port: route.url for route in self._sandbox.routes}
        if port not in routes:
            async with _translated():
                self._sandbox = await self._sandbox.update(ports=[*routes, port])
            routes = {route.port: route.url for route in self._sandbox.routes}
        if port not in routes:
            raise SandboxUnavailable(f"the Sandbox API gives no route for port {port}")
        return routes[port]

    async def write(self, path: str, content: bytes) -> None:
        """Write a file, given by its absolute path."""
        async with _translated():
            await self._sandbox.fs.write_bytes(path, content)

    def _path(self, cwd: str | None) -> str | None:
        return None if cwd in {None, "", "."} else f"{self._sandbox.cwd}/{cwd}"


class _Conflict(Exception):
    """A sandbox of that name exists."""


@asynccontextmanager
async def _translated(*, cloning: bool = False) -> AsyncIterator[None]:
    try:
        yield
    except SandboxApiError as error:
        raise _translate(error, cloning=cloning) from error
    except SandboxTerminalStateError as error:
        if cloning:
            raise SourceUnavailable("The commit could not be cloned into the sandbox.") from error
        raise SandboxUnavailable(f"the sandbox is {error.status}") from error
    except SandboxCredentialsError as error:
        raise OperatorFault(
            f"no Sandbox credentials: {error}. Set VERCEL_OIDC_TOKEN (run `vercel env pull`), or VERCEL_TOKEN with "
            "VERCEL_TEAM_ID and VERCEL_PROJECT_ID, or PREVIEW_ENGINE=embedded"
        ) from error
    except (SandboxError, httpx2.HTTPError) as error:
        raise SandboxUnavailable(f"the Sandbox API: {type(error).__name__}: {error}") from error


def _translate(error: SandboxApiError, *, cloning: bool) -> Exception:
    wait = error.response.headers.get("retry-after", "")
    status = error.status_code
    if status == 404 or error.code == "snapshot_not_found":
        return SandboxGone(f"no such sandbox: {error}")
    if status == 409:
        return _Conflict()
    if status in {401, 402, 403}:
        return OperatorFault(f"the Sandbox API refuses: {error}. Check VERCEL_TOKEN, its team and the team's plan")
    if status == 400 and cloning:
        return fetch_failure(str(error)) or SourceUnavailable("The commit could not be cloned.", log=str(error))
    return SandboxUnavailable(f"the Sandbox API: {error}", retry_after=float(wait) if wait.isdigit() else None)


async def _given(token: str) -> SandboxCredentials:
    return SandboxCredentials(token=token, team_id="local", project_id="previews")


def _connect() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(limits=httpx2.Limits(max_connections=CONNECTIONS), timeout=60)
