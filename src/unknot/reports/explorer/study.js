(() => {
  const known = JSON.parse(find("known").textContent);
  const box = { left: 96, right: 626, top: 14, bottom: 390 };
  const svg = (tag, attributes, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
    if (text !== undefined) node.textContent = text;
    return node;
  };
  for (const [id, at] of [["x", 0], ["y", Math.min(1, known.measures.length - 1)]]) {
    find(id).append(...known.measures.map((m, i) => make("option", { value: String(i), textContent: m.words })));
    find(id).value = String(at);
  }
  const hue = (i, n) => `hsl(${Math.round((360 * i) / Math.max(n, 1) + 210) % 360} 62% 52%)`;
  const nice = (value) => Number(value.toPrecision(3)).toString().replace("-", "\u2212");

  const scale = (values, from, to) => {
    let low = Math.min(...values), high = Math.max(...values);
    if (low === high) { low -= 0.5; high += 0.5; }
    const rim = 0.06 * (high - low);
    return { low, high, at: (value) => from + ((value - low + rim) / (high - low + 2 * rim)) * (to - from) };
  };

  const marks = ({ low, high }) => {  // two to five round numbers, with as many decimals as tell them apart
    const least = (high - low) / 4, ten = 10 ** Math.floor(Math.log10(least));
    const step = ten * [1, 2, 5, 10].find((times) => times * ten >= least);
    const first = Math.ceil(low / step), last = Math.floor(high / step);
    const decimals = Math.min(20, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
    return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step).map((value) => [value, value.toFixed(decimals).replace("-", "\u2212")]);
  };

  let latest = "";
  const look = async (run, dot) => {
    document.querySelectorAll(".chosen").forEach((node) => node.classList.remove("chosen"));
    dot.classList.add("chosen");
    latest = run.id;
    const [x, y] = [known.measures[find("x").value], known.measures[find("y").value]];
    const values = [...new Set([x, y])].map((m) => `${m.words} ${nice(run.values[m.column])}`);
    find("which").textContent = `${run.name} (${run.id}): ${values.join(", ")}`;
    find("look").hidden = true;
    find("status").textContent = "loading \u2026";
    try {
      const answer = await fetch("./look", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ id: run.id }) });
      const made = await answer.json();
      if (latest !== run.id) return;
      find("status").textContent = made.error ?? (made.picture ? "" : "No traversals of this run are here.");
      find("look").hidden = !made.picture;
      if (made.picture) find("look").src = made.picture;
    } catch {
      find("status").textContent = "No answer: has the command been stopped?";
    }
  };

  const draw = () => {
    const [x, y] = [known.measures[find("x").value], known.measures[find("y").value]];
    const runs = known.runs.filter((run) => run.values[x.column] !== undefined && run.values[y.column] !== undefined);
    const kind = find("colour").value;
    const groups = [...new Set(known.runs.map((run) => run[kind]))];
    const chart = find("chart");
    chart.replaceChildren();
    find("legend").replaceChildren(...groups.filter((group) => runs.some((run) => run[kind] === group)).map((group) => {
      const i = groups.indexOf(group);
      const mark = make("i", {});
      mark.style.background = hue(i, groups.length);
      const item = make("li", {}, mark);
      item.append(group);
      return item;
    }));
    if (!runs.length) { find("status").textContent = "No run has both."; return; }
    const across = scale(runs.map((run) => run.values[x.column]), box.left, box.right);
    const up = scale(runs.map((run) => run.values[y.column]), box.bottom, box.top);
    for (const [a, label] of marks(across)) {
      chart.append(
        svg("line", { class: "grid", x1: across.at(a), x2: across.at(a), y1: box.top, y2: box.bottom, stroke: "var(--line)" }),
        svg("text", { class: "tick", x: across.at(a), y: box.bottom + 18, "text-anchor": "middle", fill: "var(--soft)", "font-size": 12 }, label),
      );
    }
    for (const [b, label] of marks(up)) {
      chart.append(
        svg("line", { class: "grid", y1: up.at(b), y2: up.at(b), x1: box.left, x2: box.right, stroke: "var(--line)" }),
        svg("text", { class: "tick", x: box.left - 6, y: up.at(b) + 4, "text-anchor": "end", fill: "var(--soft)", "font-size": 12 }, label),
      );
    }
    const title = (m) => m.words + { true: "", false: " (lower is better)", null: " (control)" }[m.higher];
    chart.append(
      svg("text", { x: (box.left + box.right) / 2, y: 430, "text-anchor": "middle", fill: "var(--ink)", "font-size": 14 }, title(x)),
      svg("text", { x: 0, y: 0, transform: "translate(14 202) rotate(-90)", "text-anchor": "middle", fill: "var(--ink)", "font-size": 14 }, title(y)),
    );
    for (const run of runs) {
      const dot = svg("circle", { class: "dot", cx: across.at(run.values[x.column]), cy: up.at(run.values[y.column]), r: 6, tabindex: 0, role: "link" });
      dot.style.fill = hue(groups.indexOf(run[kind]), groups.length); // the page's style of dots has one colour
      dot.append(svg("title", {}, `${run.name}: ${nice(run.values[x.column])}, ${nice(run.values[y.column])}`));
      let first = false; // a finger cannot point: its first tap does, and its second opens
      dot.addEventListener("pointerenter", (event) => {
        const other = latest !== run.id;
        first = other && event.pointerType === "touch";
        if (other) look(run, dot);
      });
      dot.addEventListener("focus", () => look(run, dot));
      const open = () => { if (run.here) location.href = `./run/${run.id}/`; else find("status").textContent = "The folder of this run is gone."; };
      dot.addEventListener("click", () => { if (first) first = false; else open(); });
      dot.addEventListener("keydown", (event) => { if (event.key === "Enter") open(); });
      chart.append(dot);
      if (!latest || latest === run.id) look(run, dot);
    }
  };
  for (const id of ["x", "y", "colour"]) find(id).addEventListener("change", draw);
  draw();
})();
