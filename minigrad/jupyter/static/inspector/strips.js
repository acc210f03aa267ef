/* Strips: charts below the timeline, on the same axis. They show the memory of saved tensors after each step (as
   plots.saved_memory), the norm of the gradient that reached each layer (as plots.gradient_norms), and a
   histogram of the magnitudes of each node's gradient. */

const STRIP = 28; // pixels
const BINS = 7; // in a histogram
const CURVES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/** The bytes of saved tensors after each step from 0. Shared memory counts once. */
function savedBytes(tape) {
  const memory = (n, output) => (output ? `t${n.results[output - 1].tensor}` : n.storage === undefined || n.storage === null ? `t${n.tensor}` : `m${n.storage}`), bytes = new Map();
  for (const n of tape.nodes)
    [n, ...(n.results ?? [])].forEach((r, output) => {
      if (!r.shape || !r.dtype) return;
      const size = (r.shape.reduce((a, b) => a * b, 1) * Number(/\d+/.exec(r.dtype)?.[0] ?? 8)) / 8, key = memory(n, output);
      bytes.set(key, Math.max(size, bytes.get(key) ?? 0));
    });
  const held = new Map(), saved = (id) => new Set((tape.node.get(id).saved ?? []).filter((x) => !x.constant && x.node).map((x) => memory(tape.node.get(x.node), x.output ?? 0)));
  const alive = new Set(), found = [0];
  let total = 0;
  const hold = (id, by) => {
    if (by > 0 ? alive.has(id) : !alive.delete(id)) return;
    if (by > 0) alive.add(id);
    for (const key of saved(id)) {
      const before = held.get(key) ?? 0;
      held.set(key, before + by);
      if (before === 0 || before + by === 0) total += by * (bytes.get(key) ?? 0);
    }
  };
  for (const step of tape.steps) {
    for (const d of step.details) if (d.event === "op") hold(step.node, 1); else if (d.event === "free") hold(step.node, -1);
    found.push(total);
  }
  return found;
}

/** For each layer, by name, the steps at which all of its gradients had arrived, and their joint norm.
    "0.weight" and "0.bias" belong to layer 0. */
function gradientNorms(tape) {
  const found = new Map();
  let pass = null, now = new Map(); // layer -> the step of the latest gradient, the sum of squares
  const end = () => { for (const [layer, [k, square]] of now) append(found, layer, [k, Math.sqrt(square)]); now = new Map(); };
  tape.steps.forEach((step, k) => {
    const n = tape.node.get(step.node), v = tape.value(step.g), norm = v?.norm;
    if (step.event !== "node" || n.backward !== "AccumulateGrad" || typeof norm !== "number" || (!norm && countNotFinite(v))) return;
    if (step.pass !== pass) { end(); pass = step.pass; }
    const dot = n.name.lastIndexOf("."), layer = dot > 0 ? n.name.slice(0, dot) : n.name;
    now.set(layer, [k + 1, (now.get(layer)?.[1] ?? 0) + norm * norm]);
  });
  end();
  return found;
}

/** For each step at which a node received a gradient, the magnitudes of its entries as powers of ten, without zeros. */
function gradientSizes(tape) {
  return tape.steps.flatMap((step, k) => {
    const sizes = step.event !== "node" ? [] : (tape.value(step.g)?.first ?? []).map((x) => Math.log10(Math.abs(x))).filter(Number.isFinite);
    return sizes.length ? [[k + 1, sizes]] : [];
  });
}

/** A number of bytes, as in plots.py. */
function inBytes(n) {
  const power = n >= 1 ? Math.min(Math.floor(Math.log10(n) / 3), 4) : 0;
  return `${Number((n / 1000 ** power).toPrecision(3))} ${["B", "kB", "MB", "GB", "TB"][power]}`;
}

/** Draws the strips into the track of the timeline. */
const Strips = (Base) => class extends Base {
  toggleStrips() {
    this.strips.hidden = !this.strips.hidden;
    this.stripButton.setAttribute("aria-pressed", String(!this.strips.hidden));
    if (!this.strips.hidden && !this.strips.childNodes.length) clear(this.strips, this.memoryStrip(), this.normStrip(), this.sizeStrip());
    this.refresh();
    this.arrange();
  }
  strip(title, ...inside) {
    return h("div", { class: "mg-strip" }, h("span", { title }, title), s("svg", { viewBox: `0 0 ${Math.max(1, this.tape.last)} ${STRIP}`, preserveAspectRatio: "none", role: "img", "aria-label": title }, ...inside));
  }
  memoryStrip() {
    const bytes = savedBytes(this.tape), most = Math.max(...bytes), y = (n) => STRIP - 1 - ((STRIP - 4) * n) / (most || 1);
    const d = bytes.map((n, k) => (k ? `H${k}V${y(n)}` : `M0 ${y(n)}`)).join("");
    return this.strip(`saved for backward: at most ${inBytes(most)}, after step ${bytes.indexOf(most)}`, s("path", { class: "mg-area", d: `${d}H${this.tape.last}V${STRIP}H0Z` }));
  }
  normStrip() {
    const curves = [...gradientNorms(this.tape)], norms = curves.flatMap(([, points]) => points.map(([, norm]) => norm)), all = norms.filter((norm) => norm > 0).map(Math.log10);
    if (!norms.length) return null;
    const [low, high] = [Math.min(...all), Math.max(...all)], y = (norm) => (norm > 0 ? STRIP - 3 - ((STRIP - 6) * (Math.log10(norm) - low)) / (high - low || 1) : STRIP - 1);
    const range = [norms.includes(0) ? "0" : "", low < high ? `${number(10 ** low)} to ${number(10 ** high)}, logarithmic` : all.length ? number(10 ** low) : ""].filter(Boolean).join(", ");
    return this.strip(`${curves.length === 1 ? "norm of the gradient" : `norms of the gradients of ${curves.length} layers`}: ${range}`,
      curves.map(([name, points], i) => s("g", { style: `--curve:${CURVES[i % CURVES.length]}` }, points.length > 1 ? s("path", { class: "mg-curve", d: points.map(([k, norm], j) => `${j ? "L" : "M"}${k} ${y(norm)}`).join("") }) : null,
        points.map(([k, norm]) => s("path", { class: "mg-dot", d: `M${k} ${y(norm)}h0` }, s("title", {}, `${clean(name)}, step ${k}: ${number(norm)}`))))));
  }
  /** A column for each step: the fractions of entries by magnitude, the smallest at the bottom. */
  sizeStrip() {
    const columns = gradientSizes(this.tape), all = columns.flatMap(([, sizes]) => [Math.min(...sizes), Math.max(...sizes)]);
    if (!all.length) return null;
    const low = Math.floor(Math.min(...all)), high = Math.max(low + 1, Math.ceil(Math.max(...all))), tall = STRIP / BINS, shades = new Map();
    for (const [k, sizes] of columns) {
      const counts = Array(BINS).fill(0);
      for (const x of sizes) counts[Math.min(BINS - 1, Math.floor(((x - low) / (high - low)) * BINS))]++;
      counts.forEach((n, bin) => n && append(shades, Math.ceil((4 * n) / sizes.length), `M${k - 0.5} ${STRIP - (bin + 1) * tall}h1v${tall}h-1z`));
    }
    return this.strip(`histograms of the gradients' entries, step by step: from 1e${low} to 1e${high}`,
      [...shades].map(([shade, cells]) => s("path", { class: "mg-shade", opacity: shade / 4, d: cells.join("") })));
  }
};
