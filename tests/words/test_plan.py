"""How a plan is spelled, for a person and for a program."""

from bot.errors import NothingToPreview
from bot.names import sandbox_name
from bot.plan import LaunchPlan, Note, launch_environment, spoken
from bot.plan_json import plan_json
from bot.plan_text import plan_text
from bot.preview import RepoId

PLAN = LaunchPlan(
    kind="next",
    title="Next.js with pnpm",
    root="apps/web",
    package_manager="pnpm",
    install=("npx", "--yes", "pnpm@9", "install", "--frozen-lockfile"),
    setup=(("npx", "--yes", "pnpm@9", "db push"),),
    start=("npx", "--yes", "pnpm@9", "run", "dev"),
    port=3000,
    env={"PORT": "1", "A": "b"},
    runtime={"node": ">=20"},
    needs_env=("DATABASE_URL",),
    notes=(
        Note(text="pnpm", file="pnpm-lock.yaml"),
        Note(text="the dev script", file="package.json", line=7),
        Note(text="port 3000"),
    ),
)


def test_commands_are_spelled_as_people_type_them():
    assert spoken(("npx", "--yes", "pnpm@9.1", "run", "dev")) == ("pnpm", "run", "dev")
    assert spoken(("npx", "--yes", "@yarnpkg/cli-dist@4", "dev")) == ("yarn", "dev")
    assert spoken(("npx", "--yes", "@scope/tool", "dev")) == ("@scope/tool", "dev")
    assert spoken(("uvx", "poetry", "install")) == ("poetry", "install")
    assert spoken(("uvx",)) == ("uvx",)
    assert spoken(("npm", "ci")) == ("npm", "ci")


def test_a_plan_s_own_variables_win():
    environment = launch_environment(PLAN)
    assert (environment["PORT"], environment["A"], environment["CI"]) == ("1", "b", "1")


def test_the_plan_for_a_person():
    assert plan_text(PLAN) == (
        "Detected    Next.js with pnpm\n"
        "Folder      apps/web\n"
        "Install     pnpm install --frozen-lockfile   (in .)\n"
        "Set up      pnpm 'db push'\n"
        "Start       pnpm run dev\n"
        "Port        3000\n"
        "Ready when  /\n"
        "Runtime     node >=20\n"
        "Needs       DATABASE_URL\n"
        "\n"
        "Why\n"
        "  pnpm   [pnpm-lock.yaml]\n"
        "  the dev script   [package.json:7]\n"
        "  port 3000"
    )


def test_the_plan_for_a_program():
    assert plan_json(PLAN) == {
        "previewable": True,
        "kind": "next",
        "root": "apps/web",
        "install_root": ".",
        "package_manager": "pnpm",
        "install": ["pnpm", "install", "--frozen-lockfile"],
        "setup": [["pnpm", "db push"]],
        "start": ["pnpm", "run", "dev"],
        "port": 3000,
        "health_path": "/",
        "runtime": {"node": ">=20"},
        "needs_env": ["DATABASE_URL"],
        "ambiguous": False,
        "reason": "pnpm (pnpm-lock.yaml); the dev script (package.json); port 3000",
    }


def test_no_plan_has_the_same_keys_and_says_why():
    answer = plan_json(NothingToPreview("Nothing here.", remedy="Add an app."))
    assert answer.keys() == plan_json(PLAN).keys()
    assert (answer["previewable"], answer["start"], answer["reason"]) == (False, None, "Nothing here. Add an app.")


def test_a_sandbox_is_named_by_numbers_only():
    assert sandbox_name(RepoId(1296269), 17) == "preview-1296269-17"
