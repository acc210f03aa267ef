/* Boxes: nodes, folded groups and outside leaves, and how they change with the step. */

const TOP = 47, BOTTOM = 25, PAD = 12; // the rows of a box, the same as in tape/render/boxes.py
const PRINTED = 17, PICTURED = 31, TALL = 24; // above the chips: the value, in one line or next to a picture

/** The value in a box: its text, next to a heat map or a histogram, the same as in tape/render/canvas.py. */
function thumbnail(found, x, y) {
  const parts = [], cells = found.cells ?? [], bars = found.bars ?? "";
  let wide = 0;
  if (cells.length) {
    const rows = cells.length, columns = cells[0].length, places = new Map();
    wide = Math.round(Math.min(48, Math.max(12, (TALL * columns) / rows)));
    cells.forEach((row, i) => [...row].forEach((c, j) => append(places, c, [x + (wide * j) / columns, y + (TALL * i) / rows])));
    const [w, tall] = [wide / columns, TALL / rows];
    for (const [c, all] of places) {
      const level = c === "n" ? null : c >= "A" ? 64 - c.charCodeAt(0) : Number(c);
      parts.push(s("path", { d: all.map(([cx, cy]) => `M${cx} ${cy}h${w}v${tall}h${-w}z`).join(""), fill: heat((level ?? 0) / 9) }));
      if (level === null) parts.push(s("path", { class: "mg-not-finite", d: all.map(([cx, cy]) => `M${cx} ${cy + tall}l${w} ${-tall}`).join("") }));
    }
    parts.push(s("rect", { class: "mg-frameline", x, y, width: wide, height: TALL }));
  } else if (bars) {
    wide = 36;
    const step = wide / bars.length;
    parts.push(s("path", { class: "mg-bars", d: `M${x} ${y + TALL}${[...bars].map((c, k) => `V${y + TALL - (TALL * Number(c)) / 9}H${x + step * (k + 1)}`).join("")}V${y + TALL}z` }),
      s("path", { class: "mg-frameline", d: `M${x} ${y + TALL}h${wide}` }));
  }
  found.lines.forEach((line, k) => parts.push(s("text", { x: x + (wide && wide + 7), y: y + 9.5 + 14 * k }, clean(line, 80))));
  return s("g", { class: "mg-value" }, parts);
}

const letter = (i) => String.fromCharCode(65 + (i % 26)) + (i >= 26 ? Math.floor(i / 26) : "");

