/* The details of one node: its value, what it saved, its rules in the user's names, its gradients. */

/** A rule with the user's names in place of its letters, the same as in tape/naming.py. */
function inNames(rule, names) {
  return rule.replace(/(?<![A-Za-z0-9_])(d?)([a-z])(?![A-Za-z0-9_])/g, (all, d, letter) => {
    if (!Object.hasOwn(names, letter)) return all;
    const name = String(names[letter]), bare = d ? /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) : /^[^\s-]+$/.test(name);
    return d + (bare ? name : `(${name})`);
  });
}

function detailsOf(ui) {
  const { tape, m } = ui, id = ui.selected ?? m.node, update = updateOf(tape, ui.step);
  if (!id && update) return updateDetails(ui, update);
  const n = id && tape.node.get(id);
  if (!n) return [h("p", { class: "mg-hint" }, "Select a node, or go a step forward.")];
  const line = tape.line(n), op = tape.ops?.[n.op];
  const pending = ui.graph.pending(m, id), rows = [];
  const number = (i) => {
    const v = tape.value(i), whole = v && !v.rows && (v.size ?? 0) <= 12 && (v.first ?? []).length === v.size;
    return h("span", { title: inFull(v) }, whole ? inFull(v) : tape.words(i), whole && v.size > 1 && countNotFinite(v) ? ` (${countNotFinite(v)})` : "");
  };
  rows.push(row("value", pending ? "not computed yet" : tape.program && n.value === undefined ? ["not run yet: nothing was computed", h("span", { class: "mg-type" }, ` ${n.dtype ?? ""} ${shapeText(n.shape)}`)] : [number(n.value), h("span", { class: "mg-type" }, ` ${n.dtype ?? ""} ${shapeText(n.shape)}`)]));
  const v = tape.value(n.value);
  for (const text of m.first.get(id) ?? []) rows.push(row("", h("strong", { class: "mg-warn" }, text)));
  if (!pending && v && countNotFinite(v)) rows.push(row("", h("strong", { class: "mg-warn" }, countNotFinite(v))));
  if (!pending && heatMap(v)) rows.push(row("", heatMap(v)));
  if (!pending) (n.results ?? []).forEach((r, k) => rows.push(row(tape.result(id, k + 1), number(r.value), h("span", { class: "mg-type" }, ` ${r.dtype} ${shapeText(r.shape)}`))));
  for (const t of pending ? [] : n.tangents ?? []) rows.push(row("tangent", number(t)));
  if ((n.versions ?? 1) > 1) rows.push(row("version", `v${n.version ?? 0} of ${n.versions}${n.overwritten_by ? `; overwritten by ${clean(tape.node.get(n.overwritten_by).expression ?? tape.node.get(n.overwritten_by).updated)}` : ""}`));
  if (n.storage !== undefined) {
    const others = [...new Set(tape.nodes.filter((x) => x.storage === n.storage && x.tensor !== n.tensor).map((x) => clean(x.name)))];
    rows.push(row("memory", `${letter(n.storage)}, shared with ${others.join(", ")}`));
  }
  if (n.stop) rows.push(row("stop", `the tape stops here: ${clean(n.stop)}`));
  if (n.module) rows.push(row("module", clean(n.module, 200)));
  if (n.saved?.length) {
    const freed = m.freed.get(id);
    const list = n.saved.map((x) => {
      const text = `${tape.saved(x)}${x.version == null || x.constant ? "" : ` v${x.version}`}`;
      const bad = m.failed === id && m.conflict?.name === x.name;
      return h("li", { class: bad ? "mg-warn" : "" }, bad ? `× ${text}, but it is at v${m.conflict.now} now` : freed ? `${text}: freed by backward ${freed}` : `✓ ${text}`,
        h("span", { class: "mg-letter" }, clean(x.name)));
    });
    rows.push(row("saved", h("ul", {}, list)));
  }
  if (n.program) rows.push(...programRows(ui, n));
  if (op?.rules?.length && (n.backward || n.program)) {
    const names = { z: n.label }, inputs = n.inputs ?? [];
    for (const x of inputs) if (x.operand) names[x.operand] = x.node ? tape.result(x.node, x.output) : x.constant;
    const wanted = new Set(tape.into.get(id).filter((e) => n.program || e.gradient).map((e) => inputs[e.operand]?.operand));
    const rules = op.rules.filter((r) => wanted.has(undefined) || [...wanted].some((x) => r.includes(`/d${x}`)));
    const both = (rule, value) => h("li", { class: "mg-formula" }, clean(inNames(rule, names), 160), value ?? "", h("span", { class: "mg-letter" }, clean(rule, 160)));
    rows.push(row("local", h("ul", {}, both(op.formula), rules.map((r) => {
      const known = n.local?.[/^dz\/d(\w+)/.exec(r)?.[1]];
      const value = known !== undefined && !pending ? number(known) : null;
      return both(r, value && !r.endsWith(`= ${value.textContent}`) ? [" = ", value] : null);
    }))));
  }
  if (!pending) rows.push(...jacobianRows(tape, n));
  if (!n.program) rows.push(...backwardRows(ui, id, n, number));
  const free = ui.selected ? h("button", { type: "button", class: "mg-free", title: "Follow the steps again (Esc)", onclick: () => ui.pick(null) }, "pinned ×") : "";
  const head = h("div", { class: "mg-detailhead" }, free, h("strong", {}, clean(n.label)), " ",
    n.expression ? h("code", {}, long(n.expression)) : h("span", {}, n.program?.role ?? (n.kind === "leaf" ? "leaf" : "")),
    line ? h("button", { type: "button", class: "mg-lineref", onclick: () => ui.showCode(n.code) }, `line ${line.line}`) : "");
  const full = String(n.name) !== clean(n.name) ? h("p", { class: "mg-hint" }, `full name: ${long(n.name)}`) : null;
  const wrong = m.failed === id && m.message ? h("pre", { class: "mg-message" }, places(m.message)) : null;
  const failed = n.kind === "failed" ? h("pre", { class: "mg-message" }, places(tape.error?.text)) : null;
  return [head, full, failed, wrong, h("dl", {}, rows.flat())];
}

