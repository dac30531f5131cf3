"""What a person sees: the preview and the pull request's page in a real browser, Debian's Chromium."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from bot.subject import SAMPLES
from tests.forge_driver import until
from tests.whole.story import PATIENCE
from tests.whole.town import Town

pytestmark = [
    pytest.mark.bwrap,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium (apt install chromium chromium-driver)"),
    pytest.mark.skipif(not shutil.which("npm"), reason="needs Node"),
]
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
)  # fmt: skip


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    for flag in (*QUIET, f"--user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    yield driver
    driver.quit()


async def test_a_vite_page_loads_once_and_takes_a_push_without_a_reload(town: Town, browser: webdriver.Chrome):
    """Live reload through the URL in the comment: a page that reloads for ever is a fault seen elsewhere."""
    sample = {path.name: path.read_text() for path in (SAMPLES / "node").iterdir()}
    story = await town.story(sample)
    await story.open_pull({"NOTE": "a change"})
    browser.get(await story.ready())
    assert browser.find_element(By.CSS_SELECTOR, "#basket").text == "Today we have apples, bread, milk."
    browser.execute_script("window.loadedOnce = true")
    await story.push({"style.css": sample["style.css"] + "h1 { color: rgb(1, 2, 3); }\n"})
    await story.ready()

    async def repainted() -> bool:
        return browser.find_element(By.TAG_NAME, "h1").value_of_css_property("color") == "rgba(1, 2, 3, 1)"

    await until(repainted, what="the page to take the new colour", deadline=PATIENCE)
    assert browser.execute_script("return window.loadedOnce") is True
    complaints = [row["message"] for row in browser.get_log("browser") if "favicon" not in row["message"]]
    assert not [row for row in complaints if "WebSocket" in row or "blocked" in row or "Host" in row], complaints


async def test_the_pull_requests_page_shows_what_the_bot_said(town: Town, browser: webdriver.Chrome):
    story = await town.story({"index.html": "<h1>Hello</h1>"})
    await story.open_pull({"index.html": "<h1>Hello again</h1>"})
    url = await story.ready()
    browser.get(f"{town.forge.url}/{story.repository.full_name}/pull/{story.number}")
    links = [link.get_attribute("href") for link in browser.find_elements(By.LINK_TEXT, "Open the preview")]
    assert [link.rstrip("/") for link in links] == [url.rstrip("/")]
    browser.get(links[0])
    assert browser.find_element(By.TAG_NAME, "h1").text == "Hello again"
