"""A small GitHub on loopback: REST, git over HTTP, signed webhooks, and a page that shows a pull request.

Laid out like GitHub Enterprise Server: REST below `/api/v3`, git at `/OWNER/REPO.git`, pages at `/OWNER/REPO/pull/N`.
It imports nothing else of `bot`, and is reached only over HTTP. Started by `python -m bot.forge --data DIR`.

Memory
    records       one frozen value per noun
    state         the tables, and the JSON file that holds them
    git           the bare repositories on disk
    codes         manifests that wait to become Apps
    forge         all of it together

Rules
    callers       who is calling
    access        who may do what
    limits        the rate limit that answers speak of
    errors        GitHub's refusals

What happens, each telling the hooks
    repositories, pulls, comments, apps, pushes

What is told
    shapes/       GitHub's objects
    payloads      GitHub's events
    deliveries    signing, sending, the log
    urls, view    where things are, and what shapes are drawn from

Doors
    rest/         the REST API
    git_http      the git protocol
    admin/        what is done with a mouse on GitHub, and faults
    pages         HTML, with `markdown` and `templates/`
    faults, delivery_faults    what fails on request
    app, server   the application and its process
"""
