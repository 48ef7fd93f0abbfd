/* Tables sort by their headings: once upwards, once more downwards. */
const collator = new Intl.Collator(undefined, { numeric: true });

/** What a row is sorted by: a number if its cell has one, else the cell's text. */
function orderOf(row, column) {
  const cell = row.cells[column];
  return "order" in cell.dataset ? Number(cell.dataset.order) : cell.textContent.trim();
}

/** Numbers by size, texts by letters; what is no number stays below whichever way one sorts. */
function compareOrders(one, other, direction) {
  const numeric = typeof one === "number";
  if (numeric !== (typeof other === "number")) return numeric ? -1 : 1;
  return direction * (numeric ? one - other : collator.compare(one, other));
}

function sortTable(table, column, direction) {
  const body = table.tBodies[0];
  const keyed = Array.from(body.rows, (row) => ({ row, order: orderOf(row, column) }));
  // Equal rows keep their places: the built-in sort is stable.
  keyed.sort((one, other) => compareOrders(one.order, other.order, direction));
  body.append(...keyed.map((each) => each.row));
}

/** A heading becomes a button; `aria-sort` tells readers and the style sheet its state. */
function prepareTable(table) {
  const headings = Array.from(table.tHead.rows[0].cells);
  headings.forEach(function (heading, column) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", function () {
      const downwards = heading.getAttribute("aria-sort") === "ascending";
      for (const each of headings) each.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", downwards ? "descending" : "ascending");
      sortTable(table, column, downwards ? -1 : 1);
    });
  });
}

function startTables() {
  for (const table of document.querySelectorAll("table.sortable")) prepareTable(table);
}
