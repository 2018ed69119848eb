"""The page in a browser: sorting, filtering and figures, in light and dark mode."""

import pytest

import chromium
from chromium import SHOWN, emulate, show, spill

pytestmark = chromium.needed


@pytest.fixture(params=["paper", "hostile names"])
def opened(browser, page_of, request):
    """The browser with a freshly opened page and all its folds open."""
    show(browser, page_of(request.param))
    return browser


# Clicks twice on the head of every column, and returns the cells before and after each.
SORT = """
const heads = document.querySelectorAll("table[data-sortable] thead tr:last-child > *");
return Array.from(heads, (head) => {
  const cells = () => Array.from(head.closest("table").tBodies[0].rows,
    (row) => row.cells[head.cellIndex].textContent.trim());
  const click = () => {
    head.querySelector("button").click();
    const sorted = head.parentNode.querySelectorAll("[aria-sort]:not([aria-sort=none])");
    return [Array.from(sorted, (each) => each.ariaSort), cells()];
  };
  return [cells(), click(), click()];
})
"""


def key_of(text):
    """Return a number, or a text."""
    try:
        return float(text.replace(",", "").replace("−", "-").replace("∞", "inf"))
    except ValueError:
        return 0.0 if text.startswith("<0.") else text


def test_every_table_sorts_both_ways(opened):
    numeric = 0
    for before, *passes in opened.execute_script(SORT):
        assert [state for state, _ in passes] == [["ascending"], ["descending"]]
        up, down = ([key_of(cell) for cell in cells] for _, cells in passes)
        assert sorted(map(str, up)) == sorted(str(key_of(cell)) for cell in before)
        present = [value for value in up if value not in ("", "–")]
        n = len(present)
        assert up[:n] == present == down[:n][::-1], "missing values must be last"
        if all(isinstance(value, float) for value in present):
            assert present == sorted(present)
            numeric += n > 0
    assert numeric > 10
    assert opened.get_log("browser") == []


def test_the_filter_keeps_rows_with_all_words(browser, page_of):
    from selenium.webdriver.common.by import By

    show(browser, page_of("paper"))
    place = browser.find_element(By.ID, "table-published")
    box = place.find_element(By.CSS_SELECTOR, ".filter input")

    def rows():
        return browser.execute_script(SHOWN, place)

    assert len(rows()) == 44
    box.send_keys("YEAST hamming")
    shown = rows()
    assert len(shown) == 1
    assert shown[0].startswith("yeast possible Hamming loss")
    assert not place.find_element(By.CLASS_NAME, "empty").is_displayed()
    box.send_keys(" nowhere")
    assert rows() == []
    assert place.find_element(By.CLASS_NAME, "empty").is_displayed()


def test_names_of_sets_stay_visible_when_a_table_is_scrolled(browser, page_of):
    show(browser, page_of("paper"), width=400)
    shown = browser.execute_script("""
      const place = document.querySelector("#table-results .scroll");
      place.scrollIntoView({ behavior: "instant" });
      place.scrollLeft = 100;
      return Array.from(place.querySelectorAll("tr > :first-child"), (cell) => {
        const box = cell.getBoundingClientRect();
        return cell.contains(document.elementFromPoint(box.left + 15, box.top + box.height / 2));
      });
    """)
    assert len(shown) > 10
    assert all(shown)


def test_narrow_screens_show_all_figures_and_do_not_scroll_sideways(opened):
    emulate(opened, "dark", width=400)
    assert spill(opened) <= 0
    sizes = opened.execute_script("""
      return Array.from(document.querySelectorAll(".drawing img"), (img) =>
        [img.complete, img.naturalWidth, img.getBoundingClientRect().width]);
    """)
    assert len(sizes) > 10
    for complete, drawn, shown in sizes:
        assert complete
        assert drawn > 200
        assert shown / drawn > 0.6, "letters, drawn with 10 pixels, cannot be read"
    assert opened.get_log("browser") == []


def test_folds_are_open_when_printed(browser, page_of):
    show(browser, page_of("paper"))
    browser.execute_script("for (const d of document.querySelectorAll('details')) d.open = false")
    count = "return document.querySelectorAll('details:not([open])').length"
    closed = browser.execute_script(count)
    assert closed > 5
    browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert browser.execute_script(count) == 0
    browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert browser.execute_script(count) == closed
