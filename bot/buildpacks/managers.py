"""Which Node package manager a folder uses, where it installs, and how its commands are spelled.

First hit wins: the `packageManager` field, the lockfile, the manager that scripts call, npm. pnpm, yarn, bun and deno
are fetched by npx from the registry in the right version; Corepack is not used, as it downloads from elsewhere.
"""

import fnmatch
import re
from dataclasses import dataclass

from bot.buildpacks.buildpack import noted
from bot.buildpacks.package_json import PackageJson
from bot.plan import Argv, Note
from bot.source import Folder

LOCKFILES = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
    "npm-shrinkwrap.json": "npm",
}
_PINNED = re.compile(r"^(npm|pnpm|yarn|bun)@\^?~?v?(\d[\w.-]*)?")
_PNPM_OF_LOCKFILE = {"5": "7", "6": "8", "9": "10"}
"""Lockfile format to the newest pnpm that installs it frozen. https://pnpm.io/installation#compatibility"""


@dataclass(frozen=True, slots=True)
class Manager:
    """A package manager, at a folder. `version` is what npx is asked for, None for the one on the PATH."""

    name: str
    version: str | None
    root: str
    lockfile: str | None
    note: Note

    @property
    def berry(self) -> bool:
        """Whether this is yarn 2 or newer."""
        return self.name == "yarn" and self.version is not None and not self.version.startswith("1")

    def command(self, *words: str) -> Argv:
        """One of its own commands."""
        if self.name == "npm":
            return ("npm", *words)
        package = "@yarnpkg/cli-dist" if self.berry else self.name
        return ("npx", "--yes", f"{package}@{self.version}", *words)

    def run(self, script: str, *arguments: str) -> Argv:
        """Run a script of the package."""
        separator = ("--",) if arguments and self.name == "npm" else ()
        if self.name == "npm" and script == "start":
            return ("npm", "start", *separator, *arguments)
        return self.command("run", script, *separator, *arguments)

    def execute(self, *words: str) -> Argv:
        """Run a program that an installed package brings."""
        if self.name == "npm":
            return ("npx", "--no-install", *words)
        return self.command("x" if self.name == "bun" else "exec", *words)

    def install(self) -> Argv:
        """Install exactly what the lockfile says, or what the manifest says when there is no lockfile."""
        if self.lockfile is None:
            return self.relaxed()
        if self.name == "npm":
            return ("npm", "ci")
        return self.command("install", "--immutable" if self.berry else "--frozen-lockfile")

    def relaxed(self) -> Argv:
        """Install although the lockfile does not match."""
        if self.name == "npm":
            return ("npm", "install")
        # CI=1 makes pnpm and yarn berry refuse to touch a lockfile unless told otherwise.
        flags = {"pnpm": "--no-frozen-lockfile", "yarn": "--no-immutable" if self.berry else ""}
        flag = flags.get(self.name)
        return self.command("install", *((flag,) if flag else ()))


def choose(package: PackageJson) -> Manager:
    """The manager of a package, found at its workspace's top when it belongs to one."""
    home = _install_folder(package)
    top = PackageJson.of(home) or package
    locks = [name for name in LOCKFILES if home.has(name)]
    pinned = _PINNED.match(top.pinned_manager) or _PINNED.match(package.pinned_manager)
    if pinned:
        name, version = pinned.group(1), pinned.group(2)
        lock = next((lock for lock in locks if LOCKFILES[lock] == name), None)
        note = noted(f"{name} is named by packageManager", home, "package.json", at='"packageManager"')
        return Manager(name, _version(name, version, home, top, lock), home.path, lock, note)
    if locks:
        lock = locks[0] if len(locks) == 1 else _mentioned(home, top, locks)
        also = "".join(f"; {other} is there too" for other in locks if other != lock)
        name = LOCKFILES[lock]
        note = Note(text=f"{name}, because of {lock}{also}", file=home.at(lock))
        return Manager(name, _version(name, None, home, top, lock), home.path, lock, note)
    name = _named_in_scripts(top, home)
    note = Note(text=f"{name}, as there is no lockfile", file=home.at("package.json"))
    return Manager(name, _version(name, None, home, top, None), home.path, None, note)


def _install_folder(package: PackageJson) -> Folder:
    """The nearest folder with a lockfile of which the package is a part; its own folder when there is none."""
    own = package.folder
    if any(own.has(name) for name in LOCKFILES):
        return own
    for folder in list(own.upwards())[1:]:
        top = PackageJson.of(folder)
        if top and _is_member(own, folder, workspace_patterns(top)):
            return folder
    return own


