"""PHP: Laravel by its artisan, other frameworks by their front controller, plain pages by their index.php."""

import re

from bot.buildpacks import environment, runtimes
from bot.buildpacks.buildpack import Finding, Refusal, Role
from bot.buildpacks.ports import as_port
from bot.plan import Argv, LaunchPlan, Note
from bot.source import Folder

_FRAMEWORKS = {
    "laravel/framework": ("laravel", "Laravel"),
    "symfony/framework-bundle": ("symfony", "Symfony"),
    "slim/slim": ("slim", "Slim"),
    "codeigniter4/framework": ("codeigniter", "CodeIgniter"),
    "cakephp/cakephp": ("cakephp", "CakePHP"),
    "yiisoft/yii2": ("yii", "Yii"),
    "laminas/laminas-mvc": ("laminas", "Laminas"),
    "drupal/core-recommended": ("drupal", "Drupal"),
    "johnpbloch/wordpress": ("wordpress", "WordPress"),
    "roots/wordpress": ("wordpress", "WordPress"),
}
_PLACES = (".", "public", "web", "webroot", "www", "htdocs", "src", "app")


def find(folder: Folder) -> Finding | Refusal | None:
    """The plan of a PHP app; a Composer library is refused."""
    composer = folder.json("composer.json")
    place = next((place for place in _PLACES if folder.has(f"{place}/index.php")), None)
    if composer is None and (place is None or place not in (".", "public", "src")):
        return None
    required = composer.get("require") if composer else None
    packages = required if isinstance(required, dict) else {}
    named = next((row for name, row in _FRAMEWORKS.items() if name in packages), ("php", "PHP"))
    if folder.has("artisan"):
        return _finding(folder, ("laravel", "Laravel"), ("php", "artisan", "serve", "--port=8000"), 8000, packages)
    if script := _script(composer or {}):
        name, port = script
        return _finding(folder, named, ("composer", "run", name), port, packages)
    if named[0] == "php" and place is None:
        remedy = 'Name the command in .github/preview.toml: start = "…".'
        return Refusal("this is a PHP package without a page", folder.at("composer.json"), remedy)
    directory = () if place in (None, ".") else ("-t", place or ".")
    return _finding(folder, named, ("php", "-S", "localhost:8000", *directory), 8000, packages)


def _script(composer: dict[str, object]) -> tuple[str, int] | None:
    """A Composer script that starts PHP's own server, and its port."""
    scripts = composer.get("scripts")
    for name in ("dev", "start", "serve"):
        line = str(scripts.get(name, "")) if isinstance(scripts, dict) else ""
        found = re.search(r"-S[ =]?\S*?:(\d{2,5})", line)
        if found and (port := as_port(found.group(1))):
            return name, port
    return None


def _setup(folder: Folder, kind: str) -> tuple[Argv, ...]:
    if kind != "laravel":
        return environment.copy_example(folder, folder)
    copied: tuple[Argv, ...] = (("cp", "-n", ".env.example", ".env"),) if folder.has(".env.example") else ()
    assets: tuple[Argv, ...] = (("npm", "install"), ("npm", "run", "build")) if folder.has("package.json") else ()
    made: tuple[Argv, ...] = (("php", "artisan", "key:generate"), ("php", "artisan", "migrate", "--force"))
    return (*copied, *made, *assets)


def _finding(folder: Folder, name: tuple[str, str], argv: Argv, port: int, packages: dict[str, object]) -> Finding:
    kind, title = name
    managed = folder.has("composer.json")
    asked = packages.get("php")
    image = runtimes.pinned("php", folder) or runtimes.of_image("php", folder)
    runtime = {"php": str(asked) if asked else image[0] if image else "*"}
    vite = folder.json("package.json") if managed else None
    note = Note(text=title, file=folder.at("composer.json" if managed else "index.php"))
    plan = LaunchPlan(
        kind=kind,
        title=f"{title} with Composer" if managed else title,
        root=folder.path,
        install_root=folder.path,
        package_manager="composer" if managed else None,
        install=("composer", "install") if managed else None,
        setup=_setup(folder, kind),
        start=argv,
        port=port,
        needs_env=environment.needed(folder),
        runtime=runtime | ({"node": ">=20.19"} if kind == "laravel" and vite else {}),
        install_inputs=tuple(folder.at(name) for name in ("composer.json", "composer.lock") if folder.has(name)),
        restart_inputs=tuple(folder.at(name) for name in (".env",) if folder.has(name)),
        notes=(note,),
    )
    return Finding(plan, Role.SITE, toolchain=False)
