"""The life of a pull request, driven by PyGithub."""

import asyncio
import subprocess

import pytest
from github import GithubException, UnknownObjectException


@pytest.fixture
def repo(as_user, ada, shop):
    return as_user(ada).get_repo(shop.full_name)


async def test_a_pull_request_shows_both_ends_and_its_size(repo, pull, shop, ada):
    shown = repo.get_pull(pull)
    assert (shown.title, shown.body, shown.state, shown.draft) == ("Say hello", "It is **polite**.", "open", False)
    assert (shown.head.ref, shown.base.ref, shown.user.login) == ("feature", "main", ada.login)
    assert shown.head.sha == repo.get_branch("feature").commit.sha
    assert shown.head.repo.id == shown.base.repo.id == shop.id
    assert (shown.commits, shown.additions, shown.changed_files, shown.mergeable) == (1, 1, 1, True)
    assert [commit.commit.message for commit in shown.get_commits()] == ["Say hello"]
    assert [file.filename for file in shown.get_files()] == ["index.html"]


async def test_a_push_moves_the_head(repo, pull, shop):
    sha = await shop.push({"about.html": "us"}, branch="feature")
    shown = repo.get_pull(pull)
    assert (shown.head.sha, shown.commits, shown.changed_files) == (sha, 2, 2)


async def test_a_force_push_moves_the_head(repo, pull, shop):
    sha = await shop.push({"about.html": "us"}, branch="feature", start="main")
    assert (repo.get_pull(pull).head.sha, repo.get_pull(pull).commits) == (sha, 1)


async def test_closing_and_reopening(repo, pull):
    shown = repo.get_pull(pull)
    shown.edit(state="closed")
    assert (shown.state, shown.merged) == ("closed", False)
    assert repo.get_pull(pull).closed_at is not None
    shown.edit(state="open")
    assert repo.get_pull(pull).state == "open"


async def test_reopening_finds_what_was_pushed_in_between(repo, pull, shop):
    await shop.close(pull)
    sha = await shop.push({"about.html": "us"}, branch="feature")
    assert repo.get_pull(pull).head.sha != sha
    await shop.reopen(pull)
    assert repo.get_pull(pull).head.sha == sha


async def test_merging_moves_the_base_and_closes(repo, pull):
    merged = repo.get_pull(pull).merge()
    assert merged.merged
    shown = repo.get_pull(pull)
    assert (shown.state, shown.merged, shown.merge_commit_sha) == ("closed", True, merged.sha)
    assert repo.get_branch("main").commit.sha == merged.sha


async def test_a_conflict_is_not_merged(repo, pull, shop):
    await shop.push({"index.html": "<h1>Other</h1>\n"})
    with pytest.raises(GithubException) as refused:
        repo.get_pull(pull).merge()
    assert refused.value.status == 409


async def test_a_deleted_head_branch_leaves_the_pull_request_and_its_commit(repo, pull, shop, tmp_path):
    sha = repo.get_pull(pull).head.sha
    await shop.delete_branch("feature")
    assert (repo.get_pull(pull).state, repo.get_pull(pull).head.sha) == ("open", sha)
    listing = subprocess.run(["git", "ls-remote", shop.clone_url], check=True, capture_output=True, text=True).stdout
    assert f"{sha}\trefs/pull/{pull}/head" in listing
    assert "refs/heads/feature" not in listing


async def test_retargeting_and_editing(repo, pull, shop):
    await shop.push({"x": "1"}, branch="release")
    repo.get_pull(pull).edit(title="New", body="text", base="release")
    shown = repo.get_pull(pull)
    assert (shown.title, shown.body, shown.base.ref) == ("New", "text", "release")


