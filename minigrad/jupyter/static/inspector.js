/* The inspector: the document of a tape or of a static program, drawn and stepped through in the
   browser. A program stands in one column, its gradient program in a second one beside it.

   One module for two hosts. In a notebook anywidget calls render({model, el}); in a page of
   its own a stand-in model does (see tape/page.py). Of the model only get, set, on, off and
   save_changes are used. Everything that moves is found here, from the document's deltas, so
   that it works without a kernel; a kernel is asked only about hand-derived gradients.

   Names come from the learner's code: they reach the page through textContent and
   setAttribute alone. Every element that can have the focus carries
   data-lm-suppress-shortcuts, or JupyterLab would take "d d" on it as "delete the cell".

   Contents: elements, numbers in words, the document, a moment, the graph, the panels, the whole. */

// ------------------------------------------------------------------- elements

const SVG = "http://www.w3.org/2000/svg";
const FOCUSABLE = new Set(["button", "input", "select", "textarea", "summary", "a"]);

function fill(e, attributes, children) {
  for (const [k, v] of Object.entries(attributes ?? {})) {
    if (v === undefined || v === null || v === false) continue;
    if (k.startsWith("on")) e[k] = v;
    else e.setAttribute(k, v === true ? "" : String(v));
  }
  if (FOCUSABLE.has(e.localName) || e.hasAttribute("tabindex"))
    e.setAttribute("data-lm-suppress-shortcuts", "true");
  e.append(...children.flat(3).filter((c) => c !== null && c !== undefined && c !== ""));
  return e;
}
const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/** Without the characters that could make one name read as another; cut if it is too long. */
function clean(text, longest = 40) {
  const kept = String(text ?? "").replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}]/gu, "");
  return kept.length > longest ? kept.slice(0, longest - 1) + "…" : kept;
}
const long = (text) => clean(text, 2000);
const lines = (text) => String(text ?? "").split("\n").map(long).join("\n");
/** Give an element these children, keeping those of its own that are alike: what has the focus there keeps it.
    A child with a data-key is alike only to the one of that key; these come in one order, whichever are there. */
function settle(e, ...children) {
  const wanted = children.flat(3).filter(Boolean), key = (child) => child.dataset?.key, keys = new Set(wanted.map(key));
  for (const old of [...e.childNodes]) if (key(old) && !keys.has(key(old))) old.remove();
  wanted.forEach((now, i) => {
    const old = e.childNodes[i];
    if (!old) e.append(now);
    else if (key(old) !== key(now)) old.before(now);
    else if (now.drawn && old.drawn === now.drawn) return; // alike to the last word
    else if (old.nodeName !== now.nodeName) old.replaceWith(now);
    else if (old.nodeType === Node.TEXT_NODE) old.data = now.data;
    else {
      for (const { name } of [...old.attributes]) if (!now.hasAttribute(name)) old.removeAttribute(name);
      for (const { name, value } of now.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
      for (const own of ["onclick", "onfocus", "drawn"]) old[own] = now[own];
      settle(old, [...now.childNodes]);
    }
  });
  while (e.childNodes.length > wanted.length) e.lastChild.remove();
}
const clear = (e, ...children) => (e.replaceChildren(...children.flat().filter(Boolean)), e);

// ------------------------------------------------------------------- numbers in words

function number(v) {
  if (typeof v === "boolean") return v ? "True" : "False";
  if (typeof v !== "number") return clean(v);
  if (v === 0) return "0";
  const a = Math.abs(v);
  if (Number.isInteger(v) && a < 1e6) return String(v);
  if (a < 1e-4 || a >= 1e6) return v.toExponential(3).replace(/\.?0+e/, "e");
  return String(Number(v.toPrecision(4)));
}
const shapeText = (shape) =>
  shape ? `(${shape.join(", ")}${shape.length === 1 ? "," : ""})` : "";

/** "2 NaN of 8, 1 inf of 8"; "" if all numbers are finite. */
const countNotFinite = (v) => [[v.nan, "NaN"], [v.inf, "inf"]].filter(([n]) => n).map(([n, kind]) => `${n} ${kind} of ${v.size}`).join(", ");

function words(v) {
  if (!v) return "not recorded";
  const first = v.first ?? [], size = v.size ?? 0, shape = v.shape ?? [];
  const notFinite = countNotFinite(v), counted = notFinite && ` (${notFinite})`;
  if (v.rows) return `sparse: rows ${v.rows.slice(0, 6).join(", ")}${v.rows.length > 6 ? ", …" : ""}${counted}`;
  if (!shape.length && size) return number(first[0]);
  if (!size) return "empty";
  if (size > 1 && v.min !== undefined && !notFinite && number(v.min ?? 0) === number(v.max ?? 0)) return `all ${number(v.min ?? 0)}`;
  if (shape.length === 1 && size <= 6) return `[${first.map(number).join(", ")}]${counted}`;
  if (!("mean" in v) && !("norm" in v)) return notFinite || `[${first.slice(0, 6).map(number).join(", ")}, …]`;
  return `from ${number(v.min ?? 0)} to ${number(v.max ?? 0)}, mean ${number(v.mean ?? 0)}${notFinite && `; ${notFinite}`}`;
}

/** All the numbers of a snapshot, or what is known of them. */
function inFull(v) {
  if (!v) return "";
  const shape = v.shape ?? [], first = v.first ?? [];
  if (first.length < (v.size ?? 0)) return `first ${first.length}: ${first.map(number).join(", ")}`;
  const nest = (offset, axis) => {
    if (axis === shape.length) return number(first[offset]);
    const step = shape.slice(axis + 1).reduce((a, b) => a * b, 1);
    return `[${Array.from({ length: shape[axis] }, (_, i) => nest(offset + i * step, axis + 1)).join(", ")}]`;
  };
  return nest(0, 0);
}

/** A matrix as colored cells: blue below zero, orange above, hatched where there is no finite number; the numbers are in the titles. */
function heatMap(v) {
  const shape = v?.shape ?? [], first = v?.first ?? [];
  if (!v || v.rows || shape.length !== 2 || first.length < (v.size ?? 0) || !v.size) return null;
  const [rows, columns] = [Math.min(shape[0], 32), Math.min(shape[1], 32)];
  const most = Math.max(...first.map((x) => (typeof x === "number" ? Math.abs(x) : 0))) || 1;
  const size = Math.max(4, Math.min(16, 260 / columns));
  const picture = s("svg", { class: "mg-heat", width: columns * size, height: rows * size, role: "img",
    "aria-label": `${shape[0]} by ${shape[1]} values, the largest ${number(most)}${countNotFinite(v) && `, hatched: ${countNotFinite(v)}`}` });
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < columns; j++) {
      const x = first[i * shape[1] + j], t = typeof x === "number" ? x / most : 0;
      const [r, g, b] = t < 0 ? [0, 114, 178] : [230, 159, 0];
      const mix = (c) => Math.round(255 + (c - 255) * Math.abs(t));
      picture.append(s("rect", { x: j * size, y: i * size, width: size, height: size,
        fill: `rgb(${mix(r)},${mix(g)},${mix(b)})` }, s("title", {}, `[${i}, ${j}] ${number(x)}`)));
      if (typeof x === "string" && !x.endsWith("j"))  // "nan", "inf", "-inf"
        picture.append(s("path", { class: "mg-not-finite", d: [0.5, 1, 1.5].map((at) => { // slanted lines: from the left or lower side to the upper or right one
          const a = Math.min(at, 1) * size, b = Math.max(at - 1, 0) * size;
          return `M${j * size + b} ${i * size + a}L${j * size + a} ${i * size + b}`;
        }).join("") }));
    }
  return picture;
}

// ------------------------------------------------------------------- the document

class Tape {
  constructor(found) {
    Object.assign(this, found);
    this.node = new Map(this.nodes.map((n) => [n.id, n]));
    this.edge = new Map(this.edges.map((e) => [e.id, e]));
    this.group = new Map((this.groups ?? []).map((g) => [g.id, g]));
    this.view = new Map(this.views.map((v) => [v.id, v]));
    this.into = new Map(this.nodes.map((n) => [n.id, []]));
    this.outOf = new Map(this.nodes.map((n) => [n.id, []]));
    this.via = new Map(); // what a node sends by its k-th backward edge goes along this edge
    for (const e of this.edges) {
      if (e.gradient) this.via.set(`${e.to}:${e.backward_edge ?? 0}`, e);
      this.into.get(e.to).push(e);
      this.outOf.get(e.from).push(e);
    }
    this.groupOf = new Map(); // member -> the group it is in
    for (const g of this.groups ?? []) for (const m of g.members) this.groupOf.set(m, g.id);
    this.last = this.steps.length;
    this.what = this.program ? "program" : "tape";
    const seed = this.steps.findIndex((x) => (this.program ? x.phase === "backward" : x.event === "seed"));
    this.firstBackward = seed < 0 ? null : seed + 1;
    this.leaves = this.nodes.filter((n) => n.backward === "AccumulateGrad");
    this.ranked = this.nodes.filter((n) => n.backward).sort((a, b) => (a.priority ?? 0) - (b.priority ?? 0)).map((n) => n.id);
    this.operations = this.ranked.filter((id) => this.node.get(id).backward !== "AccumulateGrad");
    this.madeBy = new Map(); // line of the code -> the nodes made there
    for (const n of this.nodes) if (n.code !== undefined) append(this.madeBy, n.code, n);
    this.writtenFor = new Map(); // node of a program -> those of its gradient program written for it
    for (const n of this.nodes) if (n.program?.of) append(this.writtenFor, n.program.of, n.id);
  }
  /** The nodes that belong to this one in the other column. */
  linked(id) {
    const of = this.node.get(id)?.program;
    return of ? (of.of ? [of.of] : this.writtenFor.get(id) ?? []) : [];
  }
  value(i) { return i === undefined || i === null ? null : this.values[i]; }
  words(i) { return words(this.value(i)); }
  title(id) {
    const n = this.node.get(id);
    return n.backward && !n.program ? `${clean(n.backward)} of ${clean(n.label)}` : clean(n.label);
  }
  /** The latest node of that id, label, name or op; as tape.select finds it. */
  named(wanted) {
    for (const key of ["id", "label", "name", "named", "backward", "op"]) {
      const found = this.nodes.findLast((n) => n[key] === wanted || (key === "named" && n[key]?.includes(wanted)));
      if (found) return found;
    }
    return null;
  }
  /** The name of one of a node's results. */
  result(id, output) { const n = this.node.get(id); return clean(n.named?.[output ?? 0] ?? n.label); }
  /** The result that a node has sent a gradient to. */
  target(from, sent) { return this.result(sent.to, this.via.get(`${from}:${sent.edge ?? 0}`)?.output); }
  /** The user's name of a saved tensor; the rule's, if it is not on the tape. */
  saved(x) { const n = this.node.get(x.node); return clean(n ? n.named?.[x.output ?? 0] ?? n.name : x.name); }
  /** What came in: one gradient, or one for each result that got any. */
  took(m, id) {
    const found = new Map();
    for (const a of m.arrived.get(id) ?? []) append(found, this.target(a.from, a), a);
    if (!this.node.get(id).named || !found.size) return this.words(m.g.get(id));
    return [...found].map(([name, all]) => `${all.map((a) => this.words(a.g)).join(" + ")} for ${name}`).join(", ");
  }
  line(n) { return n?.code === undefined ? null : this.code[n.code]; }
  /** The boxes that stand for a node, from the node itself outward. */
  boxes(id) {
    const found = [id];
    for (let g = this.groupOf.get(id); g; g = this.groupOf.get(g)) found.push(g);
    return found;
  }
}

