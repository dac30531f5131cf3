"""A plan's plain data: what a launch sets, and how its commands are spelled for people."""

import pytest

from bot.plan import LaunchPlan, launch_environment, spoken

PLAN = LaunchPlan(kind="vite", title="Vite", start=("npm", "run", "dev"), port=5173, env={"CI": "0", "A": "b"})


def test_a_launch_sets_the_port_and_the_plan_has_the_last_word() -> None:
    environment = launch_environment(PLAN)
    assert (environment["PORT"], environment["BROWSER"], environment["CI"], environment["A"]) == (
        "5173",
        "none",
        "0",
        "b",
    )


def test_a_port_that_two_servers_would_take_is_not_set() -> None:
    assert "PORT" not in launch_environment(PLAN.model_copy(update={"sets_port": False}))


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("npx", "--yes", "pnpm@9", "run", "dev"), "pnpm run dev"),
        (("npx", "--yes", "@yarnpkg/cli-dist@4.9.2", "install", "--immutable"), "yarn install --immutable"),
        (("npx", "--yes", "bun@1", "run", "dev"), "bun run dev"),
        (("uvx", "poetry", "install"), "poetry install"),
        (("uvx", "--with", "x<2", "pdm", "install"), "pdm install"),
        (("npx", "--no-install", "next", "dev"), "npx --no-install next dev"),
        (("npm", "ci"), "npm ci"),
        (("npx", "--yes"), "npx --yes"),
    ],
)
def test_a_command_reads_as_people_type_it(argv: tuple[str, ...], words: str) -> None:
    assert " ".join(spoken(argv)) == words


def test_a_plan_survives_its_own_json() -> None:
    assert LaunchPlan.model_validate_json(PLAN.model_dump_json()) == PLAN
