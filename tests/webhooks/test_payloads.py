"""What GitHub's payloads mean: all recorded examples, and the shapes that they lack."""

import json
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.events import (
    Change,
    CheckRequested,
    CommentCreated,
    Event,
    Ignored,
    InstallationChanged,
    Origin,
    PullRequestChanged,
    RepositoryChanged,
)
from bot.preview import CommitSha
from webhooks.payloads import decode
from webhooks.refusals import PayloadInvalid

EXAMPLES = sorted(Path(__file__).parent.joinpath("examples").glob("*.json"))
SHA = CommitSha("0123456789abcdef0123456789abcdef01234567")

ACTED_ON = {
    "pull_request": "opened synchronize reopened closed converted_to_draft ready_for_review labeled unlabeled locked "
    "unlocked",
    "check_run": "rerequested requested_action",
    "check_suite": "rerequested",
    "repository": "renamed transferred deleted archived unarchived privatized publicized",
    "installation": "created deleted suspend unsuspend new_permissions_accepted",
    "installation_repositories": "added removed",
    "installation_target": "renamed",
}
"""By event, the actions among the examples that mean something: their comments are all on plain issues."""


def say(event: str, payload: Any) -> Event:
    return decode(event, json.dumps(payload).encode())


def expected(event: str, payload: dict[str, Any]) -> Event | None:
    """What a payload should mean, worked out from the plain JSON; None when it should be ignored."""
    action = payload.get("action", "")
    if action not in ACTED_ON.get(event, "").split():
        return None
    repository = payload.get("repository") or {"id": 0, "full_name": ""}
    installation = (payload.get("installation") or {"id": None})["id"]
    origin = Origin(repository["id"], repository["full_name"], installation)
    sender = payload["sender"]["login"]
    match event:
        case "pull_request":
            sha = CommitSha(payload["pull_request"]["head"]["sha"])
            return PullRequestChanged(origin, payload["pull_request"]["number"], Change(action), sha)
        case "check_run":
            run = payload["check_run"]
            pressed = payload["requested_action"]["identifier"] if action == "requested_action" else action
            return CheckRequested(origin, run["id"], run["head_sha"], pressed, sender)
        case "check_suite":
            return CheckRequested(origin, None, payload["check_suite"]["head_sha"], action, sender)
        case "repository":
            return RepositoryChanged(origin, action)
        case "installation" if action == "created":
            added = tuple(repo["id"] for repo in payload["repositories"])
            return InstallationChanged(installation, action, added=added)
        case "installation_repositories":
            added = tuple(repo["id"] for repo in payload["repositories_added"])
            removed = tuple(repo["id"] for repo in payload["repositories_removed"])
            return InstallationChanged(installation, action, added, removed)
        case _:
            return InstallationChanged(installation, action)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_recorded_payload_means_what_its_json_says(path: Path) -> None:
    event = path.name.partition(".")[0]
    meaning = decode(event, path.read_bytes())
    wanted = expected(event, json.loads(path.read_bytes()))
    if wanted is None:
        assert isinstance(meaning, Ignored)
        assert meaning.reason.startswith(event)
    else:
        assert meaning == wanted


def test_the_recorded_payloads_are_not_all_ignored() -> None:
    kinds = Counter(type(decode(path.name.partition(".")[0], path.read_bytes())) for path in EXAMPLES)
    assert kinds == {
        PullRequestChanged: 23,
        CheckRequested: 5,
        RepositoryChanged: 9,
        InstallationChanged: 10,
        Ignored: 102,
    }


def test_a_push_to_a_fork_names_the_base_repository_and_the_new_head(example: Any) -> None:
    payload = example("pull_request.synchronize")
    payload["pull_request"]["head"].update(sha=SHA, repo={"id": 99, "full_name": "stranger/Hello-World", "fork": True})
    assert say("pull_request", payload) == PullRequestChanged(
        Origin(payload["repository"]["id"], payload["repository"]["full_name"], payload["installation"]["id"]),
        payload["number"],
        Change.SYNCHRONIZE,
        SHA,
    )


