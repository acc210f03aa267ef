const state = JSON.parse(document.getElementById("document").textContent);
const tape = new Tape(state.doc), heard = {};
function fromAddress() { // tape.html#step=12&node=z
  const at = new URLSearchParams(location.hash.slice(1)), found = {};
  if (at.has("step")) found.step = Math.max(0, Math.min(tape.last, Math.trunc(Number(at.get("step"))) || 0));
  if (at.has("node")) found.selected = tape.named(at.get("node"))?.id ?? "";
  return found;
}
Object.assign(state, fromAddress());
const model = {
  alone: true,
  get: (name) => state[name],
  set: (name, value) => { state[name] = value; for (const f of heard["change:" + name] ?? []) f(); },
  on: (name, f) => { (heard[name] ??= new Set()).add(f); },
  off: (name, f) => { heard[name]?.delete(f); },
  save_changes: () => { // keep the step in the address, so that it can be shared
    const at = new URLSearchParams({ step: state.step }), node = tape.node.get(state.selected)?.label;
    if (node) at.set("node", node);
    try { history.replaceState(null, "", `#${at}`); } catch { /* a frame without an address */ }
  },
};
render({ model, el: document.getElementById("inspector") });
addEventListener("hashchange", () => Object.entries(fromAddress()).forEach(([name, value]) => model.set(name, value)));
