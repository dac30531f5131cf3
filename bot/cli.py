"""The `preview` command: one function per subcommand, each a few lines that call the owner of the work.

Exit codes: 0 all is well, 1 it failed, 2 the configuration is wrong (the message names what), 75 try again later.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NoReturn

import click

from bot.errors import NothingToPreview, OperatorFault, PreviewError, RepositoryFault, WorldFault

FAILED, MISCONFIGURED, TRY_AGAIN = 1, 2, 75
_PULL = click.argument("pull", metavar="OWNER/REPO#N")
_DATA = click.option(
    "--data", type=click.Path(path_type=Path), help="Where its state lives.  [default: in PREVIEW_DATA_DIR]"
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text for people.")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="branch-preview-bot")
def cli() -> None:
    """Push to a pull request; a comment on it holds a URL where that commit's dev server runs.

    \b
    Try it, with no account and nothing to set up:   preview demo
    Preview a repository on this machine:            preview up PATH
    Run the bot:                                     preview serve
    Is all here that it needs?                       preview doctor
    """


@cli.command()
@click.option("--repo", metavar="PATH|URL", help="Your repository instead of the sample app: a folder or a git URL.")
@click.option("--ref", help="The branch, tag or commit of it to preview.  [default: what is checked out]")
@click.option("--keep", is_flag=True, help="Leave everything running at the end, and say where, until Ctrl-C.")
@_JSON
def demo(repo: str | None, ref: str | None, *, keep: bool, as_json: bool) -> None:
    """Show the whole thing on this machine.

    Starts a small GitHub, a sandbox engine and the bot on free loopback ports in a throw-away folder; pushes a branch,
    opens a pull request, waits for the comment, pushes again, says `/preview stop`; and looks at each stage with an
    HTTP client of its own. Needs no account. Exit code 0 only if every stage was seen.
    """
    from bot.demo import run_demo

    _run(run_demo(repo, ref, keep=keep, as_json=as_json))


@cli.command()
@click.argument("source", metavar="PATH|URL")
@click.option("--ref", help="The branch, tag or commit to preview.  [default: what is checked out]")
@_JSON
def up(source: str, ref: str | None, *, as_json: bool) -> None:
    """Preview any repository on this machine, until Ctrl-C.

    SOURCE is a folder (a git repository or just files) or a git URL. It is cloned into a sandbox as a pull request's
    commit would be; your working tree is not touched, and changes that are not committed are not shown.
    """
    from bot.demo import run_up

    _run(run_up(source, ref, as_json=as_json))


@cli.command()
def serve() -> None:
    """Run the bot: receive GitHub's webhooks, launch previews, keep comments.

    Settings come from the environment and from `.env.local`; without them this says exactly what is missing. With
    PREVIEW_ENGINE=embedded (the default when there are no Vercel credentials) a sandbox engine runs beside it, and
    goes on running when the bot restarts, so that previews stay up.
    """
    from bot.settings import Settings
    from webhooks.serve import configure_logging, run

    settings = Settings.read()
    configure_logging(settings.log_level)
    run(settings)


@cli.command()
@_PULL
def down(pull: str) -> None:
    """Take a pull request's preview down, and leave it down until somebody comments `/preview`.

    The order is stored in the bot's database; a running bot carries it out within a second. Exit code 75: it is
    stored, but no running bot took it.
    """
    from bot.operator import take_down

    _run(take_down(pull, click.echo))


@cli.command(name="list")
@_JSON
def list_previews(*, as_json: bool) -> None:
    """List the previews in the bot's database: pull request, state, commit, URL."""
    from bot.operator import list_rows, show_table

    rows = _run(list_rows())
    click.echo(json.dumps(rows, indent=2)) if as_json else show_table(rows)


@cli.command()
@_PULL
def logs(pull: str) -> None:
    """Print what the preview's dev server printed, or the log of the failure."""
    from bot.operator import read_logs

    click.echo(_run(read_logs(pull)))