/** The lines of an error. Those about places in the code are indented, and continue further to the right. */
function places(message) {
  return lines(message).split("\n").map((line) => h("span", { class: line.startsWith("    ") ? "mg-place" : "" }, line.trim().replace(/ {3,}/g, "   ")));
}

/** The buffer of a program's value, its last reader, and its counterparts in the other program. */
function programRows(ui, n) {
  const { tape } = ui, of = n.program, rows = [];
  const link = (id) => h("button", { type: "button", class: "mg-ref", onclick: () => ui.pick(id) }, `${clean(tape.node.get(id).name)}`);
  rows.push(row("number", `${of.number} of the ${of.column ? "gradient program" : "program"}`));
  if (of.memory) rows.push(row("memory", of.memory));
  if (of.ends) rows.push(row("then", of.ends));
  const kinds = { copy: "the same as in the program:", rule: "the rule of", sum: "adds up the gradients of" };
  if (of.of) rows.push(row("origin", kinds[of.role] ?? "stands for", " ", link(of.of), " ", h("code", {}, clean(tape.node.get(of.of).expression ?? ""))));
  const made = tape.writtenFor.get(n.id) ?? [];
  if (made.length) rows.push(row("gradient", h("ul", {}, made.map((id) => {
    const other = tape.node.get(id);
    return h("li", {}, link(id), " ", h("code", {}, clean(other.expression ?? "")), { copy: " (again)", rule: "", sum: " (sum)" }[other.program.role] ?? "");
  }))));
  return rows;
}

function backwardRows(ui, id, n, number) {
  const { tape, m } = ui, rows = [];
  if (!n.backward) return [row("grad_fn", n.kind === "leaf" ? "a leaf that requires no gradient" : "none")];
  const arrived = m.arrived.get(id) ?? [], expected = m.expected[id] ?? 0;
  const seed = m.seeds.get(id);
  if (seed !== undefined) rows.push(row("in  g", number(seed), " (the seed)"));
  else if (arrived.length) {
    const list = arrived.map((a) => h("li", {}, number(a.g), ` from ${tape.title(a.from)}${n.named ? ` for ${tape.target(a.from, a)}` : ""}`));
    const sum = m.g.has(id) && !n.named ? [h("li", {}, "sum ", number(m.g.get(id)))] : [];
    rows.push(row("in  g", h("ul", {}, list, arrived.length > 1 ? sum : []), expected > 1 ? `${arrived.length} of ${expected} arrived` : ""));
  } else rows.push(row("in  g", m.pass ? (m.pruned.has(id) ? "not needed by this pass" : id in m.expected ? `none yet, ${expected} to come` : "not part of this pass") : "none yet"));
  for (const hook of m.hooks.get(id) ?? []) rows.push(row("hook", long(hook.text)));
  const sent = (m.sentBy.get(id) ?? []).map((d) => h("li", {}, number(d.g), ` to ${tape.title(d.to)}`));
  if (sent.length) rows.push(row("out", h("ul", {}, sent)));
  if (n.backward === "AccumulateGrad") {
    const sum = sumOfTerms(tape, m.terms.get(id));
    rows.push(row(`.grad`, sum ?? whereGrad(tape, m, n)));
    const last = m.terms.get(id)?.at(-1);
    if (last?.before !== undefined && (m.terms.get(id).length > 1 || last.before !== undefined))
      rows.push(row("", h("span", { class: "mg-hint" }, "The old value was not zeroed: backward() adds to it.")));
    const heat = heatMap(tape.value(last?.after));
    if (heat) rows.push(row("", heat));
  }
  if (m.kept.has(id)) rows.push(row("asked", long(m.kept.get(id).text)));
  return rows;
}
