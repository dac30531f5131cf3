"""What to run and how to know that it lives: plain data, with nothing about where it runs."""

from pydantic import BaseModel, ConfigDict, Field

Argv = tuple[str, ...]
"""A command as its words; never a shell line."""


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Readiness(_Value):
    """When the app counts as alive.

    Without `accept` every answer below 500 that the app itself gave counts (401, 403, 404 and redirects included).
    A body that holds one of `failure_signs` is an error page, whatever its status; each maps to a remedy.
    """

    path: str = "/"
    accept: tuple[int, ...] = ()
    failure_signs: dict[str, str] = Field(default_factory=dict)
    websocket_path: str | None = None
    """Where the live-reload socket listens, when the framework has one."""
    websocket_protocol: str | None = None


class Note(_Value):
    """One choice that detection made: what, and the file (and line) that decided it."""

    text: str
    file: str | None = None
    line: int | None = None


class LaunchPlan(_Value):
    """Everything a launch needs to know about a repository. Paths are relative to the clone; `.` is its top."""

    kind: str
    """A short machine word: `vite`, `next`, `django`, `static`, …"""
    title: str
    """What a person reads in the comment: `Vite 8 with npm`."""
    root: str = "."
    """Where `start` runs."""
    install_root: str = "."
    """Where `install` runs: in a workspace, the folder with the lockfile."""
    package_manager: str | None = None
    prepare: tuple[Argv, ...] = ()
    """Commands before `install`, run in `install_root` and safe to repeat: making a virtual environment."""
    install: Argv | None = None
    install_relaxed: Argv | None = None
    """Tried once when `install` fails because the lockfile does not match its manifest."""
    setup: tuple[Argv, ...] = ()
    """Commands between install and start, run in `root`: database migrations and the like."""
    build: Argv | None = None
    start: Argv
    port: int
    """The port that `start` listens on."""
    sets_port: bool = True
    """Whether `PORT` is set to it. Not where one command starts two servers, of which the other would take it."""
    env: dict[str, str] = Field(default_factory=dict)
    """Variables for every command, laid over those that each launch sets."""
    needs_env: tuple[str, ...] = ()
    """Names of variables without which the app does not serve."""
    runtime: dict[str, str] = Field(default_factory=dict)
    """Tool to version or range, as the repository asks for it: `{"node": ">=20"}`."""
    install_inputs: tuple[str, ...] = ()
    """Files whose change asks for a new install: manifests and lockfiles."""
    restart_inputs: tuple[str, ...] = ()
    """Files whose change asks for a restart even if nothing is installed anew: configuration read at start."""
    reloads: bool = True
    """Whether the running server picks up changed sources by itself."""
    readiness: Readiness = Field(default_factory=Readiness)
    notes: tuple[Note, ...] = ()
    ambiguous: bool = False
    """Whether asking, or naming the choice, is right."""


_LAUNCH_ENVIRONMENT = {
    "CI": "1",
    "BROWSER": "none",
    "HUSKY": "0",
    "NEXT_TELEMETRY_DISABLED": "1",
    "NUXT_TELEMETRY_DISABLED": "1",
    "GATSBY_TELEMETRY_DISABLED": "1",
    "ASTRO_TELEMETRY_DISABLED": "1",
    "STORYBOOK_DISABLE_TELEMETRY": "1",
    "NG_CLI_ANALYTICS": "false",
    "COREPACK_ENABLE_DOWNLOAD_PROMPT": "0",
    "npm_config_fund": "false",
    "npm_config_audit": "false",
    "npm_config_update_notifier": "false",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PYTHONUNBUFFERED": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "HOST": "0.0.0.0",  # noqa: S104  (inside a sandbox, whose network is its own)
    "HOSTNAME": "0.0.0.0",  # noqa: S104
}


def launch_environment(plan: LaunchPlan) -> dict[str, str]:
    """The variables of every command of a launch: ours, the port, and the plan's own on top."""
    port = {"PORT": str(plan.port)} if plan.sets_port else {}
    return {**_LAUNCH_ENVIRONMENT, **port, **plan.env}


_LAUNCHERS = (("npx", "--yes"), ("uvx",))
_OWN_NAMES = {"@yarnpkg/cli-dist": "yarn"}


def spoken(argv: Argv) -> Argv:
    """The command as the repository's people would type it: `npx --yes pnpm@9 run dev` reads `pnpm run dev`.

    A package manager that is not on the PATH is fetched from its registry by a launcher; that is how it runs, not
    what it means.
    """
    for launcher in _LAUNCHERS:
        if argv[: len(launcher)] == launcher and len(argv) > len(launcher):
            words = argv[len(launcher) :]
            tool, *rest = words[2:] if words[0] == "--with" and len(words) > 2 else words
            name = tool if tool.rfind("@") <= 0 else tool[: tool.rfind("@")]
            return (_OWN_NAMES.get(name, name), *rest)
    return argv
