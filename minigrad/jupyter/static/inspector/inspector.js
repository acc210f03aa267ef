/* The inspector: draws the document of a tape or a static program, and steps through it in the
   browser. A program is in one column, its gradient program in a second column next to it.

   It has two hosts. In a notebook, anywidget calls render({model, el}); in a separate page, page.js calls
   it with a substitute model (see tape/render/page.py). Only the methods get, set, on, off and save_changes of
   the model are used. A kernel is needed only for hand-derived gradients. */

const NOTHING = "Nothing was recorded: no operation on a tensor ran.";
const NARROWEST = 280, WIDEST = 340; // pixels: the panels beside a picture

/** The name of a button for screen readers, and for those who say what they see: it contains the word on the button. */
function spoken(text, label) {
  const word = text.replace(/[^a-z ]/gi, "").trim();
  return label.toLowerCase().includes(word.toLowerCase()) ? label : `${word}: ${label}`;
}

let serial = 0;

class Inspector extends Keyboard(Lecture(Exporting(ByHand(Searching(Listing(Iterations(Strips(Timeline(Coding(Object)))))))))) {
  constructor(model, el) {
    super();
    this.model = model;
    this.el = el;
    this.serial = ++serial;
    this.values = false;
    this.detailed = false;
    this.detail = null;
    this.tab = "graph";
    this.timer = null;
    this.asked = 0;
    el.classList.add("mg-inspector");
    el.classList.toggle("mg-alone", Boolean(model.alone));
    this.load = () => this.keeping(() => this.reload());
    this.followStep = () => { if (this.model.get("step") !== this.step) this.go(this.model.get("step"), null, false); };
    this.followSelection = () => { const id = this.model.get("selected") || null; if (id !== this.selected) this.pick(id, false); };
    this.hear = () => this.answered(this.model.get("answer"));
    model.on("change:doc", this.load);
    model.on("change:step", this.followStep);
    model.on("change:selected", this.followSelection);
    model.on("change:answer", this.hear);
    this.resize = new ResizeObserver(() => this.resized());
    this.reload();
  }

  remove() {
    this.stop();
    this.lectures(false);
    this.resize.disconnect();
    for (const [name, f] of [["doc", this.load], ["step", this.followStep], ["selected", this.followSelection], ["answer", this.hear]]) this.model.off(`change:${name}`, f);
    clear(this.el);
  }

  reload() {
    const found = this.model.get("doc");
    this.stop();
    if (this.lecture) this.lectures(false);
    this.tape = new Tape(typeof found === "string" ? JSON.parse(found) : found);
    this.step = Math.min(this.model.get("step") ?? 0, this.tape.last);
    this.m = null; // forget the previous document's state: nothing of this one is drawn yet
    this.detail = null;
    this.selected = this.model.get("selected") || null;
    this.hits = null;
    this.build();
    this.graph.open(this.tape.iterations[this.iterationAt(this.step)]?.group ?? "root");
    this.arrange();
    this.refresh();
    if (this.selected) this.reveal(this.selected);
    else this.graph.follow();
    this.resize.observe(this.graph.box);
  }