@pytest.mark.parametrize("action", ["closed", "reopened", "synchronize", "labeled"])
def test_a_deleted_fork_with_a_deleted_author_still_counts(example: Any, action: str) -> None:
    payload = example("pull_request.closed") | {"action": action}
    payload["pull_request"]["head"] |= {"repo": None, "user": None, "label": "unknown repository"}
    payload["pull_request"]["user"] = None
    event = say("pull_request", payload)
    assert isinstance(event, PullRequestChanged)
    assert event.change == action


def test_another_base_branch_is_a_retarget(example: Any) -> None:
    changes = {"base": {"ref": {"from": "parent"}, "sha": {"from": SHA}}}
    event = say("pull_request", example("pull_request.opened") | {"action": "edited", "changes": changes})
    assert isinstance(event, PullRequestChanged)
    assert event.change is Change.RETARGETED


@pytest.mark.parametrize("changes", [{"title": {"from": "a"}}, {"body": {"from": None}}, {"base": None}, {}, None])
def test_an_edited_title_or_text_is_ignored(example: Any, changes: Any) -> None:
    event = say("pull_request", example("pull_request.opened") | {"action": "edited", "changes": changes})
    assert event == Ignored("pull_request edited: the base branch is the same")


def on_pull_request(payload: dict[str, Any], body: str = "/preview") -> dict[str, Any]:
    payload["issue"]["pull_request"] = {"url": "https://api.github.com/repos/Codertocat/Hello-World/pulls/1"}
    payload["comment"]["body"] = body
    return payload


def test_a_comment_on_a_pull_request_is_handed_on_word_for_word(example: Any) -> None:
    text = "> hm\r\n\r\n/preview \U0001f680 \u2028 \\/ é"
    payload = on_pull_request(example("issue_comment.created"), text)
    assert say("issue_comment", payload) == CommentCreated(
        Origin(payload["repository"]["id"], payload["repository"]["full_name"], None),
        payload["issue"]["number"],
        payload["comment"]["id"],
        author="Codertocat",
        author_is_bot=False,
        body=text,
    )


@pytest.mark.parametrize("who", [("comment", "user"), ("sender",)])
def test_a_comment_by_a_bot_is_marked_as_such(example: Any, who: tuple[str, ...]) -> None:
    payload = on_pull_request(example("issue_comment.created"))
    account = payload
    for key in who:
        account = account[key]
    account["type"] = "Bot"
    event = say("issue_comment", payload)
    assert isinstance(event, CommentCreated)
    assert event.author_is_bot


def test_a_comment_by_a_deleted_account_belongs_to_ghost(example: Any) -> None:
    payload = on_pull_request(example("issue_comment.created"))
    payload["comment"]["user"] = None
    event = say("issue_comment", payload)
    assert isinstance(event, CommentCreated)
    assert (event.author, event.author_is_bot) == ("ghost", False)


@pytest.mark.parametrize("action", ["edited", "deleted"])
def test_an_edited_or_deleted_comment_never_commands(example: Any, action: str) -> None:
    payload = on_pull_request(example("issue_comment.created")) | {"action": action}
    assert say("issue_comment", payload) == Ignored(f"issue_comment {action}: nothing to do")


def test_a_command_on_a_plain_issue_is_ignored(example: Any) -> None:
    payload = example("issue_comment.created")
    payload["comment"]["body"] = "/preview"
    assert say("issue_comment", payload) == Ignored("issue_comment: on an issue, not on a pull request")


@pytest.mark.parametrize("action", ["deleted", "archived", "unarchived"])
def test_a_repository_that_goes_away_or_comes_back_is_told(example: Any, action: str) -> None:
    payload = example("repository.created") | {"action": action}
    event = say("repository", payload)
    assert isinstance(event, RepositoryChanged)
    assert (event.origin.repo_id, event.action) == (payload["repository"]["id"], action)


def test_a_renamed_account_changes_its_installation() -> None:
    payload = {
        "action": "renamed",
        "account": {"login": "new-name", "id": 5},
        "changes": {"login": {"from": "old-name"}},
        "installation": {"id": 77, "node_id": "x"},
        "target_type": "Organization",
    }
    assert say("installation_target", payload) == InstallationChanged(77, "renamed")


