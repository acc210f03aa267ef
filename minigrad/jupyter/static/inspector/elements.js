/* Elements: helpers that build the page. Names from the learner's code are untrusted, so they are inserted
   only with textContent and setAttribute.

   Every focusable element has data-lm-suppress-shortcuts; otherwise JupyterLab would read "d d" on it as
   "delete the cell". */

const SVG = "http://www.w3.org/2000/svg";
const FOCUSABLE = new Set(["button", "input", "select", "textarea", "summary", "a"]);

function fill(e, attributes, children) {
  for (const [k, v] of Object.entries(attributes ?? {})) {
    if (v === undefined || v === null || v === false) continue;
    if (k.startsWith("on")) e[k] = v;
    else e.setAttribute(k, v === true ? "" : String(v));
  }
  if (FOCUSABLE.has(e.localName) || e.hasAttribute("tabindex"))
    e.setAttribute("data-lm-suppress-shortcuts", "true");
  e.append(...children.flat(3).filter((c) => c !== null && c !== undefined && c !== ""));
  return e;
}
const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/** A term and its description, for a description list. */
const row = (term, ...what) => [h("dt", {}, term), h("dd", {}, ...what)];

/** Remove characters that could disguise a name as another, and truncate it. */
function clean(text, longest = 40) {
  const kept = String(text ?? "").replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}]/gu, "");
  return kept.length > longest ? kept.slice(0, longest - 1) + "…" : kept;
}
const long = (text) => clean(text, 2000);
const lines = (text) => String(text ?? "").split("\n").map(long).join("\n");
/** Give an element these children, keeping those of its own that are alike: what has the focus there keeps it.
    A child with a data-key is alike only to the one of that key; these come in one order, whichever are there. */
function settle(e, ...children) {
  const wanted = children.flat(3).filter(Boolean), key = (child) => child.dataset?.key, keys = new Set(wanted.map(key));
  for (const old of [...e.childNodes]) if (key(old) && !keys.has(key(old))) old.remove();
  wanted.forEach((now, i) => {
    const old = e.childNodes[i];
    if (!old) e.append(now);
    else if (key(old) !== key(now)) old.before(now);
    else if (now.drawn && old.drawn === now.drawn) return; // identical
    else if (old.nodeName !== now.nodeName) old.replaceWith(now);
    else if (old.nodeType === Node.TEXT_NODE) old.data = now.data;
    else {
      for (const { name } of [...old.attributes]) if (!now.hasAttribute(name)) old.removeAttribute(name);
      for (const { name, value } of now.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
      for (const own of ["onclick", "onfocus", "drawn"]) old[own] = now[own];
      settle(old, [...now.childNodes]);
    }
  });
  while (e.childNodes.length > wanted.length) e.lastChild.remove();
}
const clear = (e, ...children) => (e.replaceChildren(...children.flat().filter(Boolean)), e);

const measured = { context: null, widths: new Map() };
/** The width of a small text in the picture, in pixels. */
function textWidth(text, bold = false) {
  const key = bold + text;
  if (!measured.widths.has(key)) {
    measured.context ??= document.createElement("canvas").getContext("2d");
    measured.context.font = `${bold ? "bold " : ""}11px "DejaVu Sans", Verdana, Arial, sans-serif`;
    measured.widths.set(key, measured.context.measureText(text).width);
  }
  return measured.widths.get(key);
}