// ------------------------------------------------------------------- a moment

const append = (lists, key, item) => (lists.has(key) ? lists.get(key).push(item) : lists.set(key, [item]));

const OF_A_PASS = ["expected", "pruned", "seeds", "arrived", "queue", "queued", "order", "kept", "sent", "sentBy", "hooks", "g", "failed", "conflict", "engine"];

/** How things stand after step k, or after `detail` details of it; as tape/moment.py does it.
    A whole step goes on from the whole step before it, if that was the last one asked for. */
function momentAt(tape, k, detail) {
  const m = (detail === null && tape.reached?.k <= k && tape.reached) || { k: 0, passes: new Map(), pass: 0, computed: new Set(), node: null, expected: {}, pruned: new Set(), seeds: new Map(),
    arrived: new Map(), queue: [], queued: new Set(), order: new Map(), freed: new Map(), first: new Map(), terms: new Map(), kept: new Map(),
    sent: new Map(), sentBy: new Map(), hooks: new Map(), g: new Map(), failed: null, conflict: null, event: null, detail: null,
    text: "Nothing has run yet.", phase: "forward", now: new Set() };
  const { passes } = m; // how the others stand: one pass may run within another
  const enter = (number, begun) => {
    passes.set(m.pass, Object.fromEntries(OF_A_PASS.map((key) => [key, m[key]])));
    Object.assign(m, begun ?? passes.get(number), { pass: number });
  };
  const priority = (id) => tape.node.get(id).priority ?? 0;
  const ready = (id) => { // behind all that run before it; most often that is near the front or the end
    if (m.queued.has(id)) return;
    m.queued.add(id);
    let at = m.queue.length;
    if (m.engine !== "recursive") for (let from = 0; from < at; ) {
      const middle = (from + at) >> 1;
      if (priority(m.queue[middle]) <= priority(id)) from = middle + 1; else at = middle;
    }
    m.queue.splice(at, 0, id);
  };
  for (let i = m.k + 1; i <= k; i++) {
    const step = tape.steps[i - 1];
    const all = step.details ?? [];
    if (step.pass !== m.pass && passes.has(step.pass)) enter(step.pass);
    const details = i === k && detail !== null ? all.slice(0, detail) : all;
    m.node = step.node ?? null;
    m.phase = step.phase;
    m.text = (i === k && detail !== null && details.at(-1)?.text) || step.text;
    m.now = new Set();
    if (step.first && details.some((d) => d.event === "op" || d.event === "apply"))
      append(m.first, step.node, `first ${step.first}${step.pass ? ` of backward ${step.pass}` : ""} made here`);
    for (const d of details) {
      m.event = d.event;
      m.detail = d;
      const id = step.node;
      if (d.event === "op" || d.event === "failed") m.computed.add(id);
      else if (d.event === "seed") {
        enter(step.pass, { expected: d.expected ?? {}, pruned: new Set(d.pruned ?? []),
          seeds: new Map((d.seeds ?? []).map((x) => [x.node, x.g])), arrived: new Map(), queue: [], queued: new Set(),
          order: new Map(), kept: new Map(), sent: new Map(), sentBy: new Map(), hooks: new Map(), g: new Map(), failed: null,
          conflict: null, engine: tape.backward[step.pass - 1].engine });
        for (const n of m.seeds.keys()) if (!m.expected[n]) ready(n);
      } else if (d.event === "pop") {
        if (m.queued.delete(id)) m.queue.splice(m.queue.indexOf(id), 1);
        if (step.order) m.order.set(id, step.order);
        if (step.g !== undefined) m.g.set(id, step.g);
      } else if (d.event === "hook") append(m.hooks, id, d);
      else if (d.event === "deposit") {
        append(m.arrived, d.to, { ...d, from: id });
        m.sent.set(`${id}:${d.edge ?? 0}`, d);
        append(m.sentBy, id, d);
        m.now.add(`${id}:${d.edge ?? 0}`);
        if (d.ready) ready(d.to);
      } else if (d.event === "accumulate")
        append(m.terms, id, { ...d, pass: step.pass });
      else if (d.event === "capture" || d.event === "keep") m.kept.set(id, d);
      else if (d.event === "free") m.freed.set(id, step.pass);
      else if (d.event === "error") {
        m.failed = id ?? null;
        m.conflict = d.conflict ?? null;
        m.message = d.message;
      }
    }
  }
  m.k = k;
  if (detail === null) tape.reached = m;
  m.left = (id) => (m.expected[id] ?? 0) - (m.arrived.get(id)?.length ?? 0);
  return m;
}

/** What a leaf's .grad is made of: one term for each pass since it was last empty. */
function sumOfTerms(tape, terms) {
  if (!terms?.length) return null;
  let from = terms.length - 1;
  while (from > 0 && terms[from].before !== undefined && terms[from].before === terms[from - 1].after) from--;
  const shown = terms.slice(from), parts = shown.map((t) => `${tape.words(t.term)} (backward ${t.pass})`);
  if (shown[0].before !== undefined) parts.unshift(`${tape.words(shown[0].before)} (before)`);
  const total = tape.words(shown.at(-1).after);
  return parts.length > 1 ? `${parts.join(" + ")} = ${total}` : total;
}

/** A node's state in one word, and in a sentence for a screen reader. */
function stateOf(tape, m, id) {
  const n = tape.node.get(id);
  if (n.kind === "failed") return m.computed.has(id) ? "failed" : "pending";
  if (m.failed === id) return "failed";
  if (m.pass && m.node === id && m.event !== "op") return "current";
  if (m.node === id && m.event === "op") return "current";
  if (m.order.has(id)) return "done";
  if (m.queued.has(id)) return "ready";
  if (m.pruned.has(id)) return "pruned";
  if (n.kind === "op" && !m.computed.has(id)) return "pending";
  if (m.pass && m.expected[id] !== undefined && m.left(id) > 0) return "waiting";
  return "idle";
}

// ------------------------------------------------------------------- the graph

const TOP = 47, BOTTOM = 25, APART = 6, PAD = 12;
const SMALLEST = 0.75; // of a picture that is fitted: below it, it is not read but scrolled
const letter = (i) => String.fromCharCode(65 + (i % 26)) + (i >= 26 ? Math.floor(i / 26) : "");

/** A line through a route: it leans between two layers, and is straight within one. */
function path(points, start, end, side) {
  const p = points.map((q) => [...q]);
  p[0][1] += start;
  p[p.length - 1][1] += end;
  let d = `M${p[0][0]} ${p[0][1]}`;
  for (let k = 1; k < p.length; k++) {
    const [[x0, y0], [x1, y1]] = [p[k - 1], p[k]];
    const middle = (y0 + y1) / 2 + (x1 > x0 ? -side : side) * APART;
    d += k % 2 === 0 || x0 === x1 ? `L${x1} ${y1}` : `C${x0} ${middle} ${x1} ${middle} ${x1} ${y1}`;
  }
  return d;
}
const head = (x, y, back) => `${x},${y} ${x - 4.5},${y + back} ${x + 4.5},${y + back}`;

class Graph {
  constructor(ui) {
    this.ui = ui;
    this.scale = null;
    this.box = h("div", { class: "mg-canvas" });
    this.crumbs = h("div", { class: "mg-crumbs" });
    this.root = h("div", { class: "mg-graph" }, this.crumbs, this.box);
  }
  get tape() { return this.ui.tape; }

  /** Draw a view; what depends on the moment is set by update(). */
  open(id) {
    const view = this.tape.view.get(id) ?? this.tape.views[0];
    this.view = view;
    this.boxes = new Map();
    this.routes = [];
    const pad = 16, hatch = `mg-hatch-${this.ui.serial}`;
    this.right = Math.max(view.width, 60) + 10; // a place in the queue may be written beside a box
    this.svg = s("svg", { class: "mg-svg", role: "group",
      "aria-label": `Graph of ${clean(this.tape.name)}. Arrow keys move, Enter selects.` },
      s("defs", {}, s("pattern", { id: hatch, width: 8, height: 8, patternUnits: "userSpaceOnUse", patternTransform: "rotate(30)" },
        s("line", { class: "mg-hatch", x1: 0, y1: 0, x2: 0, y2: 8 }))));
    const top = pad + (view.columns ? 34 : 4);
    const layer = s("g", { transform: `translate(${pad} ${top})` });
    for (const c of view.columns ?? []) {
      layer.append(s("text", { class: "mg-grouptitle", x: c.x, y: -18 }, clean(c.title, 80)));
      if (c.x > 0) layer.append(s("line", { class: "mg-between", x1: c.x - c.gap / 2, y1: -30, x2: c.x - c.gap / 2, y2: view.height }));
    }
    this.links = s("g", { class: "mg-links" });
    layer.append(this.links);
    view.routes.forEach((r) => layer.append(this.route(r)));
    (view.chips ?? []).forEach((c) => layer.append(this.aliasChip(c)));
    this.culprit = s("g", { class: "mg-culprit" });
    for (const [id, place] of Object.entries(view.boxes))
      layer.append(this.tape.group.has(id) ? this.groupBox(id, place) : (view.ports ?? []).includes(id) ? this.port(id, place) : this.nodeBox(id, place, hatch));
    layer.append(this.culprit);
    this.svg.append(layer);
    this.size = [this.right + 2 * pad, view.height + top + pad + 4];
    this.svg.setAttribute("viewBox", `0 0 ${this.size[0]} ${this.size[1]}`);
    clear(this.box, this.svg);
    this.zoom(this.scale);
    this.breadcrumbs();
    this.tabStop();
  }

  breadcrumbs() {
    const trail = [];
    for (let g = this.view.group; g; g = this.tape.group.get(g).parent) trail.unshift(g);
    const root = this.view.id === "folded" ? "folded" : "root";
    const link = (id, text) => h("button", { type: "button", onclick: () => this.ui.openView(id) }, clean(text));
    const items = [];
    if (this.view.folded) items.push(h("span", {}, `${this.tape.nodes.length} nodes, folded: open a box to see what is in it.`));
    if (trail.length) {
      items.push(link(root, this.tape.name));
      trail.forEach((g, i) => items.push(h("span", {}, "›"), i === trail.length - 1 ? h("strong", {}, clean(this.tape.group.get(g).title)) : link(g, this.tape.group.get(g).title)));
    }
    this.where = h("button", { type: "button", class: "mg-elsewhere", hidden: true, onclick: () => this.ui.reveal(this.ui.m.node) });
    clear(this.crumbs, ...items, this.where);
    this.crumbs.hidden = !items.length;
  }

  zoom(scale) {
    const room = (this.box.clientWidth || 700) - 8;
    this.scale = scale;
    // Columns are wide: they are fitted into the width, and scrolled up and down.
    const k = scale ?? (this.view.columns ? Math.max(0.6, Math.min(1, room / this.size[0])) : Math.max(SMALLEST, Math.min(1.1, room / this.size[0], 516 / this.size[1])));
    this.k = k;
    this.svg.setAttribute("width", Math.round(this.size[0] * k));
    this.svg.setAttribute("height", Math.round(this.size[1] * k));
  }

  // ---- boxes

  group(id, label, ...children) {
    const g = s("g", { class: "mg-node", "data-node": id, role: "button", tabindex: -1, "aria-label": label,
      onclick: (e) => { e.stopPropagation(); this.ui.pick(id); },
      onfocus: () => { this.focused = id; this.outline(id, true); }, onblur: () => this.outline(id, false) }, ...children);
    return g;
  }

