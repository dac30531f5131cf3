"""What one webhook delivery costs: the bot's receiver beside probot and @octokit/webhooks."""
