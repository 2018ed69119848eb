"""Pages in a headless Chromium, for tests that skip where it is not installed."""

import os
import shutil

import pytest

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic",
    "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-extensions", "--window-size=1400,1000",
]  # fmt: skip

needed = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="needs chromium and chromedriver (Debian: chromium, chromium-driver)",
)


def start(profile):
    """Start a browser with a profile in this folder."""
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS:
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={profile}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with pytest.MonkeyPatch.context() as patch:
        # Both paths are given, so selenium needs no network.
        patch.setenv("SE_OFFLINE", "true")
        patch.setenv("SE_AVOID_STATS", "true")
        service = Service(executable_path=DRIVER, env=dict(os.environ))
        driver = webdriver.Chrome(options=options, service=service)
    driver.set_script_timeout(60)
    return driver


def emulate(browser, scheme, width):
    """Set the colour scheme and the width of the window."""
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": "", "features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False},
    )


def show(browser, path, scheme="light", width=1400):
    """Open a page with all its folds open."""
    browser.get_log("browser")  # clear messages of earlier pages
    emulate(browser, scheme, width)
    browser.get(path.as_uri())
    browser.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")


def spill(browser):
    """Return by how many pixels the page is wider than the window."""
    return browser.execute_script(
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )


def contrast(first, second):
    """Return the contrast of two colours, as CSS or three shares, by the WCAG."""

    def luminance(colour):
        parts = colour
        if isinstance(colour, str):
            parts = [int(part) / 255 for part in colour.strip("rgba()").split(",")[:3]]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    dark, light = sorted([luminance(first), luminance(second)])
    return (light + 0.05) / (dark + 0.05)


# Texts of visible body rows of an element.
SHOWN = """
return Array.from(arguments[0].querySelectorAll("tbody tr"))
  .filter((row) => row.checkVisibility()).map((row) => row.innerText.replace(/\\s+/g, " "))
"""
