"""The pages: repositories, pull requests, one pull request with its timeline; and two forms to try things by hand.

There is no login: whoever reaches this loopback server sees all and may speak as any of its users. What keeps other
sites out is a token in each form, which only a page of this server can read, and a check of the Origin.
"""

import hmac
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from litestar import MediaType, Response, get, post
from litestar.enums import RequestEncodingType
from litestar.params import Body
from litestar.response import Redirect, Template

from bot.forge import pulls
from bot.forge.access import role_of
from bot.forge.comments import add_comment
from bot.forge.errors import Forbidden, NotFound
from bot.forge.forge import Forge
from bot.forge.markdown import render
from bot.forge.payloads import check_run_event
from bot.forge.records import CheckRun, Issue, Repository, Role
from bot.forge.rest.call import AnyRequest
from bot.forge.shapes.pulls import pull_of

TEMPLATES = Path(__file__).parent / "templates"
SYMBOLS = {
    "+1": "👍",
    "-1": "👎",
    "laugh": "😄",
    "confused": "😕",
    "heart": "❤️",
    "hooray": "🎉",
    "rocket": "🚀",
    "eyes": "👀",
}
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src * data:; connect-src 'self'; form-action 'self'"
)
"""Nothing that a comment smuggles past the sanitiser would run."""

Form = Annotated[dict[str, str], Body(media_type=RequestEncodingType.URL_ENCODED)]


def provide_forge(request: AnyRequest) -> Forge:
    """The forge of a request."""
    forge: Forge = request.app.state["forge"]
    return forge


def _page(template: str, **context: Any) -> Template:
    return Template(template, context=context, headers={"Content-Security-Policy": POLICY, "Cache-Control": "no-store"})


def _find(forge: Forge, owner: str, repo: str, number: int) -> tuple[Repository, Issue]:
    repository = forge.state.repository_once(f"{owner}/{repo}")
    issue = forge.state.issue(repository.id, number) if repository else None
    if repository is None or issue is None or issue.pull is None:
        raise NotFound
    return repository, issue


@get("/")
async def show_repositories(forge: Forge) -> Template:
    """Every repository."""
    return _page("repositories.html", repositories=list(forge.state.repositories.values()))


@get(["/{owner:str}/{repo:str}", "/{owner:str}/{repo:str}/pulls"])
async def show_pulls(forge: Forge, owner: str, repo: str) -> Template:
    """A repository's pull requests, newest first."""
    repository = forge.state.repository_once(f"{owner}/{repo}")
    if repository is None:
        raise NotFound
    issues = [issue for issue in forge.state.issues_of(repository.id) if issue.pull][::-1]
    return _page("pulls.html", repository=repository, issues=issues, clone_url=f"{forge.urls.page(repository)}.git")


@get("/{owner:str}/{repo:str}/pull/{number:int}")
async def show_pull(forge: Forge, owner: str, repo: str, number: int) -> Template:
    """A pull request: its state, its timeline, its checks and deployments."""
    repository, issue = _find(forge, owner, repo, number)
    return _page(
        "pull.html",
        repository=repository,
        issue=issue,
        pull=issue.pull,
        body=render(issue.body or ""),
        comments=[_comment(forge, comment.id) for comment in forge.state.comments_on(issue)],
        checks=_checks(forge, repository, issue),
        deployments=_deployments(forge, repository, issue),
        speakers=_speakers(forge, repository),
        token=form_token(forge),
    )


def _comment(forge: Forge, comment_id: int) -> dict[str, Any]:
    comment = forge.state.comments[comment_id]
    contents = [reaction.content for reaction in forge.state.reactions_to(comment_id)]
    author = forge.state.user(comment.author)
    return {
        "row": comment,
        "bot": author is not None and author.type == "Bot",
        "html": render(comment.body),
        "reactions": [(SYMBOLS[content], contents.count(content)) for content in SYMBOLS if content in contents],
    }


