"""The side effects of a launch, in their order. Each is safe to repeat: it first looks at what stands already.

A step returns normally when the next may follow. RepositoryFault ends the launch as failed, Superseded ends it because
a newer decision was made, WorldFault is worth another try.
"""

import dataclasses
from dataclasses import dataclass

from bot.context import Context
from bot.diagnosis import lockfile_mismatch, remedy
from bot.errors import CommandFailed, SandboxUnavailable
from bot.plan import Argv, LaunchPlan, launch_environment, spoken
from bot.preview import Box as Standing
from bot.preview import Launch, Phase, Preview
from bot.ready import await_ready
from bot.sandbox import Box, Commit
from bot.store import now
from bot.worktree import Listing, detect_plan, head, list_files, move_to

FIRST_PORT = 3000
"""Opened when a sandbox is made, before the plan is known; most dev servers listen there."""


@dataclass(frozen=True, slots=True)
class Run:
    """One launch as the steps see it."""

    context: Context
    preview_id: int
    generation: int

    async def enter(self, phase: Phase, **facts: object) -> None:
        """Move on to a phase, and have GitHub told. Raises Superseded."""
        await self.context.previews.enter(self.preview_id, self.generation, phase, **facts)
        self.context.reporter.touch(self.preview_id)

    async def load(self) -> tuple[Preview, Launch]:
        """The preview and this launch of it. Raises Superseded."""
        launch = await self.context.previews.check_current(self.preview_id, self.generation)
        return await self.context.previews.get(self.preview_id), launch

    async def stands(self, **changes: object) -> Standing:
        """Record what changed in the sandbox. Raises Superseded."""
        preview, _ = await self.load()
        if preview.box is None:
            raise SandboxUnavailable(f"sandbox {preview.sandbox_name} went away")
        standing = dataclasses.replace(preview.box, **changes)  # type: ignore[arg-type]
        await self.context.previews.set_box(self.preview_id, self.generation, standing)
        return standing

    async def note(self, text: str) -> None:
        """Say one more sentence in the comment."""
        await self.context.previews.note(self.preview_id, self.generation, text)


async def fetch(run: Run) -> None:
    """A sandbox with this launch's commit checked out: the one that runs, moved on, or a new one."""
    await run.enter(Phase.FETCHING)
    preview, launch = await run.load()
    context = run.context
    box = await context.sandboxes.find(preview.sandbox_name)
    if box is not None and (preview.box is None or not box.running):
        await context.sandboxes.destroy(box.name)  # dead, or of a launch that never knew what it had cloned
        box = None
    if box is None:
        await context.previews.set_box(run.preview_id, run.generation, None)
        credentials = await context.github.clone_credentials(preview.repository)
        pair = (credentials.username, credentials.password) if credentials else None
        commit = Commit(preview.repository.clone_url, launch.sha, pair)
        box = await context.sandboxes.create(preview.sandbox_name, commit, FIRST_PORT)
        standing = Standing(sha=await head(box))
        await context.previews.set_box(run.preview_id, run.generation, standing)
    else:
        server = preview.box.server if preview.box else None
        await box.kill_all(keep=[server] if server else [])
        standing = await run.stands(sha=await head(box))
    if standing.sha != launch.sha:
        credentials = await context.github.clone_credentials(preview.repository)
        pack = await context.objects.pack(
            preview.repository, have=standing.sha, want=launch.sha, credentials=credentials
        )
        await context.previews.check_current(run.preview_id, run.generation)
        await move_to(box, launch.sha, pack)
        await run.stands(sha=launch.sha)


async def detect(run: Run) -> None:
    """The plan for the commit. Raises NothingToPreview."""
    await run.enter(Phase.DETECTING)
    box = await _box(run)
    plan = await detect_plan(box, await list_files(box))
    await run.enter(Phase.DETECTING, plan=plan.model_dump(mode="json"))


async def install(run: Run) -> None:
    """Dependencies as the manifests ask for, unless exactly these are installed. Raises CommandFailed."""
    box = await _box(run)
    preview, launch = await run.load()
    plan = LaunchPlan.model_validate(launch.plan)
    key = _install_key(plan, await list_files(box))
    if preview.box and preview.box.install_key == key:
        return
    await run.stands(install_key=None, start_key=None, server=None)
    await box.kill_all()
    if plan.prepare or plan.install:
        await run.enter(Phase.INSTALLING)
        await _install(run, box, plan)
    await run.stands(install_key=key)


