(() => {
  const known = JSON.parse(find("known").textContent);
  let code = []; // rows of latents, as the pictures show them or soon will
  let start = null; // the code that sliders were moved from

  const show = (made, path) => {
    find("decoded").src = made.picture;
    made.slots.forEach((slot, i) => {
      const pictures = document.querySelectorAll(".slots label")[i].querySelectorAll("img");
      pictures[0].src = slot.picture;
      pictures[1].src = slot.mask;
    });
    if (path === "/decode") return; // sliders are ahead of it
    if (asking.waiting?.[0] === "/decode") asking.waiting = null; // of the code before
    code = made.code;
    start = made.code.map((row) => [...row]);
    place();
    const seen = path === "/image";
    find("original").hidden = !seen;
    find("factors").hidden = !seen || !made.factors.length;
    if (!seen) return;
    find("image").src = made.image;
    find("number").value = made.number;
    find("which").textContent = `image ${made.number.toLocaleString("en")}`;
    find("factors").tBodies[0].replaceChildren(...made.factors.map(([name, value]) =>
      make("tr", {}, make("th", { scope: "row", textContent: name }), make("td", { textContent: value }))));
  };

  const row = () => Number(document.querySelector("input[name=slot]:checked")?.value ?? 0);
  const digits = (value) => value.toFixed(2).replace(/^-(?=0\.00$)/, "").replace("-", "\u2212");

  const sliders = known.sliders.map((slider) => {
    const id = `latent-${slider.index}`;
    const input = make("input", { type: "range", id, min: slider.low, max: slider.high, step: "any" });
    const output = make("output", {});
    output.htmlFor.add(id);
    const remark = make("span", { className: "remark", id: `${id}-remark`, textContent: slider.remark + (slider.off ? ", off" : slider.carries ? ` \u00b7 ${slider.carries}` : "") });
    input.setAttribute("aria-describedby", remark.id);
    // By hand, because "any" leaves the size of an arrow key's step to the browser.
    input.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -5, PageUp: 5 }[event.key];
      if (!steps) return;
      event.preventDefault();
      input.value = Number(input.value) + (steps * (input.max - input.min)) / 60;
      input.dispatchEvent(new Event("input"));
    });
    input.addEventListener("input", () => {
      if (!code.length) return;
      const chosen = String(code[row()]); // slots that are copies of this one move with it, else one would draw in its place
      code.filter((values) => String(values) === chosen).forEach((values) => (values[slider.index] = Number(input.value)));
      output.textContent = digits(Number(input.value));
      ask("/decode", { code }, show);
    });
    const label = make("label", { textContent: slider.name });
    label.htmlFor = id;
    find("sliders").append(make("div", { className: slider.off ? "slider off" : "slider" }, label, remark, input, output));
    return { ...slider, input, output };
  });

  // Sliders where the code is; one that lies beyond its range gets a wider one.
  const place = () => {
    for (const { index, low, high, input, output } of sliders) {
      const value = code[row()][index];
      input.min = Math.min(low, value);
      input.max = Math.max(high, value);
      input.value = value;
      output.textContent = digits(value);
    }
  };

  const image = (number) => ask("/image", { number }, show);
  find("choose").addEventListener("submit", (event) => { event.preventDefault(); image(find("number").valueAsNumber); });
  find("any").addEventListener("click", () => image(Math.floor(Math.random() * known.images)));
  find("draw").addEventListener("click", () => ask("/draw", { seed: Math.floor(Math.random() * 2 ** 32) }, show));
  find("reset").addEventListener("click", () => {
    if (!start) return;
    code = start.map((values) => [...values]);
    place();
    ask("/decode", { code }, show);
  });
  document.querySelectorAll("input[name=slot]").forEach((choice) => choice.addEventListener("change", () => code.length && place()));
  image(0);
})();
