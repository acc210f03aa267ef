/* The document of a tape or a program, with indexes: nodes, edges, names, lines. */

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
    this.via = new Map(); // a node's k-th backward edge -> the edge that its gradient travels along
    for (const e of this.edges) {
      if (e.gradient) this.via.set(`${e.to}:${e.backward_edge ?? 0}`, e);
      this.into.get(e.to).push(e);
      this.outOf.get(e.from).push(e);
    }
    this.groupOf = new Map(); // member -> its group
    for (const g of this.groups ?? []) for (const m of g.members) this.groupOf.set(m, g.id);
    this.last = this.steps.length;
    this.what = this.program ? "program" : "tape";
    const seed = this.steps.findIndex((x) => (this.program ? x.phase === "backward" : x.event === "seed"));
    this.firstBackward = seed < 0 ? null : seed + 1;
    this.iterations ??= [];
    this.written = new Set(this.steps.flatMap((x) => (x.event === "update" ? x.details[0].changes ?? [] : []).map((c) => c.now).filter(Boolean))); // by an optimizer
    const ran = new Set(this.steps.filter((x) => x.event === "node").map((x) => x.node)), last = new Map();
    for (const n of this.nodes) if (n.backward === "AccumulateGrad" && (!last.has(n.name) || ran.has(n.id))) last.set(n.name, n);
    this.leaves = [...last.values()]; // for each parameter, its last version with a gradient
    this.ranked = this.nodes.filter((n) => n.backward).sort((a, b) => (a.priority ?? 0) - (b.priority ?? 0)).map((n) => n.id);
    this.operations = this.ranked.filter((id) => this.node.get(id).backward !== "AccumulateGrad");
    this.madeBy = new Map(); // line of code -> the nodes that it made
    for (const n of this.nodes) if (n.code !== undefined) append(this.madeBy, n.code, n);
    this.stepsOf = new Map(); // line of code -> its steps that belong to no node: passes and updates
    this.steps.forEach((x, k) => {
      const code = x.event === "update" ? x.details[0].code : x.event === "seed" ? this.backward[x.pass - 1].code : null;
      if (code !== null && code !== undefined) append(this.stepsOf, code, k + 1);
    });
    this.writtenFor = new Map(); // node of a program -> the nodes of the gradient program that were written for it
    for (const n of this.nodes) if (n.program?.of) append(this.writtenFor, n.program.of, n.id);
  }
  /** The node's counterparts in the other column. */
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
  /** The latest node with this id, label, name or op, the same as tape.select. */
  named(wanted) {
    for (const key of ["id", "label", "name", "named", "backward", "op"]) {
      const found = this.nodes.findLast((n) => n[key] === wanted || (key === "named" && n[key]?.includes(wanted)));
      if (found) return found;
    }
    return null;
  }
  /** The name of one of a node's results. */
  result(id, output) { const n = this.node.get(id); return clean(n.named?.[output ?? 0] ?? n.label); }
  /** The result to which a node has sent a gradient. */
  target(from, sent) { return this.result(sent.to, this.via.get(`${from}:${sent.edge ?? 0}`)?.output); }
  /** The user's name of a saved tensor, or the number; the rule's, if it is not on the tape. */
  saved(x) { const n = this.node.get(x.node); return clean(n ? n.named?.[x.output ?? 0] ?? n.name : x.constant || x.name); }
  /** The incoming gradients: one, or one for each result that has one. */
  took(m, id) {
    const found = new Map();
    for (const a of m.arrived.get(id) ?? []) append(found, this.target(a.from, a), a);
    if (!this.node.get(id).named || !found.size) return this.words(m.g.get(id));
    return [...found].map(([name, all]) => `${all.map((a) => this.words(a.g)).join(" + ")} for ${name}`).join(", ");
  }
  line(n) { return n?.code === undefined ? null : this.code[n.code]; }
  /** The boxes that represent a node, from the node itself outward. */
  boxes(id) {
    const found = [id];
    for (let g = this.groupOf.get(id); g; g = this.groupOf.get(g)) found.push(g);
    if (found.length === 1 && this.node.get(id)?.kind === "leaf") // a leaf is in the groups that use it
      for (const user of new Set((this.outOf.get(id) ?? []).map((e) => this.groupOf.get(e.to))))
        for (let g = user; g && !found.includes(g); g = this.groupOf.get(g)) found.push(g);
    return found;
  }
}
