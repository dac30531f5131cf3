"""The page of a pull request: what it shows, and what it does not let through."""

import re

import pytest


async def test_it_shows_the_pull_request_and_its_timeline_in_order(shop, pull, ada, bob):
    await shop.comment(pull, "first", by=bob)
    edited = await shop.comment(pull, "draft")
    await shop.rest("PATCH", f"/issues/comments/{edited}", {"body": "second"})
    await shop.rest("POST", f"/issues/comments/{edited}/reactions", {"content": "rocket"}, by=bob)
    page = await shop.page(pull)
    assert "Say hello" in page
    assert '<span class="badge open">Open</span>' in page
    assert f"{ada.login}:feature" in page
    assert "It is <strong>polite</strong>." in page
    assert page.index("<p>first</p>") < page.index("<p>second</p>")
    assert page.count("· edited") == 1
    assert "🚀 1" in page


@pytest.mark.parametrize(("change", "badge"), [("close", "Closed"), ("merge", "Merged")])
async def test_it_shows_how_a_pull_request_ended(shop, pull, change, badge):
    await getattr(shop, change)(pull)
    assert f">{badge}</span>" in await shop.page(pull)


async def test_github_s_markdown_is_rendered(shop, pull):
    body = (
        "| a | b |\n|---|---|\n| ~~1~~ | `2` |\n\n"
        "<details><summary>Log</summary>\n\n```sh\nnpm <ci>\n```\n\n</details>\n\n"
        "http://shop.localhost:8000/ and ![logo](http://127.0.0.1/logo.png)"
    )
    await shop.comment(pull, body)
    page = await shop.page(pull)
    assert "<table>" in page
    assert "<s>1</s>" in page
    assert "<details><summary>Log</summary>" in page
    assert '<pre><code class="language-sh">npm &lt;ci&gt;\n</code></pre>' in page
    assert re.search(r'<a href="http://shop.localhost:8000/"[^>]*>http://shop.localhost:8000/</a>', page)
    assert '<img src="http://127.0.0.1/logo.png" alt="logo">' in page


HOSTILE = [
    "<script>alert(1)</script>",
    '<img src=x onerror="alert(1)">',
    "[x](javascript:alert(1))",
    '<a href="jAvAsCrIpT:alert(1)">x</a>',
    '<svg><script>alert(1)</script></svg><math href="javascript:alert(1)">',
    '<iframe src="http://evil.example/"></iframe><object data=x></object><embed src=x>',
    '<form action="http://evil.example/"><button>Log in</button></form>',
    "<style>body{display:none}</style><link rel=stylesheet href=//evil.example>",
    '<details open ontoggle="alert(1)"><summary>x</summary></details>',
    "![x](data:text/html;base64,PHNjcmlwdD4=)",
    "</div></article><script>alert(1)</script>",
    "<base href=http://evil.example/><meta http-equiv=refresh content=0>",
    "<!-- <script> --><scr<script>ipt>alert(1)</script>",
    "`</code><script>alert(1)</script>`",
]


LIVE = re.compile(r"<(script|style|link|iframe|object|embed|form|button|svg|math|base|meta)\b", re.IGNORECASE)
ACTIVE = re.compile(r"<[^>]*(\son\w+\s*=|javascript:|data:text)[^>]*>", re.IGNORECASE)


async def test_hostile_markdown_is_defused(shop, pull):
    before = await shop.page(pull)
    for text in HOSTILE:
        await shop.comment(pull, text)
        page = await shop.page(pull)
        assert len(LIVE.findall(page)) == len(LIVE.findall(before)), text
        assert page.count("</article>") == before.count("</article>") + 1, text
        assert not ACTIVE.search(page), text
        before = page


async def test_a_hostile_title_and_branch_are_escaped(shop):
    branch = "a&b<i>"
    await shop.push({"a": "1"}, branch=branch)
    number = await shop.open_pull(branch, title="<script>alert(1)</script>")
    page = await shop.page(number)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "a&amp;b&lt;i&gt;" in page


async def test_the_policy_lets_no_inline_script_run(forge, shop, pull):
    answer = await forge.http.get(f"/{shop.full_name}/pull/{pull}")
    policy = answer.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe-inline" not in policy
    assert not re.search(r"<script(?![^>]*\bsrc=)|\sstyle=", answer.text)


async def test_checks_and_deployments_are_shown(forge, ada, shop, pull):
    token = await forge.installation_token(await forge.install(await forge.app("shown", owner=ada), ada))
    sha = (await shop.pull(pull))["head"]["sha"]
    output = {"title": "Ready", "summary": "It **answers**."}
    await shop.rest(
        "POST", "/check-runs", {"name": "preview", "head_sha": sha, "conclusion": "success", "output": output}, by=token
    )
    made = await shop.rest("POST", "/deployments", {"ref": sha, "environment": "preview/1"}, by=token)
    status = {"state": "success", "environment_url": "http://shop.localhost/"}
    await shop.rest("POST", f"/deployments/{made['id']}/statuses", status, by=token)
    page = await shop.page(pull)
    assert "It <strong>answers</strong>." in page
    assert "preview/1" in page
    assert '<a href="http://shop.localhost/" rel="noopener noreferrer">View deployment</a>' in page


