"""Repositories whose code runs elsewhere: in workflows, in a browser's tool bar, in another project, on a phone."""

from bot.buildpacks.buildpack import Finding, Refusal, Role
from bot.plan import LaunchPlan, Note
from bot.source import Folder

_FLUTTER_PORT = 8080


def find(folder: Folder) -> Finding | Refusal | None:
    """The refusal of such a repository. Beside an action or an extension there may still be a site to find."""
    folder.want("action.yml", "action.yaml", "manifest.json", "style.css", "pubspec.yaml")
    return _flutter(folder) or _template(folder) or _action(folder) or _extension(folder) or _theme(folder)


def _action(folder: Folder) -> Refusal | None:
    file = folder.first("action.yml", "action.yaml")
    data = folder.yaml(file) if file else None
    if file and isinstance(data, dict) and "runs" in data:
        return Refusal("this is a GitHub Action, which runs in workflows", folder.at(file))
    return None


def _template(folder: Folder) -> Refusal | None:
    file = folder.first("cookiecutter.json", "copier.yml", "copier.yaml")
    if file is None or folder.path != ".":
        return None
    return Refusal("this is a template from which projects are made, and no project itself", file, final=True)


def _extension(folder: Folder) -> Refusal | None:
    """https://developer.mozilla.org/docs/Mozilla/Add-ons/WebExtensions/manifest.json/manifest_version"""
    if "manifest_version" not in (folder.json("manifest.json") or {}):
        return None
    reason = "this is a browser extension, which has no page to open"
    return Refusal(reason, folder.at("manifest.json"), final=not folder.has("package.json"))


def _theme(folder: Folder) -> Refusal | None:
    """https://developer.wordpress.org/themes/basics/main-stylesheet-style-css/"""
    if folder.has("functions.php") and "Theme Name:" in folder.text("style.css"):
        return Refusal(
            "this is a WordPress theme, which needs a WordPress to show it", folder.at("style.css"), final=True
        )
    return None


def _flutter(folder: Folder) -> Finding | Refusal | None:
    data = folder.yaml("pubspec.yaml")
    dependencies = data.get("dependencies") if isinstance(data, dict) else None
    if not isinstance(dependencies, dict) or "flutter" not in dependencies:
        return None
    file = folder.at("pubspec.yaml")
    if not folder.has("web/index.html"):
        return Refusal("this is a mobile app (Flutter) without a web version", file, final=True)
    plan = LaunchPlan(
        kind="flutter",
        title="Flutter for the web",
        root=folder.path,
        install_root=folder.path,
        package_manager="pub",
        install=("flutter", "pub", "get"),
        start=("flutter", "run", "-d", "web-server", "--web-port", str(_FLUTTER_PORT)),
        port=_FLUTTER_PORT,
        runtime={"flutter": "*"},
        install_inputs=(file,),
        reloads=False,
        notes=(Note(text="Flutter, with a web folder", file=file),),
    )
    return Finding(plan, Role.SITE, toolchain=False)
