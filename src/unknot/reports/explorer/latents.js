(() => {
  const known = JSON.parse(find("known").textContent);
  let row = 0; // that the sliders were moved from
  let moved = {}; // index of a latent -> where it was moved to

  const digits = (value) => Number(value.toPrecision(3)).toString().replace("-", "\u2212");
  const card = (each, step) => {
    const parts = each.picture ? [make("img", { src: each.picture, alt: `image of row ${each.number}`, className: "pixelated" })] : [];
    parts.push(make("b", { textContent: step ? each.remark : `row ${each.number.toLocaleString("en")}` }));
    if (step) parts.push(make("span", { className: "soft", textContent: `row ${each.number.toLocaleString("en")}` }));
    else if (each.remark) parts.push(make("span", { className: "soft", textContent: each.remark }));
    parts.push(...each.factors.map(([name, value]) => make("span", { textContent: `${name} ${value}` })));
    const button = make("button", { type: "button", className: step ? "row step" : "row", title: "go to this row" }, ...parts);
    button.addEventListener("click", () => go(each.number));
    return button;
  };

  const near = () => ask("/near", { row, moved }, (made) => {
    const from = made.row.toLocaleString("en"); // of very many rows, not all are here
    find("near").textContent = Object.keys(moved).length ? `Nearest to row ${from} with ${Object.keys(moved).length} latent(s) moved` : `Row ${from} and those nearest to it`;
    find("nearest").replaceChildren(...made.rows.map((each) => card(each, false)));
    if (asking.waiting) return; // sliders are ahead of it
    sliders.forEach(({ input, output, low, high }, i) => {
      input.min = Math.min(low, made.values[i]);
      input.max = Math.max(high, made.values[i]);
      input.value = made.values[i];
      output.textContent = digits(made.values[i]);
    });
  });
  const go = (number) => {
    row = number;
    moved = {};
    find("number").value = number;
    near();
  };
  const along = (slider) => ask("/along", { latent: slider.index }, (made) => {
    find("path").hidden = false;
    find("along").textContent = `${slider.name} from low to high` + (slider.carries ? ` (knows ${slider.carries})` : "");
    find("strip").replaceChildren(...made.rows.map((each) => card(each, true)));
    sliders.forEach((other) => other.element.classList.toggle("chosen", other.index === slider.index));
  });

  const drawn = (bars) => {
    const space = "http://www.w3.org/2000/svg";
    const chart = document.createElementNS(space, "svg");
    const most = Math.max(...bars, 1);
    Object.entries({ class: "bars", viewBox: `0 0 ${bars.length} 20`, preserveAspectRatio: "none", "aria-hidden": "true" })
      .forEach(([name, value]) => chart.setAttribute(name, value));
    bars.forEach((count, i) => {
      const bar = document.createElementNS(space, "rect");
      const height = (20 * count) / most;
      Object.entries({ x: i + 0.06, width: 0.88, y: 20 - height, height }).forEach(([name, value]) => bar.setAttribute(name, value));
      chart.append(bar);
    });
    return chart;
  };

  const sliders = known.sliders.map((slider) => {
    const id = `latent-${slider.index}`;
    const input = make("input", { type: "range", id, min: slider.low, max: slider.high, step: "any", disabled: slider.off, ariaLabel: `value of ${slider.name}` });
    const output = make("output", {});
    const button = make("button", { type: "button", textContent: slider.name, title: "rows from its lowest to its highest value" });
    const knows = make("span", { className: "knows", textContent: slider.off ? "constant" : slider.carries ? `knows ${slider.carries}` : `${slider.remark}` });
    const element = make("div", { className: slider.off ? "slider off" : "slider" }, button, make("div", {}, drawn(slider.bars), input), output, knows);
    const one = { ...slider, input, output, element };
    input.addEventListener("input", () => {
      moved[slider.index] = Number(input.value);
      output.textContent = digits(Number(input.value));
      near();
    });
    button.addEventListener("click", () => along(one));
    find("sliders").append(element);
    return one;
  });

  find("choose").addEventListener("submit", (event) => { event.preventDefault(); go(find("number").valueAsNumber); });
  find("any").addEventListener("click", () => go(Math.floor(Math.random() * known.rows)));
  find("reset").addEventListener("click", () => go(row));
  near();
})();