async def start(run: Run) -> None:
    """The dev server in the background, unless it runs and will pick the change up by itself."""
    box = await _box(run)
    preview, launch = await run.load()
    plan = LaunchPlan.model_validate(launch.plan)
    key = _start_key(plan, await list_files(box), launch)
    standing = preview.box
    if standing and standing.server and standing.start_key == key and await _alive(box, standing.server):
        await run.enter(Phase.STARTING, in_place=True)
        return
    await run.stands(server=None, start_key=None)
    await box.kill_all()
    for argv in (*plan.setup, *((plan.build,) if plan.build else ())):
        await run.enter(Phase.BUILDING)
        await _run_command(run, box, argv, plan, cwd=plan.root)
    await run.enter(Phase.STARTING)
    url = await box.route(plan.port)
    environment = {**launch_environment(plan), "PREVIEW_URL": url}
    server = await box.start(plan.start, cwd=plan.root, env=environment)
    await run.stands(server=server, start_key=key, url=url)


async def check(run: Run) -> None:
    """Wait until the URL answers as the app, for this commit, from the process that was started for it.

    Raises ServerExited, NeverReady.
    """
    box = await _box(run)
    preview, launch = await run.load()
    plan = LaunchPlan.model_validate(launch.plan)
    standing = preview.box
    if standing is None or standing.server is None or standing.url is None:
        raise SandboxUnavailable(f"the server of {preview.sandbox_name} went away")
    found = await await_ready(box, standing.server, standing.url, plan, limit=run.context.settings.ready_limit)
    for note in found.notes:
        await run.note(note)
    if found.url != standing.url:
        await run.stands(url=found.url)
    await box.kill_all(keep=[standing.server])  # nothing of an older launch is alive when this one reports
    if await head(box) != launch.sha:
        raise SandboxUnavailable("the sandbox holds another commit")
    await run.enter(Phase.READY, url=found.url, ready_at=now())


async def _box(run: Run) -> Box:
    preview, _ = await run.load()
    box = await run.context.sandboxes.find(preview.sandbox_name)
    if box is None:
        raise SandboxUnavailable(f"sandbox {preview.sandbox_name} went away")
    return box


async def _alive(box: Box, server: str) -> bool:
    return await box.exit_code(server) is None


async def _install(run: Run, box: Box, plan: LaunchPlan) -> None:
    for argv in plan.prepare:
        await _run_command(run, box, argv, plan, cwd=plan.install_root)
    if not plan.install:
        return
    try:
        await _run_command(run, box, plan.install, plan, cwd=plan.install_root)
    except CommandFailed as error:
        if not plan.install_relaxed or not lockfile_mismatch(error.log):
            raise
        await run.note("The lockfile does not match its manifest; dependencies were installed without it.")
        await _run_command(run, box, plan.install_relaxed, plan, cwd=plan.install_root)


async def _run_command(run: Run, box: Box, argv: Argv, plan: LaunchPlan, *, cwd: str) -> None:
    await run.load()
    limit = run.context.settings.install_limit
    began = now()
    done = await box.run(argv, cwd=cwd, env=launch_environment(plan), limit=limit)
    if done.exit_code == 0:
        return
    await run.load()  # killed because a newer launch took over? Then that is the reason, and not a failure
    line, log = f"`{' '.join(spoken(argv))}`", done.output
    if done.exit_code == 137 and now() - began >= limit:
        raise CommandFailed(f"{line} took more than {limit} s.", exit_code=None, log=log)
    if done.exit_code == 137:
        raise CommandFailed(f"{line} was killed, most likely out of memory.", exit_code=137, log=log)
    cause = f"{line} exited with code {done.exit_code}."
    raise CommandFailed(cause, exit_code=done.exit_code, remedy=remedy(log), log=log)


def _install_key(plan: LaunchPlan, listing: Listing) -> str:
    return listing.key(plan.install_inputs, *plan.prepare, plan.install or (), (plan.install_root,))


def _start_key(plan: LaunchPlan, listing: Listing, launch: Launch) -> str:
    """What the running server depends on; with sources that it does not reload, that is the commit itself."""
    words: list[Argv] = [*plan.setup, plan.build or (), plan.start, (plan.root, str(plan.port))]
    words += [(name, value) for name, value in sorted(plan.env.items())]
    if plan.build or not plan.reloads:
        words.append((launch.sha,))
    return listing.key((*plan.install_inputs, *plan.restart_inputs), *words)
