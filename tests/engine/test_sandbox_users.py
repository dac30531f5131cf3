"""Users inside a sandbox: one, and clear words about others."""

import pytest
from vercel.sandbox import Sandbox, SandboxApiError, SandboxError

pytestmark = pytest.mark.bwrap


async def test_commands_that_ask_for_root_run_as_the_one_user(sandbox: Sandbox) -> None:
    for argv in (["id", "-un"], ["sudo", "-E", "id", "-un"], ["sudo", "-u", "root", "--", "id", "-un"]):
        ran = await sandbox.run_process(argv[0], argv[1:], sudo=True, capture_output=True)
        assert ran.stdout == "vercel-sandbox\n"


async def test_the_one_user_can_be_asked_for_by_name(sandbox: Sandbox) -> None:
    user = sandbox.as_user("vercel-sandbox")
    ran = await user.run_process("sh", ["-c", "id -un; pwd; echo $HOME; exit 3"], capture_output=True)
    assert (ran.returncode, ran.stdout) == (3, "vercel-sandbox\n/vercel/home\n/vercel/home\n")
    await user.fs.write_text("note", "hello")
    assert await sandbox.fs.read_text("/vercel/home/note") == "hello"


async def test_another_user_cannot_be_made_and_the_reason_is_said(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxError, match="this engine's sandboxes have one user, vercel-sandbox"):
        await sandbox.create_user("alice")


async def test_another_user_is_nobody(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxError, match="alice"):
        await sandbox.as_user("alice").run_process("id")
    with pytest.raises(SandboxApiError, match="cannot run as root") as refused:
        await sandbox.as_user("root").run_process("id")
    assert (refused.value.status_code, refused.value.code) == (400, "not_supported")
    ran = await sandbox.run_process("sudo", ["-u", "alice", "id"], capture_output=True)
    assert (ran.returncode, ran.stderr) == (1, "sudo: this engine's sandboxes have one user, vercel-sandbox\n")
