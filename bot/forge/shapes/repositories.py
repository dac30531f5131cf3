"""Repositories, branches, commits and files as GitHub shows them."""

import base64

from bot.forge.git import Commit, File
from bot.forge.records import Repository, Role
from bot.forge.shapes import Json, node_id, stamp
from bot.forge.shapes.users import role_flags, simple_user
from bot.forge.urls import REPOSITORY_LINKS
from bot.forge.view import View


def repository(view: View, repo: Repository, *, role: Role | None = None) -> Json:
    """A repository as it appears inside other objects, and in lists. `role` adds the caller's permissions."""
    page = view.urls.page(repo)
    open_issues = sum(issue.state == "open" for issue in view.state.issues_of(repo.id))
    forks = sum(other.fork_of == repo.id for other in view.state.repositories.values())
    return {
        "id": repo.id,
        "node_id": node_id("Repository", repo.id),
        "name": repo.name,
        "full_name": repo.full_name,
        "private": repo.private,
        "owner": simple_user(view, repo.owner),
        "html_url": page,
        "description": repo.description,
        "fork": repo.fork_of is not None,
        "url": view.urls.repository(repo),
        **{name: view.urls.repository(repo) + path for name, path in REPOSITORY_LINKS.items()},
        "created_at": stamp(repo.created_at),
        "updated_at": stamp(repo.updated_at),
        "pushed_at": stamp(repo.pushed_at),
        "git_url": f"{page.replace('http://', 'git://', 1)}.git",
        "ssh_url": f"git@{view.urls.root.partition('//')[2].partition(':')[0]}:{repo.full_name}.git",
        "clone_url": f"{page}.git",
        "svn_url": page,
        "mirror_url": None,
        "homepage": None,
        "language": None,
        "license": None,
        "size": 0,
        "stargazers_count": 0,
        "watchers_count": 0,
        "watchers": 0,
        "forks_count": forks,
        "forks": forks,
        "open_issues_count": open_issues,
        "open_issues": open_issues,
        "has_issues": True,
        "has_projects": False,
        "has_downloads": False,
        "has_wiki": False,
        "has_pages": False,
        "has_discussions": False,
        "archived": repo.archived,
        "disabled": False,
        "allow_forking": True,
        "is_template": False,
        "web_commit_signoff_required": False,
        "topics": [],
        "visibility": "private" if repo.private else "public",
        "default_branch": repo.default_branch,
        **({"permissions": role_flags(role)} if role else {}),
    }


def full_repository(view: View, repo: Repository, *, role: Role | None = None) -> Json:
    """A repository as `GET /repos/{owner}/{repo}` answers it: with its parent when it is a fork."""
    parent = view.state.repositories.get(repo.fork_of) if repo.fork_of else None
    ancestry = {"parent": repository(view, parent), "source": repository(view, parent)} if parent else {}
    return {**repository(view, repo, role=role), **ancestry, "network_count": 0, "subscribers_count": 0}


def repository_stub(repo: Repository) -> Json:
    """The five fields by which installation events name a repository."""
    return {
        "id": repo.id,
        "node_id": node_id("Repository", repo.id),
        "name": repo.name,
        "full_name": repo.full_name,
        "private": repo.private,
    }


def branch(view: View, repo: Repository, name: str, commit: Commit) -> Json:
    """A branch with the commit at its tip."""
    return {
        "name": name,
        "commit": commit_of(view, repo, commit),
        "protected": False,
        "protection": {"enabled": False},
        "protection_url": f"{view.urls.repository(repo)}/branches/{name}/protection",
        "_links": {
            "self": f"{view.urls.repository(repo)}/branches/{name}",
            "html": f"{view.urls.page(repo)}/tree/{name}",
        },
    }


def commit_of(view: View, repo: Repository, commit: Commit) -> Json:
    """A commit of a repository."""
    url = f"{view.urls.repository(repo)}/commits/{commit.sha}"
    tree = {"sha": commit.tree, "url": f"{view.urls.repository(repo)}/git/trees/{commit.tree}"}
    author = {"name": commit.author_name, "email": commit.author_email, "date": commit.date}
    return {
        "sha": commit.sha,
        "node_id": node_id("Commit", int(commit.sha[:8], 16)),
        "commit": {
            "url": f"{view.urls.repository(repo)}/git/commits/{commit.sha}",
            "author": author,
            "committer": author,
            "message": commit.message,
            "tree": tree,
            "comment_count": 0,
        },
        "url": url,
        "html_url": f"{view.urls.page(repo)}/commit/{commit.sha}",
        "comments_url": f"{url}/comments",
        "author": None,
        "committer": None,
        "parents": [
            {"sha": parent, "url": f"{view.urls.repository(repo)}/commits/{parent}"} for parent in commit.parents
        ],
    }


def content(view: View, repo: Repository, file: File, ref: str, text: bytes | None) -> Json:
    """A file (with its content, when given) or a folder at a ref."""
    url = f"{view.urls.repository(repo)}/contents/{file.path}?ref={ref}"
    body = {"encoding": "base64", "content": base64.encodebytes(text).decode()} if text is not None else {}
    return {
        "type": file.type,
        "name": file.path.rpartition("/")[2],
        "path": file.path,
        "sha": file.sha,
        "size": file.size,
        "url": url,
        "html_url": f"{view.urls.page(repo)}/blob/{ref}/{file.path}",
        "git_url": f"{view.urls.repository(repo)}/git/blobs/{file.sha}",
        "download_url": None,
        "_links": {"self": url, "git": None, "html": None},
        **body,
    }
