/* The legend: small pictures of the signs, with their meanings. */

function signs(tape) {
  const sign = (...inside) => s("svg", { width: 34, height: 20, class: "mg-svg" }, ...inside);
  const box = (cls, ...more) => sign(s("g", { class: `mg-node ${cls}` }, s("rect", { class: "mg-body", x: 2, y: 2, width: 30, height: 16, rx: 4 }), ...more, s("rect", { class: "mg-border", x: 2, y: 2, width: 30, height: 16, rx: 4 })));
  const arrow = (cls, tip, ...ys) => sign(s("g", { class: "mg-edge" }, ys.map((y) => s("path", { class: cls, d: `M3 ${y}H26` })), s("polygon", { class: tip, points: "33,10 25,5.5 25,14.5" })));
  const common = [[arrow("mg-forward", "mg-head", 10), "data, forward"], [box("mg-leaf mg-wants"), tape.program ? "input that gets a gradient" : "leaf that requires grad"], [box("mg-leaf"), tape.program ? "other input or constant" : "leaf that does not"],
    [box("mg-current"), "has just run"], [box("mg-pending"), "not run yet"], [sign(s("path", { class: "mg-pin", d: "M17 6m-5 0a5 5 0 1 1 10 0a5 5 0 1 1 -10 0m5 5v8" })), "pinned: the details stay with it"]];
  const cells = [-1, -0.5, 0, 0.5, 1].map((t, k) => s("rect", { x: 2 + 6 * k, y: 2, width: 6, height: 16, fill: heat(t) }));
  common.push([sign(...cells), "blue below zero, orange above"]);
  if (tape.program) return [...common, [box("mg-rule-written"), "written by a rule"]];
  const disc = s("circle", { class: "mg-badge", cx: 17, cy: 10, r: 9 });
  return [...common, [arrow("mg-backward", "mg-backhead", 10), "gradient, backward"], [arrow("mg-forward", "mg-head", 7.5, 12.5), "same memory: in place, or a view"], [box("mg-ready"), "ready"], [sign(s("text", { class: "mg-queue", x: 8, y: 15 }, "▸1")), "place in the ready queue"],
    [sign(disc, s("text", { class: "mg-mark", x: 17, y: 14, "text-anchor": "middle" }, "1")), "order in which nodes ran"], [sign(s("rect", { class: "mg-stop", x: 3, y: 7, width: 28, height: 6 })), "the tape stops here"],
    [sign(s("rect", { class: "mg-chip mg-empty", x: 2, y: 2, width: 30, height: 16, rx: 8 })), "saved values were freed"], [box("mg-second"), "computed by a backward pass"], [box("mg-pruned"), "not needed by this pass"], [box("mg-failed"), "failed"]];
}
