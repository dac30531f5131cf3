"""The `preview` command as people and scripts use it."""
