"""The REST API: one module of routes per noun, and what all of their answers have in common.

Below `/repos/{owner}/{repo}` each route names the `need` that `bot.forge.access` holds its caller against.
"""
