"""Whatever a manifest holds, detection answers with a plan of plain words or says clearly that there is none."""

import json
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.buildpacks import detect
from bot.errors import NothingToPreview
from bot.plan import LaunchPlan
from bot.plan_json import plan_json
from bot.source import MAX_FILE_BYTES, SourceTree

_MANIFESTS = [
    "package.json",
    "pnpm-workspace.yaml",
    "pnpm-lock.yaml",
    "yarn.lock",
    ".yarnrc.yml",
    "nx.json",
    "apps/web/project.json",
    "angular.json",
    "deno.json",
    "mise.toml",
    ".tool-versions",
    ".nvmrc",
    ".python-version",
    "pyproject.toml",
    "requirements.txt",
    "Pipfile",
    "setup.py",
    "main.py",
    "manage.py",
    "Procfile",
    "Dockerfile",
    "compose.yaml",
    "app.json",
    ".env.example",
    "Gemfile",
    "config.ru",
    "composer.json",
    "go.mod",
    "main.go",
    "Cargo.toml",
    "src/main.rs",
    "pom.xml",
    "build.gradle",
    "mix.exs",
    "mkdocs.yml",
    "conf.py",
    "_config.yml",
    "hugo.toml",
    "config.toml",
    "action.yml",
    "index.html",
    "vite.config.ts",
    "web.csproj",
    "web/package.json",
    "docs/conf.py",
]

_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=20))
_JSON = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
_PACKAGE_FIELDS = [
    "name",
    "scripts",
    "dependencies",
    "devDependencies",
    "engines",
    "volta",
    "packageManager",
    "devEngines",
    "workspaces",
    "private",
    "exports",
    "main",
    "bin",
    "files",
    "type",
]
_SCRIPT = st.text(
    alphabet=string.ascii_lowercase + " -&|;'\"$`()<>\\:=./0123456789\n\0é", max_size=40
) | st.sampled_from(
    [
        "vite",
        "next dev && rm -rf /",
        "node $(id)",
        "npm run dev",
        "npm run start",
        "concurrently 'npm:*'",
        "cd .. && vite",
    ]
)


def planned(tree: SourceTree) -> LaunchPlan | None:
    """The plan, or None when there is nothing to preview; everything else that is raised is a defect."""
    try:
        return detect(tree)
    except NothingToPreview as nothing:
        json.dumps(plan_json(nothing))
        return None


def assert_plain(plan: LaunchPlan | None) -> None:
    if plan is None:
        return
    for command in (plan.start, plan.install, plan.build, *plan.setup, *plan.prepare):
        for word in command or ():
            assert isinstance(word, str)
        assert not command or command[0] not in {"sh", "bash", "zsh", "eval", "cmd"}
    assert 0 < plan.port < 65536
    for path in (plan.root, plan.install_root, *plan.install_inputs, *plan.restart_inputs):
        assert not path.startswith(("/", ".."))
    json.dumps(plan_json(plan))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(_MANIFESTS), st.binary(max_size=300), min_size=1, max_size=6))
def test_bytes_in_any_manifest_never_break_detection(files: dict[str, bytes]) -> None:
    assert_plain(planned(SourceTree(files, files)))


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(_PACKAGE_FIELDS), _JSON, max_size=8))
def test_any_json_in_package_json_never_breaks_detection(fields: dict[str, object]) -> None:
    files = {"package.json": json.dumps(fields).encode(), "index.js": b"", "nx.json": b"{}"}
    assert_plain(planned(SourceTree(files, files)))


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(["dev", "start", "serve", "build", "x"]), _SCRIPT, min_size=1))
def test_a_script_is_never_turned_into_a_shell_line(scripts: dict[str, str]) -> None:
    package = {"scripts": scripts, "dependencies": {"express": "5", "vite": "7", "next": "15"}}
    files = {"package.json": json.dumps(package).encode(), "index.js": b"listen", "server.js": b".listen(1)"}
    plan = planned(SourceTree(files, files))
    assert_plain(plan)
    if plan and plan.kind != "static":
        assert plan.start[:2] in {("npm", "start"), ("npm", "run"), ("npx", "--no-install")}


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(["compose.yaml", "mkdocs.yml", "pnpm-workspace.yaml", "action.yml"]), _JSON)
def test_any_value_in_a_yaml_file_never_breaks_detection(name: str, value: object) -> None:
    files = {name: json.dumps(value).encode(), "package.json": b"{}", "index.md": b""}
    assert_plain(planned(SourceTree(files, files)))


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(["[project]", "[tool.poetry]", "[tools]", "[dependencies]", "[packages]"]), st.text(max_size=60))
def test_any_text_in_a_toml_file_never_breaks_detection(table: str, text: str) -> None:
    content = f"{table}\n{text}\n".encode("utf-8", "replace")
    files = dict.fromkeys(["pyproject.toml", "mise.toml", "Cargo.toml", "Pipfile", "hugo.toml"], content)
    assert_plain(planned(SourceTree(files, files)))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"[" * 100_000, id="deep nesting"),
        pytest.param(b'{"scripts": ' * 5_000, id="deep objects"),
        pytest.param(b'{"scripts": {"dev": 5, "start": ["vite"]}}', id="numbers as scripts"),
        pytest.param(b'\xef\xbb\xbf{"scripts": {"dev": "vite"}}', id="byte order mark"),
        pytest.param(b'{"scripts": {"dev": "vite"}, "scripts": {"dev": "next dev"}}', id="duplicate keys"),
        pytest.param(b"<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> x\n", id="conflict markers"),
        pytest.param(b'{"name": "\xff\xfe"}', id="invalid UTF-8"),
        pytest.param(b'{"name": "a\x00b"}', id="NUL"),
        pytest.param(b'{"scripts": {"dev": "npm run dev"}}', id="a script that calls itself"),
        pytest.param(b'{"workspaces": ["**", "../**", "["]}', id="odd workspace patterns"),
        pytest.param(b'{"scripts": {"dev": "%s"}}' % (b"a && " * 20_000), id="a very long script"),
        pytest.param(b'{"engines": {"node": "%s"}}' % (b"9" * 5_000), id="a version of 5000 digits"),
    ],
)
def test_a_hostile_package_json_gets_an_answer(content: bytes) -> None:
    files = {"package.json": content, "apps/web/package.json": content}
    assert_plain(planned(SourceTree(files, files)))


