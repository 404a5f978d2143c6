// The explorer: exact curves from tables made by edgelaw (explorer-data.js), drawn as SVG. No library, no network.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const root = document.getElementById("explorer-tool"), data = window.EDGELAW_EXPLORER;
  if (!root || !data) return;
  const $ = name => root.querySelector(`[name="${name}"]`), at = id => document.getElementById(`explorer-${id}`);
  const ORDERS = data.orders, SINGLE = ORDERS.findIndex(order => order.name === "single_shuffle");
  const embedded = root.classList.contains("explorer-compact"); // in a chapter, whose address is not the explorer's to change
  const LOSSES = ["test", "train"], WORDS = { test: "test loss", train: "training loss" };

  // ---------------------------------------------------------------- the tables
  for (const view of Object.values(data.views)) {
    const bytes = Uint8Array.from(atob(view.table), letter => letter.charCodeAt(0));
    const read = new DataView(bytes.buffer);
    view.codes = Uint16Array.from({ length: bytes.length / 2 }, (_, i) => read.getUint16(2 * i, true));
    view.last = view.epochs[view.epochs.length - 1];
  }

  // The loss at a step of the table and a whole epoch n: an epoch's own value, or a cubic in log n through the logarithms
  // of four of them.
  function loss(view, place, step, order, kind, n) {
    const { epochs, codes, steps } = view, count = epochs.length;
    const row = (((place * steps.length + step) * ORDERS.length + order) * 2 + kind) * count;
    const log = k => -codes[row + k] / data.scale;
    let right = 0;
    while (epochs[right] < n) right += 1;
    if (epochs[right] === n) return Math.exp(log(right));
    const first = Math.min(Math.max(right - 2, 0), count - 4);
    let total = 0;
    for (let a = first; a < first + 4; a += 1) {
      let weight = 1;
      for (let b = first; b < first + 4; b += 1)
        if (b !== a) weight *= Math.log(n / epochs[b]) / Math.log(epochs[a] / epochs[b]);
      total += weight * log(a);
    }
    return Math.exp(total);
  }

  // ---------------------------------------------------------------- the state, kept in the address
  const START = { view: "gaussian", data: "wikipedia", rho: "1", step: "1", n: "50", loss: "test", laws: "1", ...JSON.parse(root.dataset.start || "{}") };
  const nearest = (list, x) => list.reduce((best, y, i) => (Math.abs(y - x) < Math.abs(list[best] - x) ? i : best), 0);
  const number = (text, otherwise) => (text !== "" && Number.isFinite(Number(text)) ? Number(text) : otherwise);

  function tidy(asked) {
    const state = { ...START, ...asked };
    if (!data.views[state.view]) state.view = START.view;
    const view = data.views[state.view];
    if (!data.views.spectrum.names.includes(state.data)) state.data = START.data;
    if (!LOSSES.includes(state.loss)) state.loss = START.loss;
    state.rho = data.rho[nearest(data.rho, number(state.rho, 1))];
    state.step = view.steps[nearest(view.steps, number(state.step, 1))];
    state.n = Math.min(view.last, Math.max(1, Math.round(number(state.n, 50))));
    state.laws = state.laws === "0" || state.laws === false ? "0" : "1";
    return state;
  }
  const fromAddress = () => tidy(embedded ? {} : Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
  function address() {
    const kept = { view: state.view, step: state.step, n: state.n, loss: state.loss };
    if (state.view === "gaussian") kept.rho = state.rho; else kept.data = state.data;
    if (state.laws === "0") kept.laws = "0";
    return "#" + new URLSearchParams(Object.entries(kept).map(([key, value]) => [key, String(short(value))]));
  }
  const short = value => (typeof value === "number" ? Number(value.toFixed(3)) : value);
  let state = tidy({});

  // ---------------------------------------------------------------- words and numbers
  const SUPER = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
  const power = k => "10" + [...String(k)].map(letter => SUPER[letter]).join("");
  function show(x) {
    if (x === null || Number.isNaN(x)) return "–";
    if (x < data.floor) return "<\u00a0" + power(Math.round(Math.log10(data.floor)));
    if (x >= 0.001) return x.toPrecision(4);
    const [digits, exponent] = x.toExponential(3).split("e");
    return `${digits}\u00a0·\u00a0${power(Number(exponent))}`;
  }
  const seen = x => x >= data.floor;
  function percent(ratio) {
    const change = 100 * (ratio - 1);
    if (ratio >= 3) return `×\u00a0${ratio.toPrecision(3)}`;
    return `${change < 0 ? "−" : "+"}${Math.abs(change).toFixed(Math.abs(change) < 10 ? 1 : 0)}\u00a0%`;
  }
  const spectrumName = name => data.views.spectrum.labels[data.views.spectrum.names.indexOf(name)];
  const aspectName = rho => data.rho_labels[data.rho.indexOf(rho)];

  // ---------------------------------------------------------------- what is to be drawn
  function compute() {
    const view = data.views[state.view], kind = LOSSES.indexOf(state.loss);
    const place = state.view === "gaussian" ? data.rho.indexOf(state.rho) : view.names.indexOf(state.data);
    const step = view.steps.indexOf(state.step);
    const here = (order, s, n) => loss(view, place, s, order, kind, n);
    const constants = state.view === "gaussian"
      ? (state.rho === 1 ? view.constants[step] : null) : view.constants[place][step];
    const exponent = (state.view === "gaussian" ? view.powers : view.powers[place])[kind];
    return ORDERS.map((order, i) => {
      const constant = constants === null ? null : constants[i][kind];
      const bySteps = view.steps.map((_, s) => here(i, s, state.n));
      const best = bySteps.indexOf(Math.min(...bySteps));
      return {
        order, constant, exponent, bySteps, best,
        curve: view.epochs.map(n => here(i, step, n)),
        now: here(i, step, state.n),
        law: constant === null ? null : constant * state.n ** -exponent,
        single: here(SINGLE, step, state.n),
      };
    });
  }

  function why() {
    const rho = state.view === "gaussian" ? ""
      : "Fixed at m = d: from the eigenvalues of a sample, the curves of the shuffled orders are known for as many rows as columns only.";
    const spectrum = state.view === "spectrum" ? ""
      : "Isotropic Gaussian rows have one spectrum, Marchenko and Pastur’s. Choose “any spectrum” for others.";
    let laws = "", note = "";
    if (state.view === "gaussian" && state.rho !== 1)
      laws = state.rho < 1
        ? `No power law at ρ ≠ 1: there is a gap in the spectrum and the decay is exponential${state.loss === "test" ? `, down to 1 − ρ = ${Number((1 - state.rho).toPrecision(3))}, the share of directions that no row sees (grey line)` : ""}.`
        : "No power law at ρ ≠ 1: there is a gap in the spectrum and the decay is exponential.";
    else if (state.view === "spectrum") {
      if (state.loss === "train") note = "Only IID’s: the constant of the training loss is not known for the other orders on such a spectrum.";
      if (!state.data.startsWith("beta"))
        note = `Fitted to the lowest tenth of the eigenvalues (exponent ${data.views.spectrum.powers[data.views.spectrum.names.indexOf(state.data)][0].toFixed(2)}), not exact: compare with the curves. ${note}`;
    }
    return { rho, spectrum, laws, note };
  }

  // ---------------------------------------------------------------- drawing
  const NS = "http://www.w3.org/2000/svg";
  function make(parent, tag, attributes, text) {
    const node = document.createElementNS(NS, tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    parent.append(node);
    return node;
  }
  // The colour of an order on a dark page, for explorer.css; "stroke" and "fill" have that of the figures.
  const night = order => `--dark: ${order.dark}`;
  const SHAPES = {
    o: "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0Z", s: "M-4.5,-4.5h9v9h-9Z",
    "^": "M0,-5.5L5.5,4.5H-5.5Z", D: "M0,-6L6,0L0,6L-6,0Z",
  };
  // A line through points; it breaks where one is missing.
  const path = points => points.map((point, i) =>
    (point ? `${i && points[i - 1] ? "L" : "M"}${point[0].toFixed(2)},${point[1].toFixed(2)}` : "")).join("");

  // Axes for values of `lines` (each a list of [x, y]); returns the maps from numbers to pixels.
  function axes(svg, lines, { logX, range, ticks, label, title, extra = [] }) {
    svg.replaceChildren();
    const width = Math.max(260, svg.clientWidth || 600), height = Math.max(230, svg.clientHeight || 320);
    const box = { left: 50, right: width - 12, top: 12, bottom: height - 40 };
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const all = [...lines.flat().map(point => point[1]).filter(seen), ...extra];
    const most = Math.max(...all, data.floor * 10), least = Math.max(data.floor, Math.min(...all, most / 4));
    const low = Math.log10(least) - 0.06 * Math.log10(most / least), high = Math.log10(most) + 0.05 * Math.log10(most / least);
    const scale = logX ? Math.log : x => x;
    const X = x => box.left + (scale(x) - scale(range[0])) / (scale(range[1]) - scale(range[0])) * (box.right - box.left);
    const Y = y => box.bottom - (Math.log10(y) - low) / (high - low) * (box.bottom - box.top);
    const decades = high - low, grid = make(svg, "g", { class: "grid" });
    const factors = decades < 1.3 ? [1, 2, 3, 4, 5, 6, 8] : decades < 3 ? [1, 2, 5] : [1];
    const every = decades > 7 ? 2 : 1;
    for (let k = Math.floor(low); k <= Math.ceil(high); k += 1)
      for (const factor of factors) {
        const y = Math.log10(factor) + k;
        if (y < low || y > high || (factor === 1 && k % every)) continue;
        make(grid, "line", { x1: box.left, x2: box.right, y1: Y(10 ** y), y2: Y(10 ** y) });
        const words = k >= -3 && decades < 4 ? String(Number((factor * 10 ** k).toPrecision(1))) : factor === 1 ? power(k) : `${factor}·${power(k)}`;
        make(grid, "text", { x: box.left - 6, y: Y(10 ** y) + 4, "text-anchor": "end" }, words);
      }
    for (const x of ticks) {
      make(grid, "line", { x1: X(x), x2: X(x), y1: box.top, y2: box.bottom });
      make(grid, "text", { x: X(x), y: box.bottom + 16, "text-anchor": "middle" }, String(x));
    }
    make(grid, "text", { x: (box.left + box.right) / 2, y: height - 6, "text-anchor": "middle", class: "label" }, label);
    const clip = make(make(svg, "defs", {}), "clipPath", { id: svg.id + "-clip" });
    make(clip, "rect", { x: box.left - 1, y: box.top - 1, width: box.right - box.left + 2, height: box.bottom - box.top + 2 });
    svg.setAttribute("aria-label", title);
    svg.dataset.axes = JSON.stringify({ ...box, low, high, range });
    return { X, Y, box, body: make(svg, "g", { "clip-path": `url(#${svg.id}-clip)` }), top: make(svg, "g", {}) };
  }

  function draw(rows) {
    const view = data.views[state.view], word = WORDS[state.loss], svg = at("curves");
    const floor = state.view === "gaussian" && state.rho < 1 && state.loss === "test" ? 1 - state.rho : null;
    const lines = rows.map(row => row.curve.map((y, i) => [view.epochs[i], y]));
    const main = axes(svg, lines, {
      logX: true, range: [1, view.last], ticks: [1, 2, 5, 10, 20, 50, 100, 200].filter(n => n <= view.last),
      label: "epochs n", title: `${word} against epochs, logarithmic axes, one line per order; the table below has the numbers`,
      extra: floor === null ? [] : [floor],
    });
    if (floor !== null) make(main.body, "line", { class: "plateau", x1: main.box.left, x2: main.box.right, y1: main.Y(floor), y2: main.Y(floor) });
    make(main.body, "line", { class: "here", x1: main.X(state.n), x2: main.X(state.n), y1: main.box.top, y2: main.box.bottom });
    if (state.laws === "1")
      for (const row of rows)
        if (row.constant !== null)
          make(main.body, "path", {
            class: "law", stroke: row.order.color, style: night(row.order), "data-order": row.order.name,
            d: path([1, view.last].map(n => [main.X(n), main.Y(row.constant * n ** -row.exponent)])),
          });
    at("curves-title").textContent = `${word} after n epochs`;
    at("steps-title").textContent = `${word} at n = ${state.n}, by step`;
    const side = axes(at("steps"), rows.map(row => row.bySteps.map((y, s) => [view.steps[s], y])), {
      logX: false, range: [0, 2], ticks: [0, 0.5, 1, 1.5, 2], label: "step η",
      title: `${word} after ${state.n} epochs against the step, one line per order; a ring marks each order’s best step`,
    });
    make(side.body, "line", { class: "here", x1: side.X(state.step), x2: side.X(state.step), y1: side.box.top, y2: side.box.bottom });
    const put = (panel, points, row) => make(panel.body, "path", {
      class: "curve", stroke: row.order.color, style: night(row.order), "stroke-dasharray": row.order.dash, "data-order": row.order.name,
      d: path(points.map(([x, y]) => (seen(y) ? [panel.X(x), panel.Y(y)] : null))),
    });
    rows.forEach((row, i) => {
      put(main, lines[i], row);
      put(side, row.bySteps.map((y, s) => [view.steps[s], y]), row);
    });
    for (const row of rows) {
      const mark = (panel, x, y) => seen(y) && make(panel.top, "path", {
        class: "mark", d: SHAPES[row.order.marker], fill: row.order.color, style: night(row.order), transform: `translate(${panel.X(x).toFixed(2)},${panel.Y(y).toFixed(2)})`,
      });
      mark(main, state.n, row.now);
      mark(side, state.step, row.now);
      if (seen(row.bySteps[row.best]))
        make(side.top, "circle", { class: "best", r: 8, stroke: row.order.color, style: night(row.order), cx: side.X(view.steps[row.best]), cy: side.Y(row.bySteps[row.best]) });
    }
  }

  // ---------------------------------------------------------------- tables and words
  function cell(tag, text, value, scope) {
    const node = document.createElement(tag);
    node.textContent = text;
    if (value !== undefined && value !== null) node.dataset.value = value;
    if (scope) node.scope = scope;
    return node;
  }
  function line(...cells) {
    const row = document.createElement("tr");
    row.append(...cells);
    return row;
  }

  function tell(rows) {
    const view = data.views[state.view], word = WORDS[state.loss];
    const least = rows.reduce((a, b) => (b.now < a.now ? b : a));
    at("numbers").replaceChildren(...rows.map(row => {
      const first = cell("th", row.order.label, undefined, "row"), step = view.steps[row.best], value = row.bySteps[row.best];
      first.prepend(sample(row.order));
      const end = row.best === 0 || row.best === view.steps.length - 1 ? " (the last here)" : "";
      const ratio = row.now / row.single, comparable = seen(row.now) && seen(row.single);
      const made = line(
        first, cell("td", show(row.now), row.now),
        cell("td", row.order.name === "single_shuffle" ? "–" : comparable ? percent(ratio) : "–", ratio),
        cell("td", show(row.law), row.law), cell("td", seen(value) ? step.toFixed(2) + end : "several", step), cell("td", show(value), value));
      made.dataset.order = row.order.name;
      made.classList.toggle("least", row === least && seen(row.now));
      return made;
    }));
    at("all")?.replaceChildren(...view.epochs.map((n, k) => line(
      cell("th", String(n), undefined, "row"), ...rows.map(row => cell("td", show(row.curve[k]), row.curve[k])))));
    const where = state.view === "gaussian" ? `isotropic Gaussian rows, ρ = ${aspectName(state.rho)}` : spectrumName(state.data);
    at("caption").textContent = `${where}: ${word} after ${state.n} epoch${state.n === 1 ? "" : "s"} at step ${short(state.step)}`;
    const others = rows.filter(row => row !== least && seen(row.now)).map(row => `${row.order.label} ${percent(row.now / least.now)}`);
    const ties = rows.filter(row => row !== least && Math.abs(row.now / least.now - 1) < 2 * view.error).map(row => row.order.label);
    const words = !seen(least.now) ? `After ${state.n} epochs at step ${short(state.step)} the lowest ${word} is below ${show(0).slice(2)}.`
      : ties.length ? `After ${state.n} epoch${state.n === 1 ? "" : "s"} at step ${short(state.step)} the lowest ${word} is ${show(least.now)}: ${[least.order.label, ...ties].join(", ")} agree. ${others.length > ties.length ? "Against it: " + others.join(", ") + "." : ""}`
        : `After ${state.n} epochs at step ${short(state.step)} the lowest ${word} is ${least.order.label}’s, ${show(least.now)}. Against it: ${others.join(", ")}.`;
    clearTimeout(tell.timer);
    tell.timer = setTimeout(() => { at("said").textContent = words; }, 200);
  }

  function sample(order) {
    const svg = document.createElementNS(NS, "svg");
    for (const [key, value] of Object.entries({ viewBox: "0 0 44 14", class: "sample", "aria-hidden": "true" })) svg.setAttribute(key, value);
    make(svg, "path", { d: "M1,7H43", class: "curve", stroke: order.color, style: night(order), "stroke-dasharray": order.dash });
    make(svg, "path", { class: "sample-mark", d: SHAPES[order.marker], fill: order.color, style: night(order), transform: "translate(22,7) scale(.8)" });
    return svg;
  }

  // ---------------------------------------------------------------- controls
  const stops = last => [...new Set(Array.from({ length: 81 }, (_, i) => Math.round(last ** (i / 80))))];
  function reflect() {
    const view = data.views[state.view], reasons = why();
    for (const radio of root.querySelectorAll('[name="view"], [name="loss"]')) radio.checked = state[radio.name] === radio.value;
    const epochs = stops(view.last), set = (name, limits, value, words) => {
      Object.assign($(name), limits);
      $(name).value = value;
      $(name).setAttribute("aria-valuetext", words);
      at(name + "-value").textContent = words;
    };
    set("step", { min: 0, max: view.steps.length - 1 }, view.steps.indexOf(state.step), String(short(state.step)));
    set("rho", { min: 0, max: data.rho.length - 1 }, data.rho.indexOf(state.view === "gaussian" ? state.rho : 1),
      state.view === "gaussian" ? aspectName(state.rho) : "1");
    $("epochs").max = epochs.length - 1;
    $("epochs").value = nearest(epochs, state.n);
    $("epochs").setAttribute("aria-valuetext", `${state.n} epochs`);
    $("n").max = view.last;
    if (document.activeElement !== $("n")) $("n").value = state.n;
    $("data").value = state.data;
    for (const [name, reason] of [["rho", reasons.rho], ["data", reasons.spectrum], ["laws", reasons.laws]]) {
      $(name).disabled = reason !== "";
      at(name + "-why").textContent = reason || (name === "laws" ? reasons.note : "");
      $(name).closest(".control").classList.toggle("off", reason !== "");
    }
    $("laws").checked = state.laws === "1" && !reasons.laws;
    const rows = compute();
    draw(rows);
    tell(rows);
    if (at("open")) at("open").hash = address();
  }

  function change(changes, lasting) {
    state = tidy({ ...state, ...changes });
    reflect();
    if (!embedded && address() !== location.hash) history[lasting ? "pushState" : "replaceState"](null, "", address());
  }
  // While a slider moves, the view at which it started stays one step back in the history.
  let moving = false;
  function slide(name, value) {
    $(name).addEventListener("input", () => { change(value(), !moving); moving = true; });
    $(name).addEventListener("change", () => { moving = false; });
  }
  slide("step", () => ({ step: data.views[state.view].steps[$("step").value] }));
  slide("rho", () => ({ rho: data.rho[$("rho").value] }));
  slide("epochs", () => ({ n: stops(data.views[state.view].last)[$("epochs").value] }));
  $("n").addEventListener("change", () => { change({ n: $("n").value || state.n }, true); $("n").value = state.n; });
  $("data").addEventListener("change", () => change({ data: $("data").value }, true));
  $("laws").addEventListener("change", () => change({ laws: $("laws").checked ? "1" : "0" }, true));
  for (const radio of root.querySelectorAll('[name="view"], [name="loss"]'))
    radio.addEventListener("change", () => change({ [radio.name]: radio.value }, true));
  const pick = event => {
    const svg = at("curves"), { left, right, range } = JSON.parse(svg.dataset.axes), box = svg.getBoundingClientRect();
    const share = (event.clientX - box.left - left) / (right - left);
    change({ n: range[1] ** Math.min(1, Math.max(0, share)) }, false);
  };
  at("curves").addEventListener("pointerdown", event => { at("curves").setPointerCapture(event.pointerId); pick(event); });
  at("curves").addEventListener("pointermove", event => { if (event.buttons) pick(event); });
  at("copy")?.addEventListener("click", async () => {
    const done = await navigator.clipboard.writeText(location.href.split("#")[0] + address()).then(() => true, () => false);
    at("copied").textContent = done ? "Copied." : "Copy the address bar.";
    setTimeout(() => { at("copied").textContent = ""; }, 2500);
  });
  if (!embedded)
    for (const event of ["popstate", "hashchange"]) window.addEventListener(event, () => { state = fromAddress(); reflect(); });
  new ResizeObserver(() => draw(compute())).observe(at("curves"));

  for (const [i, name] of data.views.spectrum.names.entries()) $("data").add(new Option(data.views.spectrum.labels[i], name));
  at("legend").append(...ORDERS.map(order => { const item = cell("span", order.label); item.prepend(sample(order)); return item; }));
  at("heads")?.append(...ORDERS.map(order => cell("th", order.label, undefined, "col")));
  state = fromAddress();
  // In a chapter it takes the place of a picture, above the caption; the picture stays for print (explorer.css).
  const picture = document.getElementById(root.dataset.figure)?.querySelector("img");
  if (picture) {
    picture.loading = "eager"; // one that is not displayed would otherwise never be loaded, and be missing in print
    picture.classList.add("explorer-still");
    picture.closest("figure").prepend(root);
  }
  root.hidden = false;
  reflect();
  window.EDGELAW_EXPLORER.loss = loss; // for the test that compares it with the library
});