  build() {
    const tape = this.tape, button = (text, label, f, more) => h("button", { type: "button", "aria-label": spoken(text, label), title: label, onclick: f, ...more }, text);
    this.graph = new Graph(this);
    const name = h("h3", { class: "mg-title", title: this.summary().trim() }, clean(tape.name), h("span", {}, this.summary()));
    this.tabs = ["graph", "list", "code"].map((t) => h("button", { type: "button", role: "tab", id: `mg-${this.serial}-${t}`, "data-tab": t, "aria-controls": `mg-${this.serial}-panel`, onclick: () => this.openTab(t) }, t[0].toUpperCase() + t.slice(1)));
    this.search = h("input", { type: "search", class: "mg-search", placeholder: "search /", "aria-label": "Search by name, operation, module or shape", oninput: () => this.find(), onkeydown: (e) => this.searchKey(e) });
    this.count = h("span", { class: "mg-count" });
    this.foldButton = tape.view.has("folded") ? button("fold", "Fold modules and loops", () => this.openView(this.graph.view.id === "root" ? "folded" : "root"), { "aria-pressed": "false" }) : null;
    this.valueButton = button("values", "Values of the gradients, on their arrows (v)", () => this.toggleValues(), { "aria-pressed": "false" });
    const exporting = h("select", { "aria-label": "Export the current step", class: "mg-export", onchange: (e) => { const kind = e.target.value; e.target.value = ""; this.export(kind); } },
      h("option", { value: "" }, "export"), ["svg", "png", "html", "text"].map((x) => h("option", { value: x }, x)));
    const top = h("div", { class: "mg-top" }, name, h("div", { role: "tablist", class: "mg-tabs" }, this.tabs), h("span", { class: "mg-grow" }), this.search, this.count,
      this.foldButton, this.valueButton, button("−", "Smaller (-)", () => this.graph.larger(1 / 1.2)), button("fit", "The whole picture (0)", () => this.graph.zoom("fit"), { class: "mg-fit" }), button("+", "Larger (+)", () => this.graph.larger(1.2)), exporting,
      (this.lectureButton = button("lecture", "Full screen, for a projector (f)", () => this.lectures(), { "aria-pressed": "false" })), button("legend", "What the signs mean (l)", () => this.overlay("legend")), button("?", "Keys (?)", () => this.overlay("help")));
    this.first = button("|◂", "First step (Home)", () => this.go(0));
    this.playButton = button("▶", "Play (Space)", () => this.toggle(), { class: "mg-play" });
    this.forward = button("Next ▸", "One step forward (n)", () => this.next(), { class: "mg-next" });
    this.slider = h("input", { type: "range", class: "mg-slider", min: 0, max: tape.last, step: 1, "aria-label": "Step", oninput: () => this.go(Number(this.slider.value)) });
    const track = h("div", { class: "mg-track" }, this.slider);
    for (const [i, x] of tape.steps.entries())
      if ((x.event === "seed" && tape.iterations.length < 2) || tape.iterations.some((t) => t.step === i + 1) || (tape.program && i + 1 === tape.firstBackward)) track.append(h("span", { class: x.event === "seed" || tape.program ? "mg-split" : "mg-split mg-begins", title: tape.program ? "the gradient program begins" : x.event === "seed" ? `backward ${x.pass} begins` : "an iteration begins", style: `left:calc(8px + (100% - 16px) * ${(i + 0.5) / Math.max(1, tape.last)})` }));
    track.append(h("span", { class: "mg-playhead" }), (this.strips = h("div", { class: "mg-strips", hidden: true })));
    this.track = track;
    this.where = h("span", { class: "mg-where" });
    this.speed = h("select", { "aria-label": "Speed", class: "mg-speed", onchange: () => { if (this.timer) { this.stop(); this.play(); } } }, [["1", "1/s"], ["2", "2/s"], ["5", "5/s"]].map(([v, t]) => h("option", { value: v }, t)));
    this.byDetail = h("select", { "aria-label": "Granularity", class: "mg-granularity", onchange: () => { this.detailed = this.byDetail.value === "detail"; this.detail = null; this.refresh(); } }, h("option", { value: "node" }, "by node"), h("option", { value: "detail" }, "by detail"));
    this.bar = h("div", { class: "mg-bar", role: "group", "aria-label": "Steps" }, this.first, button("◂", "One step back (p)", () => this.back(), { class: "mg-back" }), this.playButton, this.forward,
      button("▸|", "Last step (End)", () => this.go(tape.last), { class: "mg-last" }), track, this.where, tape.program ? null : (this.stripButton = button("curves", "Saved memory, gradient norms and histograms, under the timeline (c)", () => this.toggleStrips(), { "aria-pressed": "false" })), this.byDetail, this.speed,
      tape.firstBackward ? button(tape.program ? "gradient ▸▸" : "backward ▸▸", tape.program ? "Jump to the gradient program (b)" : "Jump to the backward pass (b)", () => this.go(tape.firstBackward), { class: "mg-jump" }) : null);
    this.said = h("div", { class: "mg-said", role: "status", "aria-live": "polite" });
    this.help = h("dl", { class: "mg-help mg-over", hidden: true }, KEYS.map(([k, what]) => [h("dt", {}, k), h("dd", {}, what)]));
    this.legend = h("dl", { class: "mg-legend mg-over", hidden: true });
    this.details = h("section", { class: "mg-details", "aria-label": "Details" });
    this.engine = h("section", { class: "mg-engine", "aria-label": "Engine" });
    this.code = h("section", { class: "mg-code", "aria-label": "Code" });
    this.active = 0; // the row that Tab focuses
    this.tall = 26; // height of a row in pixels
    this.list = h("div", { class: "mg-list", hidden: true, style: `--mg-row:${this.tall}px`, onscroll: () => this.keeping(() => this.refreshList()) });
    const panel = (title, what) => h("div", {}, h("h4", { class: "mg-head" }, title), what);
    const side = h("div", { class: "mg-side" }, panel("details", this.details), panel(tape.program ? "memory" : "engine", this.engine));
    this.main = h("div", { class: "mg-main", role: "tabpanel", id: `mg-${this.serial}-panel` }, this.graph.root, this.list, this.code);
    const over = h("div", { class: "mg-overlay" }, this.help, this.legend);
    const keys = h("div", { class: "mg-keys" }, "n next · p back · Space play · b backward · d by detail · f leave"), parts = [top, this.bar, this.iterationBar(), this.said, over, (this.middle = h("div", { class: "mg-middle" }, this.main, side)), this.handDerived(), keys];
    this.frame = h("div", { class: "mg-frame", tabindex: -1, onkeydown: (e) => this.key(e) }, parts.filter(Boolean));
    clear(this.el, this.frame);
    this.openTab(this.tab);
  }

