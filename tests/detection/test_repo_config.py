"""A repository's own configuration: what it may say, how it is refused, and that it wins over detection."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.buildpacks import detect
from bot.errors import NothingToPreview
from bot.repo_config import ConfigInvalid, RepoConfig, config_schema, parse_config
from bot.source import SourceTree

VITE = {"package.json": '{"scripts": {"dev": "vite"}, "devDependencies": {"vite": "^7.0.0"}}', "index.html": "<p>"}


def tree(files: dict[str, str]) -> SourceTree:
    return SourceTree(files, {path: text.encode() for path, text in files.items()})


def refusal(text: str) -> tuple[str, str]:
    with pytest.raises(ConfigInvalid) as refused:
        parse_config(text)
    return refused.value.cause, refused.value.remedy


def test_every_key_is_read() -> None:
    config = parse_config(
        """
        root = "apps/web"
        install = "npm ci --ignore-scripts"
        setup = ["npm run seed", ["cp", "a b", "c"]]
        build = []
        start = ["npm", "run", "dev"]
        port = 4000
        [health]
        path = "/up"
        accept = [200, 401]
        [env]
        MODE = "preview"
        [runtime]
        node = "22"
        """
    )
    assert config.install == ("npm", "ci", "--ignore-scripts")
    assert config.setup == (("npm", "run", "seed"), ("cp", "a b", "c"))
    assert config.build == ()
    assert (config.health.path, config.health.accept) == ("/up", (200, 401))
    assert (config.root, config.port, config.env, config.runtime) == (
        "apps/web",
        4000,
        {"MODE": "preview"},
        {"node": "22"},
    )


def test_an_empty_file_changes_nothing() -> None:
    assert parse_config("") == RepoConfig()


@pytest.mark.parametrize(
    ("text", "cause", "remedy"),
    [
        ('strat = "npm start"', '.github/preview.toml: unknown key "strat".', 'Did you mean "start"?'),
        ("[health]\npth = '/'", '.github/preview.toml: unknown key "health.pth".', 'Did you mean "path"?'),
        ('root = "../other"', ".github/preview.toml: root must be a folder of this repository.", ""),
        ('root = "/etc"', ".github/preview.toml: root must be a folder of this repository.", ""),
        ('start = ""', ".github/preview.toml: start must not be empty.", ""),
        (
            'start = "npm run build && npm start"',
            ".github/preview.toml: start holds '&&', but no shell runs it: write a script and call that.",
            "",
        ),
        (
            'start = "echo \'open"',
            ".github/preview.toml: start cannot be split into words (No closing quotation).",
            "",
        ),
    ],
)
def test_a_mistake_is_explained_in_one_sentence(text: str, cause: str, remedy: str) -> None:
    assert refusal(text) == (cause, remedy)


@pytest.mark.parametrize(
    "text", ["port = 0", "port = 70000", 'port = "80"', "env = 5", "start = 7", "[env]\n'A B' = '1'"]
)
def test_a_wrong_value_is_refused_with_its_key(text: str) -> None:
    cause, _ = refusal(text)
    assert cause.startswith(".github/preview.toml: ")
    assert cause.count("\n") == 0


def test_broken_toml_is_refused() -> None:
    assert refusal("start = ")[0].startswith(".github/preview.toml is not valid TOML: ")


def test_a_file_without_end_is_refused() -> None:
    assert "larger than" in refusal("#" * 100_000)[0]


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        cause = str(parse_config(text))
    except ConfigInvalid as refused:
        cause = refused.cause
    assert "\n" not in cause


def test_the_trees_own_file_wins_over_what_was_found() -> None:
    own = {".github/preview.toml": 'start = "npm run preview"\nport = 4173\n[health]\npath = "/up"\n'}
    plan = detect(tree(VITE | own))
    assert (plan.start, plan.port, plan.readiness.path) == (("npm", "run", "preview"), 4173, "/up")
    assert plan.install == ("npm", "install")
    assert plan.notes[-1].text == "start, port, readiness by the repository's own configuration"


def test_a_key_that_is_not_set_leaves_detection_alone() -> None:
    assert detect(tree(VITE), RepoConfig()) == detect(tree(VITE))


def test_an_empty_install_installs_nothing() -> None:
    plan = detect(tree(VITE), parse_config("install = []"))
    assert (plan.prepare, plan.install, plan.install_relaxed) == ((), None, None)


def test_environment_is_merged_and_no_longer_needed() -> None:
    files = {
        "package.json": '{"scripts": {"dev": "next dev"}, "dependencies": {"next": "15"}}',
        ".env.example": "DATABASE_URL=\n",
    }
    plan = detect(tree(files), parse_config('[env]\nDATABASE_URL = "file:x"\n'))
    assert (plan.env["DATABASE_URL"], plan.needs_env) == ("file:x", ())


def test_a_configured_root_is_the_only_place_looked_at() -> None:
    files = {f"apps/{name}/package.json": VITE["package.json"] for name in ("admin", "web")}
    assert detect(tree(files)).root == "apps/web"
    assert detect(tree(files), parse_config('root = "apps/admin"')).root == "apps/admin"


def test_a_command_and_a_port_are_enough_where_nothing_is_found() -> None:
    plan = detect(tree({"README.md": ""}), parse_config('start = "./serve"\nport = 9000'))
    assert (plan.kind, plan.start, plan.port) == ("configured", ("./serve",), 9000)


def test_a_port_alone_is_not() -> None:
    with pytest.raises(NothingToPreview):
        detect(tree({"README.md": ""}), parse_config("port = 9000"))


def test_the_published_schema_knows_every_key() -> None:
    assert set(config_schema()["properties"]) == set(RepoConfig.model_fields)
    assert config_schema()["additionalProperties"] is False
