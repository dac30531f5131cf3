"""Sandboxes from create to destroy, through the SDK."""

import asyncio

import pytest
from engine_process import EngineProcess
from vercel.sandbox import (
    Sandbox,
    SandboxApiError,
    SandboxClient,
    SandboxQueryByName,
    SandboxStatus,
    TagFilter,
)

pytestmark = pytest.mark.bwrap


async def test_a_created_sandbox_runs_and_says_where(sandbox: Sandbox) -> None:
    assert sandbox.status == SandboxStatus.RUNNING
    assert sandbox.cwd == "/vercel/sandbox"
    assert (await sandbox.run_process("pwd", capture_output=True)).stdout == "/vercel/sandbox\n"


async def test_a_name_can_be_used_once(make_sandbox, sandbox: Sandbox) -> None:
    with pytest.raises(SandboxApiError) as refused:
        await make_sandbox(name=sandbox.name)
    assert (refused.value.status_code, refused.value.code) == (409, "conflict")


async def test_a_destroyed_sandbox_is_unknown_and_its_name_is_free(client: SandboxClient, make_sandbox) -> None:
    sandbox = await make_sandbox()
    await sandbox.destroy()
    with pytest.raises(SandboxApiError) as refused:
        await client.get_sandbox(name=sandbox.name)
    assert (refused.value.status_code, refused.value.code) == (404, "not_found")
    assert (await make_sandbox(name=sandbox.name)).status == SandboxStatus.RUNNING


async def test_get_or_create_finds_what_is_there(client: SandboxClient, sandbox: Sandbox) -> None:
    found, created = await client.get_or_create_sandbox(name=sandbox.name)
    assert not created
    assert found.current_session.id == sandbox.current_session.id


async def test_get_or_create_replaces_what_cannot_be_resumed(client: SandboxClient, sandbox: Sandbox) -> None:
    await sandbox.stop()
    found, created = await client.get_or_create_sandbox(name=sandbox.name, persistent=False)
    assert created
    assert found.current_session.id != sandbox.current_session.id
    assert found.status == SandboxStatus.RUNNING


async def test_the_environment_is_the_sandbox_s_own_and_a_command_may_add_to_it(make_sandbox) -> None:
    sandbox = await make_sandbox(env={"COLOR": "green"})
    ran = await sandbox.run_process("sh", ["-c", "echo $COLOR $SHAPE"], env={"SHAPE": "round"}, capture_output=True)
    assert ran.stdout == "green round\n"


async def test_sandboxes_are_found_by_tag_in_pages(client: SandboxClient, make_sandbox) -> None:
    names = {(await make_sandbox(tags={"pull": "7"})).name for _ in range(3)}
    await make_sandbox(tags={"pull": "8"})
    query = SandboxQueryByName(tag=TagFilter(key="pull", value="7"))
    found = [one.name async for one in client.query_sandboxes(query=query, page_size=2)]
    assert found == sorted(names, reverse=True)


async def test_a_persistent_sandbox_keeps_its_files_but_not_its_processes(make_sandbox) -> None:
    sandbox = await make_sandbox(persistent=True)
    await sandbox.fs.write_text("kept.txt", "kept")
    await sandbox.create_process("sleep", ["1000"])
    first = sandbox.current_session.id
    await sandbox.stop()
    assert sandbox.status == SandboxStatus.STOPPED
    ran = await sandbox.run_process("sh", ["-c", "cat kept.txt; ps aux | grep -c '[s]leep 1000'"], capture_output=True)
    assert ran.stdout == "kept0\n"
    assert sandbox.current_session.id != first


async def test_a_sandbox_that_does_not_persist_cannot_be_resumed(sandbox: Sandbox) -> None:
    await sandbox.stop()
    with pytest.raises(SandboxApiError) as refused:
        await sandbox.run_process("true")
    assert (refused.value.status_code, refused.value.code) == (410, "snapshot_not_found")


async def test_stopping_twice_is_fine(sandbox: Sandbox) -> None:
    await sandbox.stop()
    await sandbox.stop()
    assert sandbox.status == SandboxStatus.STOPPED


async def test_leaving_the_block_stops_and_destroys(client: SandboxClient) -> None:
    async with client.create_sandbox(name="in-a-block", persistent=True) as sandbox:
        await sandbox.run_process("true")
    with pytest.raises(SandboxApiError):
        await client.get_sandbox(name="in-a-block")


async def test_a_session_ends_at_its_time_limit(client: SandboxClient, make_sandbox) -> None:
    sandbox = await make_sandbox(execution_time_limit=1)
    process = await sandbox.create_process("sleep", ["1000"])
    assert await process.wait() == 137
    assert (await client.get_sandbox(name=sandbox.name)).status in (SandboxStatus.STOPPING, SandboxStatus.STOPPED)


async def test_an_extended_session_lives_longer(make_sandbox) -> None:
    sandbox = await make_sandbox(execution_time_limit=1)
    await sandbox.extend_execution_time_limit(600)
    ran = await sandbox.run_process("sleep", ["1.5"])
    assert ran.returncode == 0


async def test_an_update_changes_tags_and_routes(client: SandboxClient, make_sandbox) -> None:
    sandbox = await make_sandbox(ports=[3000], tags={"a": "1"})
    before = sandbox.routes[0].url
    await sandbox.update(ports=[3000, 4000], tags={"a": "2"})
    assert [route.port for route in sandbox.routes] == [3000, 4000]
    assert sandbox.routes[0].url == before
    assert (await client.get_sandbox(name=sandbox.name)).tags == {"a": "2"}


async def test_a_wrong_token_is_refused(engine: EngineProcess) -> None:
    stranger = engine.client(token="wrong")
    try:
        with pytest.raises(SandboxApiError) as refused:
            await stranger.get_sandbox(name="anything")
        assert refused.value.status_code == 401
    finally:
        await stranger.aclose()


async def test_a_name_that_is_a_word_of_the_api_is_refused(make_sandbox) -> None:
    with pytest.raises(SandboxApiError) as refused:
        await make_sandbox(name="sessions")
    assert refused.value.status_code == 400


async def test_of_two_that_want_a_name_one_gets_it(make_sandbox) -> None:
    outcomes = await asyncio.gather(*(make_sandbox(name="wanted-twice") for _ in range(2)), return_exceptions=True)
    refused = [one for one in outcomes if isinstance(one, SandboxApiError)]
    assert [error.code for error in refused] == ["conflict"]


async def test_commands_on_a_stopped_sandbox_resume_it_once(client: SandboxClient, make_sandbox) -> None:
    sandbox = await make_sandbox(persistent=True)
    await sandbox.stop()
    handles = [await client.get_sandbox(name=sandbox.name) for _ in range(5)]
    ran = await asyncio.gather(*(handle.run_process("echo", ["hi"], capture_output=True) for handle in handles))
    assert [one.stdout for one in ran] == ["hi\n"] * 5
    assert len({handle.current_session.id for handle in handles}) == 1
    assert len([session async for session in client.query_sessions(name=sandbox.name)]) == 2
