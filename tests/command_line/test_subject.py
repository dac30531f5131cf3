"""What a demo previews: every kind of source becomes a git repository that can be pushed from."""

import subprocess
from pathlib import Path

import pytest

from bot.errors import OperatorFault
from bot.subject import Subject, prepare, run_git


def git(folder: Path, *words: str) -> str:
    return run_git("-C", str(folder), *words).strip()


@pytest.fixture
def source(tmp_path) -> Path:
    """A repository with two commits on `main`, and a branch and a tag on the first."""
    folder = tmp_path / "My Shop"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    for content in ("one", "two"):
        (folder / "page.html").write_text(content)
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", content)
    git(folder, "branch", "older", "HEAD~1")
    git(folder, "tag", "v1", "HEAD~1")
    return folder


def pushable(subject: Subject, tmp_path: Path) -> str:
    """Push as the demo does: the base, the head, a change. The change's sha, as the other side has it."""
    other = tmp_path / "other.git"
    run_git("init", "--quiet", "--bare", str(other))
    base = subject.base()
    subject.git("push", "--quiet", str(other), f"{base}:refs/heads/main")
    subject.git("push", "--quiet", str(other), "HEAD:refs/heads/change")
    before = subject.head()
    assert base != before
    sha = subject.make_change()
    subject.git("push", "--quiet", str(other), "HEAD:refs/heads/change")
    assert git(other, "rev-parse", "refs/heads/change") == sha != before
    return sha


def test_a_repository_is_cloned_at_what_is_checked_out(source, tmp_path):
    subject = prepare(str(source), None, tmp_path / "clone")
    assert (subject.head(), subject.name, subject.about) == (git(source, "rev-parse", "HEAD"), "My-Shop", str(source))
    assert (subject.folder / "page.html").read_text() == "two"
    pushable(subject, tmp_path)


@pytest.mark.parametrize("ref", ["older", "v1", "main~1", "sha"])
def test_a_branch_a_tag_or_a_commit_can_be_named(source, tmp_path, ref):
    first = git(source, "rev-parse", "main~1")
    subject = prepare(str(source), first if ref == "sha" else ref, tmp_path / "clone")
    assert (subject.folder / "page.html").read_text() == "one"
    assert subject.head() == first
    pushable(subject, tmp_path)


@pytest.mark.parametrize("ref", ["nope", "--orphan=x", "page.html"])
def test_a_ref_that_does_not_exist_is_named(source, tmp_path, ref):
    with pytest.raises(OperatorFault, match=rf"^--ref {ref}: there is no such branch, tag or commit in "):
        prepare(str(source), ref, tmp_path / "clone")


def test_uncommitted_changes_stay_behind_and_that_is_said(source, tmp_path):
    (source / "page.html").write_text("draft")
    subject = prepare(str(source), None, tmp_path / "clone")
    assert subject.about == f"{source} (without its uncommitted changes)"
    assert (subject.folder / "page.html").read_text() == "two"
    assert (source / "page.html").read_text() == "draft"


def test_a_folder_of_files_is_previewed_as_it_is(tmp_path):
    folder = tmp_path / "site"
    (folder / "node_modules" / "x").mkdir(parents=True)
    (folder / "index.html").write_text("hello")
    subject = prepare(str(folder), None, tmp_path / "clone")
    assert subject.about == f"the files in {folder}"
    assert git(subject.folder, "ls-files") == "index.html"
    assert not (folder / ".git").exists()
    pushable(subject, tmp_path)
    with pytest.raises(OperatorFault, match=r"^--ref v1: .* is no git repository"):
        prepare(str(folder), "v1", tmp_path / "again")


def test_a_repository_of_one_commit_gets_a_base(source, tmp_path):
    lone = tmp_path / "lone"
    run_git("clone", "--quiet", "--branch=older", str(source), str(lone))
    git(lone, "checkout", "--quiet", "--orphan", "fresh")
    git(lone, "commit", "--quiet", "--message", "all")
    git(lone, "branch", "--quiet", "--delete", "--force", "older")
    subject = prepare(str(lone), None, tmp_path / "clone")
    pushable(subject, tmp_path)