async def test_lists_are_filtered_sorted_and_paged(repo, shop, pull):
    for number in range(3):
        await shop.push({"x": str(number)}, branch=f"topic{number}")
        await shop.open_pull(f"topic{number}")
    await shop.close(pull + 1)
    assert [row.number for row in repo.get_pulls()] == [pull + 3, pull + 2, pull]
    assert [row.number for row in repo.get_pulls(state="closed")] == [pull + 1]
    assert [row.number for row in repo.get_pulls(state="all", direction="asc")] == [pull, pull + 1, pull + 2, pull + 3]
    head = f"{shop.owner.login}:topic2"
    assert [row.number for row in repo.get_pulls(head=head)] == [pull + 3]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"head": "nowhere"}, "'field': 'head'"),
        ({"head": "feature", "base": "nowhere"}, "'field': 'base'"),
        ({"head": "main"}, "No commits between main and main"),
        ({"head": "feature"}, "A pull request already exists"),
        ({"title": ""}, "'field': 'title'"),
    ],
)
async def test_an_impossible_pull_request_is_refused_with_its_reason(repo, pull, change, complaint):
    with pytest.raises(GithubException) as refused:
        repo.create_pull(**({"title": "T", "base": "main", "head": "feature2"} | change))
    assert refused.value.status == 422
    assert complaint in str(refused.value.data)


async def test_strangers_may_open_and_change_only_their_own(as_user, bob, shop, pull):
    with pytest.raises(GithubException) as refused:
        as_user(bob).get_repo(shop.full_name).get_pull(pull).edit(state="closed")
    assert refused.value.status == 403


async def test_a_plain_issue_is_no_pull_request(repo):
    issue = repo.create_issue("Broken")
    assert issue.pull_request is None
    with pytest.raises(UnknownObjectException):
        repo.get_pull(issue.number)


async def test_issues_and_pull_requests_share_one_row_of_numbers(repo, pull):
    assert repo.create_issue("Broken").number == pull + 1
    assert repo.get_issue(pull).pull_request is not None


async def test_labels_come_and_go(repo, pull):
    issue = repo.get_issue(pull)
    issue.add_to_labels("preview", "ui")
    issue.remove_from_labels("ui")
    assert [label.name for label in repo.get_pull(pull).labels] == ["preview"]


async def test_a_fork_s_branch_becomes_a_pull_request_whose_commit_the_base_holds(as_user, ada, bob, shop):
    fork = await shop.fork(bob)
    sha = await fork.push({"gift.txt": "for you"}, branch="main")
    number = await shop.open_pull(f"{bob.login}:main", by=bob)
    shown = as_user(ada).get_repo(shop.full_name).get_pull(number)
    assert (shown.head.sha, shown.head.label, shown.head.repo.id) == (sha, f"{bob.login}:main", fork.id)
    assert shown.head.repo.fork
    held = subprocess.run(["git", "ls-remote", shop.clone_url], check=True, capture_output=True, text=True).stdout
    assert f"{sha}\trefs/pull/{number}/head" in held
    newer = await fork.push({"gift.txt": "and more"}, branch="main")
    assert as_user(ada).get_repo(shop.full_name).get_pull(number).head.sha == newer


async def test_a_deleted_fork_leaves_a_head_without_repository(as_user, ada, bob, shop, tmp_path):
    fork = await shop.fork(bob)
    sha = await fork.push({"gift.txt": "for you"}, branch="gift")
    number = await shop.open_pull(f"{bob.login}:gift", by=bob)
    await fork.delete()
    shown = as_user(ada).get_repo(shop.full_name).get_pull(number)
    assert (shown.head.repo, shown.head.sha, shown.head.user.login) == (None, sha, bob.login)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, "fetch", "-q", shop.clone_url, f"refs/pull/{number}/head"], check=True)


async def test_two_pull_requests_opened_at_once_get_two_numbers(shop):
    await shop.push({"a": "1"}, branch="a")
    await shop.push({"b": "1"}, branch="b")
    numbers = await asyncio.gather(shop.open_pull("a"), shop.open_pull("b"))
    assert sorted(numbers) == [1, 2]