/** Draws the boxes of a view and keeps them up to date. */
const Boxes = (Base) => class extends Base {
  group(id, label, ...children) {
    const g = s("g", { class: "mg-node", "data-node": id, role: "button", tabindex: -1, "aria-label": label,
      onclick: (e) => { e.stopPropagation(); this.ui.pick(id); },
      onfocus: () => { this.focused = id; this.outline(id, true); }, onblur: () => this.outline(id, false) }, ...children);
    return g;
  }

  nodeBox(id, [x, y, w, height], hatch) {
    const n = this.tape.node.get(id), leaf = n.kind === "leaf", band = y + height - BOTTOM, shown = n.thumbnail;
    const low = y + TOP + (!shown ? 0 : shown.lines.length < 2 ? PRINTED : PICTURED); // the top of the chips
    const t = (cls, at, text, anchor) => s("text", { class: cls, x: at[0], y: at[1], "text-anchor": anchor ?? "start" }, text);
    const name = clean(n.kind === "failed" ? n.op : n.name);
    const parts = { body: s("rect", { class: "mg-body", x, y, width: w, height, rx: 7 }),
      band: s("path", { class: "mg-band", d: `M${x} ${band}h${w}v${BOTTOM - 7}q0 7 -7 7h${14 - w}q-7 0 -7 -7z` }),
      hatch: s("rect", { class: "mg-hatched", x, y: low, width: w, height: y + height - low, fill: `url(#${hatch})` }),
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
    const line = n.program ? n.program.comes : n.made_by ? `backward ${n.made_by}` : n.line ? `line ${n.line}` : "";
    g.append(t(leaf ? "mg-faint" : "mg-what", [x + PAD, y + 38], this.what(n)), t("mg-small", [x + w - PAD, y + 38], line, "end"));
    if (shown) g.append((parts.value = thumbnail(shown, x + PAD, y + TOP)));
    parts.chips = s("g", {});
    parts.badge = s("rect", { class: "mg-badge", x: x + PAD, y: band + 4, height: 18, rx: 9 });
    parts.mark = t("mg-mark", [x + PAD, band + 17], "", "middle");
    const below = n.program ? n.program.memory : n.kind === "failed" ? (n.shapes ?? []).join(" and ") : n.backward ?? (n.stop ? `stop: ${n.stop}` : leaf ? "no gradient" : "no grad_fn");
    parts.below = t(n.backward ? "mg-fn" : "mg-faint", [x + PAD, band + 17], clean(below));
    parts.note = t("mg-note", [x + w - PAD, band + 17], "", "end");
    parts.queue = t("mg-queue", [x + w + 4, y + 14], "");
    const pin = s("path", { class: "mg-pin", d: `M${x + w - 14} ${y - 5}m-5 0a5 5 0 1 1 10 0a5 5 0 1 1 -10 0m5 5v9` });
    g.append(parts.chips, parts.badge, parts.mark, parts.below, parts.note, parts.queue, pin);
    g.classList.add(leaf ? "mg-leaf" : `mg-${n.kind}`);
    if (n.requires_grad) g.classList.add("mg-wants");
    if (n.backward === "AccumulateGrad") g.classList.add("mg-ends"); // also if an operation made it
    if (n.made_by) g.classList.add("mg-second");
    if (["rule", "sum"].includes(n.program?.role)) g.classList.add("mg-rule-written");
    Object.assign(parts, { x, y, w, height, low });
    this.boxes.set(id, { g, parts });
    return g;
  }

  what(n) {
    if (n.program && n.kind === "leaf") return `${n.program.number}, ${n.program.role}`;
    if (n.updated) return `written by ${clean(n.updated)}`;
    if (n.kind === "leaf") return n.requires_grad ? "leaf, requires_grad" : "leaf";
    return n.expression ? clean(n.expression) : "made outside the recording";
  }

  groupBox(id, [x, y, w, height]) {
    const group = this.tape.group.get(id);
    const members = this.membersOf(id), ops = members.filter((m) => this.tape.node.get(m).kind !== "leaf");
    const shape = group.kind === "call" ? this.shapesOut(members, ops) : "";
    const written = (row, text) => s("text", { class: "mg-faint", x: x + w / 2, y: y + row, "text-anchor": "middle" }, text);
    const count = written(shape ? 39 : 47), out = shape ? written(53, clean(`→ ${shape}`, Math.floor(w / 6.8))) : null;
    const g = this.group(id, "", s("rect", { class: "mg-behind", x: x + 5, y: y - 5, width: w, height, rx: 7 }),
      s("rect", { class: "mg-body", x, y, width: w, height, rx: 7 }), s("rect", { class: "mg-progress", x: x + 1, y: y + height - 7, width: 0, height: 6, rx: 3 }),
      s("rect", { class: "mg-border", x, y, width: w, height, rx: 7 }),
      s("text", { class: "mg-grouptitle", x: x + w / 2, y: y + (shape ? 23 : 28), "text-anchor": "middle" }, clean(group.title)), count, out ?? "");
    g.classList.add("mg-group");
    this.boxes.set(id, { g, count, w, members, ops, shape, bar: g.querySelector(".mg-progress") });
    return g;
  }

  /** The nodes of a group, at any depth. */
  membersOf(id) {
    return (this.tape.group.get(id)?.members ?? []).flatMap((m) => (this.tape.group.has(m) ? this.membersOf(m) : [m]));
  }
  /** The shapes of a module's outputs: of its results that nodes outside use, or of its last result. Nodes made by a
      backward pass also read saved values; those do not count as outputs. */
  shapesOut(members, ops) {
    const inside = new Set(members), others = (e) => !inside.has(e.to) && !this.tape.node.get(e.to).made_by;
    const used = ops.filter((m) => this.tape.outOf.get(m).some(others));
    return [...new Set((used.length ? used : ops.slice(-1)).map((m) => shapeText(this.tape.node.get(m).shape)))].join(", ");
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

  /** Highlight a leaf and its chips together: focus on one highlights all. */
  outline(id, on) {
    for (const chip of this.svg.querySelectorAll(".mg-alias")) if (chip.dataset.of === id) chip.classList.toggle("mg-outlined", on);
  }

  pending(m, id) {
    const n = this.tape.node.get(id);
    return (n.kind === "op" || n.kind === "failed" || this.tape.written.has(id)) && !m.computed.has(id);
  }

  updateNode(m, id, box) {
    const { g, parts } = box, n = this.tape.node.get(id), state = stateOf(this.tape, m, id), pending = this.pending(m, id);
    const note = this.note(m, n, state), freed = m.freed.has(id), place = m.queue.indexOf(id);
    const label = this.describe(m, n, state, note), key = [label, m.order.get(id), freed, place, pending, this.ui.values].join("|");
    if (box.key === key) return; // unchanged, as most boxes are at most steps
    box.key = key;
    for (const c of ["current", "done", "ready", "waiting", "failed", "pruned", "pending", "wrote", "idle"]) g.classList.toggle(`mg-${c}`, c === state || (c === "pending" && pending));
    g.classList.toggle("mg-freed", freed);
    const mark = state === "failed" ? "×" : m.order.has(id) ? String(m.order.get(id)) : "";
    parts.badge.style.display = mark ? "" : "none";
    parts.mark.textContent = mark;
    const wide = Math.max(18, 8 * mark.length + 4);
    parts.badge.setAttribute("width", wide);
    parts.mark.setAttribute("x", parts.x + PAD + wide / 2);
    parts.below.setAttribute("x", parts.x + PAD + (mark ? wide + 8 : 0));
    parts.note.textContent = note;
    parts.queue.textContent = place >= 0 ? `▸${place + 1}` : "";
    if (parts.value) parts.value.style.display = pending ? "none" : "";
    this.chips(m, n, parts, freed);
    g.setAttribute("aria-label", label);
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
      return filled ? `.grad from backward ${filled.at(-1).pass}` : `.grad ${whereGrad(this.tape, m, n)}`;
    }
    return terms > 1 && m.order.has(id) ? `${terms} contributions` : "";
  }

  chips(m, n, parts, freed) {
    const found = [];
    for (const saved of n.saved ?? []) {
      const of = clean(this.tape.saved(saved), 16);
      const conflict = m.failed === n.id && m.conflict?.name === saved.name ? m.conflict : null;
      if (conflict) found.push(["mg-bad", `× ${of} saved v${conflict.saved ?? 0}, now v${conflict.now ?? 0}`]);
      else if (freed) found.push(["mg-empty", `freed ${of}`]);
      else found.push(["mg-saved", saved.constant ? `saved ${of}` : `saved ${of} @v${saved.version}`]);
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
      const wide = textWidth(text, cls === "mg-bad") + 12;
      parts.chips.append(s("rect", { class: `mg-chip ${cls}`, x, y: parts.low, width: wide, height: 17, rx: 8 }),
        s("text", { class: `mg-chiptext ${cls}`, x: x + 6, y: parts.low + 12.5 }, text));
      x += wide + 6;
    }
  }

  describe(m, n, state, note) {
    const said = { current: m.phase === "backward" ? "current" : "computed now", pending: "not computed yet", done: "has run", ready: "ready",
      waiting: `waits for ${m.left(n.id)} more`, failed: "failed", pruned: "not needed", wrote: "changed now", idle: "" };
    const parts = [clean(n.label), shapeText(n.shape), clean(n.expression ?? (n.program ? n.program.role : n.kind === "leaf" ? "leaf" : "")),
      n.program ? n.program.comes : clean(n.backward ?? "no gradient"), n.program?.memory, said[state]];
    if (m.g.has(n.id)) parts.push(`receives ${this.tape.took(m, n.id)}`);
    const sent = (m.sentBy.get(n.id) ?? []).map((d) => `${this.tape.words(d.g)} to ${this.tape.target(n.id, d)}`);
    if (sent.length) parts.push(`sends ${sent.join(" and ")}`);
    parts.push(...(m.first.get(n.id) ?? []));
    if (note && state !== "failed") parts.push(note);
    if (state !== "pending") parts.push(...(n.thumbnail?.lines ?? []).map((line) => clean(line, 80)));
    return parts.filter(Boolean).join(", ");
  }

  updateGroup(m, id, b) {
    const group = this.tape.group.get(id);
    const { ops } = b, done = m.pass ? m.order : m.computed, ran = ops.filter((x) => done.has(x)).length;
    const here = m.node && !this.boxes.has(m.node) && this.tape.boxes(m.node).includes(id);
    b.g.classList.toggle("mg-current", Boolean(here));
    b.g.classList.toggle("mg-hit", this.ui.hits ? b.members.some((x) => this.ui.hits.has(x)) : false);
    b.count.textContent = `${group.count} ${group.count === 1 ? "operation" : "operations"}${ran ? `, ${ran} ${m.pass ? "ran back" : "done"}` : ""}`;
    b.bar.setAttribute("width", Math.max(0, (b.w - 2) * (ops.length ? ran / ops.length : 0)));
    b.g.setAttribute("aria-label", `${clean(group.title)}, ${b.count.textContent}${b.shape && `, hands on ${b.shape}`}, folded${here ? ", the current node is inside" : ""}. Enter opens it.`);
  }
};