@pytest.mark.parametrize("when", [1591113599, "2020-06-02T15:59:59Z"])
def test_an_installation_may_be_dated_in_either_way(example: Any, when: int | str) -> None:
    payload = example("installation.suspend")
    payload["installation"] |= {"created_at": when, "updated_at": when, "suspended_at": when}
    assert say("installation", payload) == InstallationChanged(payload["installation"]["id"], "suspend")


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("pull_request", {"action": "enqueued", "number": "one"}),
        ("pull_request", {"action": 7}),
        ("pull_request", {}),
        ("issue_comment", {"action": "pinned", "issue": None}),
        ("sub_issues", {"action": ["parent"], "installation": "?"}),
        ("never_heard_of", {}),
    ],
)
def test_what_is_new_is_ignored_whatever_it_looks_like(event: str, payload: Any) -> None:
    assert isinstance(say(event, payload), Ignored)


@pytest.mark.parametrize(
    "damage",
    [
        {"pull_request": None},
        {"repository": None},
        {"number": 0},
        {"pull_request": {"head": {"sha": "main; rm -rf"}}},
        {"pull_request": {"head": {"sha": SHA + "\n"}}},
        {"pull_request": {"head": {"sha": SHA.upper()}}},
        {"repository": {"id": 1, "full_name": "owner/../../etc"}},
        {"repository": {"id": 1, "full_name": "$(id)/x"}},
        {"repository": {"id": -1, "full_name": "owner/name"}},
    ],
    ids=str,
)
def test_an_event_of_ours_without_what_it_needs_is_invalid(example: Any, damage: dict[str, Any]) -> None:
    payload = example("pull_request.opened") | damage
    with pytest.raises(PayloadInvalid, match=r"^pull_request opened: "):
        say("pull_request", payload)


def test_a_pressed_button_without_a_name_is_invalid(example: Any) -> None:
    with pytest.raises(PayloadInvalid, match="button"):
        say("check_run", example("check_run.requested_action") | {"requested_action": None})


@pytest.mark.parametrize("field", ["pull_request", "repository", "number", "installation"])
@pytest.mark.parametrize("shape", ["TOP-SECRET", ["TOP-SECRET"], {"TOP-SECRET": 1}, {"id": "TOP-SECRET"}], ids=str)
def test_a_refusal_never_repeats_what_the_payload_says(example: Any, field: str, shape: Any) -> None:
    with pytest.raises(PayloadInvalid) as invalid:
        say("pull_request", example("pull_request.opened") | {field: shape})
    assert "SECRET" not in invalid.value.reason


@pytest.mark.parametrize("event", ["pull_request", "ping"])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b'"text"',
        b"{",
        b"{} {}",
        b'{"a":1,}',
        b"\xef\xbb\xbf{}",
        b"payload=%7B%7D",
        b'{"number":"x","a":' * 50_000,
        b'{"number":"x"',
    ],
    ids=lambda body: repr(body[:20]),
)
def test_what_is_not_a_json_object_is_invalid(event: str, body: bytes) -> None:
    with pytest.raises(PayloadInvalid, match="the body is"):
        decode(event, body)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(
    name=st.sampled_from([path.stem for path in EXAMPLES if path.stem.split(".")[0] in [*ACTED_ON, "issue_comment"]]),
    data=st.data(),
)
def test_any_damage_ends_in_an_event_or_one_refusal(name: str, data: st.DataObject) -> None:
    payload = json.loads(Path(__file__).parent.joinpath("examples", f"{name}.json").read_bytes())
    parent = payload
    while True:
        key = data.draw(st.sampled_from(sorted(parent)))
        if not isinstance(parent[key], dict) or not parent[key] or data.draw(st.booleans()):
            break
        parent = parent[key]
    parent[key] = data.draw(JSON)
    with suppress(PayloadInvalid):
        assert isinstance(say(name.partition(".")[0], payload), Event)
