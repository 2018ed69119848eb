"""The built site: links, and pages in Chromium. `make docs` runs it after the build.

    python -m pytest tests/docs/check_site.py

The site is expected in docs/_build/html.
"""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import chromium

SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"
PAGES = sorted(
    path.relative_to(SITE).as_posix()
    for path in SITE.rglob("*.html")
    if "_static" not in path.parts  # templates of the theme
)


def test_the_site_was_built():
    main = {"index.html", "auto_examples/index.html", "generated/reports.html", "changelog.html"}
    assert main <= set(PAGES), f"run make docs first: no site in {SITE}"
    assert len([page for page in PAGES if page.startswith("generated/objects/")]) > 50


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