async def test_a_deployment_s_odd_url_is_no_link(shop, pull):
    sha = (await shop.pull(pull))["head"]["sha"]
    made = await shop.rest("POST", "/deployments", {"ref": sha})
    status = {"state": "success", "environment_url": "javascript:alert(1)"}
    await shop.rest("POST", f"/deployments/{made['id']}/statuses", status)
    assert "javascript:" not in await shop.page(pull)


async def test_repositories_and_their_pull_requests_are_listed(forge, shop, pull):
    assert f'href="/{shop.full_name}/pulls"' in (await forge.http.get("/")).text
    listed = (await forge.http.get(f"/{shop.full_name}/pulls")).text
    assert f'href="/{shop.full_name}/pull/{pull}">Say hello</a>' in listed


async def test_the_assets_are_served_and_nothing_beside_them(forge):
    assert (await forge.http.get("/_forge/assets/forge.css")).headers["content-type"].startswith("text/css")
    assert (await forge.http.get("/_forge/assets/forge.js")).headers["content-type"].startswith("text/javascript")
    for name in ("pull.html", "..%2Fpages.py", "%2e%2e%2fpages.py"):
        assert (await forge.http.get(f"/_forge/assets/{name}")).status_code == 404


async def test_the_page_of_a_renamed_repository_is_found_under_its_old_name(forge, shop, pull):
    old = shop.full_name
    await shop.rename("store")
    assert "Say hello" in (await forge.http.get(f"/{old}/pull/{pull}")).text


async def test_what_is_not_there_is_404(forge, shop):
    for path in (f"/{shop.full_name}/pull/99", "/no/such", "/no/such/pull/1"):
        assert (await forge.http.get(path)).status_code == 404


def token_of(page):
    return re.search(r'name="token" value="(\w+)"', page)[1]


async def test_the_form_speaks_as_a_user_and_closes(forge, shop, pull, ada, hook):
    await shop.rest("POST", "/hooks", {"config": {"url": hook.url}, "events": ["issue_comment", "pull_request"]})
    form = {
        "token": token_of(await shop.page(pull)),
        "author": ada.login,
        "body": "/preview stop\r\nnow",
        "action": "close",
    }
    answer = await forge.http.post(f"/{shop.full_name}/pull/{pull}/comments", data=form)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{forge.url}/{shop.full_name}/pull/{pull}")
    comment, _ = await hook.expect("issue_comment.created", "pull_request.closed")
    assert comment.payload["comment"]["body"] == "/preview stop\nnow"
    assert comment.payload["sender"]["login"] == ada.login


@pytest.mark.parametrize("spoil", [{"token": "guessed"}, {"token": ""}, {"author": "nobody-here"}])
async def test_a_form_from_elsewhere_is_refused(forge, shop, pull, ada, spoil):
    form = {"token": token_of(await shop.page(pull)), "author": ada.login, "body": "hi"} | spoil
    answer = await forge.http.post(f"/{shop.full_name}/pull/{pull}/comments", data=form)
    assert answer.status_code == 403
    assert await shop.comments(pull) == []


async def test_a_form_sent_by_another_origin_is_refused(forge, shop, pull, ada):
    form = {"token": token_of(await shop.page(pull)), "author": ada.login, "body": "hi"}
    url, headers = f"/{shop.full_name}/pull/{pull}/comments", {"Origin": "http://evil.example"}
    assert (await forge.http.post(url, data=form, headers=headers)).status_code == 403


async def test_the_buttons_of_a_check_run_are_pressed_on_the_page(forge, ada, shop, pull, hook):
    app = await forge.app("pressed", owner=ada, webhook_url=hook.url)
    token = await forge.installation_token(await forge.install(app, ada))
    sha = (await shop.pull(pull))["head"]["sha"]
    button = {"label": "Stop", "description": "Take it down", "identifier": "stop"}
    run = await shop.rest("POST", "/check-runs", {"name": "preview", "head_sha": sha, "actions": [button]}, by=token)
    page = await shop.page(pull)
    assert '<button name="identifier" value="stop" title="Take it down">Stop</button>' in page
    url = f"/{shop.full_name}/pull/{pull}/checks/{run['id']}"
    for more in ({"identifier": "stop"}, {}):
        assert (await forge.http.post(url, data={"token": token_of(page)} | more)).status_code == 303
    pressed, _ = await hook.expect("check_run.requested_action", "check_run.rerequested")
    assert pressed.payload["requested_action"] == {"identifier": "stop"}
