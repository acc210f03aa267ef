/* The card: a summary of a node, shown next to the pointer. The details panel does not change. */

/** The rows of the card: names and texts. */
function cardOf(tape, m, n, pending) {
  const v = tape.value(n.value), g = tape.value(m.g.get(n.id)), rows = [["shape", shapeText(n.shape)], ["dtype", n.dtype]];
  if (n.program) rows.push(["memory", n.program.memory]);
  else rows.push(["version", (n.versions ?? 1) > 1 ? `v${n.version ?? 0} of ${n.versions}` : `v${n.version ?? 0}`]);
  const norm = (x) => (typeof x.norm === "number" ? number(x.norm) : "none"), finite = (x) => countNotFinite(x) || "all finite";
  if (pending) rows.push(["value", "not computed yet"]);
  else if (v) rows.push(["norm", `${norm(v)}, the root of the sum of squares`], ["NaN, inf", finite(v)]);
  if (g) rows.push(["gradient", `norm ${norm(g)}, ${finite(g)}`]);
  return rows.filter(([, text]) => text);
}

/** Shows the card of the box under the pointer. */
const Hovering = (Base) => class extends Base {
  makeCard() {
    this.card = h("div", { class: "mg-card", hidden: true, "aria-hidden": "true" });
    this.box.addEventListener("pointerover", (e) => this.hover(e.target.closest?.(".mg-node")));
    for (const away of ["pointerleave", "pointerdown", "scroll"]) this.box.addEventListener(away, () => this.hover(null));
  }
  hover(box) {
    const n = box && this.tape.node.get(box.dataset.node);
    this.card.hidden = !n;
    if (!n) return;
    clear(this.card, h("strong", {}, clean(n.label)), h("dl", {}, cardOf(this.tape, this.ui.m, n, this.pending(this.ui.m, n.id)).map(([term, text]) => row(term, text)).flat()));
    const [a, b] = [box.getBoundingClientRect(), this.box.getBoundingClientRect()], { offsetWidth: wide, offsetHeight: high } = this.card;
    const below = a.bottom + 6 + high < b.bottom;
    this.card.style.left = `${Math.max(4, Math.min(a.left - b.left, b.width - wide - 16))}px`;
    this.card.style.top = `${Math.max(4, below ? a.bottom - b.top + 6 : a.top - b.top - high - 6)}px`;
  }
};
