"""The branch preview bot: a push to a pull request becomes a comment that holds a working URL.

The house, from the ground up. Imports point downwards only; `tests/test_architecture.py` keeps it so.

Words and decisions (pure: no I/O, no clock, no environment)
    errors        the exception tree: whose fault it is decides what happens next
    preview       the nouns: pull request, preview, launch, and which phase may follow which
    events        what can happen on a pull request
    commands      the `/preview …` grammar
    plan          what to install, what to start, how to know that it lives
    repo_config   a repository's own `.github/preview.toml`
    source        the only way in which detection sees a repository's files
    buildpacks/   from files to a plan, one module per family
    policy        from an event and a preview to an action
    names         sandbox names and host labels
    redaction     what may leave: secrets masked, terminal codes and Markdown defused
    comments      everything the bot says

Owners, one per outside thing
    settings      the environment
    store         the database
    github        GitHub, through PyGithub
    sandbox       sandboxes, through the vercel SDK
    objects       git objects carried from GitHub into a running sandbox
    checkout      a checkout on this machine's disk
    probe         HTTP to a preview: does it answer, and is it the app
    context       the handful of owners that a workflow may use

The story
    report        stored state -> what GitHub shows
    steps         the side effects of a launch, each safe to repeat
    workflow      the durable workflows; reads like the phase diagram
    reconcile     the sweep that repairs what lost deliveries and crashes broke
    takeover      processes on one Postgres go on with a dead one's launches
    cli           the `preview` command

Annexes, reached only over HTTP, importing nothing of the above
    engine/       a Sandbox API server: real isolation on one machine
    forge/        a GitHub on loopback: REST, git over HTTP, signed webhooks
"""
