/* The keyboard: what each key does in each part of the inspector. */

const KEYS = [["n, →", "a step forward"], ["p, ←", "a step back"], ["Home, End", "first, last step"], ["Space", "play or pause"], ["b", "jump to the backward pass"],
  ["d", "by node or by detail"], ["arrows", "in the graph: to inputs, outputs, neighbors; ↑ ↓ in the list: to other rows; on the empty canvas: move the picture"],
  ["+, −, 0", "larger, smaller, the whole picture"], ["wheel", "zooms with Ctrl, or when the picture was clicked; drag to move it"], ["Enter", "select; open a folded box"], ["u", "leave an opened box"],
  ["/", "search"], ["v", "values of the gradients, on their arrows"], ["c", "curves under the timeline: saved memory, norms and histograms of gradients"], ["f", "lecture: full screen, large, for a projector"], ["Esc", "close this list; free the pinned node; back to the toolbar; from there, in a notebook, to the cell"], ["l", "legend"], ["?", "these keys"]];

/** Handles the keys of the frame. */
const Keyboard = (Base) => class extends Base {
  /** In the tab bar, arrow keys switch tabs, as usual; elsewhere the frame handles them. */
  tabKey(e) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!by) return false;
    const { length } = this.tabs, next = this.tabs[(this.tabs.indexOf(e.target) + by + length) % length];
    this.openTab(next.dataset.tab);
    next.focus();
    e.preventDefault();
    e.stopPropagation();
    return true;
  }
  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const tag = e.target.localName, typing = (tag === "input" && e.target.type !== "range") || tag === "select" || tag === "textarea";
    if (typing) {
      if (e.key === "Escape") this.first.focus();
      return;
    }
    if (tag === "button" && this.tabs.includes(e.target) && this.tabKey(e)) return;
    const inGraph = e.target.classList?.contains("mg-node"), inList = this.list.contains(e.target), slider = e.target === this.slider;
    const act = { n: () => this.next(), p: () => this.back(), "/": () => this.search.focus(), "?": () => this.overlay("help"), l: () => this.overlay("legend"), v: () => this.toggleValues(), f: () => this.lectures(), c: () => this.stripButton && this.toggleStrips(), u: () => this.up(),
      "+": () => this.graph.larger(1.2), "=": () => this.graph.larger(1.2), "-": () => this.graph.larger(1 / 1.2), 0: () => this.graph.zoom("fit"),
      b: () => this.tape.firstBackward && this.go(this.tape.firstBackward), Escape: () => this.escape(),
      d: () => { this.byDetail.value = this.detailed ? "node" : "detail"; this.detailed = !this.detailed; this.detail = null; this.refresh(); } };
    if (!slider) Object.assign(act, { Home: () => this.go(0), End: () => this.go(this.tape.last) });
    if (inGraph) {
      for (const k of ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"]) act[k] = () => this.graph.move(k);
      act.Enter = () => this.pick(e.target.dataset.node);
    } else if (e.target === this.graph.box) for (const k of ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"]) act[k] = () => this.graph.pan(k);
    else if (inList) Object.assign(act, { ArrowDown: () => this.moveRow(1), ArrowUp: () => this.moveRow(-1), PageDown: () => this.moveRow(15), PageUp: () => this.moveRow(-15) });
    if (!inGraph && !slider && e.target !== this.graph.box) Object.assign(act, { ArrowRight: () => this.next(), ArrowLeft: () => this.back() });
    if (tag !== "button" && !slider) act[" "] = () => this.toggle();
    if (!Object.hasOwn(act, e.key)) return;
    e.preventDefault();
    e.stopPropagation();
    act[e.key]();
  }
};