  nodeBox(id, [x, y, w, height], hatch) {
    const n = this.tape.node.get(id), leaf = n.kind === "leaf", band = y + height - BOTTOM;
    const t = (cls, at, text, anchor) => s("text", { class: cls, x: at[0], y: at[1], "text-anchor": anchor ?? "start" }, text);
    const name = clean(n.kind === "failed" ? n.op : n.name);
    const parts = { body: s("rect", { class: "mg-body", x, y, width: w, height, rx: 7 }),
      band: s("path", { class: "mg-band", d: `M${x} ${band}h${w}v${BOTTOM - 7}q0 7 -7 7h${14 - w}q-7 0 -7 -7z` }),
      hatch: s("rect", { class: "mg-hatched", x, y: y + TOP, width: w, height: height - TOP, fill: `url(#${hatch})` }),
      rule: s("line", { class: "mg-rule", x1: x, y1: band, x2: x + w, y2: band }),
      border: s("rect", { class: "mg-border", x, y, width: w, height, rx: 7 }) };
    const g = this.group(id, "", ...Object.values(parts));
    if (n.stop) g.append(s("rect", { class: "mg-stop", x: x + 4, y: y - 3, width: w - 8, height: 6 }));
    g.append(t("mg-name", [x + PAD, y + 20], name));
    let at = x + PAD + name.length * 8.5 + 7;
    const versions = n.versions ?? 1, own = n.version ?? 0;
    if (versions > 1) {
      const shown = versions <= 4 ? [...Array(versions).keys()] : [...new Set([0, own, versions - 1])];
      for (const k of shown) {
        const wide = String(k).length * 8 + 17;
        g.append(s("rect", { class: k === own ? "mg-tab mg-own" : "mg-tab", x: at, y: y + 8, width: wide, height: 16, rx: 4 }),
          t(k === own ? "mg-tabtext mg-own" : "mg-tabtext", [at + wide / 2, y + 20], `v${k}`, "middle"));
        at += wide + 3;
      }
    }
    g.append(t("mg-faint", [x + w - PAD, y + 20], shapeText(n.shape), "end"));
    parts.what = t(leaf ? "mg-faint" : "mg-what", [x + PAD, y + 38], this.what(n));
    const line = n.program ? n.program.comes : n.made_by ? `backward ${n.made_by}` : n.line ? `line ${n.line}` : "";
    parts.line = t("mg-small", [x + w - PAD, y + 38], line, "end");
    parts.chips = s("g", {});
    parts.badge = s("circle", { class: "mg-badge", cx: x + PAD + 8, cy: band + 13, r: 9 });
    parts.mark = t("mg-mark", [x + PAD + 8, band + 17], "", "middle");
    const below = n.program ? n.program.memory : n.kind === "failed" ? (n.shapes ?? []).join(" and ") : n.backward ?? (n.stop ? `stop: ${n.stop}` : leaf ? "no gradient" : "no grad_fn");
    parts.below = t(n.backward ? "mg-fn" : "mg-faint", [x + PAD, band + 17], clean(below));
    parts.note = t("mg-note", [x + w - PAD, band + 17], "", "end");
    parts.queue = t("mg-queue", [x + w + 4, y + 14], "");
    const pin = s("path", { class: "mg-pin", d: `M${x + w - 14} ${y - 5}m-5 0a5 5 0 1 1 10 0a5 5 0 1 1 -10 0m5 5v9` });
    g.append(parts.what, parts.line, parts.chips, parts.badge, parts.mark, parts.below, parts.note, parts.queue, pin, s("title", {}));
    g.classList.add(leaf ? "mg-leaf" : `mg-${n.kind}`);
    if (n.requires_grad) g.classList.add("mg-wants");
    if (n.made_by) g.classList.add("mg-second");
    if (["rule", "sum"].includes(n.program?.role)) g.classList.add("mg-rule-written");
    Object.assign(parts, { x, y, w, height, room: Math.floor((w - 2 * PAD) / 7.3) });
    this.boxes.set(id, { g, parts });
    return g;
  }

  what(n) {
    if (n.program && n.kind === "leaf") return `${n.program.number}, ${n.program.role}`;
    if (n.kind === "leaf") return n.requires_grad ? "leaf, requires_grad" : "leaf";
    return n.expression ? clean(n.expression) : "made before the recording";
  }

  groupBox(id, [x, y, w, height]) {
    const group = this.tape.group.get(id);
    const count = s("text", { class: "mg-faint", x: x + w / 2, y: y + 47, "text-anchor": "middle" });
    const g = this.group(id, "", s("rect", { class: "mg-behind", x: x + 5, y: y - 5, width: w, height, rx: 7 }),
      s("rect", { class: "mg-body", x, y, width: w, height, rx: 7 }), s("rect", { class: "mg-progress", x: x + 1, y: y + height - 7, width: 0, height: 6, rx: 3 }),
      s("rect", { class: "mg-border", x, y, width: w, height, rx: 7 }),
      s("text", { class: "mg-grouptitle", x: x + w / 2, y: y + 28, "text-anchor": "middle" }, clean(group.title)), count);
    g.classList.add("mg-group");
    const members = [];
    const stack = [id];
    while (stack.length) {
      const member = stack.pop();
      if (this.tape.group.has(member)) stack.push(...this.tape.group.get(member).members);
      else members.push(member);
    }
    this.boxes.set(id, { g, count, w, members, ops: members.filter((x) => this.tape.node.get(x).kind !== "leaf"), bar: g.querySelector(".mg-progress") });
    return g;
  }

  port(id, [x, y, w, height]) {
    const g = this.group(id, `${clean(this.tape.node.get(id).label)}, from outside`,
      s("rect", { class: "mg-portbox", x, y, width: w, height, rx: 4 }),
      s("text", { class: "mg-what", x: x + w / 2, y: y + 15, "text-anchor": "middle" }, `↑ ${clean(this.tape.node.get(id).name)}`));
    g.classList.add("mg-port");
    this.boxes.set(id, { g });
    return g;
  }

  aliasChip(chip) {
    const [x, y, w, height] = chip.place, n = this.tape.node.get(chip.of);
    return s("g", { class: n.requires_grad ? "mg-alias mg-wants" : "mg-alias", "data-of": chip.of, onclick: (e) => { e.stopPropagation(); this.ui.pick(chip.of); } },
      s("rect", { class: "mg-aliasbox", x, y, width: w, height, rx: height / 2 }),
      s("text", { class: "mg-what", x: x + w / 2, y: y + 15, "text-anchor": "middle" }, `↑ ${clean(n.name)}`));
  }

  /** A leaf and its chips are one thing: focus on one shows all. */
  outline(id, on) {
    for (const chip of this.svg.querySelectorAll(".mg-alias")) if (chip.dataset.of === id) chip.classList.toggle("mg-outlined", on);
  }

  // ---- arrows

  route(route) {
    const edges = route.edges.map((e) => this.tape.edge.get(e)), edge = edges[0];
    const points = route.points;
    const both = edges.some((e) => e.gradient), double = edges.length === 1 && (edge.inplace || edge.view);
    const g = s("g", { class: "mg-edge" });
    const shift = (dx) => points.map(([x, y]) => [x + dx, y]);
    const left = both ? -APART : 0;
    for (const dx of double ? [-2.2, 2.2] : [0])
      g.append(s("path", { class: "mg-forward", d: path(shift(left + dx), 0, -8, both ? -1 : 0) }));
    const tip = points.at(-1);
    g.append(s("polygon", { class: "mg-head", points: head(tip[0] + left, tip[1], -9) }));
    const parts = { edges, g, crowded: false };
    const many = this.view.routes.filter((q) => q.from === route.from).length;
    parts.crowded = many > 1 && (this.view.boxes[route.from][2] * 0.7) / many < 84;
    if (both) {
      const [x, y] = points[0];
      parts.back = s("path", { class: "mg-backward", d: path(shift(APART), 8, 0, 1) });
      parts.tip = s("polygon", { class: "mg-backhead", points: head(x + APART, y, 9) });
      const right = points[1][0] <= points[0][0];
      parts.label = s("text", { class: "mg-flow", x: right ? x + APART + 8 : x - APART - 5, y: y + 13, "text-anchor": right ? "start" : "end" });
      g.append(parts.back, parts.tip, parts.label);
      const summed = edges.length === 1 ? edge.summed : null;
      if (summed && right) this.right = Math.max(this.right, x + APART + 8 + summed.length * 7);
      if (summed) g.append(s("text", { class: "mg-flow", x: right ? x + APART + 8 : x - APART - 5, y: y + 27, "text-anchor": right ? "start" : "end" }, summed));
    }
    if (double) g.append(s("text", { class: "mg-small", x: tip[0] + left - 9, y: tip[1] - 8, "text-anchor": "end" }, edge.inplace ? "in place" : "view"));
    this.routes.push(parts);
    return g;
  }

  // ---- what moves

  update(m) {
    for (const [id, b] of this.boxes) {
      if (b.parts) this.updateNode(m, id, b);
      else if (b.members) this.updateGroup(m, id, b);
      b.g.classList.toggle("mg-selected", this.ui.selected === id);
      b.g.classList.toggle("mg-hit", this.ui.hits?.has(id) ?? false);
    }
    for (const r of this.routes) {
      r.g.classList.toggle("mg-pending", r.edges.every((e) => this.pending(m, e.to)));
      if (!r.back) continue;
      const flows = r.edges.filter((e) => e.gradient).map((e) => [e, `${e.to}:${e.backward_edge ?? 0}`]);
      const through = flows.filter(([, key]) => m.sent.has(key));
      r.back.classList.toggle("mg-flowed", through.length > 0);
      r.tip.classList.toggle("mg-flowed", through.length > 0);
      r.g.classList.toggle("mg-now", through.some(([, key]) => m.now.has(key)));
      const d = through.length ? m.sent.get(through[0][1]) : null;
      let text = "";
      if (d && r.edges.length === 1) {
        if (this.ui.values) text = this.tape.words(d.g);
        else if (d.expected > 1) text = r.crowded ? `${d.arrived}/${d.expected}` : `${d.arrived} of ${d.expected}`;
      } else if (r.edges.length > 1) text = through.length ? `${through.length} of ${flows.length} arrows` : `${flows.length} arrows`;
      r.label.textContent = clean(text, 60);
    }
    this.drawCulprit(m);
    this.drawLinks(m);
    const shown = m.node && this.tape.boxes(m.node).some((b) => this.boxes.has(b));
    if (this.where) {
      this.where.hidden = !m.node || shown;
      if (this.crumbs.hidden && !this.where.hidden) this.crumbs.hidden = false;
      if (m.node && !shown) this.where.textContent = `${this.tape.title(m.node)} is elsewhere: go there`;
    }
  }

  pending(m, id) {
    const n = this.tape.node.get(id);
    return (n.kind === "op" || n.kind === "failed") && !m.computed.has(id);
  }

  updateNode(m, id, box) {
    const { g, parts } = box, n = this.tape.node.get(id), state = stateOf(this.tape, m, id), pending = this.pending(m, id);
    const note = this.note(m, n, state), freed = m.freed.has(id), place = m.queue.indexOf(id);
    const label = this.describe(m, n, state, note), key = [label, m.order.get(id), freed, place, pending, this.ui.values].join("|");
    if (box.key === key) return; // as it was: most boxes, at most steps
    box.key = key;
    for (const c of ["current", "done", "ready", "waiting", "failed", "pruned", "pending", "idle"]) g.classList.toggle(`mg-${c}`, c === state || (c === "pending" && pending));
    g.classList.toggle("mg-freed", freed);
    const mark = state === "failed" ? "×" : m.order.has(id) ? String(m.order.get(id)) : "";
    parts.badge.style.display = mark ? "" : "none";
    parts.mark.textContent = mark;
    parts.below.setAttribute("x", parts.x + PAD + (mark ? 26 : 0));
    parts.note.textContent = note;
    parts.queue.textContent = place >= 0 ? `▸${place + 1}` : "";
    parts.what.textContent = this.ui.values && !pending ? clean(`= ${this.tape.words(n.value)}`, parts.room) : this.what(n);
    parts.line.style.display = this.ui.values ? "none" : "";
    this.chips(m, n, parts, freed);
    g.setAttribute("aria-label", label);
    g.lastElementChild.textContent = label;
  }

