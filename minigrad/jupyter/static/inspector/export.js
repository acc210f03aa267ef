/* Export: save the current view as a picture, a page or text. */

/** Saves the current step as a file. */
const Exporting = (Base) => class extends Base {
  export(kind) {
    if (kind === "text") this.download(`${this.tape.what}.txt`, this.asText(), "text/plain");
    else if (kind === "svg") this.download(`${this.tape.what}.svg`, this.asSvg(), "image/svg+xml");
    else if (kind === "png") this.asPng();
    else if (kind === "html") this.model.alone ? (this.said.textContent = "This page is the HTML export: save it with the browser.") : this.ask({ kind: "html" });
  }
  download(name, content, type) {
    const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    const link = h("a", { href: url, download: name });
    this.exported = content;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 2000);
  }
  /** The current picture, with its styles inlined. */
  asSvg() {
    const from = this.graph.svg, copy = from.cloneNode(true), ground = getComputedStyle(this.el.firstElementChild).backgroundColor;
    const wanted = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight", "display"];
    const [a, b] = [from.querySelectorAll("*"), copy.querySelectorAll("*")];
    a.forEach((e, i) => {
      const look = getComputedStyle(e);
      for (const p of wanted) if (look[p]) b[i].setAttribute(p, look[p]);
      for (const p of ["class", "style", "tabindex", "data-lm-suppress-shortcuts"]) b[i].removeAttribute(p);
    });
    copy.setAttribute("xmlns", SVG);
    copy.setAttribute("width", this.graph.size[0]);
    copy.setAttribute("height", this.graph.size[1]);
    copy.prepend(s("rect", { width: "100%", height: "100%", fill: ground }));
    return new XMLSerializer().serializeToString(copy);
  }
  asPng() {
    const image = new Image(), url = URL.createObjectURL(new Blob([this.asSvg()], { type: "image/svg+xml" }));
    image.onload = () => {
      const canvas = h("canvas", { width: this.graph.size[0] * 2, height: this.graph.size[1] * 2 });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => blob && this.download(`${this.tape.what}.png`, blob));
      URL.revokeObjectURL(url);
    };
    image.src = url;
  }
  asText() {
    if (this.tape.program) return this.programAsText();
    const { tape, m } = this, rows = tape.nodes.map((n) => [clean(n.label), clean(n.expression ?? n.kind), shapeText(n.shape), clean(n.backward ?? "none"), stateOf(tape, m, n.id), n.backward === "AccumulateGrad" ? sumOfTerms(tape, m.terms.get(n.id)) ?? whereGrad(tape, m, n) : ""]);
    const all = [["tensor", "computed as", "shape", "grad_fn", "state", ".grad"], ...rows], widths = all[0].map((_, c) => Math.max(...all.map((r) => r[c].length)));
    return [`${clean(tape.name)}, step ${this.step} of ${tape.last}`, long(m.text), `ready: ${m.queue.map((x) => tape.title(x)).join(", ") || "none"}`, "", ...all.map((r) => r.map((x, c) => x.padEnd(widths[c])).join("  ").trimEnd())].join("\n") + "\n";
  }
  programAsText() {
    const { tape, m } = this, value = (n) => (this.graph.pending(m, n.id) || n.value === undefined ? "" : tape.words(n.value));
    const rows = tape.nodes.map((n) => [clean(n.label), clean(n.expression ?? n.program.role), shapeText(n.shape), value(n), n.program.memory, n.program.ends, n.program.comes]);
    const all = [["value of", "computed as", "shape", "value", "stored in", "then", "comes from"], ...rows], widths = all[0].map((_, c) => Math.max(...all.map((r) => r[c].length)));
    return [`${clean(tape.name)}, step ${this.step} of ${tape.last}`, long(m.text), "", ...all.map((r) => r.map((x, c) => x.padEnd(widths[c])).join("  ").trimEnd())].join("\n") + "\n";
  }
};
