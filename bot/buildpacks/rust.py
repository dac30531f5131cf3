"""Rust: a crate with a web framework and a main function."""

import re

from bot.buildpacks import environment, runtimes
from bot.buildpacks.buildpack import Finding, Refusal, Role
from bot.buildpacks.ports import as_port
from bot.plan import Argv, LaunchPlan, Note
from bot.source import Folder

_FRAMEWORKS: dict[str, tuple[str, int, Argv]] = {
    "rocket": ("Rocket", 8000, ("cargo", "run")),
    "leptos_axum": ("Leptos", 3000, ("cargo", "leptos", "watch")),
    "dioxus": ("Dioxus", 8080, ("dx", "serve")),
    "yew": ("Yew", 8080, ("trunk", "serve")),
    "leptos": ("Leptos", 8080, ("trunk", "serve")),
    "loco-rs": ("Loco", 5150, ("cargo", "loco", "start")),
    "axum": ("axum", 3000, ("cargo", "run")),
    "actix-web": ("Actix Web", 8080, ("cargo", "run")),
    "warp": ("warp", 3030, ("cargo", "run")),
    "poem": ("Poem", 3000, ("cargo", "run")),
    "salvo": ("Salvo", 5800, ("cargo", "run")),
    "tide": ("Tide", 8080, ("cargo", "run")),
    "gotham": ("Gotham", 7878, ("cargo", "run")),
    "tiny_http": ("tiny_http", 8000, ("cargo", "run")),
    "hyper": ("hyper", 3000, ("cargo", "run")),
}
_PORTS = tuple(
    re.compile(pattern)
    for pattern in (
        r"\bport\s*[:=][^\n;\d]{0,20}(\d{2,5})",
        r"\[\s*\d+,\s*\d+,\s*\d+,\s*\d+\s*\]\s*,\s*(\d{2,5})",
        r'"[\w.\[\]:]*:(\d{2,5})"',
        r'"[\d.]+"\s*,\s*(\d{2,5})\b',
        r'"PORT"[^\n]*?unwrap_or\w*\([^\n]*?(\d{2,5})',
    )
)


def find(folder: Folder) -> Finding | Refusal | None:
    """The plan of a Rust server; a crate without one is refused."""
    manifest = folder.toml("Cargo.toml")
    if manifest is None:
        return None
    folder.want("src/main.rs", "src/lib.rs", "Rocket.toml", "Trunk.toml")
    table = manifest.get("dependencies")
    dependencies = table if isinstance(table, dict) else {}
    name = next((name for name in _FRAMEWORKS if name in dependencies), None)
    runs = folder.first("src/main.rs", "src/bin", "index.html")
    if name is None or not runs or "package" not in manifest:
        return Refusal(
            "the crate starts no server that is known here", folder.at("Cargo.toml"), 'Name it: start = "…".'
        )
    return _finding(folder, name)


def _port(folder: Folder) -> int | None:
    for file in ("Rocket.toml", "Trunk.toml", "src/main.rs"):
        for pattern in _PORTS:
            if (found := pattern.search(folder.text(file))) and (port := as_port(found.group(1))):
                return port
    return None


def _finding(folder: Folder, name: str) -> Finding:
    title, default, argv = _FRAMEWORKS[name]
    toolchain = (folder.toml("rust-toolchain.toml") or {}).get("toolchain")
    channel = toolchain.get("channel") if isinstance(toolchain, dict) else None
    pin = runtimes.pinned("rust", folder)
    version = str(channel) if channel else pin[0] if pin else "*"
    plan = LaunchPlan(
        kind="rust",
        title=f"{title} (Rust)",
        root=folder.path,
        install_root=folder.path,
        package_manager="cargo",
        install=("cargo", "fetch"),
        start=argv,
        port=_port(folder) or default,
        needs_env=environment.needed(folder),
        runtime={"rust": version},
        install_inputs=tuple(folder.at(file) for file in ("Cargo.toml", "Cargo.lock") if folder.has(file)),
        reloads=argv[0] != "cargo",
        notes=(Note(text=title, file=folder.at("Cargo.toml")),),
    )
    return Finding(plan, Role.SITE if argv[0] == "trunk" else Role.API, toolchain=False)