  note(m, n, state) {
    const id = n.id;
    if (n.kind === "failed") return "failed here";
    if (n.program) return n.program.ends;
    if (!n.backward) return "";
    if (state === "failed") return "stopped here";
    if (state === "pruned") return "not needed";
    const terms = m.expected[id] ?? 0, arrived = m.arrived.get(id)?.length ?? 0;
    if (!m.order.has(id) && terms > 1 && arrived) return `${arrived} of ${terms} arrived`;
    if (n.backward === "AccumulateGrad") {
      if (m.order.has(id)) return m.kept.has(id) ? "to the caller" : terms < 2 ? ".grad" : `.grad, ${terms} contributions`;
      const filled = m.terms.get(id);
      return filled ? `.grad from backward ${filled.at(-1).pass}` : ".grad none yet";
    }
    return terms > 1 && m.order.has(id) ? `${terms} contributions` : "";
  }

  chips(m, n, parts, freed) {
    const found = [];
    for (const saved of n.saved ?? []) {
      const of = clean(this.tape.saved(saved), 16);
      const conflict = m.failed === n.id && m.conflict?.name === saved.name ? m.conflict : null;
      if (conflict) found.push(["mg-bad", `× ${of} saved v${conflict.saved ?? 0}, now v${conflict.now ?? 0}`]);
      else if (freed) found.push(["mg-empty", `${of} freed`]);
      else found.push(["mg-saved", saved.constant ? `saved ${clean(saved.name)} = ${clean(saved.constant, 12)}` : `saved ${of} @v${saved.version}`]);
    }
    if (found.length > 4) found.splice(3, found.length, [found.at(-1)[0], `${found.length - 3} more`]);
    found.unshift(...(m.first.get(n.id) ?? []).map((text) => ["mg-bad", text]));
    if (n.hooks) found.push(["mg-memory", n.hooks > 1 ? `${n.hooks} hooks` : "hook"]);
    if (n.storage !== undefined) found.push(["mg-memory", `memory ${letter(n.storage)}`]);
    if (n.tangents) found.push(["mg-tangent", this.ui.values ? `tangent ${this.tape.words(n.tangents[0])}` : "tangent"]);
    clear(parts.chips);
    if (this.pending(m, n.id)) return;
    let x = parts.x + PAD;
    for (const [cls, text] of found) {
      const wide = text.length * 6.4 + 12;
      parts.chips.append(s("rect", { class: `mg-chip ${cls}`, x, y: parts.y + TOP, width: wide, height: 17, rx: 8 }),
        s("text", { class: `mg-chiptext ${cls}`, x: x + 6, y: parts.y + TOP + 12.5 }, text));
      x += wide + 6;
    }
  }

  describe(m, n, state, note) {
    const said = { current: m.phase === "backward" ? "current" : "computed now", pending: "not computed yet", done: "has run", ready: "ready",
      waiting: `waits for ${m.left(n.id)} more`, failed: "failed", pruned: "not needed", idle: "" };
    const parts = [clean(n.label), shapeText(n.shape), clean(n.expression ?? (n.program ? n.program.role : n.kind === "leaf" ? "leaf" : "")),
      n.program ? n.program.comes : clean(n.backward ?? "no gradient"), n.program?.memory, said[state]];
    if (m.g.has(n.id)) parts.push(`receives ${this.tape.took(m, n.id)}`);
    const sent = (m.sentBy.get(n.id) ?? []).map((d) => `${this.tape.words(d.g)} to ${this.tape.target(n.id, d)}`);
    if (sent.length) parts.push(`sends ${sent.join(" and ")}`);
    parts.push(...(m.first.get(n.id) ?? []));
    if (note && state !== "failed") parts.push(note);
    return parts.filter(Boolean).join(", ");
  }

  updateGroup(m, id, b) {
    const group = this.tape.group.get(id);
    const { ops } = b, done = m.pass ? m.order : m.computed, ran = ops.filter((x) => done.has(x)).length;
    const here = m.node && this.tape.boxes(m.node).includes(id);
    b.g.classList.toggle("mg-current", Boolean(here));
    b.g.classList.toggle("mg-hit", this.ui.hits ? b.members.some((x) => this.ui.hits.has(x)) : false);
    b.count.textContent = `${group.count} operations${ran ? `, ${ran} ${m.pass ? "ran back" : "done"}` : ""}`;
    b.bar.setAttribute("width", Math.max(0, (b.w - 2) * (ops.length ? ran / ops.length : 0)));
    b.g.setAttribute("aria-label", `${clean(group.title)}, ${b.count.textContent}, folded${here ? ", the current node is inside" : ""}. Enter opens it.`);
  }

  /** From the node whose saved value changed to the op that wrote to it. */
  drawCulprit(m) {
    clear(this.culprit);
    const [from, to] = [this.boxes.get(m.failed)?.parts, this.boxes.get(m.conflict?.by)?.parts];
    if (!m.conflict || !from || !to) return;
    const right = to.x >= from.x + from.w; // else it is gone around on the right
    const [x0, y0, x1, y1] = [from.x + from.w, from.y + TOP + 8, right ? to.x : to.x + to.w, to.y + 20];
    const out = right ? (x0 + x1) / 2 : Math.max(x0, x1) + 34, back = right ? -9 : 9;
    this.culprit.append(s("path", { d: `M${x0} ${y0}C${out} ${y0} ${out} ${y1} ${x1 + back} ${y1}` }),
      s("polygon", { points: `${x1},${y1} ${x1 + back},${y1 - 4.5} ${x1 + back},${y1 + 4.5}` }),
      s("text", { x: right ? x1 - 4 : x1 + 12, y: right ? to.y - 22 : y1 - 8 }, "changed it"));
  }

  /** In the other column, what belongs to the selected instruction, or to the one that has just run. */
  drawLinks(m) {
    clear(this.links);
    const id = this.ui.selected ?? m.node, others = this.tape.linked(id);
    for (const [key, b] of this.boxes) b.g.classList.toggle("mg-linked", others.includes(key));
    const from = this.boxes.get(id)?.parts;
    for (const to of from ? others.map((x) => this.boxes.get(x)?.parts).filter(Boolean) : []) {
      const [a, b] = from.x < to.x ? [from, to] : [to, from];
      const [x0, y0, x1, y1] = [a.x + a.w, a.y + a.height / 2, b.x, b.y + b.height / 2], out = (x0 + x1) / 2;
      this.links.append(s("path", { d: `M${x0} ${y0}C${out} ${y0} ${out} ${y1} ${x1} ${y1}` }),
        s("circle", { cx: x0, cy: y0, r: 4 }), s("circle", { cx: x1, cy: y1, r: 4 }));
    }
  }

  // ---- focus

  tabStop() {
    const ids = [...this.boxes.keys()];
    this.focused = this.boxes.has(this.focused) ? this.focused : ids[0];
    for (const [id, b] of this.boxes) b.g.setAttribute("tabindex", id === this.focused ? 0 : -1);
  }
  focus(id) {
    if (!this.boxes.has(id)) return;
    this.focused = id;
    this.tabStop();
    this.boxes.get(id).g.focus({ preventScroll: true });
    this.show(id);
  }
  /** Scroll the canvas, not the page, so that a box is in sight. */
  show(id) {
    const g = this.boxes.get(id)?.g;
    if (!g) return;
    const [a, b] = [g.getBoundingClientRect(), this.box.getBoundingClientRect()];
    if (a.top < b.top + 6 || a.bottom > b.bottom - 6) this.box.scrollTop += a.top - b.top - (b.height - a.height) / 2;
    if (a.left < b.left + 6 || a.right > b.right - 6) this.box.scrollLeft += a.left - b.left - (b.width - a.width) / 2;
  }
  /** The neighbor of the focused box in a direction: inputs above, outputs below, siblings beside. */
  move(key) {
    const here = this.focused;
    let next = null;
    if (key === "ArrowUp" || key === "ArrowDown") {
      const up = key === "ArrowUp";
      const r = this.view.routes.find((q) => (up ? q.to : q.from) === here);
      next = r && (up ? r.from : r.to);
    } else {
      const [x, y] = this.view.boxes[here];
      const row = Object.entries(this.view.boxes).filter(([, p]) => Math.abs(p[1] + p[3] - (y + this.view.boxes[here][3])) < 30).sort((a, b) => a[1][0] - b[1][0]);
      const at = row.findIndex(([, p]) => p[0] === x);
      next = row[at + (key === "ArrowRight" ? 1 : -1)]?.[0];
    }
    if (next) this.focus(next);
  }
}

// ------------------------------------------------------------------- the panels

const row = (term, ...what) => [h("dt", {}, term), h("dd", {}, ...what)];

/** A rule with the user's names in place of its letters; as tape/naming.py does it. */
function inNames(rule, names) {
  return rule.replace(/(?<![A-Za-z0-9_])(d?)([a-z])(?![A-Za-z0-9_])/g, (all, d, letter) => {
    if (!Object.hasOwn(names, letter)) return all;
    const name = String(names[letter]), bare = d ? /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) : /^[^\s-]+$/.test(name);
    return d + (bare ? name : `(${name})`);
  });
}

