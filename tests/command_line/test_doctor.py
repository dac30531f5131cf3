"""`preview doctor` says what is wrong on this machine, and what to do about it."""

import pytest

from bot import doctor


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch):
    """Sandboxes are somebody else's, unless a test is about them."""
    monkeypatch.setenv("PREVIEW_ENGINE", "http://127.0.0.1:1/api")


def test_a_good_machine_gets_code_0_and_a_line_per_finding(preview):
    done = preview("doctor")
    assert done.code == 0
    lines = [line for line in done.out.splitlines() if not line.startswith("  ")]
    assert [line.split()[1] for line in lines] == ["git", "node", "disk", "sandboxes", "github"]
    assert "made by http://127.0.0.1:1/api" in done.out


def test_missing_github_settings_are_a_note_and_no_failure(preview):
    assert "note  github     These settings are missing:" in preview("doctor").out


def test_complete_github_settings_are_seen(preview, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "t")
    monkeypatch.setenv("GITHUB_WEBHOOK_SECRET", "s")
    assert "ok    github     settings for https://api.github.com are there" in preview("doctor").out


def test_a_machine_without_git_fails_and_without_node_does_not(preview, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    done = preview("doctor")
    assert done.code == 1
    assert "FAIL  git        install it: apt install git" in done.out
    assert "note  node       no npm: only projects without Node can be previewed here" in done.out


def test_a_full_disk_fails_with_the_setting_that_helps(preview, monkeypatch):
    monkeypatch.setattr(doctor, "FREE_DISK_BYTES", 1024**6)
    done = preview("doctor")
    assert done.code == 1
    assert "FAIL  disk" in done.out
    assert "set PREVIEW_DATA_DIR to a folder with room" in done.out


@pytest.mark.bwrap
def test_isolation_is_really_tried(preview, monkeypatch):
    monkeypatch.setenv("PREVIEW_ENGINE", "embedded")
    done = preview("doctor")
    line = next(line for line in done.out.splitlines() if " isolation " in line)
    assert line.startswith("ok    isolation  holds, with ") if done.code == 0 else line.startswith("FAIL")
