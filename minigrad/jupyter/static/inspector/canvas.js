/* The canvas: the window through which the picture is seen, and how large. */

const SMALLEST = 0.75; // of a picture that is fitted: below it, it is not read but scrolled

/** What part of the picture is in sight. */
const Canvas = (Base) => class extends Base {
  zoom(scale) {
    const room = (this.box.clientWidth || 700) - 8;
    this.scale = scale;
    // Columns are wide: they are fitted into the width, and scrolled up and down.
    const k = scale ?? (this.view.columns ? Math.max(0.6, Math.min(1, room / this.size[0])) : Math.max(SMALLEST, Math.min(1.1, room / this.size[0], 516 / this.size[1])));
    this.k = k;
    this.svg.setAttribute("width", Math.round(this.size[0] * k));
    this.svg.setAttribute("height", Math.round(this.size[1] * k));
  }

  /** Scroll the canvas, not the page, so that a box is in sight. */
  show(id) {
    const g = this.boxes.get(id)?.g;
    if (!g) return;
    const [a, b] = [g.getBoundingClientRect(), this.box.getBoundingClientRect()];
    if (a.top < b.top + 6 || a.bottom > b.bottom - 6) this.box.scrollTop += a.top - b.top - (b.height - a.height) / 2;
    if (a.left < b.left + 6 || a.right > b.right - 6) this.box.scrollLeft += a.left - b.left - (b.width - a.width) / 2;
  }
};
