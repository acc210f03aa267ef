/* Arrows: data flows down and gradients flow up next to it; links connect corresponding nodes. */

const APART = 6; // half the distance between an arrow and its gradient's
const BEND = 40; // how wide a bend is
const LETTER = 7; // pixels: of a text beside an arrow
const NUMBER = 48; // pixels: a number is written in any case
const LEAN = 8; // half the distance between their knees, where they go sideways

/** A line along a route: it turns sideways between two layers, at its knee there, and is straight within a layer. */
function path(points, knees, start, end, side) {
  const p = points.map((q) => [...q]);
  p[0][1] += start;
  p[p.length - 1][1] += end;
  let d = `M${p[0][0]} ${p[0][1]}`;
  for (let k = 1; k < p.length; k++) {
    const [[x0, y0], [x1, y1]] = [p[k - 1], p[k]];
    const middle = knees[k >> 1] + (x1 > x0 ? -side : side) * LEAN;
    const by = x1 > x0 ? BEND : -BEND; // over a long way, straight between two bends
    if (k % 2 === 0 || x0 === x1) d += `L${x1} ${y1}`;
    else if (Math.abs(x1 - x0) <= 2 * BEND) d += `C${x0} ${middle} ${x1} ${middle} ${x1} ${y1}`;
    else d += `C${x0} ${middle} ${x0} ${middle} ${x0 + by} ${middle}H${x1 - by}C${x1} ${middle} ${x1} ${middle} ${x1} ${y1}`;
  }
  return d;
}
const head = (x, y, back) => `${x},${y} ${x - 4.5},${y + back} ${x + 4.5},${y + back}`;

const BELOW = 14; // how far below its box a link turns sideways

/** A line through points, with rounded corners. */
function rounded(points, radius) {
  const toward = ([x, y], [u, v]) => {
    const far = Math.hypot(u - x, v - y) || 1, k = Math.min(radius, far / 2) / far;
    return `${x + (u - x) * k} ${y + (v - y) * k}`;
  };
  const corners = points.slice(1, -1).map((p, k) => `L${toward(p, points[k])}Q${p[0]} ${p[1]} ${toward(p, points[k + 2])}`);
  return `M${points[0].join(" ")}${corners.join("")}L${points.at(-1).join(" ")}`;
}

