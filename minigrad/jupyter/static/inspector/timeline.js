/* The timeline: moving through the steps, manually or by playing. */

/** Goes to a step, and plays the steps. */
const Timeline = (Base) => class extends Base {
  go(step, detail = null, tell = true) {
    this.step = Math.max(0, Math.min(this.tape.last, step));
    this.detail = detail;
    this.lit = null;
    if (this.marked) this.hits = null;
    this.marked = false;
    const node = this.tape.steps[this.step - 1]?.node; // leaves are far from their senders, so do not scroll the list
    this.showRow(this.listed?.findIndex((n) => n.id === node && n.kind !== "leaf"));
    if (tell && this.model.get("step") !== this.step) {
      this.model.set("step", this.step);
      this.model.save_changes();
    }
    this.followIteration();
    this.refresh();
    this.graph.follow();
  }
  next() {
    if (this.detailed) {
      const all = this.detail === null ? 0 : this.tape.steps[this.step - 1].details.length;
      if (this.detail !== null && this.detail < all) return this.go(this.step, this.detail + 1 === all ? null : this.detail + 1);
      if (this.step < this.tape.last && (this.tape.steps[this.step].details ?? []).length > 1) return this.go(this.step + 1, 1);
    }
    if (this.step < this.tape.last) this.go(this.step + 1);
  }
  back() {
    if (this.detailed && this.step > 0) {
      const all = (this.tape.steps[this.step - 1].details ?? []).length, at = this.detail ?? all;
      if (at > 1) return this.go(this.step, at - 1);
    }
    if (this.step > 0) this.go(this.step - 1);
  }
  toggle() { if (this.timer) this.stop(); else this.play(); }
  play() {
    if (this.step === this.tape.last) this.go(0);
    this.timer = setInterval(() => { this.next(); if (this.step === this.tape.last && this.detail === null) this.stop(); }, 1000 / Number(this.speed.value));
    this.playing();
  }
  stop() {
    clearInterval(this.timer);
    this.timer = null;
    if (this.playButton) this.playing();
  }
  playing() {
    this.playButton.textContent = this.timer ? "❚❚" : "▶";
    this.playButton.setAttribute("aria-label", this.timer ? "Pause (Space)" : "Play (Space)");
  }

  refresh() { this.keeping(() => this.refreshNow()); }
};
