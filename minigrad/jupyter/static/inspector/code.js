/* The code panel: the lines that ran, and which of them the step belongs to. */

function codeOf(ui) {
  const { tape, m } = ui;
  const lines = tape.code.map((c, i) => [c, i]).sort(([a], [b]) => a.source - b.source || a.line - b.line);
  const linked = new Set(tape.linked(ui.selected ?? m.node).map((x) => tape.node.get(x).code));
  const lit = ui.lit ?? tape.node.get(ui.selected ?? m.node)?.code ?? updateOf(tape, ui.step)?.code ?? (m.node === null && m.phase === "backward" ? tape.backward[m.pass - 1].code : null);
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
