"""GitHub Apps: JWTs, installations, tokens and what they may do; PyGithub as the App's library."""

import time

import jwt
import pytest
from github import Auth, GithubException, GithubIntegration


@pytest.fixture
async def app(forge, ada):
    return await forge.app(f"previews of {ada.login}", owner=ada)


@pytest.fixture
async def installation(forge, app, ada, shop):
    return await forge.install(app, ada)


@pytest.fixture
def as_app(forge):
    opened = []

    def connect(app, issuer=None):
        opened.append(GithubIntegration(auth=Auth.AppAuth(issuer or app.id, app.pem), base_url=forge.api))
        return opened[-1]

    yield connect
    for client in opened:
        client.close()


def signed(app, **claims):
    moment = int(time.time())
    return jwt.encode({"iat": moment - 60, "exp": moment + 300, "iss": str(app.id)} | claims, app.pem, "RS256")


@pytest.mark.parametrize("issuer", ["id", "client_id"])
async def test_an_app_knows_itself_by_id_or_client_id(as_app, app, issuer):
    told = as_app(app, getattr(app, issuer)).get_app()
    assert (told.slug, told.permissions["checks"], "pull_request" in told.events) == (app.slug, "write", True)


async def test_an_app_finds_its_installations(as_app, app, installation, shop, ada):
    integration = as_app(app)
    assert [row.id for row in integration.get_installations()] == [installation]
    assert integration.get_repo_installation(ada.login, "shop").id == installation
    assert [repo.id for repo in integration.get_app_installation(installation).get_repos()] == [shop.id]


@pytest.mark.parametrize(
    ("claims", "complaint"),
    [
        ({"exp": 1_000_000_000}, "numeric value in the future"),
        ({"exp": int(time.time()) + 7200}, "too far in the future"),
        ({"iat": int(time.time()) + 3600, "exp": int(time.time()) + 3900}, "could not be decoded"),
        ({"iss": "999"}, "Integration not found"),
    ],
)
async def test_a_jwt_with_wrong_claims_is_refused(forge, app, claims, complaint):
    answer = await forge.http.get("/api/v3/app", headers={"Authorization": f"Bearer {signed(app, **claims)}"})
    assert answer.status_code == 401
    assert complaint in answer.json()["message"]


async def test_a_jwt_signed_with_another_key_is_refused(forge, app, ada):
    other = await forge.app("other", owner=ada)
    forged = jwt.encode({"iat": 0, "exp": int(time.time()) + 60, "iss": str(app.id)}, other.pem, "RS256")
    answer = await forge.http.get("/api/v3/app", headers={"Authorization": f"Bearer {forged}"})
    assert answer.status_code == 401


async def test_an_installation_comments_as_the_app_s_bot(as_app, app, installation, shop, pull):
    token = as_app(app).get_access_token(installation).token
    made = await shop.rest("POST", f"/issues/{pull}/comments", {"body": "hi"}, by=token)
    assert (made["user"]["login"], made["user"]["type"]) == (app.login, "Bot")
    assert made["performed_via_github_app"]["id"] == app.id


async def test_a_down_scoped_token_does_no_more_than_it_was_asked_for(as_user, forge, installation, shop, pull):
    token = await forge.installation_token(installation, permissions={"contents": "read"})
    repo = as_user(token).get_repo(shop.full_name)
    assert repo.get_contents("README.md").decoded_content == b"# Shop\n"
    with pytest.raises(GithubException) as refused:
        repo.get_pull(pull).create_issue_comment("hi")
    assert (refused.value.status, refused.value.data["message"]) == (403, "Resource not accessible by integration")


async def test_a_token_for_one_repository_does_not_see_the_other(as_user, forge, ada, installation):
    vault, attic = [await forge.repository(ada, name, private=True) for name in ("vault", "attic")]
    token = await forge.installation_token(installation, repository_ids=[vault.id])
    assert as_user(token).get_repo(vault.full_name).id == vault.id
    with pytest.raises(GithubException) as hidden:
        as_user(token).get_repo(attic.full_name)
    assert hidden.value.status == 404
    listed = await forge.rest(token, "GET", "/installation/repositories")
    assert (listed["total_count"], [repo["id"] for repo in listed["repositories"]]) == (1, [vault.id])


async def test_an_installation_on_some_repositories_reaches_only_them(forge, app, ada, shop):
    await forge.repository(ada, "attic", private=True)
    token = await forge.installation_token(await forge.install(app, ada, [shop]))
    listed = await forge.rest(token, "GET", "/installation/repositories")
    assert [repo["id"] for repo in listed["repositories"]] == [shop.id]