function detailsOf(ui) {
  const { tape, m } = ui, id = ui.selected ?? m.node;
  const n = id && tape.node.get(id);
  if (!n) return [h("p", { class: "mg-hint" }, "Select a node, or go a step forward.")];
  const line = tape.line(n), op = tape.ops?.[n.op];
  const pending = ui.graph.pending(m, id), rows = [];
  const number = (i) => {
    const v = tape.value(i), whole = v && !v.rows && (v.size ?? 0) <= 12 && (v.first ?? []).length === v.size;
    return h("span", { title: inFull(v) }, whole ? inFull(v) : tape.words(i), whole && v.size > 1 && countNotFinite(v) ? ` (${countNotFinite(v)})` : "");
  };
  rows.push(row("value", pending ? "not computed yet" : tape.program && n.value === undefined ? ["not run yet: nothing was computed", h("span", { class: "mg-type" }, ` ${n.dtype ?? ""} ${shapeText(n.shape)}`)] : [number(n.value), h("span", { class: "mg-type" }, ` ${n.dtype ?? ""} ${shapeText(n.shape)}`)]));
  const v = tape.value(n.value);
  for (const text of m.first.get(id) ?? []) rows.push(row("", h("strong", { class: "mg-warn" }, text)));
  if (!pending && v && countNotFinite(v)) rows.push(row("", h("strong", { class: "mg-warn" }, countNotFinite(v))));
  if (!pending && heatMap(v)) rows.push(row("", heatMap(v)));
  if (!pending) (n.results ?? []).forEach((r, k) => rows.push(row(tape.result(id, k + 1), number(r.value), h("span", { class: "mg-type" }, ` ${r.dtype} ${shapeText(r.shape)}`))));
  for (const t of pending ? [] : n.tangents ?? []) rows.push(row("tangent", number(t)));
  if ((n.versions ?? 1) > 1) rows.push(row("version", `v${n.version ?? 0} of ${n.versions}${n.overwritten_by ? `; overwritten by ${clean(tape.node.get(n.overwritten_by).expression)}` : ""}`));
  if (n.storage !== undefined) {
    const others = [...new Set(tape.nodes.filter((x) => x.storage === n.storage && x.tensor !== n.tensor).map((x) => clean(x.name)))];
    rows.push(row("memory", `${letter(n.storage)}, shared with ${others.join(", ")}`));
  }
  if (n.stop) rows.push(row("stop", `the tape stops here: ${clean(n.stop)}`));
  if (n.module) rows.push(row("module", clean(n.module)));
  if (n.saved?.length) {
    const freed = m.freed.get(id);
    const list = n.saved.map((x) => {
      const text = x.constant ? clean(x.constant) : `${tape.saved(x)}${x.version == null ? "" : ` v${x.version}`}`;
      const bad = m.failed === id && m.conflict?.name === x.name;
      return h("li", { class: bad ? "mg-warn" : "" }, bad ? `× ${text}, but it is at v${m.conflict.now} now` : freed ? `${text}: freed by backward ${freed}` : `✓ ${text}`,
        h("span", { class: "mg-letter" }, clean(x.name)));
    });
    rows.push(row("saved", h("ul", {}, list)));
  }
  if (n.program) rows.push(...programRows(ui, n));
  if (op?.rules?.length && (n.backward || n.program)) {
    const names = { z: n.label }, inputs = n.inputs ?? [];
    for (const x of inputs) if (x.operand) names[x.operand] = x.node ? tape.result(x.node, x.output) : x.constant;
    const wanted = new Set(tape.into.get(id).filter((e) => n.program || e.gradient).map((e) => inputs[e.operand]?.operand));
    const rules = op.rules.filter((r) => wanted.has(undefined) || [...wanted].some((x) => r.includes(`/d${x}`)));
    const both = (rule, value) => h("li", { class: "mg-formula" }, clean(inNames(rule, names), 160), value ?? "", h("span", { class: "mg-letter" }, clean(rule, 160)));
    rows.push(row("local", h("ul", {}, both(op.formula), rules.map((r) => {
      const known = n.local?.[/^dz\/d(\w+)/.exec(r)?.[1]];
      return both(r, known !== undefined && !pending ? [" = ", number(known)] : null);
    }))));
  }
  if (!n.program) rows.push(...backwardRows(ui, id, n, number));
  const free = ui.selected ? h("button", { type: "button", class: "mg-free", title: "Follow the steps again (Esc)", onclick: () => ui.pick(null) }, "pinned ×") : "";
  const head = h("div", { class: "mg-detailhead" }, free, h("strong", {}, clean(n.label)), " ",
    n.expression ? h("code", {}, long(n.expression)) : h("span", {}, n.program?.role ?? (n.kind === "leaf" ? "leaf" : "")),
    line ? h("button", { type: "button", class: "mg-lineref", onclick: () => ui.showCode(n.code) }, `line ${line.line}`) : "");
  const full = String(n.name) !== clean(n.name) ? h("p", { class: "mg-hint" }, `full name: ${long(n.name)}`) : null;
  const wrong = m.failed === id && m.message ? h("pre", { class: "mg-message" }, lines(m.message)) : null;
  const failed = n.kind === "failed" ? h("pre", { class: "mg-message" }, lines(tape.error?.text)) : null;
  return [head, full, failed, wrong, h("dl", {}, rows.flat())];
}

/** Where a value of a program lies, who reads it last, and what was written for it or it for. */
function programRows(ui, n) {
  const { tape } = ui, of = n.program, rows = [];
  const link = (id) => h("button", { type: "button", class: "mg-ref", onclick: () => ui.pick(id) }, `${clean(tape.node.get(id).name)}`);
  rows.push(row("number", `${of.number} of the ${of.column ? "gradient program" : "program"}`));
  if (of.memory) rows.push(row("memory", of.memory));
  if (of.ends) rows.push(row("then", of.ends));
  const kinds = { copy: "the same as in the program:", rule: "the rule of", sum: "adds up the gradients of" };
  if (of.of) rows.push(row("origin", kinds[of.role] ?? "stands for", " ", link(of.of), " ", h("code", {}, clean(tape.node.get(of.of).expression ?? ""))));
  const made = tape.writtenFor.get(n.id) ?? [];
  if (made.length) rows.push(row("gradient", h("ul", {}, made.map((id) => {
    const other = tape.node.get(id);
    return h("li", {}, link(id), " ", h("code", {}, clean(other.expression ?? "")), { copy: " (again)", rule: "", sum: " (sum)" }[other.program.role] ?? "");
  }))));
  return rows;
}

/** Which values of the program are still needed after this step, and where they lie. */
function memoryOf(ui) {
  const { tape, m } = ui, column = m.node ? tape.node.get(m.node).program.column : 0;
  const gone = new Set(), alive = [];
  const done = tape.nodes.filter((n) => n.kind === "op" && n.program.column === column && m.computed.has(n.id));
  for (const n of done) for (const id of n.program.frees) gone.add(id);
  for (const n of done) if (!gone.has(n.id)) alive.push(n);
  const just = m.node ? tape.node.get(m.node).program.frees : [];
  const link = (n) => h("button", { type: "button", class: "mg-ref", onclick: () => ui.pick(n.id) }, clean(n.name));
  return [h("p", { class: "mg-hint" }, `of the ${column ? "gradient program" : "program"}, after this instruction`),
    h("div", { class: "mg-columns" },
      h("div", {}, h("h4", {}, "still needed"), alive.length
        ? h("ul", { class: "mg-alive" }, alive.slice(0, 40).map((n) => h("li", {}, link(n), ` ${n.program.memory}`, n.program.ends ? h("span", { class: "mg-hint" }, `, ${n.program.ends}`) : "")), alive.length > 40 ? h("li", {}, `and ${alive.length - 40} others`) : "")
        : h("p", { class: "mg-hint" }, "nothing")),
      h("div", {}, h("h4", {}, "just free"), just.length
        ? h("ul", {}, just.map((id) => h("li", {}, link(tape.node.get(id)), ` ${tape.node.get(id).program.memory}`)))
        : h("p", { class: "mg-hint" }, "nothing")))];
}

function backwardRows(ui, id, n, number) {
  const { tape, m } = ui, rows = [];
  if (!n.backward) return [row("grad_fn", n.kind === "leaf" ? "a leaf that requires no gradient" : "none")];
  const arrived = m.arrived.get(id) ?? [], expected = m.expected[id] ?? 0;
  const seed = m.seeds.get(id);
  if (seed !== undefined) rows.push(row("in  g", number(seed), " (the seed)"));
  else if (arrived.length) {
    const list = arrived.map((a) => h("li", {}, number(a.g), ` from ${tape.title(a.from)}${n.named ? ` for ${tape.target(a.from, a)}` : ""}`));
    const sum = m.g.has(id) && !n.named ? [h("li", {}, "sum ", number(m.g.get(id)))] : [];
    rows.push(row("in  g", h("ul", {}, list, arrived.length > 1 ? sum : []), expected > 1 ? `${arrived.length} of ${expected} arrived` : ""));
  } else rows.push(row("in  g", m.pass ? (m.pruned.has(id) ? "not needed by this pass" : id in m.expected ? `none yet, ${expected} to come` : "not part of this pass") : "none yet"));
  for (const hook of m.hooks.get(id) ?? []) rows.push(row("hook", long(hook.text)));
  const sent = (m.sentBy.get(id) ?? []).map((d) => h("li", {}, number(d.g), ` to ${tape.title(d.to)}`));
  if (sent.length) rows.push(row("out", h("ul", {}, sent)));
  if (n.backward === "AccumulateGrad") {
    const sum = sumOfTerms(tape, m.terms.get(id));
    rows.push(row(`.grad`, sum ?? "none yet"));
    const last = m.terms.get(id)?.at(-1);
    if (last?.before !== undefined && (m.terms.get(id).length > 1 || last.before !== undefined))
      rows.push(row("", h("span", { class: "mg-hint" }, "The old value was not zeroed: backward() adds to it.")));
    const heat = heatMap(tape.value(last?.after));
    if (heat) rows.push(row("", heat));
  }
  if (m.kept.has(id)) rows.push(row("asked", long(m.kept.get(id).text)));
  return rows;
}

function engineOf(ui) {
  const { tape, m } = ui;
  if (tape.program) return memoryOf(ui);
  if (!m.pass) return [h("p", { class: "mg-hint" }, tape.firstBackward ? "No backward pass yet." : "No backward pass was recorded.")];
  const pass = tape.backward[m.pass - 1];
  const link = (id) => h("button", { type: "button", class: "mg-ref", onclick: () => ui.pick(id) }, tape.title(id));
  const ready = m.queue.slice(0, 40).map((id) => h("li", {}, link(id), tape.node.get(id).backward === "AccumulateGrad" ? " leaf" : ` seq ${seq(tape, id)}`));
  const waiting = tape.ranked.filter((id) => m.left(id) > 0 && !m.queued.has(id));
  const title = `backward ${m.pass} of ${tape.backward.length}${pass.engine === "graph" ? "" : `, engine "${pass.engine}"`}${pass.retain_graph ? ", retain_graph" : ""}${pass.create_graph ? ", create_graph" : ""}`;
  const head = pass.engine === "recursive" ? "to be called" : pass.engine === "tape" ? "next on the list" : "ready queue";
  return [h("p", { class: "mg-hint" }, title), ...(pass.note ? [h("p", { class: "mg-hint" }, pass.note)] : []),
    h("div", { class: "mg-columns" },
      h("div", {}, h("h4", {}, head), ready.length ? h("ol", { class: "mg-ready" }, ready) : h("p", { class: "mg-hint" }, "empty")),
      h("div", {}, h("h4", {}, "waiting"), waiting.length
        ? h("ul", { class: "mg-waits" }, waiting.slice(0, 40).map((id) => h("li", {}, link(id), ` ${m.left(id)} more`)), waiting.length > 40 ? h("li", {}, `and ${waiting.length - 40} others`) : "")
        : h("p", { class: "mg-hint" }, "nobody")))];
}
/** A node's number in the order in which nodes were made: later ones run first. */
const seq = (tape, id) => tape.operations.length - tape.operations.indexOf(id);

const COLUMNS = [["tensor", 13], ["computed as", 17], ["line", 5], ["shape", 8], ["value", 13], ["grad_fn", 13], ["saved", 11], ["gradient", 11], ["state", 9]]; // with shares of the width
const OF_PROGRAM = { tensor: "value of", line: "", grad_fn: "lies in", saved: "then", gradient: "comes from" };

/** What the list says of a node, by column. */
function rowOf(ui, n) {
  const { tape, m } = ui, state = stateOf(tape, m, n.id);
  const said = { current: "now", pending: "not yet", done: `ran as ${m.order.get(n.id)}`, ready: `ready, place ${m.queue.indexOf(n.id) + 1}`,
    waiting: `waits for ${m.left(n.id)} more`, failed: "failed", pruned: "not needed", idle: "" }[state];
  const grad = n.backward === "AccumulateGrad" ? sumOfTerms(tape, m.terms.get(n.id)) ?? "none yet" : m.g.has(n.id) ? tape.took(m, n.id) : n.backward ? "none yet" : "none";
  const saved = (n.saved ?? []).map((x) => `${tape.saved(x)}${x.version == null ? "" : ` v${x.version}`}`).join(", ") + (m.freed.has(n.id) ? " (freed)" : "");
  return [state, long(n.expression ?? n.program?.role ?? (n.kind === "leaf" ? "leaf" : "")), n.line ? String(n.line) : "", shapeText(n.shape),
    ui.graph.pending(m, n.id) ? "" : tape.program && n.value === undefined ? "not run yet" : tape.words(n.value),
    ...(tape.program ? [n.program.memory, n.program.ends, n.program.comes] : [clean(n.backward ?? "none"), saved, grad]), said];
}

