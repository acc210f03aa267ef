/* The list: all nodes as a table, of which only the visible rows are in the page. */

const COLUMNS = [["tensor", 13], ["computed as", 17], ["line", 5], ["shape", 8], ["value", 13], ["grad_fn", 13], ["saved", 11], ["gradient", 11], ["state", 9]]; // with percentages of the width
const OF_PROGRAM = { tensor: "value of", line: "", grad_fn: "stored in", saved: "then", gradient: "comes from" };

/** The cells of a node's row, by column. */
function rowOf(ui, n) {
  const { tape, m } = ui, state = stateOf(tape, m, n.id);
  const said = { current: "now", pending: "not yet", done: `ran as ${m.order.get(n.id)}`, ready: `ready, place ${m.queue.indexOf(n.id) + 1}`,
    waiting: `waits for ${m.left(n.id)} more`, failed: "failed", pruned: "not needed", wrote: "changed now", idle: "" }[state];
  const grad = n.backward === "AccumulateGrad" ? sumOfTerms(tape, m.terms.get(n.id)) ?? whereGrad(tape, m, n) : m.g.has(n.id) ? tape.took(m, n.id) : n.backward ? "none yet" : "none";
  const saved = (n.saved ?? []).map((x) => `${tape.saved(x)}${x.version == null || x.constant ? "" : ` v${x.version}`}`).join(", ") + (m.freed.has(n.id) ? " (freed)" : "");
  return [state, long(n.expression ?? n.updated ?? n.program?.role ?? (n.kind === "leaf" ? "leaf" : "")), n.line ? String(n.line) : "", shapeText(n.shape),
    ui.graph.pending(m, n.id) ? "" : tape.program && n.value === undefined ? "not run yet" : tape.words(n.value),
    ...(tape.program ? [n.program.memory, n.program.ends, n.program.comes] : [clean(n.backward ?? "none"), saved, grad]), said];
}

/** The table with the visible rows and the focused row; gaps replace the other rows. */
function listOf(ui) {
  const { tape } = ui, shown = ui.listed, tall = ui.tall;
  const from = Math.max(0, Math.floor(ui.list.scrollTop / tall) - 4), until = Math.min(shown.length, from + Math.ceil((ui.list.clientHeight || 480) / tall) + 5);
  const active = (ui.active = Math.max(0, Math.min(ui.active, shown.length - 1)));
  const there = [...new Set([active, ...Array.from({ length: Math.max(0, until - from) }, (_, i) => from + i)])].filter((i) => i < shown.length).sort((a, b) => a - b);
  const rows = [], drawn = new Map([...ui.list.querySelectorAll(".mg-row")].map((tr) => [tr.dataset.key, tr.drawn]));
  const gap = (begin, end) => end > begin && rows.push(h("tr", { "aria-hidden": "true", "data-key": `before ${end}` }, h("td", { colspan: COLUMNS.length, style: `height:${(end - begin) * tall}px` })));
  there.forEach((i, k) => {
    gap(k ? there[k - 1] + 1 : 0, i);
    const n = shown[i], [state, ...cells] = rowOf(ui, n), key = [i, i === active, ui.selected === n.id, state, ...cells].join("|");
    if (drawn.get(n.id) === key) return rows.push(Object.assign(h("tr", { "data-key": n.id }), { drawn: key }));
    rows.push(Object.assign(h("tr", { class: `mg-row mg-${state}${ui.selected === n.id ? " mg-selected" : ""}`, "aria-rowindex": i + 2, "data-key": n.id },
      h("th", { scope: "row", title: clean(n.label) }, h("button", { type: "button", class: "mg-ref", tabindex: i === active ? 0 : -1, onclick: () => ui.pick(n.id), onfocus: () => { ui.active = i; } }, clean(n.label))),
      cells.map((text) => h("td", { title: text }, text))), { drawn: key }));
  });
  gap((there.at(-1) ?? -1) + 1, shown.length);
  const title = (name) => (tape.program ? OF_PROGRAM[name] ?? name : name);
  return [h("table", { "aria-rowcount": shown.length + 1 }, h("caption", {}, `${clean(tape.name)} after step ${ui.step} of ${tape.last}`),
    h("thead", {}, h("tr", { "aria-rowindex": 1 }, COLUMNS.map(([name, share]) => h("th", { scope: "col", style: `width:${share}%` }, title(name))))), h("tbody", {}, rows))];
}

/** Scrolls and navigates the list. */
const Listing = (Base) => class extends Base {
  refreshList() {
    this.listed = this.hits ? this.tape.nodes.filter((n) => this.hits.has(n.id)) : this.tape.nodes;
    settle(this.list, listOf(this));
  }
  /** Scroll the list so that a row is visible; the rows around it are drawn afterwards. */
  showRow(i) {
    if (this.tab !== "list" || !(i >= 0)) return;
    const { list, tall } = this, room = list.clientHeight - 3 * tall; // without the caption and the header
    if (i * tall < list.scrollTop) list.scrollTop = i * tall;
    else if (i * tall > list.scrollTop + room) list.scrollTop = i * tall - room;
  }
  /** Give the focus to another row. */
  moveRow(by) {
    this.active = Math.max(0, Math.min(this.listed.length - 1, this.active + by));
    this.showRow(this.active);
    this.refreshList();
    this.list.querySelector(".mg-ref[tabindex='0']")?.focus({ preventScroll: true });
  }
};
