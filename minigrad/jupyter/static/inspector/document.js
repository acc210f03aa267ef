/* The document of a tape or a program, with what is looked up in it: nodes, edges, names, lines. */

const append = (lists, key, item) => (lists.has(key) ? lists.get(key).push(item) : lists.set(key, [item]));

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
    this.turns ??= [];
    this.written = new Set(this.steps.flatMap((x) => (x.event === "update" ? x.details[0].changes ?? [] : []).map((c) => c.now).filter(Boolean))); // by an optimizer
    const ran = new Set(this.steps.filter((x) => x.event === "node").map((x) => x.node)), last = new Map();
    for (const n of this.nodes) if (n.backward === "AccumulateGrad" && (!last.has(n.name) || ran.has(n.id))) last.set(n.name, n);
    this.leaves = [...last.values()]; // of a parameter's versions, the last with a gradient
    this.ranked = this.nodes.filter((n) => n.backward).sort((a, b) => (a.priority ?? 0) - (b.priority ?? 0)).map((n) => n.id);
    this.operations = this.ranked.filter((id) => this.node.get(id).backward !== "AccumulateGrad");
    this.madeBy = new Map(); // line of the code -> the nodes made there
    for (const n of this.nodes) if (n.code !== undefined) append(this.madeBy, n.code, n);
    this.stepsOf = new Map(); // line of the code -> the steps that are no nodes': passes and updates
    this.steps.forEach((x, k) => {
      const code = x.event === "update" ? x.details[0].code : x.event === "seed" ? this.backward[x.pass - 1].code : null;
      if (code !== null && code !== undefined) append(this.stepsOf, code, k + 1);
    });
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
  /** As which a pass ran; some may be left out. */
  ranAs(pass) { return this.backward[pass - 1]?.ran_as ?? pass; }
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
  /** The user's name of a saved tensor, or the number; the rule's, if it is not on the tape. */
  saved(x) { const n = this.node.get(x.node); return clean(n ? n.named?.[x.output ?? 0] ?? n.name : x.constant || x.name); }
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
    if (found.length === 1 && this.node.get(id)?.kind === "leaf") // a leaf is in the groups that use it
      for (const user of new Set((this.outOf.get(id) ?? []).map((e) => this.groupOf.get(e.to))))
        for (let g = user; g && !found.includes(g); g = this.groupOf.get(g)) found.push(g);
    return found;
  }
}