/** A table of all nodes, of which the rows in sight are there, and the one that has the focus; gaps stand for the others. */
function listOf(ui) {
  const { tape } = ui, shown = ui.listed, tall = ui.tall;
  const from = Math.max(0, Math.floor(ui.list.scrollTop / tall) - 4), until = Math.min(shown.length, from + Math.ceil((ui.list.clientHeight || 480) / tall) + 5);
  const active = (ui.active = Math.max(0, Math.min(ui.active, shown.length - 1)));
  const there = [...new Set([active, ...Array.from({ length: Math.max(0, until - from) }, (_, i) => from + i)])].filter((i) => i < shown.length).sort((a, b) => a - b);
  const rows = [], drawn = new Map([...ui.list.querySelectorAll(".mg-row")].map((tr) => [tr.dataset.key, tr.drawn]));
  const gap = (begin, end) => end > begin && rows.push(h("tr", { "aria-hidden": "true", "data-key": `before ${end}` }, h("td", { colspan: COLUMNS.length, style: `height:${(end - begin) * tall}px` })));
  there.forEach((i, k) => {
    gap(k ? there[k - 1] + 1 : 0, i);
    const n = shown[i], [state, ...cells] = rowOf(ui, n), key = [i, i === active, ui.selected === n.id, state, ...cells].join("|");
    if (drawn.get(n.id) === key) return rows.push(Object.assign(h("tr", { "data-key": n.id }), { drawn: key }));
    rows.push(Object.assign(h("tr", { class: `mg-row mg-${state}${ui.selected === n.id ? " mg-selected" : ""}`, "aria-rowindex": i + 2, "data-key": n.id },
      h("th", { scope: "row" }, h("button", { type: "button", class: "mg-ref", tabindex: i === active ? 0 : -1, onclick: () => ui.pick(n.id), onfocus: () => { ui.active = i; } }, clean(n.label))),
      cells.map((text) => h("td", { title: text }, text))), { drawn: key }));
  });
  gap((there.at(-1) ?? -1) + 1, shown.length);
  const title = (name) => (tape.program ? OF_PROGRAM[name] ?? name : name);
  return [h("table", { "aria-rowcount": shown.length + 1 }, h("caption", {}, `${clean(tape.name)} after step ${ui.step} of ${tape.last}`),
    h("thead", {}, h("tr", { "aria-rowindex": 1 }, COLUMNS.map(([name, share]) => h("th", { scope: "col", style: `width:${share}%` }, title(name))))), h("tbody", {}, rows))];
}

function codeOf(ui) {
  const { tape, m } = ui;
  const lines = tape.code.map((c, i) => [c, i]).sort(([a], [b]) => a.source - b.source || a.line - b.line);
  const linked = new Set(tape.linked(ui.selected ?? m.node).map((x) => tape.node.get(x).code));
  const lit = ui.lit ?? tape.node.get(ui.selected ?? m.node)?.code ?? (m.node === null && m.pass ? tape.backward[m.pass - 1].code : null);
  const running = m.pass ? tape.backward[m.pass - 1].code : null, wrong = tape.error?.code;
  let source = null;
  const shown = lines.flatMap(([c, i]) => {
    const made = tape.madeBy.get(i) ?? [];
    const heading = c.source !== source && new Set(tape.code.map((x) => x.source)).size > 1 ? [h("div", { class: "mg-source" }, clean(c.where))] : [];
    source = c.source;
    const cls = `mg-line${i === lit ? " mg-lit" : ""}${i === running || linked.has(i) ? " mg-running" : ""}${i === wrong ? " mg-wrong" : ""}`;
    return [...heading, h("button", { type: "button", class: cls, "aria-current": i === lit ? "true" : null, "data-line": c.line,
      onclick: () => made.length && ui.pick(made.at(-1).id) }, h("span", { class: "mg-number" }, String(c.line)), h("code", {}, long(c.text)))];
  });
  if (!tape.program || tape.program.columns.length < 2) return shown;
  const second = shown.findLastIndex((e) => e.className === "mg-source"); // a program and its gradient, side by side
  return [h("div", { class: "mg-listings" }, h("div", {}, shown.slice(0, second)), h("div", {}, shown.slice(second)))];
}

// ------------------------------------------------------------------- the whole

let serial = 0;
const KEYS = [["n, →", "a step forward"], ["p, ←", "a step back"], ["Home, End", "first, last step"], ["Space", "play or pause"], ["b", "jump to the backward pass"],
  ["d", "by node or by detail"], ["arrows", "in the graph: to inputs, outputs, neighbors; ↑ ↓ in the list: to other rows"], ["Enter", "select; open a folded box"], ["u", "leave an opened box"],
  ["/", "search"], ["v", "values in the picture"], ["Esc", "close this list; free the pinned node; back to the toolbar"], ["l", "legend"], ["?", "these keys"]];

// 0 if a word of the text begins with what is wanted (lower case), 1 if it stands elsewhere in it, 2 if it does not.
function foundIn(text, wanted) {
  const plain = String(text ?? ""), words = plain.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();
  if (!plain.toLowerCase().includes(wanted)) return 2;
  for (let i = words.indexOf(wanted); i >= 0; i = words.indexOf(wanted, i + 1)) if (i === 0 || !/[a-z0-9]/.test(words[i - 1]) || !/[a-z0-9]/.test(wanted[0])) return 0;
  return 1;
}

/** The legend: small pictures of the signs, with their meanings. */
function signs(tape) {
  const sign = (...inside) => s("svg", { width: 34, height: 20, class: "mg-svg" }, ...inside);
  const box = (cls, ...more) => sign(s("g", { class: `mg-node ${cls}` }, s("rect", { class: "mg-body", x: 2, y: 2, width: 30, height: 16, rx: 4 }), ...more, s("rect", { class: "mg-border", x: 2, y: 2, width: 30, height: 16, rx: 4 })));
  const arrow = (cls, tip, ...ys) => sign(s("g", { class: "mg-edge" }, ys.map((y) => s("path", { class: cls, d: `M3 ${y}H26` })), s("polygon", { class: tip, points: "33,10 25,5.5 25,14.5" })));
  const common = [[arrow("mg-forward", "mg-head", 10), "data, forward"], [box("mg-leaf mg-wants"), tape.program ? "differentiated by it" : "leaf that requires grad"], [box("mg-leaf"), tape.program ? "there at first" : "leaf that does not"],
    [box("mg-current"), "has just run"], [box("mg-pending"), "not run yet"], [sign(s("path", { class: "mg-pin", d: "M17 6m-5 0a5 5 0 1 1 10 0a5 5 0 1 1 -10 0m5 5v8" })), "pinned: the details stay with it"]];
  if (tape.program) return [...common, [box("mg-rule-written"), "written by a rule"]];
  const disc = s("circle", { class: "mg-badge", cx: 17, cy: 10, r: 9 });
  return [...common, [arrow("mg-backward", "mg-backhead", 10), "gradient, backward"], [arrow("mg-forward", "mg-head", 7.5, 12.5), "same memory: in place, or a view"], [box("mg-ready"), "ready"], [sign(s("text", { class: "mg-queue", x: 8, y: 15 }, "▸1")), "place in the ready queue"],
    [sign(disc, s("text", { class: "mg-mark", x: 17, y: 14, "text-anchor": "middle" }, "1")), "order in which nodes ran"], [sign(s("rect", { class: "mg-stop", x: 3, y: 7, width: 28, height: 6 })), "the tape stops here"],
    [sign(s("rect", { class: "mg-chip mg-empty", x: 2, y: 2, width: 30, height: 16, rx: 8 })), "saved values were freed"], [box("mg-second"), "computed by a backward pass"], [box("mg-pruned"), "not needed by this pass"], [box("mg-failed"), "failed"]];
}

class Inspector {
  constructor(model, el) {
    this.model = model;
    this.el = el;
    this.serial = ++serial;
    this.values = false;
    this.detailed = false;
    this.detail = null;
    this.tab = "graph";
    this.timer = null;
    this.asked = 0;
    el.classList.add("mg-inspector");
    this.load = () => this.keeping(() => this.reload());
    this.followStep = () => { if (this.model.get("step") !== this.step) this.go(this.model.get("step"), null, false); };
    this.followSelection = () => { const id = this.model.get("selected") || null; if (id !== this.selected) this.pick(id, false); };
    this.hear = () => this.answered(this.model.get("answer"));
    model.on("change:doc", this.load);
    model.on("change:step", this.followStep);
    model.on("change:selected", this.followSelection);
    model.on("change:answer", this.hear);
    this.resize = new ResizeObserver(() => { if (this.graph?.view) this.arrange(); });
    this.reload();
  }

  remove() {
    this.stop();
    this.resize.disconnect();
    for (const [name, f] of [["doc", this.load], ["step", this.followStep], ["selected", this.followSelection], ["answer", this.hear]]) this.model.off(`change:${name}`, f);
    clear(this.el);
  }

  reload() {
    const found = this.model.get("doc");
    this.stop();
    this.tape = new Tape(typeof found === "string" ? JSON.parse(found) : found);
    this.step = Math.min(this.model.get("step") ?? 0, this.tape.last);
    this.m = null; // the moment of the document before: nothing is drawn yet of this one
    this.detail = null;
    this.selected = this.model.get("selected") || null;
    this.hits = null;
    this.build();
    this.graph.open("root");
    this.arrange();
    this.refresh();
    if (this.selected) this.reveal(this.selected);
    this.resize.observe(this.graph.box);
  }

  // ---- building

