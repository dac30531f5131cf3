"""The environment: what is read from where, and how a wrong setting is named."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.errors import OperatorFault
from bot.settings import Settings
from webhooks.serve import configure_logging, sandbox_service

KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n"


def test_without_any_setting_the_defaults_are_in_force():
    settings = Settings.read()
    assert (settings.host, settings.port, settings.sandbox_service) == ("127.0.0.1", 8080, "embedded")
    assert settings.github_api_url == "https://api.github.com"
    assert settings.data_dir == Path(os.environ["XDG_DATA_HOME"]) / "branch-preview-bot"
    assert settings.database == f"sqlite:///{settings.data_dir}/preview.db"
    assert settings.workflow_database == f"sqlite:///{settings.data_dir}/workflows.db"
    assert settings.secrets() == []


def test_tests_do_not_see_the_developer_s_environment(tmp_path):
    (tmp_path / ".env.local").write_text("PREVIEW_HOST=0.0.0.0\n")
    poison = {"PREVIEW_PORT": "1", "GITHUB_TOKEN": "t" * 20, "VERCEL_TOKEN": "v" * 20, "GITHUB_API_URL": "http://x"}
    words = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0")
    test = f"{__file__}::{test_without_any_setting_the_defaults_are_in_force.__name__}"
    done = subprocess.run(
        [*words, test], env={**os.environ, **poison}, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PREVIEW_PORT", "eighty", "PREVIEW_PORT: Input should be a valid integer"),
        ("PREVIEW_PORT", "70000", "PREVIEW_PORT: Input should be less than or equal to 65535"),
        ("PREVIEW_ENGINE", "docker", "PREVIEW_ENGINE: must be `embedded`, `vercel`, or the http(s) base URL"),
        ("PREVIEW_INSTANCE", "My Bot", "PREVIEW_INSTANCE: String should match pattern"),
        ("PREVIEW_DRAFTS", "perhaps", "PREVIEW_DRAFTS: Input should be a valid boolean"),
        ("PREVIEW_BOTS", "perhaps", "PREVIEW_BOTS: Input should be a valid boolean"),
        ("PREVIEW_RESOURCES_VCPUS", "0", "PREVIEW_RESOURCES_VCPUS: Input should be greater than or equal to 1"),
        ("PREVIEW_EXECUTION_TIME_LIMIT", "5", "PREVIEW_EXECUTION_TIME_LIMIT: Input should be greater than or equal"),
        ("PREVIEW_INSTALL_LIMIT", "0", "PREVIEW_INSTALL_LIMIT: Input should be greater than or equal to 1"),
        ("PREVIEW_READY_LIMIT", "-1", "PREVIEW_READY_LIMIT: Input should be greater than or equal to 1"),
        ("PREVIEW_SWEEP_INTERVAL", "x", "PREVIEW_SWEEP_INTERVAL: Input should be a valid integer"),
    ],
)
def test_a_wrong_setting_is_named_with_what_it_is(monkeypatch, name, value, said):
    monkeypatch.setenv(name, value)
    with pytest.raises(OperatorFault) as told:
        Settings.read()
    assert str(told.value).startswith(said)
    assert str(told.value).endswith(f"(it is {value!r})")


def test_all_wrong_settings_are_named_at_once(monkeypatch):
    monkeypatch.setenv("PREVIEW_PORT", "x")
    monkeypatch.setenv("PREVIEW_ENGINE", "y")
    with pytest.raises(OperatorFault, match=r"PREVIEW_PORT: .*\nPREVIEW_ENGINE: |PREVIEW_ENGINE: .*\nPREVIEW_PORT: "):
        Settings.read()


def test_a_wrong_log_level_is_named():
    with pytest.raises(OperatorFault, match=r"^PREVIEW_LOG_LEVEL: 'loud' is none of debug, info, warning, error"):
        configure_logging("loud")


def test_env_local_is_read_and_the_environment_wins(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env.local").write_text("PREVIEW_PORT=1\nPREVIEW_HOST=::1\nGITHUB_TOKEN=from-file\nOTHER=ignored\n")
    monkeypatch.setenv("PREVIEW_PORT", "2")
    settings = Settings.read()
    assert (settings.port, settings.host, settings.github_token.get_secret_value()) == (2, "::1", "from-file")


def test_an_empty_variable_counts_as_none(monkeypatch):
    monkeypatch.setenv("PREVIEW_PORT", "")
    assert Settings.read().port == 8080


def test_the_data_folder_is_absolute_wherever_it_comes_from(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PREVIEW_DATA_DIR", "~/bot")
    assert Settings.read().data_dir == tmp_path / "bot"
    monkeypatch.setenv("PREVIEW_DATA_DIR", "bot")
    assert Settings.read().data_dir == Path.cwd() / "bot"


def test_an_app_s_key_is_given_as_text_or_as_a_path(monkeypatch, tmp_path):
    (tmp_path / "app.pem").write_text(KEY)
    monkeypatch.setenv("HOME", str(tmp_path))
    for value in (KEY, KEY.replace("\n", "\\n"), str(tmp_path / "app.pem"), "~/app.pem"):
        monkeypatch.setenv("GITHUB_APP_PRIVATE_KEY", value)
        assert Settings.read().private_key == KEY
        assert KEY in Settings.read().secrets()


def test_a_key_file_that_cannot_be_read_is_named(monkeypatch):
    monkeypatch.setenv("GITHUB_APP_PRIVATE_KEY", "/nowhere/app.pem")
    with pytest.raises(OperatorFault, match=r"^GITHUB_APP_PRIVATE_KEY: cannot read the key file /nowhere/app.pem: No"):
        Settings.read().private_key  # noqa: B018


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({}, ["GITHUB_WEBHOOK_SECRET", "GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY"]),
        ({"GITHUB_WEBHOOK_SECRET": "s"}, ["GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY"]),
        ({"GITHUB_WEBHOOK_SECRET": "s", "GITHUB_APP_ID": "1"}, ["GITHUB_APP_PRIVATE_KEY"]),
        ({"GITHUB_TOKEN": "t"}, ["GITHUB_WEBHOOK_SECRET"]),
        ({"GITHUB_WEBHOOK_SECRET": "s", "GITHUB_TOKEN": "t"}, []),
        ({"GITHUB_WEBHOOK_SECRET": "s", "GITHUB_APP_ID": "1", "GITHUB_APP_PRIVATE_KEY": KEY}, []),
    ],
)
def test_what_serving_still_lacks_is_listed_exactly(monkeypatch, given, missing):
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    try:
        Settings.read().require_github()
        listed = []
    except OperatorFault as error:
        listed = [line.strip().partition(":")[0] for line in str(error).splitlines()[1:]]
    assert listed == missing


def test_secrets_do_not_show_when_settings_are_printed(monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_do_not_show")
    monkeypatch.setenv("PREVIEW_ENGINE_TOKEN", "nor-this")
    assert not {"ghp_do_not_show", "nor-this"} & set(repr(Settings.read()).split("'"))
    assert Settings.read().secrets() == ["nor-this", "ghp_do_not_show"]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgres://u@h/d", "postgresql+psycopg://u@h/d"),
        ("postgresql://u@h/d", "postgresql+psycopg://u@h/d"),
        ("postgresql+psycopg://u@h/d", "postgresql+psycopg://u@h/d"),
        ("sqlite:////tmp/x.db", "sqlite:////tmp/x.db"),
    ],
)
def test_a_database_url_is_understood_as_others_write_it(monkeypatch, url, expected):
    monkeypatch.setenv("PREVIEW_DATABASE_URL", url)
    assert Settings.read().database == expected


@pytest.mark.parametrize(
    ("given", "service"),
    [
        ({}, "embedded"),
        ({"VERCEL_OIDC_TOKEN": "o"}, "vercel"),
        ({"VERCEL_TOKEN": "t"}, "vercel"),
        ({"VERCEL_TOKEN": "t", "PREVIEW_ENGINE": "embedded"}, "embedded"),
        ({"VERCEL_TOKEN": "t", "PREVIEW_ENGINE": "http://127.0.0.1:1/api/"}, "http://127.0.0.1:1/api"),
        ({"PREVIEW_ENGINE": "vercel"}, "vercel"),
    ],
)
def test_which_sandboxes_are_used_follows_from_the_credentials_unless_it_is_said(monkeypatch, given, service):
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert Settings.read().sandbox_service == service


async def test_credentials_of_env_local_reach_the_sdk_and_the_environment_s_win(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env.local").write_text("VERCEL_TOKEN=file\nVERCEL_TEAM_ID=team\nVERCEL_PROJECT_ID=project\n")
    monkeypatch.setenv("VERCEL_TEAM_ID", "mine")
    assert await sandbox_service(Settings.read()) == (None, "")
    found = {name: os.environ.get(f"VERCEL_{name}") for name in ("TOKEN", "TEAM_ID", "PROJECT_ID", "OIDC_TOKEN")}
    assert found == {"TOKEN": "file", "TEAM_ID": "mine", "PROJECT_ID": "project", "OIDC_TOKEN": None}


async def test_a_sandbox_api_named_by_url_needs_its_token(monkeypatch):
    monkeypatch.setenv("PREVIEW_ENGINE", "http://127.0.0.1:1/api")
    with pytest.raises(OperatorFault, match=r"^PREVIEW_ENGINE_TOKEN: the Sandbox API at http://127.0.0.1:1/api needs"):
        await sandbox_service(Settings.read())
    monkeypatch.setenv("PREVIEW_ENGINE_TOKEN", "secret")
    assert await sandbox_service(Settings.read()) == ("http://127.0.0.1:1/api", "secret")


def test_the_readme_names_every_setting():
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    names = [
        str(field.validation_alias.choices[0]) if field.validation_alias else f"PREVIEW_{name.upper()}"
        for name, field in Settings.model_fields.items()
    ]
    assert [name for name in names if f"`{name}`" not in readme] == []


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("GITHUB_API_URL", "github.com", "GITHUB_API_URL: must begin with https://"),
        ("GITHUB_APP_ID", "abc", "GITHUB_APP_ID: must be the App's number"),
        ("PREVIEW_DATADIR", "/tmp", "PREVIEW_DATADIR: there is no such setting; did you mean PREVIEW_DATA_DIR?"),
    ],
)
def test_what_cannot_work_is_refused_at_the_start(monkeypatch, name, value, said):
    monkeypatch.setenv(name, value)
    with pytest.raises(OperatorFault) as refused:
        Settings.read()
    assert said in str(refused.value)


def test_a_key_file_without_a_key_is_refused(monkeypatch, tmp_path):
    (tmp_path / "README.md").write_text("no key")
    monkeypatch.setenv("GITHUB_APP_PRIVATE_KEY", str(tmp_path / "README.md"))
    with pytest.raises(OperatorFault, match="holds no private key"):
        Settings.read().require_github()


def test_a_key_without_its_app_is_told_as_just_that(monkeypatch):
    monkeypatch.setenv("GITHUB_APP_PRIVATE_KEY", "-----BEGIN RSA PRIVATE KEY-----\n…")
    monkeypatch.setenv("GITHUB_WEBHOOK_SECRET", "secret")
    with pytest.raises(OperatorFault) as refused:
        Settings.read().require_github()
    assert str(refused.value).splitlines()[1:] == [
        "  GITHUB_APP_ID: the number of the App whose key GITHUB_APP_PRIVATE_KEY is"
    ]
