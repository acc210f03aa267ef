/* The canvas: the viewport of the picture, which scrolls inside it without affecting the page's scrolling. A
   zoom keeps the point under the pointer fixed.

   The wheel zooms while Ctrl is held (as does a pinch on a touchpad), or while the canvas has the focus. */

const LEGIBLE = 0.77; // at first a picture has its own size, 11 px for the smallest text, or so much less that its width fits
const LEAST = 0.05, MOST = 4; // of a zoom by hand
const MAPPED = 40; // boxes; above, a minimap is drawn
const MAP = [160, 130]; // its size at most

/** The scale that shows all of the width, if texts stay legible; else 1, and the picture is scrolled. */
const widthOf = (wide) => (wide >= LEGIBLE && wide < 1 ? wide : 1);

/** What part of the picture is in sight. */
const Canvas = (Base) => class extends Base {
  makeCanvas() {
    this.scale = null; // a number; null: large enough to read; "fit": the whole picture
    this.box = h("div", { class: "mg-canvas", tabindex: 0, role: "group", "aria-label": "Picture. Plus, minus and 0 zoom, arrows move it.",
      onscroll: () => this.moveMap(), onpointerdown: (e) => this.press(e), onclick: null });
    this.box.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
    this.box.addEventListener("click", (e) => { if (this.dragged) e.stopPropagation(); }, true);
    this.map = h("div", { class: "mg-map", hidden: true, "aria-hidden": "true", onpointerdown: (e) => this.pressMap(e) });
    this.fingers = new Map();
  }

  /** Zoom; the point of the canvas at (x, y), or its center, stays fixed. */
  zoom(scale, x = this.box.clientWidth / 2, y = this.box.clientHeight / 2) {
    this.scale = typeof scale === "number" ? Math.max(LEAST, Math.min(MOST, scale)) : scale;
    const k = this.zoomOf(this.scale), [w, tall] = this.size;
    const { box } = this, before = this.k ?? k, rooms = [box.clientWidth, box.clientHeight];
    // The point of the picture at (x, y); along an axis where all of the picture is visible, its center.
    const point = [[box.scrollLeft, x], [box.scrollTop, y]].map(([scrolled, at], i) =>
      (scrolled + at - Math.max(0, (rooms[i] - this.size[i] * before) / 2)) / before);
    this.k = k;
    this.svg.setAttribute("width", w * k);
    this.svg.setAttribute("height", tall * k);
    [box.scrollLeft, box.scrollTop] = [point[0] * k - x, point[1] * k - y];
    this.drawMap();
  }
  /** Convert a scale to a number: "fit" shows the whole picture; null is large enough to read. */
  zoomOf(scale) {
    const { lecture } = this.ui, wide = ((this.box.clientWidth || 700) - 8) / this.size[0], whole = Math.min(wide, ((this.box.clientHeight || 520) - 4) / this.size[1]);
    if (typeof scale === "number") return scale;
    if (scale === "fit") return Math.min(1.1, whole);
    if (lecture) return Math.max(READABLE, Math.min(2.5, whole));
    return Math.max(widthOf(wide), Math.min(1.1, whole));
  }
  larger(times) { this.zoom(this.k * times); }

  wheel(e) {
    if (!e.ctrlKey && !this.box.contains(this.box.getRootNode().activeElement)) return;
    e.preventDefault();
    const [x, y] = this.inCanvas(e);
    this.zoom(this.k * Math.exp(-(e.deltaMode ? 16 * e.deltaY : e.deltaY) / (e.ctrlKey ? 150 : 500)), x, y);
  }
  inCanvas(e) {
    const place = this.box.getBoundingClientRect();
    return [e.clientX - place.left, e.clientY - place.top];
  }

  /** A pointer is down: one pointer moves the picture, two zoom it. */
  press(e) {
    if (e.button) return;
    this.fingers.set(e.pointerId, [e.clientX, e.clientY]);
    if (this.fingers.size > 1) return;
    this.dragged = false;
    const move = (now) => this.drag(now), end = (now) => {
      this.fingers.delete(now.pointerId);
      if (this.fingers.size) return;
      for (const [name, f] of [["pointermove", move], ["pointerup", end], ["pointercancel", end]]) removeEventListener(name, f);
      this.box.classList.remove("mg-dragging");
    };
    for (const [name, f] of [["pointermove", move], ["pointerup", end], ["pointercancel", end]]) addEventListener(name, f);
  }
  drag(e) {
    const was = this.fingers.get(e.pointerId), now = [e.clientX, e.clientY];
    if (!was) return;
    const other = [...this.fingers].find(([id]) => id !== e.pointerId)?.[1];
    if (other) {
      const apart = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]), place = this.box.getBoundingClientRect();
      this.zoom((this.k * apart(now)) / Math.max(1, apart(was)), (now[0] + other[0]) / 2 - place.left, (now[1] + other[1]) / 2 - place.top);
    } else if (e.pointerType === "touch" || (!this.dragged && Math.hypot(now[0] - was[0], now[1] - was[1]) < 4)) return; // the browser scrolls for a finger
    else {
      this.dragged = true;
      this.box.classList.add("mg-dragging");
      this.box.scrollLeft -= now[0] - was[0];
      this.box.scrollTop -= now[1] - was[1];
    }
    this.fingers.set(e.pointerId, now);
  }
  pan(key) {
    const [x, y] = { ArrowLeft: [-60, 0], ArrowRight: [60, 0], ArrowUp: [0, -60], ArrowDown: [0, 60] }[key];
    this.box.scrollLeft += x;
    this.box.scrollTop += y;
  }

  /** Scroll the canvas, not the page, so that a box is visible; in lecture mode, centered. */
  show(id) {
    const g = this.boxes.get(id)?.g;
    if (!g) return;
    const [a, b] = [g.getBoundingClientRect(), this.box.getBoundingClientRect()], always = this.ui.lecture;
    if (always || a.top < b.top + 6 || a.bottom > b.bottom - 6) this.box.scrollTop += a.top - b.top - (b.height - a.height) / 2;
    if (always || a.left < b.left + 6 || a.right > b.right - 6) this.box.scrollLeft += a.left - b.left - (b.width - a.width) / 2;
  }

  /** Show the node of the step, or, if it is elsewhere, the last one here; before the first step, the first one here. */
  follow() {
    const { k } = this.ui.m, { steps } = this.tape, here = (step) => this.boxOf(step.node);
    this.show(this.boxOf((k ? steps.slice(0, k).findLast(here) : steps.find(here))?.node));
  }
  /** The box of the shown view that represents a node. */
  boxOf(id) { return id && this.tape.boxes(id).find((b) => this.boxes.has(b)); }

  // ---- the minimap

  drawMap() {
    const [w, tall] = this.size, places = Object.entries(this.view.boxes);
    this.map.hidden = places.length <= MAPPED || (w * this.k <= this.box.clientWidth && tall * this.k <= this.box.clientHeight);
    if (this.map.hidden) return;
    if (this.mapped !== this.view) {
      this.mapped = this.view;
      const c = Math.min(MAP[0] / w, MAP[1] / tall, (this.box.clientWidth || 700) / 4 / w, (this.box.clientHeight || 520) / 3 / tall), wide = Math.max(50, w * c), high = Math.max(40, tall * c);
      this.mapScale = [wide / w, high / tall];
      const rect = ([, [x, y, bw, bh]]) => `M${x + this.shift[0]} ${y + this.shift[1]}h${bw}v${bh}h${-bw}z`;
      this.mapNow = s("rect", { class: "mg-mapnow" });
      this.mapView = s("rect", { class: "mg-mapview" });
      clear(this.map, s("svg", { width: wide, height: high, viewBox: `0 0 ${w} ${tall}`, preserveAspectRatio: "none" },
        s("path", { class: "mg-mapboxes", d: places.map(rect).join("") }), this.mapNow, this.mapView));
      this.markMap();
    }
    this.moveMap();
  }
  /** Mark the current node in the minimap. */
  markMap() {
    if (this.mapped !== this.view) return;
    const id = this.boxOf(this.ui.m?.node), place = this.view.boxes[id];
    const [bx, by] = this.mapScale.map((c) => 2 / c); // at least a few pixels, to be visible
    fill(this.mapNow, place ? { x: place[0] + this.shift[0] - bx, y: place[1] + this.shift[1] - by, width: place[2] + 2 * bx, height: place[3] + 2 * by } : { width: 0 }, []);
    this.dodge();
  }
  /** Move the minimap to the left, or up, if it would cover the selected or current box. */
  dodge() {
    const g = this.boxes.get(this.boxOf(this.ui.selected ?? this.ui.m?.node))?.g;
    if (this.map.hidden || !g) return;
    const [a, b] = [g.getBoundingClientRect(), this.box.getBoundingClientRect()], [wide, high] = [this.map.offsetWidth + 24, this.map.offsetHeight + 24];
    const covered = a.right > b.right - wide && a.bottom > b.bottom - high, left = a.left > b.left + wide;
    this.map.classList.toggle("mg-mapleft", covered && left);
    this.map.classList.toggle("mg-maptop", covered && !left);
  }
  moveMap() {
    if (this.map.hidden || this.mapped !== this.view) return;
    const { box, k } = this, left = Math.max(0, (box.clientWidth - this.size[0] * k) / 2);
    fill(this.mapView, { x: (box.scrollLeft - left) / k, y: box.scrollTop / k, width: box.clientWidth / k, height: box.clientHeight / k }, []);
    this.dodge();
  }
  pressMap(e) {
    const go = (at) => {
      const place = this.map.getBoundingClientRect(), [cx, cy] = this.mapScale;
      this.box.scrollLeft = ((at.clientX - place.left) / cx) * this.k - this.box.clientWidth / 2;
      this.box.scrollTop = ((at.clientY - place.top) / cy) * this.k - this.box.clientHeight / 2;
    };
    const end = () => { removeEventListener("pointermove", go); removeEventListener("pointerup", end); };
    addEventListener("pointermove", go);
    addEventListener("pointerup", end);
    e.preventDefault();
    go(e);
  }
};