def workspace_patterns(package: PackageJson) -> tuple[str, ...]:
    """The patterns of a workspace's packages, from package.json or pnpm-workspace.yaml."""
    data = package.folder.yaml("pnpm-workspace.yaml")
    listed = data.get("packages") if isinstance(data, dict) else None
    if isinstance(listed, list):
        return tuple(item for item in listed if isinstance(item, str))
    return package.workspaces


def _is_member(own: Folder, top: Folder, patterns: tuple[str, ...]) -> bool:
    path = own.path if top.path == "." else own.path.removeprefix(f"{top.path}/")
    for pattern in patterns:
        plain = pattern.strip("/").removeprefix("./")
        if not plain.startswith("!") and (
            fnmatch.fnmatch(path, plain) or fnmatch.fnmatch(path, plain.replace("**/", ""))
        ):
            return True
    return False


def _mentioned(home: Folder, top: PackageJson, locks: list[str]) -> str:
    """Of several lockfiles, the one whose manager is called in the scripts, the Dockerfile or the workflows."""
    workflows = [name for name in home.files(depth=3) if name.startswith(".github/workflows/")][:8]
    home.want("Dockerfile", "netlify.toml", *workflows)
    text = " ".join([*top.scripts.values(), *(home.text(name) for name in ("Dockerfile", "netlify.toml", *workflows))])
    calls = {lock: len(re.findall(rf"\b{LOCKFILES[lock]}\b(?! audit)", text)) for lock in locks}
    return max(locks, key=lambda lock: calls[lock])


def _named_in_scripts(top: PackageJson, home: Folder) -> str:
    if home.has("pnpm-workspace.yaml"):
        return "pnpm"
    if home.has(".yarnrc.yml"):
        return "yarn"
    text = " ".join(top.scripts.values())
    called = [name for name in ("pnpm", "yarn", "bun") if re.search(rf"(^|[\s;&|\"']){name} (?!audit)", f" {text} ")]
    if home.has("bunfig.toml") or (called and called[0] == "bun"):
        return "bun"
    return called[0] if called else "npm"


def _version(name: str, pinned: str | None, home: Folder, top: PackageJson, lock: str | None) -> str | None:
    """What npx should fetch. A range such as `10.x` is cut down to its major version."""
    if name == "npm":
        return None
    asked = pinned or _tool_version(name, home) or top.volta.get(name) or top.engines.get(name, "")
    exact = re.fullmatch(r"v?(\d+\.\d+\.\d+[\w.-]*)", asked)
    if exact and not (name == "yarn" and _yarn_release(home)):
        return exact.group(1)
    if name == "yarn":
        return _yarn(home, asked, lock)
    return _pnpm(home, asked, lock) if name == "pnpm" else "1"


def _pnpm(home: Folder, asked: str, lock: str | None) -> str:
    """The major version: what is asked for, unless that is only a floor below what wrote the lockfile."""
    found = re.search(r"lockfileVersion:\s*['\"]?(\d+)", home.text(lock)) if lock else None
    wrote = _PNPM_OF_LOCKFILE.get(found.group(1), "10") if found else "10"
    floor = re.search(r"\d{1,3}", asked)
    if floor is None:
        return wrote
    return max(wrote, floor.group(), key=int) if asked.lstrip().startswith(">") else floor.group()


def _yarn(home: Folder, asked: str, lock: str | None) -> str:
    release = _yarn_release(home)
    berry = "__metadata:" in home.text(lock) if lock else home.has(".yarnrc.yml")
    if release:
        return release if not release.startswith("1") else "1"
    found = re.search(r"\d+", asked)
    return found.group() if found and found.group() != "1" else "4" if berry else "1"


def _yarn_release(home: Folder) -> str | None:
    """The version of the release that the repository itself carries."""
    found = re.search(r"yarnPath:\s*\S*?yarn-(\d[\w.-]*?)\.c?js", home.text(".yarnrc.yml"))
    return found.group(1) if found else None


def _tool_version(name: str, home: Folder) -> str:
    """What mise or asdf pin."""
    for file in ("mise.toml", ".mise.toml"):
        tools = (home.toml(file) or {}).get("tools")
        value = tools.get(name) if isinstance(tools, dict) else None
        if isinstance(value, str):
            return value
    found = re.search(rf"^{name}\s+(\S+)", home.text(".tool-versions"), re.MULTILINE)
    return found.group(1) if found else ""
