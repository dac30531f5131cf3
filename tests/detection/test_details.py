"""What a plan says besides its commands: when it is alive, what asks for a restart, and why it was chosen."""

import json

import pytest

from bot.buildpacks import detect
from bot.errors import NothingToPreview
from bot.plan import LaunchPlan
from bot.source import FilesWanted, SourceTree


def plan(files: dict[str, str]) -> LaunchPlan:
    return detect(SourceTree(files, {path: text.encode() for path, text in files.items()}))


def package(script: str, **dependencies: str) -> dict[str, str]:
    fields = {"private": True, "scripts": {"dev": script}, "dependencies": dependencies}
    return {"package.json": json.dumps(fields, indent=2)}


def test_vites_live_reload_socket_is_checked() -> None:
    readiness = plan(package("vite", vite="^8.0.0")).readiness
    assert (readiness.websocket_path, readiness.websocket_protocol) == ("/", "vite-hmr")
    assert "This host is not allowed" in readiness.failure_signs


@pytest.mark.parametrize("setting", ["base: '/app/'", "server: { hmr: false }"])
def test_a_socket_that_was_moved_or_turned_off_is_not_checked(setting: str) -> None:
    files = package("vite", vite="^8.0.0") | {"vite.config.js": f"export default {{ {setting} }};"}
    assert plan(files).readiness.websocket_path is None


def test_webpack_says_200_to_a_foreign_host_so_its_body_is_read() -> None:
    files = package("webpack serve", **{"webpack-dev-server": "^5.0.0"})
    assert {"Invalid Host header", "Failed to compile"} <= set(plan(files).readiness.failure_signs)


def test_create_react_app_is_kept_from_ending_with_its_standard_input() -> None:
    assert plan(package("react-scripts start", **{"react-scripts": "5.0.1"})).env == {"CI": "true"}


@pytest.mark.parametrize(
    ("script", "reloads"),
    [
        ("node server.js", False),
        ("nodemon server.js", True),
        ("node --watch server.js", True),
        ("tsx watch server.js", True),
    ],
)
def test_a_plain_node_server_does_not_reload(script: str, reloads: bool) -> None:
    files = package(script, express="^5.0.0") | {"server.js": "app.listen(3000)"}
    assert plan(files).reloads is reloads


def test_manifests_ask_for_an_install_and_environment_files_for_a_restart() -> None:
    files = package("vite", vite="^8.0.0") | {"package-lock.json": "{}", ".npmrc": "", ".env": "A=1"}
    found = plan(files)
    assert found.install_inputs == ("package.json", ".npmrc", "package-lock.json")
    assert found.restart_inputs == ("package.json", ".env")


def test_a_lockfile_that_does_not_match_is_tried_once_without() -> None:
    found = plan(package("vite", vite="^8.0.0") | {"pnpm-lock.yaml": "lockfileVersion: '9.0'\n"})
    assert found.install == ("npx", "--yes", "pnpm@10", "install", "--frozen-lockfile")
    assert found.install_relaxed == ("npx", "--yes", "pnpm@10", "install", "--no-frozen-lockfile")


def test_the_pnpm_that_wrote_the_lockfile_installs_it() -> None:
    found = plan(package("vite", vite="^5.0.0") | {"pnpm-lock.yaml": "lockfileVersion: '6.0'\n"})
    assert found.install is not None
    assert found.install[2] == "pnpm@8"


def test_a_python_environment_is_made_before_the_install_and_again_without_harm() -> None:
    found = plan({"requirements.txt": "flask\n", "app.py": "app = Flask(__name__)\n"})
    assert found.prepare == (("uv", "venv", "--allow-existing", "--python=python3", ".venv"),)


def test_an_asgi_app_whose_requirements_bring_no_server_gets_one() -> None:
    found = plan({"requirements.txt": "fastapi\n", "main.py": "app = FastAPI()\n"})
    assert found.setup == (("uv", "pip", "install", "uvicorn"),)


def test_a_django_app_gets_its_tables() -> None:
    manage = "from django.core.management import execute_from_command_line\n"
    found = plan({"requirements.txt": "django\n", "manage.py": manage})
    assert found.setup == ((".venv/bin/python", "manage.py", "migrate", "--noinput"),)


