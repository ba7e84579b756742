(() => {
  const value = (cell) => cell.dataset.value ?? cell.textContent.trim();
  const rowsOf = (table) => [...table.tBodies[0].rows];
  const tables = new Map();

  // Numbers by size, words by alphabet, gaps last in either direction.
  const compare = (a, b, sign) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    const [x, y] = [Number(a), Number(b)];
    if (!Number.isNaN(x) && !Number.isNaN(y)) return sign * (x - y);
    return sign * a.localeCompare(b, undefined, { numeric: true });
  };

  const sort = (table, column, sign) => {
    const heads = [...table.tHead.rows[0].cells];
    if (!heads[column]) return;
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    const keyed = rowsOf(table).map((row) => [value(row.cells[column]), row]);
    keyed.sort((a, b) => compare(a[0], b[0], sign));
    table.tBodies[0].append(...keyed.map((pair) => pair[1]));
    tables.get(table).sorted = [column, sign];
  };

  const filter = (table, text) => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rowsOf(table)) {
      const said = [...row.cells].map((cell) => cell.textContent).join("\n").toLowerCase();
      row.hidden = !words.every((word) => said.includes(word));
      shown += !row.hidden;
    }
    const state = tables.get(table);
    const all = rowsOf(table).length;
    state.count.textContent = (words.length ? `${shown} of ` : "") + (all === 1 ? "1 row" : `${all} rows`);
    state.input.value = text;
  };

  // A cell that a spreadsheet would take for a formula gets an apostrophe in front.
  const field = (text) => {
    const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? "'" + text : text;
    return /[",\r\n]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
  };
  const csv = (table) => {
    const heads = [...table.tHead.rows[0].cells].map((head) => head.dataset.exact ?? head.textContent.trim());
    const rows = rowsOf(table).filter((row) => !row.hidden).map((row) => [...row.cells].map(value));
    return [heads, ...rows].map((row) => row.map(field).join(",") + "\r\n").join("");
  };
  const save = (table) => {
    const address = URL.createObjectURL(new Blob([csv(table)], { type: "text/csv;charset=utf-8" }));
    make("a", { href: address, download: table.dataset.name.replace(/[^\w-]+/g, "_") + ".csv" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  };

  // What is sorted and filtered is in the address, so that it can be sent as a link.
  const remember = (table) => {
    const { sorted, input } = tables.get(table);
    const state = new URLSearchParams({ table: table.dataset.name });
    if (sorted) state.set("sort", sorted[1] * (sorted[0] + 1));
    if (input.value) state.set("filter", input.value);
    try { history.replaceState(null, "", "#" + state); } catch { /* a page inside another may not */ }
  };
  const recall = () => {
    const state = new URLSearchParams(location.hash.slice(1));
    const table = [...tables.keys()].find((one) => one.dataset.name === state.get("table"));
    if (table) {
      const column = Math.trunc(Number(state.get("sort")));
      if (column) sort(table, Math.abs(column) - 1, Math.sign(column));
      filter(table, state.get("filter") ?? "");
      table.closest(".grid").scrollIntoView();
    }
    unfold();
  };

  // A link to a folded part opens it and what it is in.
  const unfold = () => {
    let goal = null;
    try { goal = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch { return; }
    if (!goal) return;
    for (let part = goal.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
    goal.scrollIntoView();
  };

  for (const table of document.querySelectorAll("table[data-name]")) {
    const input = make("input", { type: "search", placeholder: "filter rows", ariaLabel: "filter rows of this table" });
    const count = make("span", { ariaLive: "polite" });
    const button = make("button", { type: "button", textContent: "save as CSV" });
    tables.set(table, { input, count, sorted: null });
    input.addEventListener("input", () => { filter(table, input.value); remember(table); });
    button.addEventListener("click", () => save(table));
    const tools = make("div", { className: "tools" }, input, button, count);
    if (table.querySelector(".minor")) {
      const more = make("button", { type: "button", className: "all-columns", textContent: "all columns" });
      more.addEventListener("click", () => { more.textContent = table.classList.toggle("all") ? "fewer columns" : "all columns"; });
      tools.append(more);
    }
    table.closest(".grid").prepend(tools);
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const press = make("button", { type: "button", title: "sort by this column" }, ...head.childNodes);
      press.addEventListener("click", () => {
        const [last, sign] = tables.get(table).sorted ?? [];
        const numeric = rowsOf(table).some((row) => row.cells[column].classList.contains("number"));
        sort(table, column, last === column ? -sign : numeric ? -1 : 1);
        remember(table);
      });
      head.append(press);
    });
    input.hidden = rowsOf(table).length < 6;
    filter(table, "");
  }
  // Browsers break lines after hyphens, also after those of an option.
  for (const code of document.querySelectorAll(".command code, td.made code")) {
    code.replaceChildren(...code.textContent.split(/(\s)(--?\w[\w-]*)/).map((text, i) =>
      i % 3 === 2 ? make("span", { className: "option", textContent: text }) : text));
  }

  window.addEventListener("hashchange", recall);
  recall();

  // What is folded is printed all the same.
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    folded.forEach((part) => { part.open = true; });
  });
  window.addEventListener("afterprint", () => { folded.forEach((part) => { part.open = false; }); });
})();
