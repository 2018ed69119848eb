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


# Sorts every table by every column, twice, and returns the column each time.
SORT = """
return Array.from(document.querySelectorAll("table[data-sortable]"), (table) => {
  const heads = Array.from(table.tHead.rows[table.tHead.rows.length - 1].cells);
  return heads.map((head, column) => {
    const read = () => Array.from(table.tBodies[0].rows, (row) => {
      const cell = row.cells[column];
      const text = cell.textContent.trim();
      if (!cell.classList.contains("number") || ["", "–"].includes(text)) return text;
      return text.startsWith("<") ? 0 : Math.min(1e300, Number(
        text.replaceAll(",", "").replace("−", "-").replace("∞", "Infinity")));
    });
    const before = read();
    const passes = [1, 2].map(() => {
      head.querySelector("button").click();
      return [head.getAttribute("aria-sort"), read(),
              heads.filter((h) => h.getAttribute("aria-sort") !== "none").length];
    });
    return [table.id, before, passes];
  });
}).flat()
"""


def test_every_table_sorts_both_ways(opened):
    columns = opened.execute_script(SORT)
    tables = {name for name, *_ in columns}
    assert "rows-results" in tables
    numeric = 0
    for name, before, passes in columns:
        assert [(state, n) for state, _, n in passes] == [("ascending", 1), ("descending", 1)]
        up, down = (values for _, values, _ in passes)
        assert sorted(map(str, up)) == sorted(map(str, down)) == sorted(map(str, before))
        present = [value for value in up if value not in ("", "–")]
        n = len(present)
        assert up[:n] == present == down[:n][::-1], f"{name}: missing values must be last"
        if present and all(isinstance(value, int | float) for value in present):
            assert present == sorted(present)
            numeric += 1
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
    box.clear()
    box.send_keys("y")
    assert len(rows()) > 1


def test_names_of_sets_stay_visible_when_a_table_is_scrolled(browser, page_of):
    show(browser, page_of("paper"), width=400)
    hidden = browser.execute_script("""
      const place = document.querySelector("#table-results .scroll");
      place.scrollIntoView({ behavior: "instant" });
      const cells = Array.from(place.querySelectorAll("tr > :first-child"));
      const hidden = [];
      for (let left = 20; left <= 200; left += 10) {
        place.scrollLeft = left;
        for (const cell of cells) {
          const box = cell.getBoundingClientRect();
          const top = document.elementFromPoint(box.left + 15, box.top + box.height / 2);
          if (!cell.contains(top)) hidden.push([left, cell.textContent]);
        }
      }
      return cells.length > 10 ? hidden : "too few cells"
    """)
    assert hidden == []


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
