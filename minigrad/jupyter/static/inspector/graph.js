/* The graph: one view of the document at a time, its boxes and arrows, and the focus among them. */

class Graph extends Arrows(Boxes(Hovering(Canvas(Object)))) {
  constructor(ui) {
    super();
    this.ui = ui;
    this.makeCanvas();
    this.makeCard();
    this.crumbs = h("div", { class: "mg-crumbs" });
    this.root = h("div", { class: "mg-graph" }, this.crumbs, h("div", { class: "mg-window" }, this.box, this.map, this.card));
  }
  get tape() { return this.ui.tape; }

  /** Draw a view; update() sets what depends on the step. */
  open(id) {
    const view = this.tape.view.get(id) ?? this.tape.views[0], seen = this.view === view && [this.box.scrollLeft, this.box.scrollTop];
    this.view = view;
    this.boxes = new Map();
    this.routes = [];
    const pad = 16, hatch = `mg-hatch-${this.ui.serial}`;
    this.left = 0; // labels of arrows may begin left of all boxes
    this.right = Math.max(view.width, 60) + 10; // a place in the queue may be written beside a box
    this.svg = s("svg", { class: "mg-svg", role: "group",
      "aria-label": `Graph of ${clean(this.tape.name)}. Arrow keys move, Enter selects.` },
      s("defs", {}, s("pattern", { id: hatch, width: 8, height: 8, patternUnits: "userSpaceOnUse", patternTransform: "rotate(30)" },
        s("line", { class: "mg-hatch", x1: 0, y1: 0, x2: 0, y2: 8 }))));
    const top = pad + (view.columns ? 34 : 4);
    const layer = s("g");
    for (const c of view.columns ?? []) {
      layer.append(s("text", { class: "mg-grouptitle", x: c.x, y: -18 }, clean(c.title, 80)));
      if (c.x > 0) layer.append(s("line", { class: "mg-between", x1: c.x - c.gap / 2, y1: -30, x2: c.x - c.gap / 2, y2: view.height }));
    }
    this.links = s("g", { class: "mg-links" });
    layer.append(this.links);
    view.routes.forEach((r) => layer.append(this.route(r)));
    (view.chips ?? []).forEach((c) => layer.append(this.aliasChip(c)));
    this.culprit = s("g", { class: "mg-culprit" });
    for (const [id, place] of Object.entries(view.boxes))
      layer.append(this.tape.group.has(id) ? this.groupBox(id, place) : (view.ports ?? []).includes(id) ? this.port(id, place) : this.nodeBox(id, place, hatch));
    layer.append(this.culprit);
    this.svg.append(layer);
    this.shift = [pad - this.left, top];
    this.size = [this.right - this.left + 2 * pad, view.height + top + pad + 4];
    layer.setAttribute("transform", `translate(${this.shift.join(" ")})`);
    this.svg.setAttribute("viewBox", `0 0 ${this.size[0]} ${this.size[1]}`);
    clear(this.box, this.svg);
    this.zoom(this.scale);
    if (seen) [this.box.scrollLeft, this.box.scrollTop] = seen; // the same picture, drawn anew
    this.breadcrumbs();
    this.tabStop();
  }

  breadcrumbs() {
    const trail = [];
    for (let g = this.view.group; g; g = this.tape.group.get(g).parent) trail.unshift(g);
    const root = this.view.id === "folded" ? "folded" : "root";
    const link = (id, text) => h("button", { type: "button", onclick: () => this.ui.openView(id) }, clean(text));
    const items = [];
    if (this.view.folded) items.push(h("span", {}, `${this.tape.nodes.length} nodes, folded: open a box to see what is in it.`));
    if (trail.length) {
      items.push(link(root, this.tape.name));
      trail.forEach((g, i) => items.push(h("span", {}, "›"), i === trail.length - 1 ? h("strong", {}, clean(this.tape.group.get(g).title)) : link(g, this.tape.group.get(g).title)));
    }
    this.where = h("button", { type: "button", class: "mg-elsewhere", hidden: true, onclick: () => this.ui.reveal(this.ui.m.node) });
    clear(this.crumbs, ...items, this.where);
    this.crumbs.hidden = !items.length;
  }

  update(m) {
    for (const [id, b] of this.boxes) {
      if (b.parts) this.updateNode(m, id, b);
      else if (b.members) this.updateGroup(m, id, b);
      b.g.classList.toggle("mg-selected", this.ui.selected === id);
      b.g.classList.toggle("mg-hit", this.ui.hits?.has(id) ?? false);
    }
    this.updateRoutes(m);
    this.drawCulprit(m);
    this.drawLinks(m);
    this.svg.classList.toggle("mg-goesback", m.phase === "backward");
    this.markMap();
    const shown = m.node && this.tape.boxes(m.node).some((b) => this.boxes.has(b));
    if (this.where) {
      this.where.hidden = !m.node || shown;
      if (this.crumbs.hidden && !this.where.hidden) this.crumbs.hidden = false;
      if (m.node && !shown) this.where.textContent = `${this.tape.title(m.node)} is elsewhere: go there`;
    }
  }

  tabStop() {
    const ids = [...this.boxes.keys()];
    this.focused = this.boxes.has(this.focused) ? this.focused : ids[0];
    for (const [id, b] of this.boxes) b.g.setAttribute("tabindex", id === this.focused ? 0 : -1);
  }
  focus(id) {
    if (!this.boxes.has(id)) return;
    this.focused = id;
    this.tabStop();
    this.boxes.get(id).g.focus({ preventScroll: true });
    this.show(id);
  }
  /** The neighbor of the focused box in a direction: inputs above, outputs below, siblings beside. */
  move(key) {
    const here = this.focused;
    let next = null;
    if (key === "ArrowUp" || key === "ArrowDown") {
      const up = key === "ArrowUp";
      const r = this.view.routes.find((q) => (up ? q.to : q.from) === here);
      next = r && (up ? r.from : r.to);
    } else {
      const [x, y] = this.view.boxes[here];
      const row = Object.entries(this.view.boxes).filter(([, p]) => Math.abs(p[1] + p[3] - (y + this.view.boxes[here][3])) < 30).sort((a, b) => a[1][0] - b[1][0]);
      const at = row.findIndex(([, p]) => p[0] === x);
      next = row[at + (key === "ArrowRight" ? 1 : -1)]?.[0];
    }
    if (next) this.focus(next);
  }
}
