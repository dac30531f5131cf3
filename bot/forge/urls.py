"""Where things are: the links that GitHub's objects carry, laid out as on GitHub Enterprise Server."""

from dataclasses import dataclass

from bot.forge.records import Issue, Repository

REPOSITORY_LINKS = {
    "archive_url": "/{archive_format}{/ref}",
    "assignees_url": "/assignees{/user}",
    "blobs_url": "/git/blobs{/sha}",
    "branches_url": "/branches{/branch}",
    "collaborators_url": "/collaborators{/collaborator}",
    "comments_url": "/comments{/number}",
    "commits_url": "/commits{/sha}",
    "compare_url": "/compare/{base}...{head}",
    "contents_url": "/contents/{+path}",
    "contributors_url": "/contributors",
    "deployments_url": "/deployments",
    "downloads_url": "/downloads",
    "events_url": "/events",
    "forks_url": "/forks",
    "git_commits_url": "/git/commits{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "hooks_url": "/hooks",
    "issue_comment_url": "/issues/comments{/number}",
    "issue_events_url": "/issues/events{/number}",
    "issues_url": "/issues{/number}",
    "keys_url": "/keys{/key_id}",
    "labels_url": "/labels{/name}",
    "languages_url": "/languages",
    "merges_url": "/merges",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "pulls_url": "/pulls{/number}",
    "releases_url": "/releases{/id}",
    "stargazers_url": "/stargazers",
    "statuses_url": "/statuses/{sha}",
    "subscribers_url": "/subscribers",
    "subscription_url": "/subscription",
    "tags_url": "/tags",
    "teams_url": "/teams",
    "trees_url": "/git/trees{/sha}",
}

USER_LINKS = {
    "followers_url": "/followers",
    "following_url": "/following{/other_user}",
    "gists_url": "/gists{/gist_id}",
    "starred_url": "/starred{/owner}{/repo}",
    "subscriptions_url": "/subscriptions",
    "organizations_url": "/orgs",
    "repos_url": "/repos",
    "events_url": "/events{/privacy}",
    "received_events_url": "/received_events",
}


@dataclass(frozen=True, slots=True)
class Urls:
    """Links below one root (scheme, host and port, no trailing slash)."""

    root: str

    @property
    def api(self) -> str:
        """Where the REST API begins."""
        return f"{self.root}/api/v3"

    def repository(self, repository: Repository) -> str:
        """The REST address of a repository."""
        return f"{self.api}/repos/{repository.full_name}"

    def page(self, repository: Repository) -> str:
        """The page of a repository."""
        return f"{self.root}/{repository.full_name}"

    def issue_page(self, repository: Repository, issue: Issue) -> str:
        """The page of an issue or pull request."""
        return f"{self.page(repository)}/{'pull' if issue.pull else 'issues'}/{issue.number}"