@cli.command()
@click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@_JSON
def plan(directory: Path, *, as_json: bool) -> None:
    """Say what would be installed and started in DIR, and which file decided it. Runs nothing."""
    from bot.checkout import detect_checkout
    from bot.plan_json import plan_json
    from bot.plan_text import plan_text

    try:
        found = detect_checkout(directory)
    except NothingToPreview as error:
        if as_json:
            click.echo(json.dumps(plan_json(error)))
            return
        raise
    click.echo(json.dumps(plan_json(found)) if as_json else plan_text(found))


@cli.command()
@_DATA
@click.option("--port", type=click.IntRange(0, 65535), default=8090, show_default=True, help="0: any free port.")
@click.option("--token", envvar="PREVIEW_ENGINE_TOKEN", help="The bearer token that clients must show.")
@click.option("--stop", is_flag=True, help="End the engine that `preview serve` left running, and its sandboxes.")
def engine(port: int, token: str | None, data: Path | None, *, stop: bool) -> None:
    """Run the sandbox engine alone: Vercel's Sandbox API at http://127.0.0.1:PORT/api.

    Any client of Vercel's sandboxes can use it: give the SDK this base URL and the token.
    """
    from bot.annexes import stop_embedded_engine
    from bot.settings import Settings

    folder = Settings.read().data_dir
    if stop:
        click.echo("ended" if stop_embedded_engine(folder) else "no engine was left running")
        return
    if not token:
        raise OperatorFault("--token (or PREVIEW_ENGINE_TOKEN) is missing: any long random text, shown by every client")
    from bot.engine.server import main as run_engine

    sys.exit(run_engine(["--port", str(port), "--token", token, "--data", str(data or folder / "engine")]))


@cli.command()
@_DATA
@click.option("--port", type=click.IntRange(0, 65535), default=8070, show_default=True, help="0: any free port.")
def forge(port: int, data: Path | None) -> None:
    """Run the small GitHub alone: REST at http://127.0.0.1:PORT/api/v3, git, webhooks, and pages to look at."""
    from bot.forge.server import main as run_forge
    from bot.settings import Settings

    sys.exit(run_forge(["--port", str(port), "--data", str(data or Settings.read().data_dir / "forge")]))


@cli.command()
def doctor() -> None:
    """Check this machine and the settings: git, Node, isolation, credentials, disk; say what to do about each."""
    from bot.doctor import examine

    sys.exit(0 if _run(examine(click.echo)) else FAILED)


def _run(work: Coroutine[Any, Any, Any]) -> Any:
    """Run to the end; SIGTERM and a closed terminal are as good as Ctrl-C, so that whatever was started is ended.

    A shell script's background job inherits an ignored SIGINT, and would not even end at SIGTERM then. What `nohup`
    ignores stays ignored.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))
    return asyncio.run(work)


def _exit_code(error: PreviewError) -> int:
    if isinstance(error, OperatorFault):
        return MISCONFIGURED
    return TRY_AGAIN if isinstance(error, WorldFault) else FAILED


def _explain(error: PreviewError) -> str:
    if isinstance(error, RepositoryFault):
        return "\n".join(part for part in (error.cause, error.remedy, error.log) if part)
    return str(error)


def _reach_loopback_directly() -> None:
    """A machine's HTTP proxy cannot reach what listens on this machine's own loopback. Children inherit it."""
    names = [name for variable in ("no_proxy", "NO_PROXY") for name in os.environ.get(variable, "").split(",") if name]
    bypassed = ",".join(dict.fromkeys([*names, "127.0.0.1", "localhost", "::1"]))
    os.environ |= {"no_proxy": bypassed, "NO_PROXY": bypassed}


def main(arguments: list[str] | None = None, *, show: Callable[[str], None] | None = None) -> NoReturn:
    """Run the command line; what the project raises on purpose becomes a message and an exit code."""
    say = show or (lambda text: click.echo(text, err=True))
    _reach_loopback_directly()
    try:
        cli.main(arguments, prog_name="preview", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(MISCONFIGURED)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except PreviewError as error:
        say(f"preview: {_explain(error)}")
        sys.exit(_exit_code(error))
    sys.exit(0)
