"use strict";
// In a block: a notebook has this script once for each output.
{
  // Sorting: a click on a head sorts by it, a second one the other way round. Cells without a
  // value stay last either way.
  const keyOf = (row, column) => {
    const cell = row.cells[column];
    if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
    const text = cell.textContent.trim();
    if (text === "" || text === "–") return null;
    if (!cell.classList.contains("number")) return text;
    const plain = text.replaceAll(",", "").replace("−", "-").replace("∞", "Infinity");
    return plain.startsWith("<") ? 0 : Number(plain);
  };

  const compare = (first, second) => {
    if (typeof first === "number" && typeof second === "number") {
      return (first > second) - (first < second); // not their difference: both may be infinite
    }
    return String(first).localeCompare(String(second), "en", { numeric: true });
  };

  const sortBy = (table, heads, column) => {
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
  };

  const makeSortable = (table) => {
    const heads = Array.from(table.tHead.rows[table.tHead.rows.length - 1].cells);
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => sortBy(table, heads, column));
    });
  };

  // Filtering: show rows that contain all the words.
  const makeFilter = (input) => {
    const place = input.closest(".table");
    const table = place.querySelector("table");
    const empty = place.querySelector(".empty");
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
  };

  // The section in view is marked in the list of sections.
  const markSections = (root) => {
    const links = new Map(
      Array.from(root.querySelectorAll("nav li a"), (link) => [link.hash.slice(1), link]),
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
  };

  // A link to a fold opens it.
  const openTarget = (link) => {
    link.addEventListener("click", (event) => {
      const fold = document.getElementById(link.hash.slice(1));
      if (fold === null) return;
      event.preventDefault();
      fold.open = true;
      fold.scrollIntoView();
      fold.querySelector("summary").focus({ preventScroll: true });
    });
  };

  for (const root of document.querySelectorAll("[data-pairmend]:not([data-ready])")) {
    root.dataset.ready = "";
    root.querySelectorAll("table[data-sortable]").forEach(makeSortable);
    root.querySelectorAll(".filter input").forEach(makeFilter);
    root.querySelectorAll("a[data-fold]").forEach(openTarget);
    if (root === document.body) markSections(root);
  }

  // Open all folds of a page for printing.
  let unfolded = [];
  window.addEventListener("beforeprint", () => {
    unfolded = Array.from(document.querySelectorAll("[data-pairmend] details:not([open])"));
    for (const fold of unfolded) fold.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const fold of unfolded) fold.open = false;
  });
}