  build() {
    const tape = this.tape, button = (text, label, f, more) => h("button", { type: "button", "aria-label": label, title: label, onclick: f, ...more }, text);
    this.graph = new Graph(this);
    const name = h("h3", { class: "mg-title" }, tape.program ? clean(tape.name) : `tape: ${clean(tape.name)}`, h("span", {}, this.summary()));
    this.tabs = ["graph", "list", "code"].map((t) => h("button", { type: "button", role: "tab", "data-tab": t, "aria-selected": "false", onclick: () => this.openTab(t) }, t[0].toUpperCase() + t.slice(1)));
    this.search = h("input", { type: "search", class: "mg-search", placeholder: "search /", "aria-label": "Search by name, operation, module or shape", oninput: () => this.find(), onkeydown: (e) => this.searchKey(e) });
    this.count = h("span", { class: "mg-count" });
    this.foldButton = tape.view.has("folded") ? button("fold", "Fold modules and loops", () => this.openView(this.graph.view.id === "root" ? "folded" : "root"), { "aria-pressed": "false" }) : null;
    this.valueButton = button("values", "Values in the picture (v)", () => this.toggleValues(), { "aria-pressed": "false" });
    const exporting = h("select", { "aria-label": "Export the current step", class: "mg-export", onchange: (e) => { const kind = e.target.value; e.target.value = ""; this.export(kind); } },
      h("option", { value: "" }, "export"), ["svg", "png", "html", "text"].map((x) => h("option", { value: x }, x)));
    const top = h("div", { class: "mg-top" }, name, h("div", { role: "tablist", class: "mg-tabs" }, this.tabs), h("span", { class: "mg-grow" }), this.search, this.count,
      this.foldButton, this.valueButton, button("−", "Smaller", () => this.graph.zoom(this.graph.k / 1.2)), button("fit", "Fit the picture", () => this.graph.zoom(null)), button("+", "Larger", () => this.graph.zoom(this.graph.k * 1.2)), exporting,
      button("legend", "What the signs mean (l)", () => this.overlay("legend")), button("?", "Keys (?)", () => this.overlay("help")));
    this.first = button("|◂", "First step (Home)", () => this.go(0));
    this.playButton = button("▶", "Play (Space)", () => this.toggle(), { class: "mg-play" });
    this.forward = button("Next ▸", "One step forward (n)", () => this.next(), { class: "mg-next" });
    this.slider = h("input", { type: "range", class: "mg-slider", min: 0, max: tape.last, step: 1, "aria-label": "Step", oninput: () => this.go(Number(this.slider.value)) });
    const track = h("div", { class: "mg-track" }, this.slider);
    for (const [i, x] of tape.steps.entries())
      if (x.event === "seed" || (tape.program && i + 1 === tape.firstBackward)) track.append(h("span", { class: "mg-split", title: tape.program ? "the gradient program begins" : `backward ${x.pass} begins`, style: `left:calc(8px + (100% - 16px) * ${(i + 0.5) / Math.max(1, tape.last)})` }));
    this.where = h("span", { class: "mg-where" });
    this.speed = h("select", { "aria-label": "Speed", class: "mg-speed", onchange: () => { if (this.timer) { this.stop(); this.play(); } } }, [["1", "1/s"], ["2", "2/s"], ["5", "5/s"]].map(([v, t]) => h("option", { value: v }, t)));
    this.byDetail = h("select", { "aria-label": "Granularity", class: "mg-granularity", onchange: () => { this.detailed = this.byDetail.value === "detail"; this.detail = null; this.refresh(); } }, h("option", { value: "node" }, "by node"), h("option", { value: "detail" }, "by detail"));
    this.bar = h("div", { class: "mg-bar", role: "toolbar", "aria-label": "Steps" }, this.first, button("◂", "One step back (p)", () => this.back(), { class: "mg-back" }), this.playButton, this.forward,
      button("▸|", "Last step (End)", () => this.go(tape.last), { class: "mg-last" }), track, this.where, this.byDetail, this.speed,
      tape.firstBackward ? button(tape.program ? "gradient ▸▸" : "backward ▸▸", tape.program ? "Jump to the gradient program (b)" : "Jump to the backward pass (b)", () => this.go(tape.firstBackward), { class: "mg-jump" }) : null);
    this.said = h("div", { class: "mg-said", role: "status", "aria-live": "polite" });
    this.help = h("dl", { class: "mg-help mg-over", hidden: true }, KEYS.map(([k, what]) => [h("dt", {}, k), h("dd", {}, what)]));
    this.legend = h("dl", { class: "mg-legend mg-over", hidden: true });
    this.details = h("section", { class: "mg-details", "aria-label": "Details" });
    this.engine = h("section", { class: "mg-engine", "aria-label": "Engine" });
    this.code = h("section", { class: "mg-code", "aria-label": "Code" });
    this.active = 0; // the row that Tab reaches
    this.tall = 26; // a row, in pixels
    this.list = h("div", { class: "mg-list", hidden: true, style: `--mg-row:${this.tall}px`, onscroll: () => this.keeping(() => this.refreshList()) });
    const panel = (title, what) => h("div", {}, h("h4", { class: "mg-head" }, title), what);
    const side = h("div", { class: "mg-side" }, panel("details", this.details), panel(tape.program ? "memory" : "engine", this.engine));
    this.main = h("div", { class: "mg-main" }, this.graph.root, this.list, this.code);
    const over = h("div", { class: "mg-overlay" }, this.help, this.legend);
    const parts = [top, this.bar, this.said, over, (this.middle = h("div", { class: "mg-middle" }, this.main, side)), this.handDerived()];
    this.frame = h("div", { class: "mg-frame", tabindex: -1, onkeydown: (e) => this.key(e) }, parts);
    clear(this.el, this.frame);
    this.openTab(this.tab);
  }

  /** Do something; if what had the focus is then gone or hidden, the frame has it, not the page around it. */
  keeping(act) {
    const has = () => this.el.getRootNode().activeElement, inside = this.el.contains(has());
    act();
    if (inside && !(this.frame.contains(has()) && has().getClientRects().length)) this.frame.focus({ preventScroll: true });
  }

  /** A picture too wide to stand beside the panels stands above them. */
  arrange() {
    const room = this.middle.clientWidth, wide = this.graph.size[0] * SMALLEST > room - 300;
    this.middle.classList.toggle("mg-stacked", this.tape.program?.columns.length > 1 || (room > 720 && wide));
    if (this.graph.scale === null) this.graph.zoom(null);
  }

  summary() {
    if (this.tape.program) return ` ${clean(this.tape.program.headline, 200)}; ${clean(this.tape.program.note, 300)}`;
    const t = this.tape, ops = t.nodes.filter((n) => n.kind === "op").length, leaves = t.nodes.filter((n) => n.kind === "leaf").length;
    const many = (n, one, more) => `${n} ${n === 1 ? one : more}`;
    return ` ${many(ops, "operation", "operations")}, ${many(leaves, "leaf", "leaves")}${t.error ? `; the code stopped with ${clean(t.error.text.split(":")[0])}` : ""}`;
  }

  handDerived() {
    if (!this.tape.leaves.length) return null;
    this.leaf = h("select", { "aria-label": "Leaf" }, this.tape.leaves.map((n) => h("option", { value: n.id }, `${clean(n.name)}.grad`)));
    const asked = () => { // a verdict is about what was checked
      this.verdict.className = "mg-verdict";
      this.verdict.textContent = "not shown until you check";
    };
    this.leaf.onchange = asked;
    this.entry = h("input", { type: "text", class: "mg-entry", placeholder: "an expression, or [2.0, 4.0]", "aria-label": "Your gradient", oninput: asked, onkeydown: (e) => { if (e.key === "Enter") this.check(); } });
    this.verdict = h("span", { class: "mg-verdict" }, "not shown until you check");
    return h("div", { class: "mg-hand" }, h("span", {}, "hand-derived:"), this.leaf, " = ", this.entry, h("button", { type: "button", class: "mg-check", onclick: () => this.check() }, "check"),
      h("button", { type: "button", class: "mg-differences", title: "Run the recorded operations again, one entry of the leaf a little larger and a little smaller", onclick: () => this.differences() }, "central differences"), this.verdict);
  }

  openTab(tab) { this.keeping(() => this.openTabNow(tab)); }
  openTabNow(tab) {
    this.tab = tab;
    for (const t of this.tabs) t.setAttribute("aria-selected", String(t.dataset.tab === tab));
    this.graph.root.hidden = tab === "list";
    this.list.hidden = tab !== "list";
    this.main.classList.toggle("mg-codewide", tab === "code");
    if (this.m) this.refresh();
  }

  // ---- going through it

  go(step, detail = null, tell = true) {
    this.step = Math.max(0, Math.min(this.tape.last, step));
    this.detail = detail;
    this.lit = null;
    const node = this.tape.steps[this.step - 1]?.node; // leaves are far from what sends to them: the list stays
    this.showRow(this.listed?.findIndex((n) => n.id === node && n.kind !== "leaf"));
    if (tell && this.model.get("step") !== this.step) {
      this.model.set("step", this.step);
      this.model.save_changes();
    }
    this.refresh();
    if (this.m.node) this.graph.show(this.tape.boxes(this.m.node).find((b) => this.graph.boxes.has(b)));
  }
  next() {
    if (this.detailed) {
      const all = this.detail === null ? 0 : this.tape.steps[this.step - 1].details.length;
      if (this.detail !== null && this.detail < all) return this.go(this.step, this.detail + 1 === all ? null : this.detail + 1);
      if (this.step < this.tape.last && (this.tape.steps[this.step].details ?? []).length > 1) return this.go(this.step + 1, 1);
    }
    if (this.step < this.tape.last) this.go(this.step + 1);
  }
  back() {
    if (this.detailed && this.step > 0) {
      const all = (this.tape.steps[this.step - 1].details ?? []).length, at = this.detail ?? all;
      if (at > 1) return this.go(this.step, at - 1);
    }
    if (this.step > 0) this.go(this.step - 1);
  }
  toggle() { if (this.timer) this.stop(); else this.play(); }
  play() {
    if (this.step === this.tape.last) this.go(0);
    this.timer = setInterval(() => { this.next(); if (this.step === this.tape.last && this.detail === null) this.stop(); }, 1000 / Number(this.speed.value));
    this.playing();
  }
  stop() {
    clearInterval(this.timer);
    this.timer = null;
    if (this.playButton) this.playing();
  }
  playing() {
    this.playButton.textContent = this.timer ? "❚❚" : "▶";
    this.playButton.setAttribute("aria-label", this.timer ? "Pause (Space)" : "Play (Space)");
  }

  refresh() { this.keeping(() => this.refreshNow()); }
  refreshNow() {
    const m = (this.m = momentAt(this.tape, this.step, this.detail));
    this.slider.value = this.step;
    const all = this.detail === null || !this.step ? "" : `, detail ${this.detail} of ${this.tape.steps[this.step - 1].details.length}`;
    this.where.textContent = `step ${this.step}/${this.tape.last}${all}`;
    this.slider.setAttribute("aria-valuetext", `step ${this.step} of ${this.tape.last}, ${m.phase}`);
    this.said.textContent = long(m.text);
    this.said.className = `mg-said mg-${m.failed || m.event === "failed" ? "error" : m.phase}`;
    if (this.tab === "list") this.refreshList(); // first: it asks where it is scrolled to, before others change the page
    this.graph.update(m);
    settle(this.details, detailsOf(this));
    settle(this.engine, engineOf(this));
    settle(this.code, codeOf(this));
    const lit = this.code.querySelector(".mg-lit");
    if (lit) this.code.scrollTop = lit.offsetTop - this.code.clientHeight / 2;
  }

  refreshList() {
    this.listed = this.hits ? this.tape.nodes.filter((n) => this.hits.has(n.id)) : this.tape.nodes;
    settle(this.list, listOf(this));
  }
  /** Scroll the list so that a row is in sight; the rows that are there then are drawn afterwards. */
  showRow(i) {
    if (this.tab !== "list" || !(i >= 0)) return;
    const { list, tall } = this, room = list.clientHeight - 3 * tall; // without the caption and the header
    if (i * tall < list.scrollTop) list.scrollTop = i * tall;
    else if (i * tall > list.scrollTop + room) list.scrollTop = i * tall - room;
  }
  /** Give the focus to another row. */
  moveRow(by) {
    this.active = Math.max(0, Math.min(this.listed.length - 1, this.active + by));
    this.showRow(this.active);
    this.refreshList();
    this.list.querySelector(".mg-ref[tabindex='0']")?.focus({ preventScroll: true });
  }

  // ---- selecting, finding

