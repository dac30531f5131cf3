"""What a demo previews: the sample app, a folder, or a git URL, as a git repository of its own to push from."""

import os
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bot.errors import OperatorFault, WorldFault

SAMPLES = Path(__file__).parent / "samples"
_SENTENCE = "Open from nine to five."
_CHANGED = "Open all night, now."
_KEPT = {"GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_EXEC_PATH"}
_SAMPLE_PAGES = {"node": "index.html", "python": "app.py"}


@dataclass(frozen=True, slots=True)
class Subject:
    """A local clone and what to show with it. `shows`: a text on its page before and after the change, if known."""

    folder: Path
    name: str
    about: str
    change: tuple[str, str]
    shows: tuple[str, str] | None = None

    def git(self, *words: str) -> str:
        """Run git in the clone; its output. Raises OperatorFault with git's own words."""
        return run_git("-C", str(self.folder), *words)

    def make_change(self) -> str:
        """Commit a second version; its sha."""
        path, content = self.change
        (self.folder / path).write_text(content)
        self.git("add", "--force", path)
        self.git("commit", "--quiet", "--message", "Change what the page says")
        return self.head()

    def base(self) -> str:
        """The commit before the one to preview: what the pull request is opened against."""
        if not self.git("rev-list", "--max-count=1", "--skip=1", "--first-parent", "HEAD").strip():
            self.git("commit", "--quiet", "--allow-empty", "--message", "Begin")
        return self.git("rev-parse", "HEAD~1").strip()

    def head(self) -> str:
        """The commit that is checked out."""
        return self.git("rev-parse", "HEAD").strip()


def prepare(source: str | None, ref: str | None, folder: Path) -> Subject:
    """Clone or copy `source` to `folder`; None means the sample. Raises OperatorFault, WorldFault."""
    if shutil.which("git") is None:
        raise OperatorFault("git is not installed: install it (for instance `apt install git`)")
    if source is None:
        if ref:
            raise OperatorFault(f"--ref {ref}: say of which repository, with --repo; the sample app has one version")
        return _sample(folder)
    if not source.strip():
        raise OperatorFault("the repository's name is empty; write a folder or a git URL")
    path = Path(source).expanduser()
    if path.exists():
        path = path.resolve()
    if path.is_file():
        raise OperatorFault(f"{source} is a file; name the folder that it is in")
    if path.is_dir() and not (path / ".git").exists():
        if ref:
            raise OperatorFault(f"--ref {ref}: {path} is no git repository; leave --ref out to preview its files")
        shutil.copytree(path, folder, symlinks=True, ignore=shutil.ignore_patterns("node_modules", ".venv"))
        _commit_all(folder)
        about = f"the files in {path}"
    else:
        about = _clone(str(path) if path.exists() else source, ref, folder)
    name = (path.resolve().name if path.exists() else source.rstrip("/").rpartition("/")[2]).removesuffix(".git")
    safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in name).strip(".-") or "project"
    return Subject(folder, safe[:80], about, (".preview-demo", "A second commit, made by `preview demo`.\n"))


def run_git(*words: str) -> str:
    """Run git without prompts, signatures or hooks of the machine's; its output. Raises OperatorFault with its words.

    The machine's credentials for a source stay in use; what a surrounding git command (a hook, an alias) set does not.
    """
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT},
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "commit.gpgSign",
        "GIT_CONFIG_VALUE_0": "false",
        "GIT_CONFIG_KEY_1": "core.hooksPath",
        "GIT_CONFIG_VALUE_1": os.devnull,
        "GIT_AUTHOR_NAME": "You",
        "GIT_AUTHOR_EMAIL": "you@example.com",
        "GIT_COMMITTER_NAME": "You",
        "GIT_COMMITTER_EMAIL": "you@example.com",
    }
    done = subprocess.run(["git", *words], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OperatorFault(f"git {words[0] if words[0] != '-C' else words[2]}: {done.stderr.strip()[-500:]}")
    return done.stdout


def _sample(folder: Path) -> Subject:
    kind = "node" if shutil.which("npm") else "python"
    shutil.copytree(SAMPLES / kind, folder)
    _commit_all(folder)
    page = _SAMPLE_PAGES[kind]
    changed = (folder / page).read_text().replace(_SENTENCE, _CHANGED)
    about = "the sample app (Vite)" if kind == "node" else "the Python sample app (Flask), because there is no npm here"
    return Subject(folder, "corner-shop", about, (page, changed), (_SENTENCE, _CHANGED))


def _commit_all(folder: Path, *, ignored: bool = False) -> None:
    """Make a repository of a folder's files; `ignored`: of those too that its `.gitignore` names."""
    run_git("init", "--quiet", "--initial-branch=main", str(folder))
    run_git("-C", str(folder), "commit", "--quiet", "--allow-empty", "--message", "Begin")
    run_git("-C", str(folder), "add", "--all", *(("--force",) if ignored else ()))
    run_git("-C", str(folder), "commit", "--quiet", "--allow-empty", "--message", "First version")


def _clone(source: str, ref: str | None, folder: Path) -> str:
    """Clone with its history: a push needs the commits. Uncommitted changes stay behind, and that is said."""
    if not Path(source).exists() and "://" not in source and not source.startswith("git@"):
        raise OperatorFault(f"{source}: no such folder, and no git URL (https://…)")
    try:
        run_git("clone", "--quiet", "--no-hardlinks", "--", source, str(folder))
    except OperatorFault as error:
        raise (WorldFault if "resolve host" in str(error) else OperatorFault)(str(error)) from None
    if ref:
        _check_out(folder, ref, source)
    try:
        run_git("-C", str(folder), "rev-parse", "--verify", "--quiet", "HEAD")
    except OperatorFault:
        raise OperatorFault(f"{source} has no commit yet: commit something to preview it") from None
    if run_git("-C", str(folder), "rev-parse", "--is-shallow-repository").strip() == "true":
        shutil.rmtree(folder / ".git")  # no server takes a push from a history that is cut off
        _commit_all(folder, ignored=True)
    dirty = Path(source).is_dir() and run_git("-C", source, "status", "--porcelain").strip()
    return f"{source}{' (without its uncommitted changes)' if dirty else ''}"


def _check_out(folder: Path, ref: str, source: str) -> None:
    """Stand on a branch, tag or commit of the source. Of these a clone has only the branches under another name."""
    for name in (f"refs/remotes/origin/{ref}", ref):
        with suppress(OperatorFault):
            sha = run_git("-C", str(folder), "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}").strip()
            run_git("-C", str(folder), "checkout", "--quiet", "--detach", sha)
            return
    raise OperatorFault(f"--ref {ref}: there is no such branch, tag or commit in {source}")
