/* Jacobians: the local derivative of a node as a matrix. A row is an entry of the result, a column an entry of the
   input. The engine computed them (tape/jacobian.py); for an elementwise op it recorded only the diagonal, `local`. */

const MOST_ROWS = 16; // and columns
const sizeOf = (shape) => (shape ?? []).reduce((a, b) => a * b, 1);

/** The entry of an input that an entry of the result depends on, if the input was broadcast to the result's shape. */
function readBy(entry, shape, input) {
  let at = 0, step = 1;
  for (let k = shape.length - 1, rest = entry; k >= 0; rest = Math.floor(rest / shape[k]), k--) {
    const n = input[k - shape.length + input.length] ?? 1;
    if (n > 1) at += (rest % shape[k]) * step;
    step *= n;
  }
  return at;
}

/** The Jacobian of an elementwise op, from its recorded diagonal; null if it is too large. */
function spread(local, shape, input) {
  const [rows, columns] = [sizeOf(shape), sizeOf(input)];
  if (rows > MOST_ROWS || columns > MOST_ROWS || rows * columns < 2 || (local.first ?? []).length !== rows) return null;
  const first = Array(rows * columns).fill(0);
  local.first.forEach((x, i) => { first[i * columns + readBy(i, shape, input)] = x; });
  return { shape: [rows, columns], size: rows * columns, first, nan: local.nan, inf: local.inf };
}

/** The Jacobians of a node: for each input, its name, the matrix, and a note. */
function jacobiansOf(tape, n) {
  const inputs = (n.inputs ?? []).filter((x) => x.node), names = inputs.map((x) => tape.result(x.node, x.output));
  return inputs.flatMap((x, k) => {
    const made = tape.node.get(x.node), input = (x.output ? made.results?.[x.output - 1] : made)?.shape, local = tape.value(n.local?.[x.operand]);
    const v = local ? spread(local, n.shape ?? [], input ?? []) : tape.value(x.jacobian);
    if (!v) return [];
    const again = names.indexOf(names[k]) !== names.lastIndexOf(names[k]) ? ` as ${x.operand ?? "operand"}` : "", [rows, columns] = v.shape;
    const same = rows === columns ? `Diagonal: an entry of ${clean(n.label)} depends on the same entry of ${names[k]} alone.`
      : `One number in each row: an entry of ${clean(n.label)} depends on one entry of ${names[k]}, which was broadcast.`;
    return [{ title: `∂${clean(n.label)}/∂${names[k]}${again}, ${rows} x ${columns}`, v, note: local ? same : "" }];
  });
}

/** The Jacobians as heat maps, for the details. */
function jacobianRows(tape, n) {
  return jacobiansOf(tape, n).map(({ title, v, note }) => row("Jacobian", h("div", { class: "mg-jacobian" },
    h("div", { class: "mg-formula" }, title), heatMap(v, title), note ? h("p", { class: "mg-hint" }, note) : "")));
}