def _checks(forge: Forge, repository: Repository, issue: Issue) -> list[dict[str, Any]]:
    runs: list[CheckRun] = forge.state.checks_of(repository.id, pull_of(issue).head_sha)
    latest = {(run.app_id, run.name): run for run in runs}
    return [{"run": run, "summary": render(run.summary or "")} for run in latest.values()]


def _deployments(forge: Forge, repository: Repository, issue: Issue) -> list[dict[str, Any]]:
    """The deployments of any commit of this branch: those whose ref or sha is the pull request's."""
    pull = pull_of(issue)
    names = {pull.head_sha, pull.head_ref, f"refs/pull/{issue.number}/head"}
    rows = [
        row for row in forge.state.deployments.values() if row.repo_id == repository.id and {row.sha, row.ref} & names
    ]
    shown = []
    for row in rows:
        statuses = forge.state.statuses_of(row.id)
        url = statuses[0].environment_url if statuses else ""
        safe = url if urlsplit(url).scheme in ("http", "https") else ""
        shown.append({"row": row, "status": statuses[0] if statuses else None, "url": safe})
    return shown


def _speakers(forge: Forge, repository: Repository) -> list[str]:
    people = [user.login for user in forge.state.users.values() if user.type == "User"]
    readers = [login for login in people if role_of(login, repository).covers(Role.READ)]
    return sorted(readers, key=lambda login: (login != repository.owner, login))


def form_token(forge: Forge) -> str:
    """What a form must carry: known to pages of this server only."""
    return hmac.new(forge.admin_token.encode(), b"form", "sha256").hexdigest()


def _check_form(forge: Forge, request: AnyRequest, data: dict[str, str]) -> None:
    origin = request.headers.get("origin")
    if origin not in (None, forge.urls.root) or not hmac.compare_digest(data.get("token", ""), form_token(forge)):
        raise Forbidden("This form was not sent from a page of this server.")


@post("/{owner:str}/{repo:str}/pull/{number:int}/comments")
async def write(forge: Forge, *, request: AnyRequest, owner: str, repo: str, number: int, data: Form) -> Redirect:
    """The form under the timeline: comment as a user, and perhaps close or reopen."""
    _check_form(forge, request, data)
    repository, issue = _find(forge, owner, repo, number)
    author, body = data.get("author", ""), data.get("body", "").replace("\r\n", "\n").strip()
    if author not in _speakers(forge, repository):
        raise Forbidden("No such user here.")
    if body:
        add_comment(forge, repository, issue, author, body)
    if data.get("action") == "close":
        pulls.close(forge, repository, issue, author)
    elif data.get("action") == "reopen" and not pull_of(issue).merged_at:
        await pulls.reopen(forge, repository, issue, author)
    return Redirect(forge.urls.issue_page(repository, issue), status_code=303)


@post("/{owner:str}/{repo:str}/pull/{number:int}/checks/{check_run_id:int}")
async def press(
    forge: Forge, *, request: AnyRequest, owner: str, repo: str, number: int, check_run_id: int, data: Form
) -> Redirect:
    """The buttons on a check run: *Re-run*, and those that its App put there."""
    _check_form(forge, request, data)
    repository, issue = _find(forge, owner, repo, number)
    run = forge.state.check_runs.get(check_run_id)
    if run is None or run.repo_id != repository.id:
        raise NotFound
    identifier, author = data.get("identifier"), repository.owner
    if identifier in [action.identifier for action in run.actions]:
        asked = {"identifier": identifier}
        event = check_run_event(forge.view, repository, run, "requested_action", author, requested_action=asked)
    else:
        event = check_run_event(forge.view, repository, run, "rerequested", author)
    forge.announce(event)
    return Redirect(forge.urls.issue_page(repository, issue), status_code=303)


@get("/_forge/assets/{name:str}")
async def show_asset(name: str) -> Response[bytes]:
    """The style sheet and the script."""
    types = {"forge.css": MediaType.CSS, "forge.js": "text/javascript"}
    if name not in types:
        raise NotFound
    return Response((TEMPLATES / name).read_bytes(), media_type=types[name])


ROUTES = [show_repositories, show_pulls, show_pull, write, press, show_asset]