  /** Do something; if the focused element is then gone or hidden, move the focus to the frame, not to the page. */
  keeping(act) {
    const has = () => this.el.getRootNode().activeElement, inside = this.el.contains(has());
    act();
    if (inside && !(this.frame.contains(has()) && has().getClientRects().length)) this.frame.focus({ preventScroll: true });
  }

  /** Set the height of the panels to fit the picture and the code, within the limits of the style sheet. */
  arrange() {
    const { middle, graph } = this, room = middle.clientWidth, wide = graph.size[0] + 8, least = LEGIBLE * wide;
    const wider = !this.lecture && room >= 720 && least > room - NARROWEST && least <= room; // it fits if the panels go below
    const twoPrograms = this.tape.program?.columns.length > 1; // one beside the other: they need the whole width
    middle.style.setProperty("--mg-beside", `${Math.max(NARROWEST, Math.min(WIDEST, room - wide))}px`);
    middle.classList.toggle("mg-stacked", twoPrograms || wider);
    middle.classList.toggle("mg-inrow", wider && !twoPrograms);
    const beside = middle.classList.contains("mg-stacked") || room < 720 ? 0 : this.details.parentElement.clientWidth;
    const across = (room - beside - 8) / graph.size[0], k = Math.max(widthOf(across), Math.min(1.1, across)), below = (middle.classList.contains("mg-inrow") ? 0 : this.code.clientHeight) + (graph.crumbs.hidden ? 0 : graph.crumbs.clientHeight);
    middle.style.setProperty("--mg-tall", `${Math.ceil(graph.size[1] * k + below + 8)}px`);
    if (typeof graph.scale !== "number") graph.zoom(graph.scale, graph.box.clientWidth / 2, 0); // what is at the top stays there
    graph.drawMap();
  }

  summary() {
    if (this.tape.program) return ` ${clean(this.tape.program.headline, 200)}; ${clean(this.tape.program.note, 300)}`;
    const t = this.tape, ops = t.nodes.filter((n) => n.kind === "op").length, leaves = t.nodes.filter((n) => n.kind === "leaf" && !n.updated).length;
    const many = (n, one, more) => `${n} ${n === 1 ? one : more}`;
    return ` ${many(ops, "operation", "operations")}, ${many(leaves, "leaf", "leaves")}${t.error ? `; stopped by ${clean(t.error.text.split(":")[0])}` : ""}`;
  }

  openTab(tab) { this.keeping(() => this.openTabNow(tab)); }
  openTabNow(tab) {
    this.tab = tab;
    for (const t of this.tabs) {
      t.setAttribute("aria-selected", String(t.dataset.tab === tab));
      t.tabIndex = t.dataset.tab === tab ? 0 : -1;
      if (t.dataset.tab === tab) this.main.setAttribute("aria-labelledby", t.id);
    }
    this.graph.root.hidden = tab === "list";
    this.list.hidden = tab !== "list";
    this.main.classList.toggle("mg-codewide", tab === "code");
    if (this.m) this.refresh();
  }


  refreshNow() {
    const m = (this.m = stateAt(this.tape, this.step, this.detail));
    this.slider.value = this.step;
    this.track.style.setProperty("--mg-at", this.step / Math.max(1, this.tape.last));
    this.showIteration();
    const all = this.detail === null || !this.step ? "" : `, detail ${this.detail} of ${this.tape.steps[this.step - 1].details.length}`;
    this.where.textContent = `step ${this.step}/${this.tape.last}${all}`;
    this.slider.setAttribute("aria-valuetext", `step ${this.step} of ${this.tape.last}, ${m.phase}`);
    this.said.textContent = this.step ? long(m.text) : this.tape.last ? `${m.text} Press Next to replay what ran.` : NOTHING;
    this.said.className = `mg-said mg-${m.failed || m.event === "failed" ? "error" : m.phase}`;
    if (this.tab === "list") this.refreshList(); // first, because it reads its scroll position before other panels change the page
    this.graph.update(m);
    settle(this.details, detailsOf(this));
    settle(this.engine, engineOf(this));
    settle(this.code, codeOf(this));
    this.followLine();
  }