@pytest.mark.parametrize(
    "asked", [{"permissions": {"contents": "write"}}, {"permissions": {"actions": "read"}}, {"repository_ids": [1]}]
)
async def test_a_token_for_more_than_was_granted_is_refused(forge, app, installation, asked):
    path, headers = (
        f"/api/v3/app/installations/{installation}/access_tokens",
        {"Authorization": f"Bearer {signed(app)}"},
    )
    answer = await forge.http.post(path, json=asked, headers=headers)
    assert answer.status_code == 422


async def test_an_expired_token_is_bad_credentials(forge, installation, shop):
    token = await forge.installation_token(installation, seconds=0)
    answer = await forge.http.get(f"/api/v3/repos/{shop.full_name}", headers={"Authorization": f"Bearer {token}"})
    assert (answer.status_code, answer.json()["message"]) == (401, "Bad credentials")


async def test_a_suspended_or_removed_installation_is_shut_out(forge, installation, shop):
    token = await forge.installation_token(installation)
    headers = {"Authorization": f"Bearer {token}"}
    await forge.admin("PUT", f"/installations/{installation}", {"suspended": True})
    assert (await forge.http.get(f"/api/v3/repos/{shop.full_name}", headers=headers)).status_code == 403
    await forge.admin("PUT", f"/installations/{installation}", {"suspended": False})
    assert (await forge.http.get(f"/api/v3/repos/{shop.full_name}", headers=headers)).status_code == 200
    await forge.admin("DELETE", f"/installations/{installation}")
    assert (await forge.http.get(f"/api/v3/repos/{shop.full_name}", headers=headers)).status_code == 401


async def test_check_runs_are_for_apps_and_changed_only_by_their_own(as_user, forge, ada, app, installation, shop):
    sha = await shop.push({"a": "1"})
    run = (
        as_user(await forge.installation_token(installation))
        .get_repo(shop.full_name)
        .create_check_run("preview", sha, status="in_progress", output={"title": "Starting", "summary": "…"})
    )
    assert (run.status, run.conclusion, run.app.id) == ("in_progress", None, app.id)
    run.edit(conclusion="success", output={"title": "Ready", "summary": "http://localhost:1/"})
    assert (run.status, run.conclusion, run.output.title) == ("completed", "success", "Ready")
    assert [row.id for row in as_user(ada).get_repo(shop.full_name).get_commit(sha).get_check_runs()] == [run.id]
    with pytest.raises(GithubException) as refused:
        as_user(ada).get_repo(shop.full_name).create_check_run("mine", sha)
    assert refused.value.status == 403
    other = await forge.install(await forge.app("rival", owner=ada), ada)
    with pytest.raises(GithubException) as refused:
        as_user(await forge.installation_token(other)).get_repo(shop.full_name).get_check_run(run.id).edit(name="x")
    assert refused.value.status == 403


async def test_only_the_latest_run_of_a_name_is_listed_unless_all_are_asked_for(as_user, forge, installation, shop):
    sha = await shop.push({"a": "1"})
    repo = as_user(await forge.installation_token(installation)).get_repo(shop.full_name)
    first, second = (repo.create_check_run("preview", sha) for _ in range(2))
    assert [run.id for run in repo.get_commit(sha).get_check_runs()] == [second.id]
    everything = await shop.rest("GET", f"/commits/{sha}/check-runs?filter=all")
    assert [run["id"] for run in everything["check_runs"]] == [first.id, second.id]
    assert len({run["check_suite"]["id"] for run in everything["check_runs"]}) == 1


async def test_a_manifest_becomes_an_app_once(forge, ada, hook):
    manifest = {
        "name": "Made from a manifest",
        "url": "http://127.0.0.1/",
        "hook_attributes": {"url": hook.url},
        "default_permissions": {"contents": "read"},
        "default_events": ["push"],
    }
    code = (await forge.admin("POST", "/app-manifests", {"owner": ada.login, "manifest": manifest}))["code"]
    made = await forge.rest(None, "POST", f"/app-manifests/{code}/conversions")
    assert made["pem"].startswith("-----BEGIN RSA PRIVATE KEY-----")
    assert (made["events"], made["permissions"]["contents"]) == (["push"], "read")
    (ping,) = await hook.expect("ping")
    assert ping.signed_with(made["webhook_secret"])
    assert (await forge.http.post(f"/api/v3/app-manifests/{code}/conversions")).status_code == 404


async def test_a_token_given_back_is_worthless(forge, installation):
    token = await forge.installation_token(installation)
    await forge.rest(token, "DELETE", "/installation/token")
    headers = {"Authorization": f"Bearer {token}"}
    assert (await forge.http.get("/api/v3/installation/repositories", headers=headers)).status_code == 401
