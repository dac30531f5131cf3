"""What the bot's GitHub App asks for: permissions and events, each with its reason. Pure.

https://docs.github.com/en/apps/sharing-github-apps/registering-a-github-app-from-a-manifest
"""

PERMISSIONS = {
    "metadata": "read",  # mandatory; who may write
    "contents": "read",  # the clone
    "pull_requests": "write",  # the pull request, and the comment on it
    "issues": "read",  # the issue_comment event, which carries /preview commands
}

EVENTS = ("pull_request", "issue_comment", "repository")