/** Draws the arrows of a view and keeps them up to date. */
const Arrows = (Base) => class extends Base {
  route(route) {
    const edges = route.edges.map((e) => this.tape.edge.get(e)), edge = edges[0];
    const points = route.points;
    const both = edges.some((e) => e.gradient), double = edges.length === 1 && (edge.inplace || edge.view);
    const g = s("g", { class: "mg-edge" });
    const shift = (dx) => points.map(([x, y]) => [x + dx, y]);
    const left = both ? -APART : 0;
    for (const dx of double ? [-2.2, 2.2] : [0])
      g.append(s("path", { class: "mg-forward", d: path(shift(left + dx), route.knees, 0, -8, both ? -1 : 0) }));
    const tip = points.at(-1);
    g.append(s("polygon", { class: "mg-head", points: head(tip[0] + left, tip[1], -9) }));
    const parts = { edges, g };
    const written = (place, cls, text, line = 0) => s("text", { class: cls, x: place[0], y: place[1] + 14 * line }, text);
    if (both) {
      const [x, y] = points[0];
      parts.back = s("path", { class: "mg-backward", d: path(shift(APART), route.knees, 8, 0, 1) });
      parts.tip = s("polygon", { class: "mg-backhead", points: head(x + APART, y, 9) });
      parts.label = written(route.label, "mg-flow", "");
      parts.room = Math.max(route.label[2], NUMBER);
      g.append(parts.back, parts.tip, parts.label);
      const summed = edges.length === 1 ? edge.summed : null;
      if (summed) g.append(written(route.label, "mg-flow", summed, 1));
      this.left = Math.min(this.left, route.label[0]);
      const wide = this.ui.values ? route.label[2] : LETTER * (summed ?? "").length;
      this.right = Math.max(this.right, route.label[0] + Math.max(wide, 64));
    }
    if (route.mark) this.left = Math.min(this.left, route.mark[0]);
    if (route.mark) g.append(written(route.mark, "mg-small", edge.inplace ? "in place" : "view"));
    this.routes.push(parts);
    return g;
  }

  updateRoutes(m) {
    for (const r of this.routes) {
      r.g.classList.toggle("mg-pending", r.edges.every((e) => this.pending(m, e.to)));
      if (!r.back) continue;
      const flows = r.edges.filter((e) => e.gradient).map((e) => [e, `${e.to}:${e.backward_edge ?? 0}`]);
      const through = flows.filter(([, key]) => m.sent.has(key));
      r.back.classList.toggle("mg-flowed", through.length > 0);
      r.tip.classList.toggle("mg-flowed", through.length > 0);
      r.g.classList.toggle("mg-now", through.some(([, key]) => m.now.has(key)));
      const d = through.length ? m.sent.get(through[0][1]) : null;
      let text = "";
      if (d && r.edges.length === 1) {
        if (this.ui.values) text = this.fitting(d.g, r.room);
        else if (d.expected > 1) text = `${d.arrived} of ${d.expected}`;
      } else if (r.edges.length > 1) text = `${through.length ? `${through.length} of ` : ""}${flows.length} gradient${flows.length > 1 ? "s" : ""}`;
      r.label.textContent = clean(text);
    }
  }
  /** A gradient beside its arrow: its values if there is room, else its norm, else a sign that it is in the details. */
  fitting(i, room) {
    const norm = this.tape.value(i)?.norm, texts = [this.tape.words(i), typeof norm === "number" ? `norm ${number(norm)}` : "…"];
    return texts.find((text) => textWidth(text, true) <= room) ?? "…";
  }

  /** From the node whose saved value changed to the op that wrote to it. */
  drawCulprit(m) {
    clear(this.culprit);
    const [from, to] = [this.boxes.get(m.failed)?.parts, this.boxes.get(m.conflict?.by)?.parts];
    if (!m.conflict || !from || !to) return;
    const right = to.x >= from.x + from.w; // otherwise the link goes around it on the right
    const [x0, y0, x1, y1] = [from.x + from.w, from.y + TOP + 8, right ? to.x : to.x + to.w, to.y + 20];
    const out = right ? (x0 + x1) / 2 : Math.max(x0, x1) + 34, back = right ? -9 : 9;
    this.culprit.append(s("path", { d: `M${x0} ${y0}C${out} ${y0} ${out} ${y1} ${x1 + back} ${y1}` }),
      s("polygon", { points: `${x1},${y1} ${x1 + back},${y1 - 4.5} ${x1 + back},${y1 + 4.5}` }),
      s("text", { x: right ? x1 - 4 : x1, y: to.y - (right ? 22 : 8), "text-anchor": right ? "start" : "end" }, "changed it"));
  }

  /** Link the selected instruction, or the one that has just run, to its counterparts in the other column. A link
      crosses no box: it runs in the gap below a layer, the gap between the columns, and the gap below the other layer. */
  drawLinks(m) {
    clear(this.links);
    const id = this.ui.selected ?? m.node, others = this.tape.linked(id), second = this.view.columns?.[1];
    for (const [key, b] of this.boxes) b.g.classList.toggle("mg-linked", others.includes(key));
    const from = second && this.boxes.get(id)?.parts;
    for (const to of from ? others.map((x) => this.boxes.get(x)?.parts).filter(Boolean) : []) {
      const [[x0, y0], [x1, y1]] = [from, to].map((p) => [p.x + p.w / 2, p.y + p.height]), between = second.x - second.gap / 2;
      const way = [[x0, y0], [x0, y0 + BELOW], [between, y0 + BELOW], [between, y1 + BELOW], [x1, y1 + BELOW], [x1, y1]];
      this.links.append(s("path", { d: rounded(way, 7) }), s("circle", { cx: x0, cy: y0, r: 4 }), s("circle", { cx: x1, cy: y1, r: 4 }));
    }
  }
};
