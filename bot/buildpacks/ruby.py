"""Ruby: Rails, Jekyll and other site makers, Sinatra and whatever else config.ru starts."""

import re

from bot.buildpacks import environment, runtimes
from bot.buildpacks.buildpack import Finding, Refusal, Role
from bot.buildpacks.ports import as_port
from bot.plan import Argv, LaunchPlan, Note, Readiness
from bot.source import Folder

_SITES: dict[str, tuple[str, Argv, int]] = {
    "jekyll": ("Jekyll", ("bundle", "exec", "jekyll", "serve"), 4000),
    "github-pages": ("Jekyll", ("bundle", "exec", "jekyll", "serve"), 4000),
    "bridgetown": ("Bridgetown", ("bundle", "exec", "bridgetown", "start"), 4000),
    "middleman": ("Middleman", ("bundle", "exec", "middleman", "server"), 4567),
    "nanoc": ("Nanoc", ("bundle", "exec", "nanoc", "live"), 3000),
    "hanami": ("Hanami", ("bundle", "exec", "hanami", "server"), 2300),
}
_PUMA: Argv = ("bundle", "exec", "puma", "-C", "config/puma.rb")


def find(folder: Folder) -> Finding | Refusal | None:
    """The plan of a Ruby app; a gem without one is refused."""
    if not folder.has("Gemfile"):
        return _without_gemfile(folder)
    folder.want("Gemfile", "Procfile", "Dockerfile", "config/puma.rb", "config/routes.rb", "app.rb", "config.ru")
    gems = set(re.findall(r"^[ \t]*gem\s*\(?\s*['\"]([\w-]+)", folder.text("Gemfile"), re.MULTILINE))
    if "rails" in gems and (folder.has("bin/rails") or folder.has("config/application.rb")):
        return _rails(folder)
    for gem, (title, argv, port) in _SITES.items():
        if gem in gems and (title != "Jekyll" or folder.has("_config.yml")):
            return _finding(folder, title, argv, port, Note(text=title, file=folder.at("Gemfile")))
    if folder.has("config.ru") or "sinatra" in gems:
        return _rack(folder, gems)
    if folder.has("package.json"):
        return None
    return Refusal("the Gemfile brings no server that is known here", folder.at("Gemfile"), 'Name it: start = "…".')


def _without_gemfile(folder: Folder) -> Finding | None:
    themed = re.search(r"^(?:remote_)?theme:", folder.text("_config.yml"), re.MULTILINE)
    jekyll = folder.has("_config.yml") and (themed or folder.first("_layouts", "_posts", "_includes", "_sass"))
    if not jekyll or folder.has("package.json"):
        return None
    note = Note(text="Jekyll, without a Gemfile", file=folder.at("_config.yml"))
    return _finding(folder, "Jekyll", ("jekyll", "serve"), 4000, note, bundler=False)


def _rails(folder: Folder) -> Finding:
    port = _puma_port(folder) or 3000
    # What the repository itself deploys with is also what it configures.
    deployed = "puma -C config/puma.rb" in folder.text("Procfile") + folder.text("Dockerfile")
    argv = _PUMA if deployed and folder.has("config/puma.rb") else ("bin/rails", "server", "-p", str(port))
    health = "/health_check" if "health_check_routes" in folder.text("config/routes.rb") else "/"
    note = Note(text="Rails", file=folder.at("Gemfile"))
    return _finding(folder, "Rails", argv, port, note, setup=(("bin/rails", "db:prepare"),), health=health)


def _rack(folder: Folder, gems: set[str]) -> Finding:
    title = "Sinatra" if "sinatra" in gems else "Rack"
    note = Note(text=title, file=folder.at("config.ru" if folder.has("config.ru") else "Gemfile"))
    if not folder.has("config.ru"):
        file = folder.first("app.rb", "server.rb", "main.rb", "web.rb") or "app.rb"
        return _finding(folder, title, ("bundle", "exec", "ruby", file), 4567, note)
    if "puma" in gems:
        return _finding(folder, title, ("bundle", "exec", "puma"), _puma_port(folder) or 9292, note)
    return _finding(folder, title, ("bundle", "exec", "rackup", "-p", "9292"), 9292, note)


def _puma_port(folder: Folder) -> int | None:
    found = re.search(r"^[ \t]*(?:port|bind)\b[^\n]*?(\d{2,5})\b", folder.text("config/puma.rb"), re.MULTILINE)
    return as_port(found.group(1)) if found else None


def _runtime(folder: Folder) -> str:
    """The Gemfile is what Bundler insists on; .ruby-version may be stale."""
    line = re.search(r"^ruby\s+(.+)$", folder.text("Gemfile"), re.MULTILINE)
    versions = re.findall(r"['\"]([^'\"]*\d[^'\"]*)['\"]", line.group(1)) if line else []
    if versions:
        return ",".join(version.replace(" ", "") for version in versions)
    pin = runtimes.pinned("ruby", folder) or runtimes.of_image("ruby", folder)
    return pin[0] if pin else "*"


def _finding(
    folder: Folder,
    title: str,
    argv: Argv,
    port: int,
    note: Note,
    *,
    setup: tuple[Argv, ...] = (),
    health: str = "/",
    bundler: bool = True,
) -> Finding:
    kind = title.lower()
    code = tuple(folder.text(name) for name in ("config/puma.rb", "app.rb"))
    plan = LaunchPlan(
        kind=kind,
        title=f"{title} with Bundler" if bundler else title,
        root=folder.path,
        install_root=folder.path,
        package_manager="bundler" if bundler else None,
        install=("bundle", "install") if bundler else None,
        setup=setup,
        start=argv,
        port=port,
        env={"BUNDLE_PATH": "vendor/bundle", "RAILS_ENV": "development"} if kind == "rails" else {},
        needs_env=environment.needed(folder, code=code),
        runtime={"ruby": _runtime(folder)},
        install_inputs=tuple(folder.at(name) for name in ("Gemfile", "Gemfile.lock") if folder.has(name)),
        restart_inputs=tuple(folder.at(name) for name in ("config.ru", "_config.yml") if folder.has(name)),
        reloads=kind not in ("sinatra", "rack"),
        readiness=Readiness(path=health, failure_signs={"Blocked hosts:": "Add the preview's host to config.hosts."}),
        notes=(note,),
    )
    return Finding(plan, Role.SITE, toolchain=False)
