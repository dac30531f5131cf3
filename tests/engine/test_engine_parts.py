"""Parts of the engine that decide without touching the world."""

import pytest

from bot.engine.errors import ApiError
from bot.engine.isolation import broken_promises
from bot.engine.listing import cut_page
from bot.engine.rootfs import environment
from bot.engine.seccomp import UnknownMachine, build_filter
from bot.engine.sources import git_environment, repository_name
from bot.engine.wire import CreateBody, GitSource


def test_pages_go_on_where_the_last_one_ended_though_items_come_and_go() -> None:
    items = list(range(10))
    first = cut_page(items, lambda n: (n, str(n)), descending=True, limit=3, cursor=None)
    assert list(first.items) == [9, 8, 7]
    items.remove(7)
    items.append(11)
    second = cut_page(items, lambda n: (n, str(n)), descending=True, limit=3, cursor=first.following)
    assert list(second.items) == [6, 5, 4]


def test_the_last_page_has_no_following_one() -> None:
    assert cut_page([1], lambda n: (n, ""), descending=False, limit=1, cursor=None).following is None


@pytest.mark.parametrize("cursor", ["", "garbage", "bnVsbA==", "eyJhIjoxfQ=="])
def test_a_cursor_that_is_not_ours_is_refused(cursor: str) -> None:
    with pytest.raises(ApiError):
        cut_page([1], lambda n: (n, ""), descending=False, limit=1, cursor=cursor)


def test_a_machine_without_a_table_is_refused() -> None:
    with pytest.raises(UnknownMachine):
        build_filter("riscv64")


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_no_jump_of_the_filter_leaves_it(machine: str) -> None:
    program = build_filter(machine)
    count = len(program) // 8
    for place in range(count):
        code, when_true, when_false = program[place * 8], program[place * 8 + 2], program[place * 8 + 3]
        if code & 0x07 == 0x05:
            assert place + 1 + max(when_true, when_false) < count
    assert count < 4096


def test_git_knows_nothing_of_the_host_and_a_password_only_in_its_environment() -> None:
    source = GitSource(type="git", url="https://github.com/o/r.git", username="u", password="secret")
    known = git_environment(source)
    assert known["GIT_CONFIG_NOSYSTEM"] == "1"
    assert known["GIT_CONFIG_GLOBAL"] == "/dev/null"
    assert "protocol.file.allow" not in known.values()
    assert "Authorization: Basic dTpzZWNyZXQ=" in known.values()
    assert "secret" not in repr(source)


def test_credentials_in_a_url_become_credentials() -> None:
    source = GitSource.model_validate({"type": "git", "url": "https://u:secret@host:8443/o/r.git"})
    assert (source.url, source.username) == ("https://host:8443/o/r.git", "u")
    assert source.password.get_secret_value() == "secret"


@pytest.mark.parametrize(
    ("url", "name"),
    [("https://github.com/o/r.git", "r"), ("https://host/o/r/", "r"), ("file:///srv/git/app", "app")],
)
def test_a_repository_is_called_as_its_url_ends(url: str, name: str) -> None:
    assert repository_name(url) == name


def test_of_the_operator_s_environment_only_visible_certificates_pass() -> None:
    outside = {
        "SSL_CERT_FILE": "/home/operator/ca.pem",
        "SSL_CERT_DIR": "/etc/ssl/certs",
        "GITHUB_TOKEN": "secret",
        "PATH": "/home/operator/bin",
    }
    inside = environment(outside, with_node=False)
    assert "operator" not in "".join(inside.values())
    assert "secret" not in inside.values()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("uid", 0),
        ("capabilities", 1),
        ("no_new_privileges", False),
        ("filtered", False),
        ("core_pattern_writable", True),
        ("host_reachable", True),
        ("init_environment", "TOKEN=x"),
        ("environment", ["TOKEN"]),
    ],
)
def test_each_promise_of_isolation_is_checked(field: str, value: object) -> None:
    good = {
        "uid": 1000,
        "host_uid": 0,
        "capabilities": 0,
        "no_new_privileges": True,
        "filtered": True,
        "core_pattern_writable": False,
        "host_reachable": False,
        "init_environment": "",
        "environment": [],
    }
    assert broken_promises(good) == []
    assert len(broken_promises({**good, field: value})) == 1


@pytest.mark.parametrize(
    "body",
    [
        {"name": "../../etc"},
        {"name": "a/b"},
        {"name": "drives"},
        {"ports": [0]},
        {"ports": list(range(1, 17))},
        {"timeout": 5},
        {"env": {"A=B": "c"}},
        {"env": {"A": "nul\0"}},
        {"source": {"type": "carrier pigeon"}},
    ],
)
def test_what_makes_no_sense_is_refused_at_the_door(body: dict) -> None:
    with pytest.raises(ValueError, match="1 validation error"):
        CreateBody.model_validate(body)


def test_fields_of_other_versions_are_ignored() -> None:
    assert CreateBody.model_validate({"__experimental": 1, "image": "x", "name": "ok"}).name == "ok"
