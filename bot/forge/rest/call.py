"""One REST call: who calls, what the body says, and how a list is cut into pages."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import urlencode

from litestar import Request, Response
from pydantic import BaseModel, ConfigDict, ValidationError

from bot.forge.access import Need, demand, role_of
from bot.forge.callers import Caller, identify
from bot.forge.errors import BadRequest, NotFound, Unauthorized, Unprocessable
from bot.forge.forge import Forge
from bot.forge.payloads import Event
from bot.forge.records import Issue, Repository, Role
from bot.forge.shapes import Json
from bot.forge.state import State, now
from bot.forge.view import View

ModelT = TypeVar("ModelT", bound=BaseModel)
RowT = TypeVar("RowT")
AnyRequest = Request[Any, Any, Any]
MAX_PER_PAGE = 100


class Input(BaseModel):
    """A request body. GitHub ignores fields that it does not know, and so does every subclass."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Call:
    """A call on its way through a route."""

    def __init__(self, forge: Forge, request: AnyRequest, caller: Caller) -> None:
        self.forge = forge
        self.request = request
        self.caller = caller

    @property
    def state(self) -> State:
        """The forge's memory."""
        return self.forge.state

    @property
    def view(self) -> View:
        """What shapes are drawn from."""
        return self.forge.view

    @property
    def login(self) -> str:
        """Who acts. Raises Unauthorized when that is nobody."""
        if self.caller.login is None:
            raise Unauthorized("Requires authentication")
        return self.caller.login

    @property
    def app_id(self) -> int | None:
        """The App that acts, if one does."""
        return self.caller.app.id if self.caller.app else None

    def role(self, repository: Repository) -> Role:
        """The caller's role in a repository; an installation acts like a writer where its permissions let it."""
        return Role.WRITE if self.caller.installation else role_of(self.caller.login, repository)

    def issue(self, repository: Repository, number: int) -> Issue:
        """An issue or pull request. Raises NotFound."""
        issue = self.state.issue(repository.id, number)
        if issue is None:
            raise NotFound
        return issue

    def announce(self, event: Event) -> None:
        """Tell the hooks."""
        self.forge.announce(event)

    async def body(self, model: type[ModelT]) -> ModelT:
        """The body as a value. Raises BadRequest for what is not JSON and Unprocessable for what is not acceptable."""
        raw = await self.request.body()
        try:
            return model.model_validate_json(raw or b"{}")
        except ValidationError as wrong:
            raise _refusal(model, wrong) from wrong

    def page(self, rows: Sequence[RowT], shape: Callable[[RowT], Json], *, wrap: str | None = None) -> Response[Any]:
        """One page of a list with its Link header; `wrap` names the field of an answer that also tells the total.

        https://docs.github.com/en/rest/using-the-rest-api/using-pagination-in-the-rest-api
        """
        size = min(self._number("per_page", 30), MAX_PER_PAGE)
        page, last = self._number("page", 1), max(-(-len(rows) // size), 1)
        items = [shape(row) for row in rows[(page - 1) * size : page * size]]
        links = {"prev": page - 1, "next": page + 1, "last": last, "first": 1}
        due = {name: at for name, at in links.items() if (at > page if name in ("next", "last") else page > 1)}
        shown = [f'<{self._at(at)}>; rel="{name}"' for name, at in due.items() if 1 <= at <= last]
        headers = {"Link": ", ".join(shown)} if shown else {}
        content = {"total_count": len(rows), wrap: items} if wrap else items
        return Response(content, headers=headers)

    def _number(self, name: str, default: int) -> int:
        text = self.request.query_params.get(name, "")
        return max(int(text), 1) if text.isdigit() else default

    def _at(self, page: int) -> str:
        query = {**dict(self.request.query_params.items()), "page": str(page)}
        return f"{self.forge.urls.root}{self.request.url.path}?{urlencode(query)}"


def provide_call(request: AnyRequest) -> Call:
    """The call of a request. Raises Unauthorized for credentials that are wrong."""
    forge: Forge = request.app.state["forge"]
    return Call(forge, request, identify(forge.state, request.headers.get("authorization"), now()))


def provide_repository(call: Call, request: AnyRequest, owner: str, repo: str) -> Repository:
    """The repository of the path, once the caller has been held against the route's need."""
    repository = call.state.repository(f"{owner}/{repo}")
    if repository is None or (call.caller.login is None and call.caller.app is not None):
        raise NotFound
    need: Need = request.route_handler.opt["need"]
    demand(call.state, call.caller, repository, need)
    return repository


def _refusal(model: type[BaseModel], wrong: ValidationError) -> BadRequest | Unprocessable:
    details = wrong.errors(include_url=False)
    if details[0]["type"] == "json_invalid":
        return BadRequest("Problems parsing JSON")
    resource = model.__name__.removesuffix("Input").removesuffix("Edit")
    codes = {"missing": "missing_field", "string_too_short": "missing_field"}
    errors = [
        {
            "resource": resource,
            "field": ".".join(map(str, detail["loc"])),
            "code": codes.get(detail["type"], "invalid"),
            "message": detail["msg"],
        }
        for detail in details
    ]
    return Unprocessable("Validation Failed", errors=errors)