  pick(id, tell = true) {
    if (id && this.tape.group.has(id)) return this.openView(id, true);
    this.selected = id === this.selected && tell ? null : id;
    if (tell) {
      this.model.set("selected", this.selected ?? "");
      this.model.save_changes();
    }
    this.lit = null;
    if (this.selected) this.reveal(this.selected);
    else this.refresh();
  }
  /** Bring a node into the picture, opening what it is folded in. */
  reveal(id) { this.keeping(() => this.revealNow(id)); }
  revealNow(id) {
    if (!id) return;
    if (!this.tape.boxes(id).some((b) => this.graph.boxes.has(b)) || (!this.graph.boxes.has(id) && this.tape.node.has(id))) {
      const root = this.tape.view.get("root");
      const group = this.tape.groupOf.get(id);
      if (id in root.boxes) this.graph.open("root");
      else if (group && this.tape.view.has(group)) this.graph.open(group);
    }
    this.refresh();
    this.graph.show(id);
  }
  openView(id, focus = false) { this.keeping(() => this.openViewNow(id, focus)); }
  openViewNow(id, focus = false) {
    const from = this.graph.view;
    this.graph.open(id);
    this.arrange();
    if (this.foldButton) this.foldButton.setAttribute("aria-pressed", String(this.graph.view.id !== "root"));
    this.refresh();
    this.graph.box.scrollTop = this.graph.box.scrollLeft = 0;
    if (focus) this.graph.focus(from.group && this.graph.boxes.has(from.group) ? from.group : [...this.graph.boxes.keys()][0]);
  }
  up() {
    const group = this.graph.view.group && this.tape.group.get(this.graph.view.group);
    if (!group) return;
    this.openView(group.parent ?? (this.tape.view.has("folded") ? "folded" : "root"), true);
  }
  showCode(code) {
    this.lit = code;
    settle(this.code, codeOf(this));
    this.code.querySelector(".mg-lit")?.scrollIntoView({ block: "nearest" });
  }
  find() {
    const wanted = this.search.value.trim().toLowerCase();
    const at = (n) => Math.min(...[n.label, n.name, n.op, n.backward, n.module, n.expression, shapeText(n.shape)].map((x) => foundIn(x, wanted)));
    // where some word begins with it, others are left out: "mul" means MulBackward0, not AccumulateGrad
    const ranks = wanted ? this.tape.nodes.map(at) : [], best = Math.min(...ranks);
    this.found = best < 2 ? this.tape.nodes.filter((n, i) => ranks[i] === best).map((n) => n.id) : [];
    this.hits = wanted ? new Set(this.found) : null;
    this.count.textContent = wanted ? `${this.found.length} found` : "";
    this.refresh();
  }
  searchKey(e) {
    if (e.key === "Enter" && this.found?.length) {
      const at = this.found.indexOf(this.selected);
      const next = this.found[(at + (e.shiftKey ? this.found.length - 1 : 1)) % this.found.length];
      if (next !== this.selected) this.pick(next);
      this.count.textContent = `${this.found.indexOf(next) + 1} of ${this.found.length}`;
    } else if (e.key === "Escape") {
      this.search.value = "";
      this.find();
      this.first.focus();
    } else return;
    e.preventDefault();
    e.stopPropagation();
  }
  toggleValues() {
    this.values = !this.values;
    this.valueButton.setAttribute("aria-pressed", String(this.values));
    this.refresh();
  }
  /** Show the keys or the legend over the picture; null closes both. */
  overlay(which) {
    for (const one of ["help", "legend"]) this[one].hidden = one !== which || !this[one].hidden;
    clear(this.legend, this.legend.hidden ? [] : signs(this.tape).flatMap(([sign, what]) => [h("dt", {}, sign), h("dd", {}, what)]));
  }
  /** Close what lies over the picture, or free the pinned node, or go back to the toolbar. */
  escape() {
    if (!this.help.hidden || !this.legend.hidden) this.overlay(null);
    else if (this.selected) this.pick(null);
    else this.first.focus();
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const tag = e.target.localName, typing = (tag === "input" && e.target.type !== "range") || tag === "select" || tag === "textarea";
    if (typing) {
      if (e.key === "Escape") this.first.focus();
      return;
    }
    const inGraph = e.target.classList?.contains("mg-node"), inList = this.list.contains(e.target), slider = e.target === this.slider;
    const act = { n: () => this.next(), p: () => this.back(), "/": () => this.search.focus(), "?": () => this.overlay("help"), l: () => this.overlay("legend"), v: () => this.toggleValues(), u: () => this.up(),
      b: () => this.tape.firstBackward && this.go(this.tape.firstBackward), Escape: () => this.escape(),
      d: () => { this.byDetail.value = this.detailed ? "node" : "detail"; this.detailed = !this.detailed; this.detail = null; this.refresh(); } };
    if (!slider) Object.assign(act, { Home: () => this.go(0), End: () => this.go(this.tape.last) });
    if (inGraph) {
      for (const k of ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"]) act[k] = () => this.graph.move(k);
      act.Enter = () => this.pick(e.target.dataset.node);
    } else if (inList) Object.assign(act, { ArrowDown: () => this.moveRow(1), ArrowUp: () => this.moveRow(-1), PageDown: () => this.moveRow(15), PageUp: () => this.moveRow(-15) });
    if (!inGraph && !slider) Object.assign(act, { ArrowRight: () => this.next(), ArrowLeft: () => this.back() });
    if (tag !== "button" && !slider) act[" "] = () => this.toggle();
    if (!Object.hasOwn(act, e.key)) return;
    e.preventDefault();
    e.stopPropagation();
    act[e.key]();
  }

  // ---- asking the kernel

  ask(question) {
    const id = `${Date.now()}-${++this.asked}`;
    this.model.set("ask", { ...question, id });
    this.model.save_changes();
    this.open = { id, kind: question.kind };
    setTimeout(() => { if (this.open?.id === id) this.answered({ id, kind: question.kind, silent: true }); }, question.kind === "differences" ? 60000 : 4000);
  }
  answered(answer) {
    if (!answer || this.open?.id !== answer.id) return;
    this.open = null;
    if (answer.kind !== "html") {
      this.judge(answer.ok, answer.silent ? "No kernel answers: is one running?" : lines(answer.text));
    } else if (answer.kind === "html" && answer.text) this.download(`${this.tape.what}.html`, answer.text, "text/html");
    else this.said.textContent = "The page is written by the kernel, and none answers: save(\"x.html\") does the same.";
  }
  /** The verdict stands beside the entry, and is read out where everything else is. */
  judge(ok, text) {
    this.verdict.textContent = text;
    const table = text.includes("\n");
    this.verdict.className = `mg-verdict ${ok ? "mg-right" : "mg-wrongly"}${table ? " mg-compared" : ""}`;
    const told = table ? (ok ? "yours agrees with the central differences." : "yours differs from the central differences; see below, entry by entry.") : text;
    this.said.textContent = `${this.leaf.selectedOptions[0].textContent}: ${told}`;
  }
  check() {
    const leaf = this.leaf.value, text = this.entry.value.trim();
    if (!text) return;
    this.verdict.textContent = "…";
    let numbers = null;
    try { numbers = JSON.parse(text); } catch { /* an expression, for the kernel */ }
    if (this.model.alone) return this.checkHere(leaf, numbers);
    this.ask({ kind: "check", leaf, text });
  }
  differences() {
    if (this.model.alone) return this.judge(false, `This page has no kernel. In Python: ${this.tape.what}.differences("${clean(this.tape.node.get(this.leaf.value).name)}")`);
    this.verdict.textContent = "…";
    this.ask({ kind: "differences", leaf: this.leaf.value, text: this.entry.value.trim() });
  }
  /** Without a kernel: compare numbers with what the last pass left. */
  checkHere(leaf, numbers) {
    const ran = this.tape.steps.findLast((x) => x.node === leaf && x.event === "node");
    const right = this.tape.value(ran?.g);
    const say = (ok, text) => this.judge(ok, text);
    if (numbers === null) return say(false, "This page has no kernel: type numbers, like [2.0, 4.0].");
    if (!ran) return say(false, `no gradient has reached ${clean(this.tape.node.get(leaf).name)} on this tape yet: record z.backward() as well.`);
    if (!right || (right.first ?? []).length < (right.size ?? 0)) return say(false, "This gradient was not recorded whole.");
    const mine = [numbers].flat(Infinity);
    if (mine.length !== right.size) return say(false, `different: ${mine.length} numbers, and the gradient has ${right.size}, of shape ${shapeText(right.shape)}`);
    const off = mine.findIndex((x, i) => !(Math.abs(x - right.first[i]) <= 1e-4 * Math.abs(right.first[i]) + 1e-6));
    return off < 0 ? say(true, "✓ right") : say(false, `× different: entry ${off} is ${number(mine[off])}, the tape has ${number(right.first[off])}`);
  }

  // ---- export

  export(kind) {
    if (kind === "text") this.download(`${this.tape.what}.txt`, this.asText(), "text/plain");
    else if (kind === "svg") this.download(`${this.tape.what}.svg`, this.asSvg(), "image/svg+xml");
    else if (kind === "png") this.asPng();
    else if (kind === "html") this.model.alone ? (this.said.textContent = "This page is the HTML export: save it with the browser.") : this.ask({ kind: "html" });
  }
  download(name, content, type) {
    const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    const link = h("a", { href: url, download: name });
    this.exported = content;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 2000);
  }
  /** The picture as it is now, with its styles written into it. */
  asSvg() {
    const from = this.graph.svg, copy = from.cloneNode(true), ground = getComputedStyle(this.el.firstElementChild).backgroundColor;
    const wanted = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight", "display"];
    const [a, b] = [from.querySelectorAll("*"), copy.querySelectorAll("*")];
    a.forEach((e, i) => {
      const look = getComputedStyle(e);
      for (const p of wanted) if (look[p]) b[i].setAttribute(p, look[p]);
      for (const p of ["class", "style", "tabindex", "data-lm-suppress-shortcuts"]) b[i].removeAttribute(p);
    });
    copy.setAttribute("xmlns", SVG);
    copy.setAttribute("width", this.graph.size[0]);
    copy.setAttribute("height", this.graph.size[1]);
    copy.prepend(s("rect", { width: "100%", height: "100%", fill: ground }));
    return new XMLSerializer().serializeToString(copy);
  }
  asPng() {
    const image = new Image(), url = URL.createObjectURL(new Blob([this.asSvg()], { type: "image/svg+xml" }));
    image.onload = () => {
      const canvas = h("canvas", { width: this.graph.size[0] * 2, height: this.graph.size[1] * 2 });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => blob && this.download(`${this.tape.what}.png`, blob));
      URL.revokeObjectURL(url);
    };
    image.src = url;
  }
  asText() {
    if (this.tape.program) return this.programAsText();
    const { tape, m } = this, rows = tape.nodes.map((n) => [clean(n.label), clean(n.expression ?? n.kind), shapeText(n.shape), clean(n.backward ?? "none"), stateOf(tape, m, n.id), n.backward === "AccumulateGrad" ? sumOfTerms(tape, m.terms.get(n.id)) ?? "none yet" : ""]);
    const all = [["tensor", "computed as", "shape", "grad_fn", "state", ".grad"], ...rows], widths = all[0].map((_, c) => Math.max(...all.map((r) => r[c].length)));
    return [`${clean(tape.name)}, step ${this.step} of ${tape.last}`, long(m.text), `ready: ${m.queue.map((x) => tape.title(x)).join(", ") || "nobody"}`, "", ...all.map((r) => r.map((x, c) => x.padEnd(widths[c])).join("  ").trimEnd())].join("\n") + "\n";
  }
  programAsText() {
    const { tape, m } = this, value = (n) => (this.graph.pending(m, n.id) || n.value === undefined ? "" : tape.words(n.value));
    const rows = tape.nodes.map((n) => [clean(n.label), clean(n.expression ?? n.program.role), shapeText(n.shape), value(n), n.program.memory, n.program.ends, n.program.comes]);
    const all = [["value of", "computed as", "shape", "value", "lies in", "then", "comes from"], ...rows], widths = all[0].map((_, c) => Math.max(...all.map((r) => r[c].length)));
    return [`${clean(tape.name)}, step ${this.step} of ${tape.last}`, long(m.text), "", ...all.map((r) => r.map((x, c) => x.padEnd(widths[c])).join("  ").trimEnd())].join("\n") + "\n";
  }
}

function render({ model, el }) {
  const inspector = new Inspector(model, el);
  el.inspector = inspector;
  return () => inspector.remove();
}

export default { render };
