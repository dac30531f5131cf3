"""A checkout on disk is read without leaving it, and detection asks for files in few rounds."""

import os
from pathlib import Path

import pytest

from bot import checkout
from bot.buildpacks import PREFETCH, detect
from bot.checkout import detect_checkout, read_checkout
from bot.errors import NothingToPreview, RepositoryFault
from bot.source import FilesWanted, SourceTree

EXAMPLES = sorted(path.parent for path in (Path(__file__).parent.parent / "examples").glob("*/expect.json"))


def test_the_listing_leaves_out_what_is_installed_or_gits(tmp_path: Path) -> None:
    for name in ("src/app.js", "node_modules/x/index.js", ".git/config", ".venv/bin/python", ".github/preview.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert read_checkout(tmp_path).paths == {"src/app.js", ".github/preview.toml"}


def test_a_link_is_never_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "package.json").write_text('{"scripts": {"dev": "vite"}}')
    clone = tmp_path / "clone"
    clone.mkdir()
    (clone / "package.json").symlink_to(outside / "package.json")
    (clone / "web").symlink_to(outside)
    (clone / "loop").symlink_to(clone)
    tree = read_checkout(clone)
    assert tree.paths == {"package.json", "web", "loop"}
    assert tree.read("package.json") is None
    with pytest.raises(NothingToPreview):
        detect_checkout(clone)


def test_a_pipe_does_not_stop_the_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "package.json")
    assert read_checkout(tmp_path).read("package.json") is None


def test_the_number_of_files_is_capped_from_the_deep_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkout, "MAX_FILES", 3)
    for name in ("a/b/deep.txt", "a/c.txt", "d.txt", "e.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert read_checkout(tmp_path).paths == {"d.txt", "e.txt", "a/c.txt"}


def test_a_large_file_is_unreadable_and_a_large_lockfile_is_cut(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(" " * 1_100_000)
    (tmp_path / "pnpm-lock.yaml").write_text("lockfileVersion: '9.0'\n" + " " * 1_100_000)
    tree = read_checkout(tmp_path)
    assert tree.read("package.json") is None
    assert (tree.read("pnpm-lock.yaml") or "").startswith("lockfileVersion: '9.0'")


def test_a_missing_directory_is_empty(tmp_path: Path) -> None:
    assert read_checkout(tmp_path / "none").paths == frozenset()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_a_sandbox_is_asked_at_most_four_times_after_the_listing(example: Path) -> None:
    names = [path.relative_to(example).as_posix() for path in example.rglob("*") if path.is_file()]
    files = {name: (example / name).read_bytes() for name in names}
    near = [name for name in names if any(Path(name).match(pattern) for pattern in PREFETCH)]
    tree, rounds = SourceTree(names, {name: files[name] for name in near}), 0
    while True:
        try:
            detect(tree)
            break
        except FilesWanted as unread:
            rounds += 1
            tree = tree.with_contents({name: files[name] for name in unread.paths})
        except RepositoryFault:
            break
    assert rounds <= 4
