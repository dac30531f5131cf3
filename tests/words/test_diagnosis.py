"""What the real error texts of package managers and servers are taken for."""

import pytest

from bot.diagnosis import lockfile_mismatch, remedy

MISMATCHES = {
    "npm": "npm error code EUSAGE\nnpm error\nnpm error `npm ci` can only install packages when your package.json and "
    "package-lock.json or npm-shrinkwrap.json are in sync. Please update your lock file with `npm install`",
    "pnpm": ' ERR_PNPM_OUTDATED_LOCKFILE  Cannot install with "frozen-lockfile" because pnpm-lock.yaml is not up to '
    "date with <ROOT>/package.json",
    "yarn 1": "error Your lockfile needs to be updated, but yarn was run with `--frozen-lockfile`.",
    "yarn 4": "➤ YN0028: │ The lockfile would have been modified by this install, which is explicitly forbidden.",
    "bun": "error: lockfile had changes, but lockfile is frozen",
    "uv": "error: The lockfile at `uv.lock` needs to be updated, but `--locked` was provided. To update the lockfile, "
    "run `uv lock`.",
    "poetry 1": "Error: poetry.lock is not up to date with pyproject.toml, run `poetry lock` to update it",
    "poetry 2": "pyproject.toml changed significantly since poetry.lock was last generated. Run `poetry lock` to fix "
    "the lock file.",
    "pipenv": "Your Pipfile.lock (a1b2c3) is out of date. Expected: (d4e5f6).",
}

OTHERS = {
    "a missing package": "npm error code E404\nnpm error 404 Not Found - GET https://registry.npmjs.org/nope",
    "a conflict": "npm error code ERESOLVE\nnpm error ERESOLVE unable to resolve dependency tree",
    "a broken script": "npm error code 1\nnpm error command failed\nnpm error command sh -c node-gyp rebuild",
    "no lockfile": "npm error The `npm ci` command can only install with an existing package-lock.json",
    "nothing": "",
}


@pytest.mark.parametrize("text", MISMATCHES.values(), ids=MISMATCHES.keys())
def test_a_lockfile_that_does_not_match_is_told_from_other_failures(text):
    assert lockfile_mismatch(text)


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS.keys())
def test_another_failure_is_no_mismatch(text):
    assert not lockfile_mismatch(text)


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("npm warn EBADENGINE Unsupported engine {", "another runtime or version"),
        ("ERROR: No matching distribution found for numpy==9", "another runtime or version"),
        ("npm error ENOSPC: no space left on device, write", "disk of the sandbox is full"),
        ("FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory", "ran out of memory"),
        ("Error: listen EADDRINUSE: address already in use :::3000", "let it listen on `PORT`"),
        ("OSError: [Errno 98] Address already in use", "let it listen on `PORT`"),
        ("npm error code ERESOLVE", "contradict each other"),
        ("sh: 1: make: not found", "A tool that the command needs"),
        ("bash: line 1: poetry: command not found", "A tool that the command needs"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'ffmpeg'", "A tool that the command needs"),
        ("ModuleNotFoundError: No module named 'flask'", "imported and not installed"),
        ("Error: Cannot find module 'express'", "imported and not installed"),
        ("Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'vite' imported from x", "imported and not installed"),
        ("getaddrinfo ENOTFOUND db.internal", "A host name could not be resolved"),
        ("curl: (6) Could not resolve host: example.com", "A host name could not be resolved"),
        ("gyp ERR! find Python\nnpm error command sh -c node-gyp rebuild", "native extension"),
        ("fatal error: Python.h: No such file or directory", "native extension"),
        ("TypeError: x is not a function", ""),
    ],
)
def test_a_known_sign_brings_its_remedy(log, words):
    assert words in remedy(log)
    assert bool(remedy(log)) is bool(words)


def test_two_words_far_apart_are_no_sign():
    """Else each of thousands of first words would be compared with all that follows."""
    assert "A tool" in remedy("ENOENT x spawn")
    assert remedy(f"ENOENT {'x' * 300} spawn") == ""
