"""The house keeps its rules; and each rule is shown to notice who breaks it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bot.preview import NEXT
from tests.architecture import (
    LONGEST,
    Module,
    asks_where_it_runs,
    circles,
    diagram_of,
    impurities,
    intruders,
    machine_paths,
    modules,
    too_long,
    wrong_directions,
)

TOP = Path(__file__).parents[1]
FILES = ("bot", "webhooks", "tests", "pyproject.toml", "Dockerfile", "README.md", ".ci")


@pytest.fixture(scope="module")
def house() -> list[Module]:
    return modules(TOP, "bot", "webhooks")


def test_packages_import_in_one_direction(house):
    assert wrong_directions(house) == []


def test_pure_rooms_stay_pure(house):
    assert impurities(house) == []


def test_every_outside_thing_has_one_owner(house):
    assert intruders(house) == []


def test_no_imports_go_in_circles(house):
    assert circles(house) == []


def test_files_stay_short(house):
    assert too_long(house) == []


def test_no_condition_asks_whether_this_is_a_laptop(house):
    assert asks_where_it_runs(house) == []


def test_no_file_knows_the_machine_it_was_written_on():
    assert machine_paths(TOP, *FILES) == []


def test_the_readme_s_diagram_is_the_table_of_phases():
    table = {(str(phase), str(after)) for phase, follow in NEXT.items() for after in follow}
    assert diagram_of((TOP / "README.md").read_text()) == table


Rule = Callable[[list[Module]], list[str]]


@pytest.mark.parametrize(
    ("rule", "name", "text", "complaint"),
    [
        (wrong_directions, "bot.report", "import webhooks.app", "bot.report:1 imports webhooks.app"),
        (wrong_directions, "bot.cli", "from webhooks import app", "bot.cli:1 imports webhooks"),
        (wrong_directions, "bot.steps", "def f():\n import webhooks", "bot.steps:2 imports webhooks"),
        (wrong_directions, "bot.engine.api", "from bot import errors", "bot.engine.api:1 imports bot"),
        (wrong_directions, "bot.engine.api", "import bot.forge.app", "bot.engine.api:1 imports bot.forge.app"),
        (wrong_directions, "bot.stage", "from bot import engine", "bot.stage:1 imports bot"),
        (wrong_directions, "webhooks.app", "import bot.forge", "webhooks.app:1 imports bot.forge"),
        (impurities, "bot.policy", "import os.path", "bot.policy:1 imports os.path"),
        (impurities, "bot.policy", "import httpx", "bot.policy:1 imports httpx"),
        (impurities, "bot.policy", "from bot.store import now", "bot.policy:1 imports bot.store"),
        (impurities, "bot.policy", "from bot import store", "bot.policy:1 imports bot"),
        (impurities, "bot.policy", "import markdown_it", "bot.policy:1 imports markdown_it"),
        (impurities, "bot.policy", "def f():\n import time", "bot.policy:2 imports time"),
        (impurities, "bot.buildpacks.go", "path.read_text()", "bot.buildpacks.go:1 calls read_text"),
        (impurities, "bot.comments", "datetime.now(UTC)", "bot.comments:1 calls now"),
        (intruders, "bot.steps", "from vercel.sandbox import Sandbox", "bot.steps:1 imports vercel"),
        (intruders, "bot.intake", "def f():\n import github", "bot.intake:2 imports github"),
        (intruders, "webhooks.app", "import sqlalchemy as sa", "webhooks.app:1 imports sqlalchemy"),
        (too_long, "bot.long", "\n" * (LONGEST + 1), f"bot.long has {LONGEST + 1} lines"),
        (asks_where_it_runs, "bot.steps", "if settings.is_local: pass", "bot.steps:1 asks for local"),
        (asks_where_it_runs, "webhooks.app", "x = 1 if demo else 2", "webhooks.app:1 asks for demo"),
        (asks_where_it_runs, "bot.x", "[a for a in b if host == 'localhost']", "bot.x:1 asks for localhost"),
    ],
)
def test_a_broken_rule_is_noticed(rule: Rule, name: str, text: str, complaint: str):
    assert complaint in rule([Module(name, text)])


@pytest.mark.parametrize(
    ("rule", "name", "text"),
    [
        (wrong_directions, "bot.cli", "def f():\n from webhooks import serve"),
        (wrong_directions, "bot.doctor", "from bot.engine import isolation"),
        (wrong_directions, "bot.forge.app", "from bot.forge.git import Git"),
        (wrong_directions, "webhooks.app", "from bot import workflow"),
        (impurities, "bot.steps", "import os"),
        (impurities, "bot.commands", "import markdown_it"),
        (impurities, "bot.policy", "import re\nfrom bot import preview"),
        (asks_where_it_runs, "bot.x", "if folder.has('.env.local'): pass"),
        (intruders, "bot.engine.server", "import litestar"),
        (intruders, "bot.github", "from github import Auth"),
    ],
)
def test_who_keeps_the_rules_is_left_alone(rule: Rule, name: str, text: str):
    assert rule([Module(name, text)]) == []


def test_a_circle_is_noticed_unless_it_closes_inside_a_function():
    first = Module("bot.a", "from bot import b")
    assert circles([first, Module("bot.b", "import bot.a")]) == ["bot.a needs bot.b", "bot.b needs bot.a"]
    assert circles([first, Module("bot.b", "def f():\n import bot.a")]) == []


def test_a_path_of_the_machine_is_noticed(tmp_path):
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / "good.txt").write_text("https://example.com/work/1 and network/root/2")
    (tmp_path / "bot" / "bad.txt").write_text("see /" + "work/main")
    (tmp_path / "README.md").write_text("as in ../" + "shared/design.md")
    assert machine_paths(tmp_path, "bot", "README.md") == ["README.md", "bot/bad.txt"]


def test_arrows_are_read_from_the_state_diagram_alone():
    text = "a --> x\n```mermaid\nstateDiagram-v2\n    [*] --> a\n    a --> b: soon\n    b --> [*]\n```\nb --> y\n"
    assert diagram_of(text) == {("a", "b")}
