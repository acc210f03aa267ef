/* Training steps: what zero_grad(), optimizer.step() and scheduler.step() change, and navigation between
   the iterations of a training loop. */

/** The update of a step of the tape, or undefined. */
const updateOf = (tape, k) => (tape.steps[k - 1]?.event === "update" ? tape.steps[k - 1].details[0] : undefined);

/** Apply an update to the state of a tape: clear gradients, and advance parameters to their next version. */
function takeUpdate(m, d) {
  m.wrote = new Set();
  for (const { was, now } of d.changes ?? []) {
    if (d.kind === "zero_grad") { m.terms.delete(was); if (was) m.wrote.add(was); }
    else if (now) {
      m.computed.add(now);
      m.wrote.add(now);
      if (now !== was && m.terms.has(was)) m.terms.set(now, m.terms.get(was));
    }
  }
}

/** An update in detail: the object, what it wrote where, and the versions. */
function updateDetails(ui, d) {
  const { tape } = ui, link = (id) => h("button", { type: "button", class: "mg-ref", onclick: () => ui.pick(id) }, clean(tape.node.get(id).label));
  const rates = (d.rates ?? []).map((r) => (r.before === r.after ? number(r.before) : `${number(r.before)} → ${number(r.after)}`)).join(", ");
  const line = d.code === undefined || d.code === null ? "" : h("button", { type: "button", class: "mg-lineref", onclick: () => ui.showCode(d.code) }, `line ${tape.code[d.code].line}`);
  const changed = ({ was, now, g }) => {
    const a = tape.node.get(was), b = tape.node.get(now), name = clean((b ?? a)?.name ?? "a parameter");
    if (d.kind === "zero_grad") return [h("dt", {}, `${name}.grad`), h("dd", {}, tape.words(g), " → none")];
    const value = (n) => (n ? tape.words(n.value) : "not recorded");
    return [h("dt", {}, name), h("dd", {}, h("div", {}, a && b && a !== b ? [link(was), " → ", link(now)] : b ? link(now) : ""),
      h("div", {}, value(a)), h("div", {}, `→ ${value(b)}`), h("div", { class: "mg-hint" }, `g = ${tape.words(g)}`))];
  };
  return [h("div", { class: "mg-detailhead" }, h("strong", {}, clean(d.call)), " ", h("span", {}, clean(d.owner)), line),
    h("dl", { class: "mg-changes" }, rates ? row("lr", rates) : [], (d.changes ?? []).map(changed))];
}

/** Navigation between iterations. */
const Iterations = (Base) => class extends Base {
  /** The index of the iteration that a step belongs to; before the first iteration, 0; after and between them, the one before. */
  iterationAt(step) { return Math.max(0, this.tape.iterations.findLastIndex((t) => t.step <= step)); }
  goIteration(i) {
    const iteration = this.tape.iterations[i];
    if (!iteration) return;
    if (iteration.group) this.graph.open(iteration.group);
    this.go(iteration.step);
    this.arrange();
  }
  /** If an iteration is shown, switch to the iteration of the current step. */
  followIteration() {
    const { iterations } = this.tape, shown = iterations.findIndex((t) => t.group && t.group === this.graph.view.group), now = this.iterationAt(this.step);
    if (shown >= 0 && now !== shown && iterations[now].group) this.graph.open(iterations[now].group);
  }
  showIteration() {
    if (!this.iterationSlider) return;
    this.iterationSlider.value = this.iterationAt(this.step);
    this.iterationSaid.textContent = this.aboutIteration(Number(this.iterationSlider.value));
  }
  aboutIteration(i) {
    const t = this.tape.iterations[i];
    return `${t.number} of ${t.of}${t.loss === undefined || t.loss === null ? "" : `, loss ${this.tape.words(t.loss)}`}`;
  }
  iterationBar() {
    const { iterations } = this.tape, many = iterations.at(-1)?.of ?? 0;
    if (iterations.length < 2) return null;
    this.iterationSlider = h("input", { type: "range", class: "mg-slider mg-iteration", min: 0, max: iterations.length - 1, step: 1, value: 0, "aria-label": "Iteration", oninput: () => this.goIteration(Number(this.iterationSlider.value)) });
    this.iterationSaid = h("span", { class: "mg-where" });
    const whole = h("button", { type: "button", class: "mg-whole", onclick: () => this.openView("root", true) }, "all");
    return h("div", { class: "mg-bar mg-iterations" }, h("span", {}, "iteration"), h("div", { class: "mg-track" }, this.iterationSlider), this.iterationSaid, whole,
      many > iterations.length ? h("span", { class: "mg-hint" }, `${iterations.length} of ${many} are kept`) : "");
  }
};
