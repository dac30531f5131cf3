"""One `package.json`, read leniently: whatever has the wrong type counts as absent."""

from dataclasses import dataclass
from typing import Any

from bot.source import Folder


def _texts(value: Any) -> dict[str, str]:
    """The entries of an object whose values are text."""
    if not isinstance(value, dict):
        return {}
    return {str(key): item for key, item in value.items() if isinstance(item, str)}


@dataclass(frozen=True, slots=True)
class PackageJson:
    """The fields which say how a package is installed and run."""

    folder: Folder
    fields: dict[str, Any]

    @classmethod
    def of(cls, folder: Folder) -> "PackageJson | None":
        """The folder's own, or None when it has none or it cannot be parsed."""
        fields = folder.json("package.json")
        return None if fields is None else cls(folder, fields)

    @property
    def name(self) -> str:
        """The package's name, or that of its folder."""
        name = self.fields.get("name")
        return name if isinstance(name, str) else self.folder.path.rpartition("/")[2]

    @property
    def scripts(self) -> dict[str, str]:
        """Script name to command line."""
        return _texts(self.fields.get("scripts"))

    @property
    def dependencies(self) -> dict[str, str]:
        """Package to requirement, development dependencies included."""
        kinds = ("peerDependencies", "optionalDependencies", "devDependencies", "dependencies")
        return {name: text for kind in kinds for name, text in _texts(self.fields.get(kind)).items()}

    @property
    def installed(self) -> dict[str, str]:
        """Package to requirement, without what only a user of the package would bring."""
        return {k: v for kind in ("devDependencies", "dependencies") for k, v in _texts(self.fields.get(kind)).items()}

    @property
    def engines(self) -> dict[str, str]:
        """Tool to version range."""
        return _texts(self.fields.get("engines"))

    @property
    def volta(self) -> dict[str, str]:
        """Tool to exact version, as Volta pins it."""
        return _texts(self.fields.get("volta"))

    @property
    def pinned_manager(self) -> str:
        """The text of `packageManager`, or what `devEngines` says in the same form; empty when neither does."""
        pinned = self.fields.get("packageManager")
        if isinstance(pinned, str):
            return pinned
        dev = self.fields.get("devEngines")
        manager = dev.get("packageManager") if isinstance(dev, dict) else None
        wanted = _texts(manager)
        return f"{wanted['name']}@{wanted.get('version', '')}" if "name" in wanted else ""

    @property
    def workspaces(self) -> tuple[str, ...]:
        """The patterns of its workspace packages."""
        value = self.fields.get("workspaces")
        value = value.get("packages") if isinstance(value, dict) else value
        return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()

    @property
    def published(self) -> bool:
        """Whether this reads like a package for others to install, not like an app."""
        if self.fields.get("private") is True:
            return False
        return any(key in self.fields for key in ("exports", "bin", "files", "module", "types", "publishConfig"))
