"""The process: its greeting, its exit codes, and what a restart remembers."""

import asyncio
import socket
import subprocess
import sys

import httpx
import pytest

from tests.forge.receiver import receiving
from tests.forge_driver import ForgeDriver, ForgeProcess, launched_forge, until


async def test_a_restart_remembers_everything(tmp_path):
    folder = tmp_path / "data"
    with receiving() as hook:
        async with launched_forge(folder) as forge:
            ada = await forge.user("ada")
            shop = await forge.repository(ada, "shop", private=True)
            await shop.push({"a": "1"})
            sha = await shop.push({"b": "1"}, branch="feature")
            number = await shop.open_pull("feature")
            await shop.comment(number, "still here?")
            app = await forge.app("previews", owner=ada, webhook_url=hook.url)
            installation = await forge.install(app, ada)
            await hook.expect("installation.created")
            await shop.rename("store")
            before = await forge.state()
        async with launched_forge(folder) as forge:
            assert await forge.state() == before
            comments = await forge.rest(ada, "GET", f"/repos/ada/store/issues/{number}/comments")
            assert [row["body"] for row in comments] == ["still here?"]
            head = await forge.rest(ada, "GET", f"/repos/ada/store/pulls/{number}")
            assert head["head"]["sha"] == sha
            assert (await forge.deliveries("installation"))[0]["installation_id"] == installation
            again = await forge.http.get("/api/v3/repos/ada/shop", headers={"Authorization": f"token {ada.token}"})
            assert again.status_code == 301


async def test_what_was_answered_survives_a_kill(tmp_path):
    process = ForgeProcess.start(tmp_path / "data")
    async with ForgeDriver(process, tmp_path / "clones") as forge:
        ada = await forge.user("ada")
        shop = await forge.repository(ada, "shop")
        await shop.push({"a": "1"})
        await shop.push({"b": "1"}, branch="feature")
        number = await shop.open_pull("feature")
        sha = await shop.push({"b": "2"}, branch="feature")
        process.kill()
    async with launched_forge(tmp_path / "data") as forge:
        shown = await forge.rest(ada, "GET", f"/repos/ada/shop/pulls/{number}")
        assert shown["head"]["sha"] == sha
        fresh = await forge.repository(ada, "other")
        assert fresh.id > shown["id"]


def test_a_stop_is_a_clean_one_and_frees_the_port(tmp_path):
    process = ForgeProcess.start(tmp_path / "data")
    port = httpx.URL(process.url).port
    assert process.stop() == 0
    again = ForgeProcess.start(tmp_path / "data", port=port)
    assert again.url == process.url
    assert again.stop() == 0


async def test_a_stop_does_not_wait_for_a_call_that_hangs(tmp_path):
    process = ForgeProcess.start(tmp_path / "data")
    async with ForgeDriver(process, tmp_path / "clones") as forge:
        await forge.fault("hang", path="/hangs")
        hanging = asyncio.create_task(forge.http.get("/api/v3/hangs"))

        async def struck():
            return "a fault strikes" in forge.process.log()

        await until(struck, what="the call to hang")
        assert await asyncio.to_thread(process.stop) == 0
        with pytest.raises(httpx.HTTPError):
            (await hanging).raise_for_status()


async def test_a_delivery_cut_off_by_the_end_is_a_failed_one_after_the_restart(tmp_path):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        async with launched_forge(tmp_path / "data") as forge:
            ada = await forge.user("ada")
            await forge.app("previews", owner=ada, webhook_url=f"http://127.0.0.1:{silent.getsockname()[1]}/")
            assert [row["status"] for row in await forge.deliveries()] == ["pending"]
        async with launched_forge(tmp_path / "data") as forge:
            (cut_off,) = await forge.deliveries()
            assert (cut_off["event"], cut_off["status_code"]) == ("ping", 502)


def run(*arguments):
    command = [sys.executable, "-m", "bot.forge", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def test_a_taken_port_is_exit_code_75(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ended = run("--data", tmp_path, "--port", taken.getsockname()[1])
    assert (ended.returncode, ended.stdout) == (75, "")
    assert "cannot listen" in ended.stderr


def test_a_data_folder_of_something_else_is_exit_code_2(tmp_path):
    (tmp_path / "state.json").write_text('{"not": "ours"}')
    ended = run("--data", tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "cannot use the data folder" in ended.stderr


def test_a_missing_argument_is_exit_code_2():
    assert run().returncode == 2
