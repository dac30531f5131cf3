"""Every command teaches, every failure names its cause, and exit codes tell scripts what happened."""

import json
import os
import subprocess
import sys
import urllib.request

import click
import pytest

from bot.cli import cli

COMMANDS = sorted(cli.commands)


def test_the_commands_are_the_promised_ones():
    promised = {"demo", "up", "serve", "down", "list", "logs", "plan", "engine", "forge", "doctor"}
    assert promised <= set(COMMANDS)


def test_the_first_help_says_where_to_begin(preview):
    for words in (("--help",), ("-h",)):
        done = preview(*words)
        assert done.code == 0
        assert "Try it, with no account and nothing to set up:   preview demo" in done.out
        assert all(f"  {name}" in done.out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_explains_it_and_its_options(preview, name):
    done = preview(name, "--help")
    assert done.code == 0
    command = cli.commands[name]
    assert command.help is not None
    assert command.help.split("\n")[0] in " ".join(done.out.split())
    unexplained = [option.name for option in command.params if isinstance(option, click.Option) and not option.help]
    assert unexplained == []


def test_the_version_is_the_package_s(preview):
    assert preview("--version").out == "preview, version 0.1.0\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("lunch",), "No such command 'lunch'"),
        (("plan",), "Missing argument 'DIR'"),
        (("plan", "no-such-folder"), "'no-such-folder' does not exist"),
        (("demo", "--repos"), "No such option"),
        (("engine", "--port", "x"), "'x' is not a valid integer"),
        (("engine",), "--token (or PREVIEW_ENGINE_TOKEN) is missing"),
        (("down", "shop"), "'shop' names no pull request; write OWNER/REPO#N"),
        (("logs", "ada/shop#0"), "'ada/shop#0' names no pull request; write OWNER/REPO#N"),
        (("up", "no-such-folder"), "no-such-folder: no such folder, and no git URL (https://…)"),
        (("serve",), "GITHUB_WEBHOOK_SECRET: the secret that you typed"),
    ],
)
def test_wrong_usage_is_told_on_the_error_stream_with_code_2(preview, words, said):
    done = preview(*words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


@pytest.mark.parametrize("words", [("list",), ("serve",), ("doctor",), ("engine",), ("down", "a/b#1")])
def test_a_wrong_setting_is_named_by_whatever_command_reads_it(preview, monkeypatch, words):
    monkeypatch.setenv("PREVIEW_PORT", "eighty")
    done = preview(*words)
    assert done.code == 2
    assert done.err.startswith("preview: PREVIEW_PORT: ")


def test_a_wrong_database_is_named(preview, monkeypatch):
    monkeypatch.setenv("PREVIEW_DATABASE_URL", "postgresql://bot:hunter2@127.0.0.1:1/preview")
    done = preview("list")
    assert done.code == 2
    assert done.err.startswith("preview: PREVIEW_DATABASE_URL: cannot use the database")
    assert "hunter2" not in done.err


def test_the_plan_of_a_folder_for_a_person_and_for_a_program(preview, tmp_path):
    (tmp_path / "index.html").write_text("<h1>Hello</h1>")
    done = preview("plan", str(tmp_path))
    assert done.code == 0
    assert done.out.startswith("Detected    Static pages\n")
    found = json.loads(preview("plan", str(tmp_path), "--json").out)
    assert (found["previewable"], found["kind"], found["health_path"]) == (True, "static", "/")


def test_a_folder_with_nothing_to_preview_says_why(preview, tmp_path):
    (tmp_path / "notes.txt").write_text("nothing here")
    done = preview("plan", str(tmp_path))
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("preview: Nothing to preview")
    asked = preview("plan", str(tmp_path), "--json")
    found = json.loads(asked.out)
    assert (asked.code, found["previewable"], found["start"]) == (0, False, None)
    assert found["reason"].startswith("Nothing to preview")


def test_planning_runs_nothing_of_the_folder(preview, tmp_path):
    manifest = {"scripts": {"dev": f"touch {tmp_path}/ran", "preinstall": f"touch {tmp_path}/ran"}}
    (tmp_path / "package.json").write_text(json.dumps(manifest))
    assert preview("plan", str(tmp_path), "--json").code == 0
    assert not (tmp_path / "ran").exists()


def test_stopping_an_engine_that_does_not_run_is_fine(preview):
    assert preview("engine", "--stop").out == "no engine was left running\n"


def test_loopback_is_never_asked_through_a_proxy(preview, monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "internal.example")
    monkeypatch.delenv("no_proxy", raising=False)
    preview("--version")
    assert os.environ["NO_PROXY"] == os.environ["no_proxy"] == "internal.example,127.0.0.1,localhost,::1"
    assert urllib.request.proxy_bypass("127.0.0.1")
    assert not urllib.request.proxy_bypass("github.com")


def test_help_loads_neither_a_web_server_nor_a_database():
    heavy = ("litestar", "sqlalchemy", "vercel", "dbos", "github", "uvicorn", "pydantic_settings")
    program = f"import sys, bot.cli; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
