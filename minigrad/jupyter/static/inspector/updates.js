/* Training steps: what zero_grad(), optimizer.step() and scheduler.step() change, and navigation between
   the iterations of a training loop. */

/** The update of a step of the tape, or undefined. */
const updateOf = (tape, k) => (tape.steps[k - 1]?.event === "update" ? tape.steps[k - 1].details[0] : undefined);

/** Apply an update to a moment: clear gradients, and advance parameters to their next version. */
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
const Turns = (Base) => class extends Base {
  /** The index of the iteration that a step belongs to; -1 if there is none. */
  turnAt(step) { return this.tape.turns.findIndex((t) => t.step <= step && step <= t.until); }
  goTurn(i) {
    const turn = this.tape.turns[i];
    if (!turn) return;
    if (turn.group) this.graph.open(turn.group);
    this.go(turn.step);
    this.arrange();
  }
  /** If an iteration is shown, switch to the iteration of the current step. */
  followTurn() {
    const { turns } = this.tape, shown = turns.findIndex((t) => t.group && t.group === this.graph.view.group), now = this.turnAt(this.step);
    if (shown >= 0 && now >= 0 && now !== shown && turns[now].group) this.graph.open(turns[now].group);
  }
  showTurn() {
    const now = this.turnAt(this.step);
    if (!this.turnSlider) return;
    if (now >= 0) this.turnSlider.value = now;
    this.turnSaid.textContent = this.aboutTurn(Number(this.turnSlider.value));
  }
  aboutTurn(i) {
    const t = this.tape.turns[i];
    return `step ${t.number} of ${t.of}${t.loss === undefined || t.loss === null ? "" : `, loss ${this.tape.words(t.loss)}`}`;
  }
  turnBar() {
    const { turns } = this.tape, many = turns.at(-1)?.of ?? 0;
    if (turns.length < 2) return null;
    this.turnSlider = h("input", { type: "range", class: "mg-slider mg-turn", min: 0, max: turns.length - 1, step: 1, value: 0, "aria-label": "Iteration", oninput: () => this.goTurn(Number(this.turnSlider.value)) });
    this.turnSaid = h("span", { class: "mg-where" });
    const whole = h("button", { type: "button", class: "mg-whole", onclick: () => this.openView("root", true) }, "all");
    return h("div", { class: "mg-bar mg-turns" }, h("span", {}, "iteration"), h("div", { class: "mg-track" }, this.turnSlider), this.turnSaid, whole,
      many > turns.length ? h("span", { class: "mg-hint" }, `${turns.length} of ${many} are kept`) : "");
  }
};
