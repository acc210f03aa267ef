/* The engine panel: which nodes are ready and which wait; for a program, which values are still needed. */

/** The values of the program that are still needed after this step, and their buffers. */
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

function engineOf(ui) {
  const { tape, m } = ui;
  if (tape.program) return memoryOf(ui);
  if (!m.pass) return [h("p", { class: "mg-hint" }, tape.firstBackward ? "No backward pass yet." : "No backward pass was recorded.")];
  const pass = tape.backward[m.pass - 1];
  const link = (id) => h("button", { type: "button", class: "mg-ref", onclick: () => ui.pick(id) }, tape.title(id));
  const ready = m.queue.slice(0, 40).map((id) => h("li", {}, link(id), tape.node.get(id).backward === "AccumulateGrad" ? " leaf" : ` seq ${seq(tape, id)}`));
  const waiting = tape.ranked.filter((id) => m.left(id) > 0 && !m.queued.has(id));
  const title = `${m.phase === "backward" ? "" : "the last pass: "}backward ${pass.ran_as ?? m.pass} of ${tape.iterations.length ? Math.max(...tape.backward.map((b) => b.ran_as ?? b.number)) : tape.backward.length}${pass.engine === "graph" ? "" : `, engine "${pass.engine}"`}${pass.retain_graph ? ", retain_graph" : ""}${pass.create_graph ? ", create_graph" : ""}`;
  const head = pass.engine === "recursive" ? "to be called" : pass.engine === "tape" ? "next on the list" : "ready queue";
  return [h("p", { class: "mg-hint" }, title), ...(pass.note ? [h("p", { class: "mg-hint" }, pass.note)] : []),
    h("div", { class: "mg-columns" },
      h("div", {}, h("h4", {}, head), ready.length ? h("ol", { class: "mg-ready" }, ready) : h("p", { class: "mg-hint" }, "empty")),
      h("div", {}, h("h4", {}, "waiting"), waiting.length
        ? h("ul", { class: "mg-waits" }, waiting.slice(0, 40).map((id) => h("li", {}, link(id), " ", h("span", { class: "mg-more" }, `${m.left(id)} more`))), waiting.length > 40 ? h("li", {}, `and ${waiting.length - 40} others`) : "")
        : h("p", { class: "mg-hint" }, "no node")))];
}
/** A node's sequence number: nodes with higher numbers run first. */
const seq = (tape, id) => tape.operations.length - tape.operations.indexOf(id);