def test_scripts_that_call_each_other_by_pattern_end() -> None:
    scripts = {f"dev:{number}": "concurrently 'npm:dev:*' 'npm:dev:*'" for number in range(20)} | {"dev": "run-p dev:*"}
    files = {"package.json": json.dumps({"scripts": scripts}).encode()}
    assert planned(SourceTree(files, files)) is None


@pytest.mark.parametrize("place", ["x/..", ".", "./", "../..", "/", "x/../x/..", "//"])
def test_a_script_that_hands_over_to_its_own_folder_ends(place: str) -> None:
    scripts = {"dev": f"node server.js & cd {place} && npm start"}
    package = json.dumps({"scripts": scripts, "dependencies": {"express": "5"}}).encode()
    files = {"package.json": package, "x/package.json": package, "server.js": b"app.listen(3000)"}
    assert_plain(planned(SourceTree(files, files)))


def test_a_yaml_file_of_aliases_is_not_expanded() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    text = "\n".join([*lines, "services: *a11", ""]).encode()
    files = {"compose.yaml": text, "mkdocs.yml": text, "pnpm-workspace.yaml": text, "package.json": b"{}"}
    assert_plain(planned(SourceTree(files, files)))


@pytest.mark.parametrize(
    "piece", ["\n", "/*", ".listen({ ", "port: ||", "a = ", "run(", "\nrun(", "server: {\n", '"', " "]
)
def test_half_a_pattern_a_hundred_thousand_times_gets_an_answer(piece: str) -> None:
    text = (piece * 100_000).encode()
    package = json.dumps({"scripts": {"dev": "node server.js"}, "dependencies": {"express": "5"}}).encode()
    names = [
        "main.py",
        "manage.py",
        "Procfile",
        "Dockerfile",
        "server.js",
        ".env.example",
        "Gemfile",
        "mix.exs",
        "deno.json",
        "main.go",
    ]
    files = dict.fromkeys(names, text) | {"package.json": package}
    assert_plain(planned(SourceTree(files, files)))


def test_a_manifest_that_is_too_large_counts_as_unreadable() -> None:
    tree = SourceTree({"package.json"}, {"package.json": None})
    assert planned(tree) is None
    assert MAX_FILE_BYTES < 10_000_000


@pytest.mark.parametrize("text", ["1:1:1", "190:20:30.15", "08", "9" * 5000, "1" + ":1" * 100_000])
def test_what_is_no_plain_number_in_a_yaml_file_stays_text(text: str) -> None:
    assert SourceTree(["a.yml"], {"a.yml": f"x: {text}\n".encode()}).yaml("a.yml") == {"x": text}


@pytest.mark.parametrize(("text", "value"), [("3000", 3000), ("-1", -1), ("0", 0), ("0x1f", 31), ("1.5", 1.5)])
def test_a_number_in_a_yaml_file_is_one(text: str, value: float) -> None:
    assert SourceTree(["a.yml"], {"a.yml": f"x: {text}\n".encode()}).yaml("a.yml") == {"x": value}
