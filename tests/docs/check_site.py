"""The built site: links, and pages in Chromium. `make docs` runs it after the build.

    python -m pytest tests/docs/check_site.py

The site is expected in docs/_build/html.
"""

import re
import threading
from functools import cache, partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import chromium

SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"
PAGES = sorted(
    path.relative_to(SITE).as_posix()
    for path in SITE.rglob("*.html")
    if "_static" not in path.parts  # templates of the theme
)
LOADED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}


class Links(HTMLParser):
    """Anchors of a page, its links, and the files that it loads."""

    def __init__(self):
        super().__init__()
        self.anchors, self.links, self.files = {"", "top"}, set(), set()

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors.update(value for value in (values.get("id"), values.get("name")) if value)
        if tag == "a" and values.get("href"):
            self.links.add(values["href"])
        elif tag in LOADED and values.get(LOADED[tag]) and values.get("rel") != "canonical":
            self.files.add(values[LOADED[tag]])


@cache
def read(page):
    """Return the links of a page."""
    links = Links()
    links.feed((SITE / page).read_text("utf-8"))
    return links


def is_external(link):
    return urlsplit(link).scheme in {"http", "https", "mailto"} or link.startswith("//")


def problem(page, link):
    """Return what is wrong with a link of a page, or None."""
    parts = urlsplit(link)
    if parts.scheme == "data":
        return None
    target = (SITE / page).parent / unquote(parts.path) if parts.path else SITE / page
    if target.is_dir():
        target /= "index.html"
    target = target.resolve()
    if not target.is_relative_to(SITE.resolve()) or not target.is_file():
        return "no such file"
    if target.suffix == ".html":
        name = target.relative_to(SITE.resolve()).as_posix()
        if unquote(parts.fragment) not in read(name).anchors:
            return "no such anchor"
    return None


def test_the_site_was_built():
    main = {"index.html", "auto_examples/index.html", "generated/reports.html", "changelog.html"}
    assert main <= set(PAGES), f"run make docs first: no site in {SITE}"
    assert len([page for page in PAGES if page.startswith("generated/objects/")]) > 50


def test_internal_links_and_anchors_resolve():
    found = {
        f"{page}: {link}": reason
        for page in PAGES
        for link in sorted(read(page).links)
        if not is_external(link) and (reason := problem(page, link))
    }
    assert found == {}


def test_pages_load_files_of_the_site_only():
    found = [
        (page, link)
        for page in PAGES
        for link in sorted(read(page).files)
        if is_external(link) or problem(page, link)
    ]
    assert found == []
    for style in SITE.rglob("*.css"):
        assert not re.search(r"(url\(|@import)[^;]{0,5}(https?:)?//", style.read_text("utf-8"))


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a line for each."""

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def address():
    """The site on a free port: a browser does not let scripts of files read other files."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def errors(browser):
    """Return the errors in the console."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


REQUESTS = "return performance.getEntriesByType('resource').map((entry) => entry.name)"


@chromium.needed
@pytest.mark.timeout(1200)
def test_every_page_opens_without_errors_and_fits_a_narrow_screen(browser, address):
    found = []
    for page in PAGES:
        chromium.emulate(browser, "light", 1400)
        browser.get(f"{address}/{page}")
        found += [(page, message) for message in errors(browser)]
        requests = browser.execute_script(REQUESTS)
        found += [(page, each) for each in requests if not each.startswith((address, "data:"))]
        chromium.emulate(browser, "dark", 420)
        if (wider := chromium.spill(browser)) > 0:
            found.append((page, f"{wider} px wider than 420 px"))
    assert found == []


@chromium.needed
def test_formulas_are_drawn(browser, address):
    chromium.emulate(browser, "light", 1400)
    browser.get(f"{address}/method.html")
    heights = browser.execute_script(
        "return Array.from(document.querySelectorAll('.formula math'))"
        ".map((formula) => formula.getBoundingClientRect().height)"
    )
    assert len(heights) >= 4
    # A fraction is higher than a line of text, which is how a formula that is not drawn looks.
    assert max(heights) > 30