def test_an_example_environment_in_the_workspace_top_is_copied_there() -> None:
    files = {
        "package.json": '{"private": true, "workspaces": ["apps/*"]}',
        "package-lock.json": "{}",
        ".env.example": "MODE=development\n",
        "apps/web/package.json": package("next dev", next="^15.0.0")["package.json"],
    }
    assert plan(files).setup == (("cp", "-n", "../../.env.example", "../../.env"),)


def test_an_example_of_placeholders_is_not_copied() -> None:
    found = plan(package("next dev", next="^15.0.0") | {".env.example": "AUTH_SECRET=****\nAPI_URL=<your url>\n"})
    assert (found.setup, found.needs_env) == ((), ("AUTH_SECRET", "API_URL"))


def test_each_choice_names_the_file_and_the_line_that_decided_it() -> None:
    files = package("vite --port 4000", vite="^8.0.0") | {"package-lock.json": "{}"}
    notes = [(note.text, note.file, note.line) for note in plan(files).notes]
    assert notes == [
        ('start: the script "dev"', "package.json", 4),
        ("npm, because of package-lock.json", "package-lock.json", None),
        ("port 4000, by the script", "package.json", 4),
        ("Node ^20.19.0 || >=22.12.0, which the framework needs", "package.json", None),
    ]


def test_the_title_is_what_a_reviewer_reads() -> None:
    assert plan(package("vite", vite="^8.1.0")).title == "Vite 8 with npm"
    assert plan({"index.html": "<p>"}).title == "Static pages"


def test_what_could_be_previewed_as_well_is_named() -> None:
    files = {f"{name}/package.json": package("vite", vite="^8.0.0")["package.json"] for name in ("site", "web")}
    found = plan(files)
    assert (found.root, found.ambiguous) == ("web", True)
    assert found.notes[-1].text.startswith("site could be previewed as well")


def test_nothing_to_preview_says_what_was_looked_at() -> None:
    with pytest.raises(NothingToPreview) as nothing:
        plan({"package.json": '{"name": "x", "main": "index.js", "files": ["index.js"]}'})
    assert nothing.value.cause == (
        "Nothing to preview: x is a package for others to install, and no script starts a server."
    )
    assert nothing.value.looked_at == ("package.json",)
    assert "preview.toml" in nothing.value.remedy


def test_scripts_that_are_apps_of_their_own_are_asked_about() -> None:
    app = "import dash\n\napp = dash.Dash()\n\nif __name__ == '__main__':\n    app.run()\n"
    with pytest.raises(NothingToPreview):
        plan({"requirements.txt": "dash\n"} | {f"{name}.py": app for name in ("bars", "lines", "maps", "pies")})


def test_files_of_several_folders_are_asked_for_at_once() -> None:
    paths = [f"{name}/package.json" for name in ("site", "web")]
    with pytest.raises(FilesWanted) as wanted:
        detect(SourceTree(paths, {}))
    assert wanted.value.paths == set(paths)


@pytest.mark.parametrize(("asked", "version"), [(">=8", "10"), ("9.x", "9"), ("^10.19.0", "10"), (">=11", "11")])
def test_an_engine_floor_does_not_make_pnpm_older_than_its_lockfile(asked: str, version: str) -> None:
    fields = {"private": True, "scripts": {"dev": "vite"}, "dependencies": {"vite": "7"}, "engines": {"pnpm": asked}}
    found = plan({"package.json": json.dumps(fields), "pnpm-lock.yaml": "lockfileVersion: '9.0'\n"})
    assert found.install is not None
    assert found.install[2] == f"pnpm@{version}"


def test_two_servers_in_one_script_keep_their_own_ports() -> None:
    files = package('concurrently "vite" "node api.js"', vite="^8.0.0", express="^5.0.0") | {"api.js": "listen()"}
    assert (plan(files).port, plan(files).sets_port) == (5173, False)
    assert plan(package("vite", vite="^8.0.0")).sets_port


def test_a_port_named_in_the_configuration_is_looked_up_in_the_environment_files() -> None:
    config = "export default { server: { port: Number(env.VITE_PORT || 3000) } };"
    files = package("vite", vite="^8.0.0") | {"vite.config.js": config}
    assert plan(files).port == 3000
    assert plan(files | {".env.development": "VITE_PORT=3001\n"}).port == 3001
