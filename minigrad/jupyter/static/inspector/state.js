/* The state of the tape after a step, computed from the document's deltas, so that no kernel is
   needed. tape/state.py computes the same; a test compares the two. */

const OF_A_PASS = ["expected", "pruned", "seeds", "arrived", "queue", "queued", "order", "kept", "sent", "sentBy", "hooks", "g", "failed", "conflict", "engine"];

/** The state after step k, or after `detail` details of it, the same as in tape/state.py.
    A whole step continues from the last computed state, if that was an earlier whole step. */
function stateAt(tape, k, detail) {
  const m = (detail === null && tape.reached?.k <= k && tape.reached) || { k: 0, passes: new Map(), pass: 0, computed: new Set(), node: null, expected: {}, pruned: new Set(), seeds: new Map(),
    arrived: new Map(), queue: [], queued: new Set(), order: new Map(), freed: new Map(), first: new Map(), terms: new Map(), kept: new Map(),
    sent: new Map(), sentBy: new Map(), hooks: new Map(), g: new Map(), failed: null, conflict: null, event: null, detail: null,
    wrote: new Set(), text: "Before the first step.", phase: "forward", now: new Set() };
  const { passes } = m; // how the others stand: one pass may run within another
  const enter = (number, begun) => {
    passes.set(m.pass, Object.fromEntries(OF_A_PASS.map((key) => [key, m[key]])));
    Object.assign(m, begun ?? passes.get(number), { pass: number });
  };
  const priority = (id) => tape.node.get(id).priority ?? 0;
  const ready = (id) => { // insert after all that run before it, usually near the front or the end
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
    m.wrote = new Set();
    if (step.first && details.some((d) => d.event === "op" || d.event === "apply"))
      append(m.first, step.node, `first ${step.first}${step.pass ? ` of backward ${tape.ranAs(step.pass)}` : ""} made here`);
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
        append(m.terms, id, { ...d, pass: tape.ranAs(step.pass) });
      else if (d.event === "capture" || d.event === "keep") m.kept.set(id, d);
      else if (d.event === "update") takeUpdate(m, d);
      else if (d.event === "free") m.freed.set(id, tape.ranAs(step.pass));
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

/** The terms of a leaf's .grad: one for each pass since it was last empty. */
function sumOfTerms(tape, terms) {
  if (!terms?.length) return null;
  let from = terms.length - 1;
  while (from > 0 && terms[from].before !== undefined && terms[from].before === terms[from - 1].after) from--;
  const shown = terms.slice(from), parts = shown.map((t) => `${tape.words(t.term)} (backward ${t.pass})`);
  if (shown[0].before !== undefined) parts.unshift(`${tape.words(shown[0].before)} (before)`);
  const total = tape.words(shown.at(-1).after);
  return parts.length > 1 ? `${parts.join(" + ")} = ${total}` : total;
}

/** Why a leaf has no .grad: there was none, or it now belongs to the tensor's latest version. */
function whereGrad(tape, m, n) {
  let latest = n;
  while (latest.overwritten_by && m.computed.has(latest.overwritten_by)) latest = tape.node.get(latest.overwritten_by);
  return latest === n ? "none yet" : `now at v${latest.version}`;
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
  if (m.wrote.has(id)) return "wrote";
  if ((n.kind === "op" || tape.written.has(id)) && !m.computed.has(id)) return "pending";
  if (m.pass && m.expected[id] !== undefined && m.left(id) > 0) return "waiting";
  return "idle";
}
