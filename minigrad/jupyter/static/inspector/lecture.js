/* Lecture mode, for a projector: full screen, light colors, no text below 16 px, controlled by the keyboard. The
   picture follows the current node, and the ready queue is always visible. */

const READABLE = 16 / 11; // the zoom at which the smallest text of the picture has 16 px

/** Turns lecture mode on and off. */
const Lecture = (Base) => class extends Base {
  lectures(on = !this.lecture) {
    if (on === Boolean(this.lecture)) return;
    this.lecture = on;
    this.el.classList.toggle("mg-lecture", on);
    this.lectureButton.setAttribute("aria-pressed", String(on));
    if (on) {
      this.left = { tab: this.tab, scale: this.graph.scale, focus: this.el.getRootNode().activeElement };
      this.openTab("graph");
      // Some hosts refuse full screen, such as a frame without permission; then the inspector fills the window.
      this.frame.requestFullscreen?.().then(() => this.lecture || document.exitFullscreen()).catch(() => {});
      this.leave = () => { if (!document.fullscreenElement) this.lectures(false); };
      document.addEventListener("fullscreenchange", this.leave);
    } else {
      document.removeEventListener("fullscreenchange", this.leave);
      if (document.fullscreenElement) document.exitFullscreen().catch(() => {});
      this.openTab(this.left.tab);
    }
    this.graph.scale = on ? null : this.left.scale;
    this.arrange();
    this.graph.follow();
    this.frame.focus({ preventScroll: true });
    if (!on && this.frame.contains(this.left.focus)) this.left.focus.focus();
  }
};
