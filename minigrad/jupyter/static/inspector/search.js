/* Search: nodes by name, operation, module or shape; matches at the start of a word come first. */

// 0 if a word of the text starts with the query (lower case), 1 if it occurs elsewhere in the text, 2 if it does not.
function foundIn(text, wanted) {
  const plain = String(text ?? ""), words = plain.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();
  if (!plain.toLowerCase().includes(wanted)) return 2;
  for (let i = words.indexOf(wanted); i >= 0; i = words.indexOf(wanted, i + 1)) if (i === 0 || !/[a-z0-9]/.test(words[i - 1]) || !/[a-z0-9]/.test(wanted[0])) return 0;
  return 1;
}

/** Finds nodes, and goes from one match to the next. */
const Searching = (Base) => class extends Base {
  find() {
    const wanted = this.search.value.trim().toLowerCase();
    const at = (n) => Math.min(...[n.label, n.name, n.op, n.backward, n.module, n.expression, shapeText(n.shape)].map((x) => foundIn(x, wanted)));
    // if some word starts with the query, other matches are dropped: "mul" means MulBackward0, not AccumulateGrad
    const ranks = wanted ? this.tape.nodes.map(at) : [], best = Math.min(...ranks);
    this.found = best < 2 ? this.tape.nodes.filter((n, i) => ranks[i] === best).map((n) => n.id) : [];
    this.hits = wanted ? new Set(this.found) : null;
    this.count.textContent = wanted ? `${this.found.length} found` : "";
    this.refresh();
  }
  searchKey(e) {
    if (e.key === "Enter" && this.found?.length) {
      const at = this.found.indexOf(this.selected);
      const next = this.found[(at + (e.shiftKey ? this.found.length - 1 : 1)) % this.found.length];
      if (next !== this.selected) this.pick(next);
      this.count.textContent = `${this.found.indexOf(next) + 1} of ${this.found.length}`;
    } else if (e.key === "Escape") {
      this.search.value = "";
      this.find();
      this.first.focus();
    } else return;
    e.preventDefault();
    e.stopPropagation();
  }
};
