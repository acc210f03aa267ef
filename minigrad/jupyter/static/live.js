/* The script of every widget of minigrad: it draws the widget in place of its picture.

   A notebook stores two outputs for each widget: an empty element, <minigrad-live key="...">, and the
   picture below it. While the model with this key is running, the widget is drawn in the element, and
   the picture is hidden. When the model goes (kernel restarted, cell run again), the picture returns.

   The drawing code and its style are in a separate model, so that they are sent and saved only once
   for all widgets. */

const TAG = "minigrad-live";
// An output in JupyterLab, Notebook 7 and Voilà, and in Notebook 6 (nbclassic); their styles for headings, tables and code.
const OUTPUTS = [".jp-OutputArea-child", ".output_area"];
const TEXT = ["jp-RenderedHTMLCommon", "rendered_html"];
const HIDE = OUTPUTS.map((o) => `${o}:has(${TAG}:not(:empty)) + ${o}`).join(", ") + " { display: none; }";

if (!customElements.get(TAG)) {
  document.head.append(Object.assign(document.createElement("style"), { textContent: HIDE }));
  customElements.define(TAG, class extends HTMLElement {
    static here = new Map(); // key of each running model -> the function that draws it in an element
    connectedCallback() { this.wake(); }
    disconnectedCallback() { this.sleep(); }
    wake() {
      this.sleep();
      this.closest(TEXT.map((name) => `.${name}`).join())?.classList.remove(...TEXT);
      this.end = this.constructor.here.get(this.getAttribute("key"))?.(this);
    }
    sleep() {
      this.end?.();
      this.end = null;
      this.replaceChildren();
    }
  });
}
const { here } = customElements.get(TAG);

/** Return the function that draws a model in an element. Its script is imported only once. */
async function drawing(model) {
  const script = await model.widget_manager.get_model(model.get("script").slice("IPY_MODEL_".length));
  const url = URL.createObjectURL(new Blob([script.get("code")], { type: "text/javascript" }));
  script.imported ??= import(url);
  const { render } = (await script.imported).default;
  URL.revokeObjectURL(url);
  return (el) => {
    const end = render({ model, el: el.appendChild(document.createElement("div")) });
    el.append(Object.assign(document.createElement("style"), { textContent: script.get("style") }));
    return end;
  };
}

async function initialize({ model }) {
  const key = model.get("key"), itself = await model.widget_manager.get_model(key), draw = await drawing(model);
  const all = (what) => document.querySelectorAll(`${TAG}[key="${key}"]`).forEach((el) => el[what]());
  const come = () => { here.set(key, draw); all("wake"); };
  const go = () => { here.delete(key); all("sleep"); };
  itself.on("destroy", go);
  itself.on("comm_live_update", () => (itself.comm_live ? come() : go()));
  come();
}

/** For front ends that show widgets without our element. */
const render = async ({ model, el }) => (await drawing(model))(el);

export default { initialize, render };
