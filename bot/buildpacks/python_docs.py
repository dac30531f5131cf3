"""Documentation made with Python: MkDocs by its mkdocs.yml, Sphinx by its conf.py."""

import re

from bot.buildpacks import python_installs, runtimes
from bot.buildpacks.buildpack import Finding, Role
from bot.buildpacks.python_installs import REQUIREMENTS, Installation
from bot.plan import Argv, LaunchPlan, Note
from bot.source import Folder

PORT = 8000
_PYTHON = ".venv/bin/python"
_REQUIREMENTS = ("docs/requirements.txt", "requirements-docs.txt", "docs-requirements.txt", "requirements/docs.txt",
                 "doc/requirements.txt", "requirements.docs.txt", *REQUIREMENTS[:1])  # fmt: skip
_THEMES = {"material": "mkdocs-material", "readthedocs": "mkdocs", "mkdocs": "mkdocs", "shadcn": "mkdocs-shadcn",
           "terminal": "mkdocs-terminal", "bootstrap": "mkdocs-bootstrap", "windmill": "mkdocs-windmill"}  # fmt: skip
_PLUGINS = {
    "rss": "mkdocs-rss-plugin",
    "mkdocstrings": "mkdocstrings[python]",
    "awesome-pages": "mkdocs-awesome-pages-plugin",
    "awesome-nav": "mkdocs-awesome-nav",
    "git-revision-date": "mkdocs-git-revision-date-plugin",
    "git-revision-date-localized": "mkdocs-git-revision-date-localized-plugin",
    "git-authors": "mkdocs-git-authors-plugin",
    "minify": "mkdocs-minify-plugin",
    "redirects": "mkdocs-redirects",
    "macros": "mkdocs-macros-plugin",
    "glightbox": "mkdocs-glightbox",
    "literate-nav": "mkdocs-literate-nav",
    "gen-files": "mkdocs-gen-files",
    "section-index": "mkdocs-section-index",
    "include-markdown": "mkdocs-include-markdown-plugin",
    "mkdocs-jupyter": "mkdocs-jupyter",
    "table-reader": "mkdocs-table-reader-plugin",
    "mermaid2": "mkdocs-mermaid2-plugin",
    "exclude": "mkdocs-exclude",
    "llmstxt": "mkdocs-llmstxt",
}


def find(folder: Folder) -> Finding | None:
    """The plan of a documentation site."""
    if file := folder.first("mkdocs.yml", "mkdocs.yaml"):
        argv: Argv = (_PYTHON, "-m", "mkdocs", "serve", "-a", f"127.0.0.1:{PORT}")
        return _finding(folder, file, "MkDocs", argv, _mkdocs_packages(folder, file))
    source = folder.first("conf.py", "source/conf.py")
    if source and re.search(r"^(?:extensions|html_theme|project)\s*=", folder.text(source), re.MULTILINE):
        place = source.rpartition("/")[0] or "."
        argv = (_PYTHON, "-m", "sphinx_autobuild", place, "_build/html", "--port", str(PORT))
        return _finding(folder, source, "Sphinx", argv, ("sphinx", "sphinx-autobuild"))
    return None


def _mkdocs_packages(folder: Folder, file: str) -> tuple[str, ...]:
    """The distributions behind the theme and the plugins that the configuration names."""
    config = folder.yaml(file)
    config = config if isinstance(config, dict) else {}
    theme = config.get("theme")
    name = theme.get("name") if isinstance(theme, dict) else theme
    base = _THEMES.get(name, f"mkdocs-{name}") if isinstance(name, str) else "mkdocs"
    plugins = config.get("plugins")
    named: list[str] = []
    for plugin in plugins if isinstance(plugins, list) else ():
        named += [str(key) for key in plugin] if isinstance(plugin, dict) else [str(plugin)]
    return (base, *dict.fromkeys(_PLUGINS[plugin] for plugin in named if plugin in _PLUGINS))


def _installation(folder: Folder, tool: str, packages: tuple[str, ...]) -> tuple[Folder, Installation, bool]:
    """How to install, and whether that brings the tool: requirements that name it, or the packages themselves."""
    for around in folder.upwards():
        for name in _REQUIREMENTS:
            if re.search(rf"^{tool}", around.text(name), re.MULTILINE | re.IGNORECASE):
                chosen = python_installs.from_requirements(around, name)
                return around, chosen, tool != "sphinx" or "sphinx-autobuild" in around.text(name)
        listed = python_installs.choose(around) if tool in _mentions(around) else None
        if listed:
            return around, listed, False
    return folder, python_installs.from_packages(folder, packages), True


def _mentions(folder: Folder) -> str:
    return "".join(folder.text(name) for name in ("pyproject.toml", "Pipfile", "setup.py", "setup.cfg"))


def _finding(folder: Folder, file: str, title: str, argv: Argv, packages: tuple[str, ...]) -> Finding:
    kind = title.lower()
    where, chosen, complete = _installation(folder, kind, packages)
    up = "../" * (
        0 if where.path == folder.path else folder.path.count("/") + 1 - where.path.replace(".", "").count("/")
    )
    pin = runtimes.pinned("python", folder)
    plan = LaunchPlan(
        kind=kind,
        title=f"{title} with {chosen.manager}",
        root=folder.path,
        install_root=where.path,
        package_manager=chosen.manager,
        prepare=chosen.prepare,
        install=chosen.install,
        install_relaxed=chosen.relaxed,
        setup=() if complete else (chosen.more(*packages),),
        start=(f"{up}{argv[0]}", *argv[1:]),
        port=PORT,
        # Hooks and extensions of the site are modules beside it.
        env={**chosen.env, "PYTHONPATH": "."},
        runtime={"python": pin[0] if pin else "*"},
        install_inputs=chosen.inputs,
        restart_inputs=(folder.at(file),) if kind == "sphinx" else (),
        notes=(Note(text=title, file=folder.at(file)), chosen.note),
    )
    library = folder.path != "." and kind == "sphinx"
    return Finding(plan, Role.DOCS, offered=library)
