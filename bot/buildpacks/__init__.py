"""From a repository's files to a launch plan: ask each buildpack in order, take the best answer.

The order matters within one folder, and the first that finds something wins: frameworks whose `package.json` only
builds their assets come before Node, languages whose `package.json` usually is a front end of its own come after it.
"""

import fnmatch
import re
from types import ModuleType
from typing import cast

from bot.buildpacks import (
    deno,
    docker,
    dotnet,
    elixir,
    elsewhere,
    go,
    java,
    node,
    nx,
    php,
    procfile,
    python,
    python_docs,
    ruby,
    rust,
    sites,
    static,
)
from bot.buildpacks.buildpack import Buildpack
from bot.buildpacks.candidates import choose
from bot.buildpacks.configured import lay_over, without_detection
from bot.buildpacks.words import words
from bot.errors import NothingToPreview
from bot.plan import LaunchPlan
from bot.repo_config import CONFIG_FILE, RepoConfig, parse_config
from bot.source import SourceTree

_ORDER: tuple[ModuleType, ...] = (
    elsewhere,
    php,
    ruby,
    elixir,
    sites,
    python,
    node,
    nx,
    deno,
    go,
    rust,
    java,
    dotnet,
    python_docs,
    procfile,
    static,
    docker,
)
BUILDPACKS = cast("tuple[Buildpack, ...]", _ORDER)

PREFETCH: tuple[str, ...] = words(
    "package.json pnpm-workspace.yaml pnpm-lock.yaml yarn.lock .yarnrc.yml nx.json project.json angular.json "
    "deno.json deno.jsonc mise.toml .mise.toml .tool-versions .nvmrc .*-version runtime.txt vite.config.* "
    "next.config.* nuxt.config.* astro.config.* vue.config.* rsbuild.config.* webpack.config.* pyproject.toml "
    "requirements*.txt Pipfile setup.py manage.py main.py app.py wsgi.py asgi.py Procfile Dockerfile compose.y*ml "
    "docker-compose.y*ml app.json .env .env.* *.env Gemfile config.ru composer.json go.mod main.go Cargo.toml "
    "pom.xml build.gradle* mix.exs mkdocs.yml _config.yml hugo.* action.y*ml Makefile server.js app.js index.js "
    "server.ts index.ts main.ts puma.rb preview.toml"
)
"""Base names, as shell patterns, of files that are worth reading along with the listing when they lie near the top."""

_PREFETCH_DEPTH = 4
_PREFETCHED = re.compile("|".join(map(fnmatch.translate, PREFETCH)))


def worth_prefetching(path: str) -> bool:
    """Whether a reader should fetch this file along with the listing, before detection asks for it."""
    return path.count("/") < _PREFETCH_DEPTH and _PREFETCHED.fullmatch(path.rpartition("/")[2]) is not None


def detect(tree: SourceTree, config: RepoConfig | None = None) -> LaunchPlan:
    """What to install and what to start.

    `config` wins over everything found; without it the tree's own `.github/preview.toml` is used. Raises
    NothingToPreview when there is no way to start anything, ConfigInvalid when that file cannot be used, and
    FilesWanted when the text of more files is needed: read them and ask again.
    """
    config = config or parse_config(tree.read(CONFIG_FILE) or "")
    try:
        found = choose(tree, BUILDPACKS, config.root or ".").plan
    except NothingToPreview:
        if config.start is None:
            raise
        found = without_detection(config)
    return lay_over(found, config)
