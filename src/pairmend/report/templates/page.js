"use strict";

// Sorting: a click on a head sorts by it, a second one the other way round. Cells without a
// value stay last either way.
function keyOf(row, column) {
  const cell = row.cells[column];
  if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
  const text = cell.textContent.trim();
  return text === "" || text === "–" ? null : text;
}

function compare(first, second) {
  if (typeof first === "number" && typeof second === "number") {
    return (first > second) - (first < second); // not their difference: both may be infinite
  }
  return String(first).localeCompare(String(second), "en", { numeric: true });
}

function sortBy(table, heads, column) {
  const head = heads[column];
  const descending = head.getAttribute("aria-sort") === "ascending";
  for (const other of heads) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const body = table.tBodies[0];
  const keyed = Array.from(body.rows, (row) => [keyOf(row, column), row]);
  keyed.sort(([first], [second]) => {
    if (first === null || second === null) return (first === null) - (second === null);
    return descending ? compare(second, first) : compare(first, second);
  });
  body.append(...keyed.map(([, row]) => row));
}

for (const table of document.querySelectorAll("table[data-sortable]")) {
  const heads = Array.from(table.tHead.rows[table.tHead.rows.length - 1].cells);
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => sortBy(table, heads, column));
  });
}

// Filtering: show rows that contain all the words.
for (const input of document.querySelectorAll(".filter input")) {
  const table = document.getElementById(input.getAttribute("aria-controls"));
  const empty = table.closest(".table").querySelector(".empty");
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    empty.hidden = shown > 0;
  });
}

// The section in view is marked in the list of sections.
const links = new Map(
  Array.from(document.querySelectorAll("nav li a"), (link) => [link.hash.slice(1), link]),
);
const inView = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id).setAttribute("aria-current", "true");
    }
  },
  { rootMargin: "-20% 0px -70% 0px" },
);
for (const id of links.keys()) inView.observe(document.getElementById(id));

// Open all folds for printing.
let unfolded = [];
window.addEventListener("beforeprint", () => {
  unfolded = Array.from(document.querySelectorAll("details:not([open])"));
  for (const fold of unfolded) fold.open = true;
});
window.addEventListener("afterprint", () => {
  for (const fold of unfolded) fold.open = false;
});
