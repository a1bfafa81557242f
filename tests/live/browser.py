"""A headless Chromium that no page can use to reach anything but this machine.

Chromium and its driver come from Debian, selenium lives in an environment of its own; both
are fetched on first use. Take the `browser` fixture into a test by importing it.
"""

from __future__ import annotations

import json
import shutil
import site
import subprocess
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
HOME = ROOT / ".venv-live" / "browser"
INSTALL_S = 1200
PAGE_S = 300

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)

AXE = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ['violations']}).then(
  (found) => done(found.violations.filter((v) => ['serious', 'critical'].includes(v.impact))
    .flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.target} ${n.html.slice(0, 120)}`))),
  (error) => done([String(error)]));
"""
"""Run axe-core's rules over the page, which carries it already."""


@dataclass(frozen=True)
class Browser:
    """One window with what it logged."""

    driver: Any
    """The selenium driver, for clicks and forms."""

    def show(self, address: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Load a page as a screen of this size and scheme would; forget earlier logs."""
        mobile = width < 600
        self._command(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile},
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._command("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(address)

    def complaints(self) -> list[str]:
        """Return what the console said since the page was loaded."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Return the addresses asked for since the page was loaded."""
        events = (json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance"))
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a script in the page and return its value."""
        return self.driver.execute_script(script, *arguments)

    def barriers(self) -> list[str]:
        """Return what axe-core finds serious or critical on the page, rule and element a line."""
        (script,) = HOME.glob("lib/python*/site-packages/axe_playwright_python/axe.min.js")
        self.driver.execute_script(script.read_text(encoding="utf-8"))
        found: list[str] = self.driver.execute_async_script(AXE)
        return found

    def screenshot(self, path: Path, *, whole: bool = False) -> Path:
        """Save a PNG of the window, or of the whole page."""
        import base64

        shot = self._command("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": whole})
        path.write_bytes(base64.b64decode(shot["data"]))
        return path

    def print_pdf(self) -> bytes:
        """Return the page as a PDF, as the print dialogue would make it."""
        import base64

        return base64.b64decode(self._command("Page.printToPDF", {"printBackground": True})["data"])

    def _command(self, name: str, parameters: dict[str, Any]) -> Any:
        return self.driver.execute_cdp_cmd(name, parameters)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start one headless Chromium for all tests of a session."""
    chromium, driver = install_chromium()
    install_selenium()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    window = webdriver.Chrome(options=options, service=Service(driver))
    window.set_page_load_timeout(PAGE_S)
    try:
        yield Browser(window)
    finally:
        window.quit()


def install_chromium() -> tuple[str, str]:
    """Return Chromium and its driver, installed from Debian where they are absent."""
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        if shutil.which("apt-get") is None:
            pytest.skip("no chromium here, and no apt-get to install it")
        install = ["install", "-y", "-qq", "chromium", "chromium-driver", "fonts-dejavu-core"]
        for words in (["update", "-qq"], install):
            command = ["apt-get", "-o", "Acquire::Retries=5", *words]
            subprocess.run(command, check=True, capture_output=True, timeout=INSTALL_S)
    found = shutil.which("chromium"), shutil.which("chromedriver")
    assert all(found), "chromium did not install"
    return str(found[0]), str(found[1])


def install_selenium() -> None:
    """Make selenium importable from an environment that holds nothing else."""
    python = HOME / "bin" / "python"
    if not python.exists():
        subprocess.run([ROOT / ".venv" / "bin" / "uv", "venv", "-q", HOME], check=True, timeout=INSTALL_S)
    uv = [ROOT / ".venv" / "bin" / "uv", "pip", "install", "-q", "--python", python]
    # of the second only the script it carries is used, without its own driver of browsers
    for more in (["selenium>=4.30,<5"], ["--no-deps", "axe-playwright-python==0.1.*"]):
        subprocess.run([*uv, *more], check=True, timeout=INSTALL_S)
    (packages,) = HOME.glob("lib/python*/site-packages")
    site.addsitedir(str(packages))
