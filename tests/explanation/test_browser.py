"""Pages of explanations in a browser: sorting, filtering, folds, light and dark, narrow."""

import numpy as np
import pandas as pd
import pytest

import chromium
from chromium import SHOWN, contrast, show, spill
from pairmend import MendedClassifier
from pairmend.base_classifiers import ScaledLogisticRegression

pytestmark = chromium.needed
LONG = "anextraordinarilylongnameofalabelwithoutanyspaces" * 2


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A page of many rows, and a document with two outputs of a notebook."""
    rng = np.random.RandomState(0)
    X = pd.DataFrame(rng.uniform(-1, 1, size=(100, 9)), columns=[*"abcdefgh", LONG])
    X.index = [f"p{k}" for k in range(len(X))]
    Y = pd.DataFrame({"sea": X.a**2 + X.b**2 < 0.5, LONG: X.a > 0.2, "sun": X.c > 0}).astype(int)
    clf = MendedClassifier(ScaledLogisticRegression(), random_state=0).fit(X[:80], Y[:80])
    explained = clf.explain(X[70:90])
    folder = tmp_path_factory.mktemp("pages")
    (folder / "page.html").write_text(explained.to_html(title="Photos"), encoding="utf-8")
    cells = f"{explained._repr_html_()}<p>Out[2]</p>{explained[4]._repr_html_()}"
    notebook = (
        '<!DOCTYPE html><html><head><meta charset="utf-8"></head>'
        '<body data-jp-theme-light="THEME"><h2 id="own">Out[1]</h2><table id="other"><tr>'
        f"<td>1</td></tr></table>{cells}</body></html>"
    )
    for theme in ("true", "false"):
        path = folder / f"notebook-{theme}.html"
        path.write_text(notebook.replace("THEME", theme), encoding="utf-8")
    return folder


@pytest.mark.parametrize("width", [420, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_readable_and_logs_nothing(browser, pages, width, scheme):
    show(browser, pages / "page.html", scheme, width)
    assert browser.get_log("browser") == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert spill(browser) <= 0
    colours = browser.execute_script("""
      const ink = (selector) => getComputedStyle(document.querySelector(selector));
      return [ink("body").backgroundColor, ink("td").color, ink(".headline").color,
              ink("figcaption").color, ink(".row > summary").color];
    """)
    page, *inks = colours
    assert (page == "rgb(23, 25, 28)") == (scheme == "dark")
    for ink in inks:
        assert contrast(ink, page) > 4.5


def test_rows_are_filtered_and_opened(browser, pages):
    from selenium.webdriver.common.by import By

    show(browser, pages / "page.html")
    overview = browser.find_element(By.CSS_SELECTOR, ".overview")
    assert len(browser.execute_script(SHOWN, overview)) == 20
    box = overview.find_element(By.CSS_SELECTOR, ".filter input")
    box.send_keys("p72")
    (row,) = browser.execute_script(SHOWN, overview)
    assert row.startswith("2 (p72) ")
    browser.execute_script("for (const d of document.querySelectorAll('details')) d.open = false")
    overview.find_element(By.LINK_TEXT, "2 (p72)").click()
    opened = browser.execute_script(
        "return Array.from(document.querySelectorAll('details[open]'), (d) => d.id)"
    )
    assert opened == ["row-2"]
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("theme", ["true", "false"])
def test_outputs_of_a_notebook_follow_its_theme_and_change_nothing_else(browser, pages, theme):
    # The theme of the notebook is not the scheme of the system.
    show(browser, pages / f"notebook-{theme}.html", "dark" if theme == "true" else "light")
    assert browser.get_log("browser") == []
    found = browser.execute_script("""
      const style = (selector) => getComputedStyle(document.querySelector(selector));
      return [style(".pairmend").backgroundColor, style(".pairmend td").color,
              style("#other td").padding, style("#own").borderTopWidth,
              document.querySelectorAll("#other button").length,
              document.querySelectorAll(".pairmend thead button").length];
    """)
    page, ink, padding, border, others, buttons = found
    assert page == ("rgb(253, 253, 252)" if theme == "true" else "rgb(23, 25, 28)")
    assert contrast(page, ink) > 7
    assert (padding, border, others) == ("1px", "0px", 0)
    assert buttons > 50
    heads = browser.execute_script(
        "return Array.from(document.querySelectorAll('thead th'), (h) => h.children.length)"
    )
    assert set(heads) == {1}  # each script prepared its own output only once
