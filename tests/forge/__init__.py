"""The forge, from outside: PyGithub and httpx drive the REST API, git drives git, a real receiver takes deliveries."""
