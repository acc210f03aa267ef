/* The code panel: the whole cell, and the functions that ran. An arrow marks the current line, and a sign marks
   the lines that called it, down to the one in the model's forward. A click on a line selects its nodes. */

/** The line that the step or the pinned node belongs to, and those that called it. */
function currentLine(ui) {
  const { tape, m } = ui, n = tape.node.get(ui.selected ?? m.node), update = updateOf(tape, ui.step);
  const own = n?.code ?? (n ? null : update?.code ?? (m.phase === "backward" ? tape.backward[m.pass - 1].code : null));
  return ui.lit === null || ui.lit === undefined ? { lit: own, calls: n?.calls ?? [] } : { lit: ui.lit, calls: [] };
}

function codeOf(ui) {
  const { tape, m } = ui;
  const sorted = tape.code.map((c, i) => [c, i]).sort(([a], [b]) => a.source - b.source || a.line - b.line);
  const linked = new Set(tape.linked(ui.selected ?? m.node).map((x) => tape.node.get(x).code));
  const { lit, calls } = currentLine(ui), several = new Set(tape.code.map((x) => x.source)).size > 1;
  const running = m.pass && m.phase === "backward" ? tape.backward[m.pass - 1].code : null, wrong = tape.error?.code;
  const indent = new Map(); // of a block, such as the body of a function: not shown
  for (const c of tape.code) indent.set(c.source, Math.min(indent.get(c.source) ?? Infinity, c.text ? c.indent ?? 0 : Infinity));
  let source = null, before = null;
  const shown = sorted.flatMap(([c, i]) => {
    const heading = c.source !== source && several ? [h("div", { class: "mg-source" }, clean(c.where))] : [];
    const gap = c.source === source && c.line > before + 1 && !tape.program ? [h("div", { class: "mg-source mg-gap" }, "⋮")] : [];
    [source, before] = [c.source, c.line];
    const used = tape.program || tape.madeBy.has(i) || tape.stepsOf.has(i), called = calls.includes(i);
    const cls = ["mg-line", i === lit && "mg-lit", called && "mg-calls", (i === running || linked.has(i)) && "mg-running", i === wrong && "mg-wrong", !used && "mg-unused"];
    return [...heading, ...gap, h("button", { type: "button", class: cls.filter(Boolean).join(" "), "aria-current": i === lit ? "true" : null, "data-line": c.line, tabindex: used ? 0 : -1,
      onclick: () => ui.pickLine(i) }, h("span", { class: "mg-arrow", "aria-hidden": "true" }, i === lit ? "▶" : called ? "↳" : ""),
    h("span", { class: "mg-number" }, String(c.line)), h("code", {}, " ".repeat(Math.max(0, (c.indent ?? 0) - indent.get(c.source))), h("span", { class: "mg-text" }, long(c.text))))];
  });
  if (calls.length) { // keep the calls that lead to the current line visible
    const way = calls.map((i) => h("button", { type: "button", class: "mg-ref", onclick: () => ui.showCode(i) }, `line ${tape.code[i].line}`, h("code", {}, ` ${clean(tape.code[i].text, 60)}`)));
    shown.unshift(h("div", { class: "mg-way" }, way.flatMap((e) => [e, h("span", { "aria-hidden": "true" }, " ↳ ")]), lit === null ? "" : `line ${tape.code[lit].line}`));
  }
  if (!tape.program || tape.program.columns.length < 2) return shown;
  const second = shown.findLastIndex((e) => e.className === "mg-source"); // a program and its gradient, side by side
  return [h("div", { class: "mg-listings" }, h("div", {}, shown.slice(0, second)), h("div", {}, shown.slice(second)))];
}

/** Navigation from lines to nodes. */
const Coding = (Base) => class extends Base {
  /** Mark the nodes that a line made, and select the last one in the picture; or go to the line's step. */
  pickLine(i) {
    const made = this.tape.madeBy.get(i) ?? [], here = made.filter((n) => this.graph.boxes.has(n.id)), steps = this.tape.stepsOf.get(i) ?? [];
    if (!made.length) return steps.length ? this.go(steps.findLast((k) => k <= this.step) ?? steps[0]) : undefined;
    this.hits = new Set(made.map((n) => n.id));
    this.marked = true; // until the next step
    const last = (here.length ? here : made).at(-1).id;
    if (this.selected === last) this.refresh();
    else this.pick(last);
  }
  showCode(code) {
    this.lit = code;
    settle(this.code, codeOf(this));
    this.code.querySelector(".mg-lit")?.scrollIntoView({ block: "nearest" });
  }
};
