"""What a script of a package.json comes to, whoever wraps it."""

import pytest

from bot.buildpacks.ports import of_code, of_command, of_config
from bot.buildpacks.scripts import Command, unfold


def words(line: str, **others: str) -> list[str]:
    return [" ".join(command.words) for command in unfold({"dev": line, **others}, "dev")]


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("vite", ["vite"]),
        ("NODE_ENV=development vite --open", ["vite --open"]),
        ("cross-env A=1 B=2 next dev", ["next dev"]),
        ("dotenv -e ../.env -- next dev", ["next dev"]),
        ("dotenv next dev --turbo", ["next dev --turbo"]),
        ("npx --yes vite", ["vite"]),
        ("pnpm exec vite", ["vite"]),
        ("rm -rf dist && vite", ["rm -rf dist", "vite"]),
        ('concurrently "vite" "node api.js"', ["vite", "node api.js"]),
        ("nodemon --exec 'ts-node src/a.ts'", ["ts-node src/a.ts"]),
        ("vite 'unclosed", ["vite 'unclosed"]),
    ],
)
def test_wrappers_are_taken_off(line: str, commands: list[str]) -> None:
    assert words(line) == commands


@pytest.mark.parametrize(
    "line", ["npm run web", "yarn web", "pnpm run web", "bun run web", "node --run web", "run-p web", "npm-run-all w*"]
)
def test_other_scripts_are_followed(line: str) -> None:
    assert words(line, web="vite --port 1") == ["vite --port 1"]


def test_words_behind_a_scripts_name_are_handed_on() -> None:
    assert words("pnpm with-env next dev", **{"with-env": "dotenv -e ../../.env --"}) == ["next dev"]


def test_a_script_that_calls_itself_ends() -> None:
    assert words("npm run dev") == []


@pytest.mark.parametrize(
    ("line", "package"),
    [
        ("turbo dev", "*"),
        ("turbo watch dev -F @acme/web...", "@acme/web"),
        ("pnpm --filter web dev", "web"),
        ("yarn workspace web dev", "web"),
        ("npm run dev --workspace=web", "web"),
        ("npm --prefix client start", "client"),
        ("nx serve shop", "shop"),
        ("pnpm -r dev", "*"),
        ("vite", None),
    ],
)
def test_a_command_for_another_package_is_recognised(line: str, package: str | None) -> None:
    assert Command(tuple(line.split())).delegated == package


@pytest.mark.parametrize(
    ("line", "port"),
    [
        ("vite --port 3333", 3333),
        ("vite --port=3333 --open", 3333),
        ("next dev -p 4000", 4000),
        ("next dev -p4000", 4000),
        ("serve -l tcp://0.0.0.0:5555", 5555),
        ("vite --port 99999", None),
        ("vite --port", None),
    ],
)
def test_a_port_flag_is_read(line: str, port: int | None) -> None:
    assert of_command(Command(tuple(line.split()))) == port


@pytest.mark.parametrize(
    ("code", "port"),
    [
        ("app.listen(process.env.PORT || 3001)", 3001),
        ("app.listen(4000, () => {})", 4000),
        ("const port = parseInt(process.env.PORT ?? '8081', 10)", 8081),
        ("PORT: Joi.number().default(3005)", 3005),
        ("serve({ fetch: app.fetch, port: 8787 })", 8787),
        ("app.listen(config.port)", None),
    ],
)
def test_a_port_in_code_is_found(code: str, port: int | None) -> None:
    assert of_code({"app.js": code}) == (port and (port, "app.js"))


def test_a_port_outside_the_servers_block_is_not_taken() -> None:
    text = "export default { preview: { port: 1111 }, server: { proxy: { '/a': { target: 'http://x:2222' } } } }"
    assert of_config(text, "server") == (None, None)
