/* Gradients derived by hand: compared by the kernel, or here with the values on the tape. */

const UNSEEN = "The answer stays hidden until you check yours.";

/** Asks for a gradient, and judges it. */
const ByHand = (Base) => class extends Base {
  handDerived() {
    if (!this.tape.leaves.length) return null;
    this.leaf = h("select", { "aria-label": "Leaf" }, this.tape.leaves.map((n) => h("option", { value: n.id }, `${clean(n.name)}.grad`)));
    const asked = () => { // a verdict applies only to the text that was checked
      this.verdict.className = "mg-verdict";
      this.verdict.textContent = UNSEEN;
    };
    this.leaf.onchange = asked;
    this.entry = h("input", { type: "text", class: "mg-entry", placeholder: "an expression, or [2.0, 4.0]", "aria-label": "Your gradient", oninput: asked, onkeydown: (e) => { if (e.key === "Enter") this.check(); } });
    this.verdict = h("span", { class: "mg-verdict" }, UNSEEN);
    return h("div", { class: "mg-hand" }, h("span", {}, "hand-derived:"), this.leaf, " = ", this.entry, h("button", { type: "button", class: "mg-check", onclick: () => this.check() }, "check"),
      h("button", { type: "button", class: "mg-differences", title: "Run the recorded operations again, one entry of the leaf a little larger and a little smaller", onclick: () => this.differences() }, "central differences"), this.verdict);
  }

  /** Ask about the leaf that was selected, unless a gradient of another one is being typed. */
  askAbout(id) {
    if (!this.tape.leaves.some((n) => n.id === id) || this.leaf.value === id || this.entry.value.trim()) return;
    this.leaf.value = id;
    this.leaf.onchange();
  }
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
    else this.said.textContent = "Only a kernel can write the page, and none answers. In Python, save(\"x.html\") does it.";
  }
  /** Show the verdict next to the entry, and announce it to screen readers. */
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
  /** Without a kernel: compare numbers with the gradients of the last pass. */
  checkHere(leaf, numbers) {
    const ran = this.tape.steps.findLast((x) => x.node === leaf && x.event === "node");
    const right = this.tape.value(ran?.g);
    const say = (ok, text) => this.judge(ok, text);
    if (numbers === null) return say(false, "This page has no kernel: type numbers, like [2.0, 4.0].");
    if (!ran) return say(false, `no gradient has reached ${clean(this.tape.node.get(leaf).name)} on this tape yet: record z.backward() as well.`);
    if (!right || (right.first ?? []).length < (right.size ?? 0)) return say(false, "This gradient was not recorded in full.");
    const mine = [numbers].flat(Infinity);
    if (mine.length !== right.size) return say(false, `different: ${mine.length} numbers, and the gradient has ${right.size}, of shape ${shapeText(right.shape)}`);
    const off = mine.findIndex((x, i) => !(Math.abs(x - right.first[i]) <= 1e-4 * Math.abs(right.first[i]) + 1e-6));
    return off < 0 ? say(true, "✓ right") : say(false, `× different: entry ${off} is ${number(mine[off])}, the tape has ${number(right.first[off])}`);
  }
};
