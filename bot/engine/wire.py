"""The Sandbox API's bodies: what clients may send, checked at the door.

Sizes are MB, durations and times milliseconds.
"""

from typing import Annotated, Any, Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import AfterValidator, BaseModel, Field, SecretStr, model_validator

from bot.engine.body import LENIENT
from bot.engine.policy import Mode
from bot.engine.policy_body import PolicyBody
from bot.engine.records import Mount, MountMode, Retention

MOST_PORTS = 15
_MOUNTABLE = frozenset({"data", "mnt", "srv", "vercel", "workspace"})  # what a drive may be mounted at or below
_OWN_FOLDERS = frozenset({"/vercel", "/vercel/sandbox", "/vercel/home"})
_RESERVED_NAMES = frozenset({"sessions", "snapshots", "drives", "tree"})  # words of the API's own paths

Port = Annotated[int, Field(ge=1, le=65535)]
Ports = Annotated[list[Port], Field(max_length=MOST_PORTS)]
Environment = dict[Annotated[str, Field(pattern=r"^[^=\x00]+$")], Annotated[str, Field(pattern=r"^[^\x00]*$")]]
Tags = Annotated[dict[str, str], Field(max_length=20)]
Milliseconds = Annotated[int, Field(ge=1000, le=365 * 24 * 3600 * 1000)]
Lifetime = Annotated[int, Field(ge=0, le=10 * 366 * 24 * 3600 * 1000)]  # milliseconds, 0 for ever
Path = Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^[^\x00]+$")]


class Body(BaseModel):
    model_config = LENIENT


class GitSource(Body):
    """`url` never holds credentials: those in it are moved to `username` and `password`."""

    type: Literal["git"]
    url: str
    depth: Annotated[int, Field(ge=1)] | None = None
    revision: str | None = None
    username: str | None = None
    password: SecretStr | None = None

    @model_validator(mode="before")
    @classmethod
    def take_credentials_out_of_url(cls, given: Any) -> Any:
        if not isinstance(given, dict) or not isinstance(given.get("url"), str):
            return given
        parts = urlsplit(given["url"])
        if parts.password is None:
            return given
        place = parts.netloc.rpartition("@")[2]
        found = {
            "url": urlunsplit(parts._replace(netloc=place)),
            "username": parts.username,
            "password": parts.password,
        }
        return {**found, **{key: value for key, value in given.items() if key != "url"}}


class TarballSource(Body):
    type: Literal["tarball"]
    url: str


class SnapshotSource(Body):
    type: Literal["snapshot"]
    snapshot_id: str


class Resources(Body):
    vcpus: Annotated[int, Field(ge=1, le=64)] | None = None
    memory: Annotated[int, Field(ge=256, le=1 << 20)] | None = None


class RetentionBody(Body):
    count: Annotated[int, Field(ge=1, le=100)]
    expiration: Lifetime | None = None
    delete_evicted: bool = True

    def parse(self) -> Retention:
        return Retention(self.count, self.expiration, self.delete_evicted)


class MountBody(Body):
    drive: str
    mode: MountMode = MountMode.READ_WRITE

    def parse(self) -> Mount:
        return Mount(self.drive, self.mode)


def _is_free(target: str) -> str:
    parts = target.split("/")
    if parts[0] or len(parts) < 2 or {"", ".", ".."} & set(parts[1:]):
        raise ValueError(f"{target} is not the absolute path of a folder")
    if parts[1] not in _MOUNTABLE or target in _OWN_FOLDERS:
        raise ValueError(f"a drive cannot be mounted at {target}")
    return target


Mounts = Annotated[dict[Annotated[str, AfterValidator(_is_free)], MountBody], Field(max_length=4)]


class DriveBody(Body):
    project_id: str = ""
    max_size_bytes: Annotated[int, Field(ge=1 << 20)] | None = None


class DriveForkBody(Body):
    name: Annotated[str, Field(min_length=1, max_length=128)]


class CreateBody(Body):
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")] | None = None
    project_id: str = ""
    source: Annotated[GitSource | TarballSource | SnapshotSource, Field(discriminator="type")] | None = None
    ports: Ports = []
    timeout: Milliseconds = 300_000
    resources: Resources = Resources()
    env: Environment = {}
    tags: Tags = {}
    network_policy: PolicyBody = PolicyBody(mode=Mode.ALLOW_ALL)
    persistent: bool = True
    snapshot_expiration: Lifetime | None = None
    keep_last_snapshots: RetentionBody | None = None
    mounts: Mounts = {}

    @model_validator(mode="after")
    def name_is_free_to_use(self) -> "CreateBody":
        if self.name in _RESERVED_NAMES:
            raise ValueError(f"{self.name} is not a name for a sandbox")
        return self


class UpdateBody(Body):
    """Only what is to change."""

    ports: Ports | None = None
    timeout: Milliseconds | None = None
    resources: Resources | None = None
    env: Environment | None = None
    tags: Tags | None = None
    network_policy: PolicyBody | None = None
    persistent: bool | None = None
    snapshot_expiration: Lifetime | None = None
    keep_last_snapshots: RetentionBody | None = None
    current_snapshot_id: str | None = None
    mounts: Mounts | None = None


class SnapshotBody(Body):
    expiration: Lifetime | None = None


class CommandBody(Body):
    """With `wait` or `logs` the answer is a stream; `timeout` milliseconds later the command is killed."""

    command: Annotated[str, Field(min_length=1, pattern=r"^[^\x00]+$")]
    args: list[Annotated[str, Field(pattern=r"^[^\x00]*$")]] = []
    cwd: Path | None = None
    env: Environment = {}
    sudo: bool = False
    wait: bool = False
    logs: bool = False
    timeout: Annotated[int, Field(ge=1)] | None = None
    attach_stdin: bool = False


class KillBody(Body):
    signal: Annotated[int, Field(ge=1, le=64)] = 15


class StdinBody(Body):
    """`data` is base64; bytes before what was already written are skipped if `offset` is given."""

    data: str | None = None
    offset: Annotated[int, Field(ge=0)] | None = None
    close: bool = False


class ExtendBody(Body):
    duration: Milliseconds


class PathBody(Body):
    path: Path
    cwd: Path | None = None
    recursive: bool = True


Cells = Annotated[int, Field(ge=1, le=10_000)]


class StartFrame(Body):
    """The first frame of a terminal; `env` holds `NAME=value`."""

    type: Literal["start"]
    command: Annotated[str, Field(min_length=1, pattern=r"^[^\x00]+$")]
    args: list[Annotated[str, Field(pattern=r"^[^\x00]*$")]] = []
    env: list[Annotated[str, Field(pattern=r"^[^=\x00]+=[^\x00]*$")]] = []
    cwd: Path | None = None
    cols: Cells = 80
    rows: Cells = 24

    @property
    def environment(self) -> dict[str, str]:
        pairs = (pair.partition("=") for pair in self.env)
        return {name: value for name, _, value in pairs}


class ResizeFrame(Body):
    type: Literal["resize"]
    cols: Cells
    rows: Cells