  /** Scroll the code so that the current line is visible. */
  followLine() {
    const lit = this.code.querySelector(".mg-lit"), height = this.code.clientHeight;
    if (lit && (lit.offsetTop < this.code.scrollTop || lit.offsetTop + lit.clientHeight > this.code.scrollTop + height)) this.code.scrollTop = lit.offsetTop - height / 2;
  }
  /** After the window is resized, keep the current node and line visible. */
  resized() {
    if (!this.graph?.view) return;
    this.arrange();
    const { offsetWidth, offsetHeight } = this.graph.box, room = `${offsetWidth} ${offsetHeight}`;
    if (room === this.room) return; // a scrollbar has appeared inside it, for example because of a zoom by hand
    this.room = room;
    if (this.selected) this.graph.show(this.selected);
    else this.graph.follow();
    this.followLine();
  }


  pick(id, tell = true) {
    if (id && this.tape.group.has(id)) return this.openView(id, true);
    this.selected = id === this.selected && tell ? null : id;
    if (tell) {
      this.model.set("selected", this.selected ?? "");
      this.model.save_changes();
    }
    this.lit = null;
    this.askAbout(this.selected);
    if (this.selected) this.reveal(this.selected);
    else this.refresh();
  }
  /** Make a node visible in the picture, unfolding the groups that contain it. */
  reveal(id) { this.keeping(() => this.revealNow(id)); }
  revealNow(id) {
    if (!id) return;
    if (!this.tape.boxes(id).some((b) => this.graph.boxes.has(b)) || (!this.graph.boxes.has(id) && this.tape.node.has(id))) {
      const group = this.tape.groupOf.get(id), views = this.tape.views;
      const view = views.find((v) => v.id === "root" && id in v.boxes) ?? this.tape.view.get(group) ?? views.find((v) => id in v.boxes);
      if (view) this.graph.open(view.id);
    }
    this.refresh();
    this.graph.show(id);
  }
  openView(id, focus = false) { this.keeping(() => this.openViewNow(id, focus)); }
  openViewNow(id, focus = false) {
    const from = this.graph.view;
    this.graph.open(id);
    this.arrange();
    if (this.foldButton) this.foldButton.setAttribute("aria-pressed", String(this.graph.view.id !== "root"));
    this.refresh();
    this.graph.box.scrollTop = this.graph.box.scrollLeft = 0;
    if (focus) this.graph.focus(from.group && this.graph.boxes.has(from.group) ? from.group : [...this.graph.boxes.keys()][0]);
    else this.graph.follow();
  }
  up() {
    const group = this.graph.view.group && this.tape.group.get(this.graph.view.group);
    if (!group) return;
    this.openView(group.parent ?? (this.tape.view.has("folded") ? "folded" : "root"), true);
  }
  toggleValues() {
    this.values = !this.values;
    this.valueButton.setAttribute("aria-pressed", String(this.values));
    const { graph } = this, at = graph.svg.contains(this.el.getRootNode().activeElement) && graph.focused;
    graph.open(graph.view.id); // values need more room than counts
    this.refresh();
    this.resized();
    if (at) graph.focus(at);
  }
  /** Show the keyboard help or the legend over the picture; null closes both. */
  overlay(which) {
    for (const one of ["help", "legend"]) this[one].hidden = one !== which || !this[one].hidden;
    clear(this.legend, this.legend.hidden ? [] : signs(this.tape).flatMap(([sign, what]) => [h("dt", {}, sign), h("dd", {}, what)]));
  }
  /** Escape: close the overlay, or unpin the node, or return to the toolbar, and from there to the cell. */
  escape() {
    if (!this.help.hidden || !this.legend.hidden) this.overlay(null);
    else if (this.lecture) this.lectures(false);
    else if (this.selected) { this.hits = null; this.pick(null); }
    else if (this.bar.contains(this.el.getRootNode().activeElement)) this.el.closest(".jp-Cell")?.focus();
    else this.first.focus();
  }
}

function render({ model, el }) {
  const inspector = new Inspector(model, el);
  el.inspector = inspector;
  return () => inspector.remove();
}
