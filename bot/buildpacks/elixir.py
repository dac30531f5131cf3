"""Elixir: Phoenix, and other apps that `mix` starts."""

import re

from bot.buildpacks import environment, runtimes
from bot.buildpacks.buildpack import Finding, Refusal, Role
from bot.buildpacks.ports import as_port
from bot.plan import Argv, LaunchPlan, Note
from bot.source import Folder


def find(folder: Folder) -> Finding | Refusal | None:
    """The plan of a Phoenix or Plug app; a library is refused."""
    if not folder.has("mix.exs"):
        return None
    folder.want("mix.exs", "config/dev.exs", "config/runtime.exs", "config/config.exs")
    text = folder.text("mix.exs")
    phoenix = re.search(r"\{:phoenix,", text)
    if not phoenix and not re.search(r"\{:(?:plug_cowboy|bandit),", text):
        return Refusal("mix.exs brings no web server", folder.at("mix.exs"), 'Name the command: start = "…".')
    found = re.search(r"\bport:[^\n]*?(\d{4,5})", folder.text("config/dev.exs") + folder.text("config/config.exs"))
    port = (as_port(found.group(1)) if found else None) or 4000
    ecto = re.search(r"\{:(?:phoenix_ecto|ecto_sql),", text)
    setup: tuple[Argv, ...] = (("mix", "ecto.setup"),) if ecto else ()
    asked = re.search(r'elixir:\s*"([^"]+)"', text)
    pin = runtimes.pinned("elixir", folder)
    plan = LaunchPlan(
        kind="phoenix" if phoenix else "elixir",
        title="Phoenix" if phoenix else "Elixir",
        root=folder.path,
        install_root=folder.path,
        package_manager="mix",
        install=("mix", "deps.get"),
        setup=setup,
        start=("mix", "phx.server") if phoenix else ("mix", "run", "--no-halt"),
        port=port,
        needs_env=environment.needed(folder),
        runtime={"elixir": pin[0] if pin else asked.group(1) if asked else "*"},
        install_inputs=tuple(folder.at(name) for name in ("mix.exs", "mix.lock") if folder.has(name)),
        restart_inputs=tuple(folder.at(name) for name in ("config/dev.exs", "config/config.exs") if folder.has(name)),
        reloads=bool(phoenix),
        notes=(Note(text="Phoenix" if phoenix else "a Plug server", file=folder.at("mix.exs")),),
    )
    return Finding(plan, Role.SITE if phoenix else Role.API, toolchain=False)