def test_a_shallow_clone_can_be_pushed_from(source, tmp_path):
    (source / ".gitignore").write_text("*.html\n")
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "--message", "ignore what is tracked")
    shallow = tmp_path / "shallow"
    run_git("clone", "--quiet", "--depth=1", f"file://{source}", str(shallow))
    subject = prepare(str(shallow), None, tmp_path / "clone")
    assert (subject.folder / "page.html").read_text() == "two"
    assert git(subject.folder, "ls-files").split() == [".gitignore", "page.html"]
    pushable(subject, tmp_path)


def test_a_repository_without_a_commit_is_said_to_have_none(tmp_path):
    run_git("init", "--quiet", str(tmp_path / "empty"))
    with pytest.raises(OperatorFault, match="has no commit yet"):
        prepare(str(tmp_path / "empty"), None, tmp_path / "clone")


@pytest.mark.parametrize("nonsense", ["no-such-folder", "not a url"])
def test_what_is_neither_folder_nor_url_is_said_to_be_neither(nonsense, tmp_path):
    with pytest.raises(OperatorFault, match=r"no such folder, and no git URL \(https://…\)"):
        prepare(nonsense, None, tmp_path / "clone")


def test_a_url_that_serves_nothing_is_told_in_git_s_words(tmp_path):
    with pytest.raises(OperatorFault, match=r"^git clone: .*no-such"):
        prepare(f"file://{tmp_path}/no-such.git", None, tmp_path / "clone")


def test_the_sample_needs_npm_and_without_it_there_is_one_in_python(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    for tool, there in (("git", True), ("npm", False)):
        found = subprocess.run(["which", tool], capture_output=True, text=True, check=False).stdout.strip()
        if there:
            (tmp_path / "bin" / tool).symlink_to(found)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    subject = prepare(None, None, tmp_path / "python")
    assert subject.about == "the Python sample app (Flask), because there is no npm here"
    assert subject.shows is not None
    before, after = subject.shows
    assert before in (subject.folder / "app.py").read_text()
    pushable(subject, tmp_path)
    assert after in (subject.folder / "app.py").read_text()
    (tmp_path / "bin" / "npm").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "npm").chmod(0o755)
    assert prepare(None, None, tmp_path / "node").about == "the sample app (Vite)"


def test_a_machine_without_git_is_told_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OperatorFault, match="git is not installed"):
        prepare(None, None, tmp_path / "clone")


def test_the_machine_s_signatures_hooks_and_surroundings_have_no_say(source, tmp_path, monkeypatch):
    home, hooks = tmp_path / "home", tmp_path / "hooks"
    hooks.mkdir()
    home.mkdir()
    (hooks / "pre-commit").write_text("#!/bin/sh\nexit 1\n")
    (hooks / "pre-commit").chmod(0o755)
    settings = f"[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = false\n[core]\n\thooksPath = {hooks}\n"
    (home / ".gitconfig").write_text(settings)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_DIR", str(source / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(source / ".git" / "index"))
    subject = prepare(str(source), None, tmp_path / "clone")
    pushable(subject, tmp_path)


def test_where_it_lies_is_told_in_full(source, tmp_path, monkeypatch):
    monkeypatch.chdir(source)
    assert prepare(".", None, tmp_path / "clone").about == str(source)


def test_a_file_an_empty_name_and_a_ref_of_nothing_are_told_apart(source, tmp_path):
    with pytest.raises(OperatorFault, match=r"page\.html is a file; name the folder that it is in"):
        prepare(str(source / "page.html"), None, tmp_path / "clone")
    with pytest.raises(OperatorFault, match="the repository's name is empty"):
        prepare("", None, tmp_path / "clone")
    with pytest.raises(OperatorFault, match="--ref v1: say of which repository"):
        prepare(None, "v1", tmp_path / "clone")
