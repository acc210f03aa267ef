/* Display of numbers: a value, a snapshot of an array, and a matrix as a heat map. */

function number(v) {
  if (typeof v === "boolean") return v ? "True" : "False";
  if (typeof v !== "number") return clean(v);
  if (v === 0) return "0";
  const a = Math.abs(v);
  if (Number.isInteger(v) && a < 1e6) return String(v);
  if (a < 1e-4 || a >= 1e6) return v.toExponential(3).replace(/\.?0+e/, "e");
  return String(Number(v.toPrecision(4)));
}
const shapeText = (shape) =>
  shape ? `(${shape.join(", ")}${shape.length === 1 ? "," : ""})` : "";

/** "2 NaN of 8, 1 inf of 8"; "" if all numbers are finite. */
const countNotFinite = (v) => [[v.nan, "NaN"], [v.inf, "inf"]].filter(([n]) => n).map(([n, kind]) => `${n} ${kind} of ${v.size}`).join(", ");

function words(v) {
  if (!v) return "not recorded";
  const first = v.first ?? [], size = v.size ?? 0, shape = v.shape ?? [];
  const notFinite = countNotFinite(v), counted = notFinite && ` (${notFinite})`;
  if (v.rows) return `sparse: rows ${v.rows.slice(0, 6).join(", ")}${v.rows.length > 6 ? ", …" : ""}${counted}`;
  if (!shape.length && size) return number(first[0]);
  if (!size) return "empty";
  if (size > 1 && v.min !== undefined && !notFinite && number(v.min ?? 0) === number(v.max ?? 0)) return `all ${number(v.min ?? 0)}`;
  if (size <= 6) return inFull(v) + counted;
  if (!("mean" in v) && !("norm" in v)) return notFinite || `[${first.slice(0, 6).map(number).join(", ")}, …]`;
  return `from ${number(v.min ?? 0)} to ${number(v.max ?? 0)}, mean ${number(v.mean ?? 0)}${notFinite && `; ${notFinite}`}`;
}

/** All numbers of a snapshot, or its summary. */
function inFull(v) {
  if (!v) return "";
  const shape = v.shape ?? [], first = v.first ?? [];
  if (first.length < (v.size ?? 0)) return `first ${first.length}: ${first.map(number).join(", ")}`;
  const nest = (offset, axis) => {
    if (axis === shape.length) return number(first[offset]);
    const step = shape.slice(axis + 1).reduce((a, b) => a * b, 1);
    return `[${Array.from({ length: shape[axis] }, (_, i) => nest(offset + i * step, axis + 1)).join(", ")}]`;
  };
  return nest(0, 0);
}

/** The color of a cell of a heat map, for a number from -1 to 1: blue below zero, orange above. */
function heat(t) {
  const [r, g, b] = t < 0 ? [0, 114, 178] : [230, 159, 0], mix = (c) => Math.round(255 + (c - 255) * Math.abs(t));
  return `rgb(${mix(r)},${mix(g)},${mix(b)})`;
}

/** A matrix as colored cells: blue below zero, orange above, hatched if not finite; the titles give the numbers. */
function heatMap(v, title = "") {
  const shape = v?.shape ?? [], first = v?.first ?? [];
  if (!v || v.rows || shape.length !== 2 || first.length < (v.size ?? 0) || !v.size) return null;
  const [rows, columns] = [Math.min(shape[0], 32), Math.min(shape[1], 32)];
  const most = Math.max(...first.map((x) => (Number.isFinite(Number(x)) ? Math.abs(x) : 0))) || 1;
  const size = Math.max(4, Math.min(16, 260 / columns));
  const picture = s("svg", { class: "mg-heat", width: columns * size, height: rows * size, viewBox: `0 0 ${columns * size} ${rows * size}`, role: "img",
    "aria-label": `${title || `${shape[0]} by ${shape[1]} values`}, the largest ${number(most)}${countNotFinite(v) && `, hatched: ${countNotFinite(v)}`}` });
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < columns; j++) {
      const x = first[i * shape[1] + j], t = Number.isFinite(Number(x)) ? Number(x) / most : 0;
      picture.append(s("rect", { x: j * size, y: i * size, width: size, height: size,
        fill: heat(t) }, s("title", {}, `[${i}, ${j}] ${number(x)}`)));
      if (typeof x === "string" && !x.endsWith("j"))  // "nan", "inf", "-inf"
        picture.append(s("path", { class: "mg-not-finite", d: [0.5, 1, 1.5].map((at) => { // slanted lines: from the left or lower side to the upper or right one
          const a = Math.min(at, 1) * size, b = Math.max(at - 1, 0) * size;
          return `M${j * size + b} ${i * size + a}L${j * size + a} ${i * size + b}`;
        }).join("") }));
    }
  return picture;
}
