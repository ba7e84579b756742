// Curves of several runs in one chart: a legend that hides and shows them, values under the pointer or finger, zoom.
(() => {
  const HUES = [212, 24, 145, 330, 265, 48, 180, 0];
  const DASHES = ["", "6 3", "2 3", "8 3 2 3"];
  const BOX = { left: 66, right: 730, top: 20, bottom: 262 };
  const svg = (tag, attributes, text) => {
    const node = document.createElementNS(document.querySelector("svg.lines").namespaceURI, tag);
    Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const nice = (value) => (Math.abs(value) >= 1e4 ? `${Number((value / 1000).toPrecision(4))}k` : String(Number(value.toPrecision(4)))).replace("-", "\u2212");
  const ticks = (low, high) => {
    const rough = (high - low) / 4, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((times) => times * power >= rough * 0.75);
    const first = Math.ceil(low / step);
    return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => (first + i) * step);
  };
  const extent = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);

  for (const figure of document.querySelectorAll("[data-chart]")) {
    const { panels } = JSON.parse(figure.dataset.chart);
    const groups = [...new Set(panels.flatMap((panel) => panel.lines.map((line) => line.group)))];
    const hidden = new Set();
    let panel = panels[0], zoom = null, drag = null, centre = null, scales = null;
    const colour = (group) => `hsl(${HUES[groups.indexOf(group) % HUES.length]} 62% var(--ink-of-lines))`;
    const chart = figure.querySelector("svg");
    const value = make("p", { className: "value", ariaLive: "polite", textContent: "Point at a curve for its values; drag, or press +, to zoom." });
    const choose = make("select", { ariaLabel: "what is drawn" }, ...panels.map((each, i) => make("option", { value: String(i), textContent: each.name })));
    const whole = () => extent(panel.lines.flatMap((line) => line.x));
    const shown = () => panel.lines.filter((line) => !hidden.has(line.group));

    const draw = () => {
      const [first, last] = zoom ?? whole();
      const span = last > first ? [first, last] : [first - 0.5, first + 0.5];
      const inside = shown().flatMap((line) => line.y.filter((y, i) => y !== null && line.x[i] >= span[0] && line.x[i] <= span[1]));
      let [low, high] = inside.length ? extent(inside) : [0, 1];
      const rim = 0.05 * (high - low) || 0.5 * Math.abs(high) || 1;
      [low, high] = [low - rim, high + rim];
      const x = (v) => BOX.left + ((v - span[0]) / (span[1] - span[0])) * (BOX.right - BOX.left);
      const y = (v) => BOX.bottom - ((v - low) / (high - low)) * (BOX.bottom - BOX.top);
      scales = { x, y, span };
      const parts = [];
      for (const tick of ticks(...span)) parts.push(svg("path", { class: "axis", d: `M${x(tick)} ${BOX.top}V${BOX.bottom}` }), svg("text", { x: x(tick), y: BOX.bottom + 18, "text-anchor": "middle", class: "soft" }, nice(tick)));
      for (const tick of ticks(low, high)) parts.push(svg("path", { class: "axis", d: `M${BOX.left} ${y(tick)}H${BOX.right}` }), svg("text", { x: BOX.left - 6, y: y(tick) + 4, "text-anchor": "end", class: "soft" }, nice(tick)));
      parts.push(svg("text", { x: BOX.right, y: 296, "text-anchor": "end", class: "soft" }, "steps"));
      for (const line of shown()) {
        let pen = "M", path = "";
        line.y.forEach((v, i) => {
          if (v === null || line.x[i] < span[0] || line.x[i] > span[1]) { pen = "M"; return; }
          path += `${pen}${x(line.x[i]).toFixed(1)} ${y(v).toFixed(1)}`;
          pen = "L";
        });
        if (path && !path.includes("L")) parts.push(svg("circle", { cx: path.slice(1).split(" ")[0], cy: path.split(" ")[1], r: 3, fill: colour(line.group) }));
        const dashes = DASHES[Math.floor(groups.indexOf(line.group) / HUES.length) % DASHES.length];
        parts.push(svg("path", { class: "line", d: path, stroke: colour(line.group), "stroke-dasharray": dashes }));
      }
      chart.replaceChildren(...parts);
    };

    const place = (event) => {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.getScreenCTM().inverse());
      const step = scales.span[0] + ((point.x - BOX.left) / (BOX.right - BOX.left)) * (scales.span[1] - scales.span[0]);
      return { ...{ x: point.x, y: point.y }, step: Math.min(Math.max(step, scales.span[0]), scales.span[1]) };
    };
    const point = (event) => {
      const at = place(event);
      centre = at.step;
      let best = null;
      for (const line of shown()) line.y.forEach((v, i) => {
        if (v === null || line.x[i] < scales.span[0] || line.x[i] > scales.span[1]) return;
        const far = Math.abs(scales.x(line.x[i]) - at.x) + Math.abs(scales.y(v) - at.y);
        if (!best || far < best.far) best = { far, line, i };
      });
      chart.querySelectorAll(".at").forEach((mark) => mark.remove());
      if (!best) return;
      const [step, v] = [best.line.x[best.i], best.line.y[best.i]];
      chart.append(svg("circle", { class: "at", cx: scales.x(step), cy: scales.y(v), r: 5, fill: colour(best.line.group) }));
      value.textContent = `${best.line.name}: ${nice(v)} at step ${step.toLocaleString("en")}`;
    };
    const magnify = (times) => {
      const [low, high] = zoom ?? whole(), [first, last] = whole();
      const half = ((high - low) * times) / 2, middle = Math.min(Math.max(centre ?? (low + high) / 2, low), high);
      const span = [Math.max(first, middle - half), Math.min(last, middle + half)];
      zoom = span[1] - span[0] >= 0.999 * (last - first) ? null : span;
      draw();
    };
    chart.addEventListener("pointermove", (event) => {
      point(event);
      if (drag === null) return;
      chart.querySelectorAll(".band").forEach((mark) => mark.remove());
      const [a, b] = [drag, place(event).step].sort((p, q) => p - q);
      chart.append(svg("rect", { class: "band", x: scales.x(a), width: scales.x(b) - scales.x(a), y: BOX.top, height: BOX.bottom - BOX.top }));
    });
    chart.addEventListener("pointerdown", (event) => { point(event); drag = event.pointerType === "mouse" ? place(event).step : null; });
    chart.addEventListener("pointerup", (event) => {
      if (drag === null) return;
      const [a, b] = [drag, place(event).step].sort((p, q) => p - q);
      drag = null;
      if (scales.x(b) - scales.x(a) > 12) zoom = [a, b];
      draw();
    });
    chart.addEventListener("pointerleave", () => { drag = null; chart.querySelectorAll(".band").forEach((mark) => mark.remove()); });
    chart.addEventListener("dblclick", () => { zoom = null; draw(); });
    choose.addEventListener("change", () => { panel = panels[Number(choose.value)]; zoom = null; draw(); });
    const press = (text, title, act) => {
      const button = make("button", { type: "button", textContent: text, title });
      button.addEventListener("click", act);
      return button;
    };
    const tools = make("div", { className: "tools" }, choose, press("+", "zoom in at the last place pointed at", () => magnify(0.5)), press("\u2212", "zoom out", () => magnify(2)), press("whole", "all steps", () => { zoom = null; draw(); }));
    const legend = make("div", { className: "legend" }, ...groups.map((group) => {
      const key = make("i", {});
      key.style.background = colour(group);
      const button = make("button", { type: "button", ariaPressed: "true", title: "hide or show" }, key, group);
      button.addEventListener("click", () => {
        if (!hidden.delete(group)) hidden.add(group);
        button.ariaPressed = String(!hidden.has(group));
        draw();
      });
      return button;
    }));
    chart.before(tools);
    chart.after(value, legend);
    draw();
  }
})();
