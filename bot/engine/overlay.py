"""A disk over the layers of a snapshot: how the kernel's overlay file system is asked for one.

`userxattr` is what lets a user namespace mount it; it also keeps the kernel from following what a sandbox wrote about
the layout of its layers (https://docs.kernel.org/filesystems/overlayfs.html#user-xattr). `volatile` leaves out the
syncing at unmount, which takes a second where all else takes milliseconds; a layer is synced after it was taken.
Paths are relative to the data folder: the kernel takes no more than a page of options, and shows them in the sandbox.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Overlay:
    """`lower` is topmost first; `upper` takes all changes and is where the whole appears, `work` is empty.

    Without an `upper` the whole is read-only, and appears at the topmost of the `lower`.
    """

    folder: str
    lower: tuple[str, ...]
    upper: str | None = None
    work: str | None = None

    def request(self) -> Mapping[str, str]:
        """For `zygote._mount_overlay`."""
        options = f"lowerdir={':'.join(self.lower)},userxattr"
        if self.upper:
            options += f",upperdir={self.upper},workdir={self.work},volatile"
        return {"folder": self.folder, "target": self.upper or self.lower[0], "options": options}
