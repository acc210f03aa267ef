// The progress panel: a headline, and a row with a bar for each exercise.
// Python writes two traits, `headline` and `rows` (widgets.py); this file draws them, and
// redraws them when they change. All text is inserted as text, never as markup.

function add(parent, tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

function line(table, row) {
  const tr = add(table, "tr", "mg-progress-row");
  tr.dataset.state = row.state;
  add(tr, "th", "", row.name).scope = "row";
  const bar = add(add(tr, "td"), "div", "mg-progress-bar");
  bar.setAttribute("role", "progressbar");
  bar.setAttribute("aria-label", row.name);
  bar.setAttribute("aria-valuemin", "0");
  bar.setAttribute("aria-valuemax", "100");
  bar.setAttribute("aria-valuenow", String(row.share));
  add(bar, "div", "mg-progress-share").style.width = `${row.share}%`;
  add(tr, "td", "mg-progress-state", row.state);
  add(tr, "td", "", row.checks);
  add(tr, "td", "", `${row.points} points`);
  add(tr, "td", "", row.hints);
}

function render({ model, el }) {
  const panel = add(el, "section", "mg-progress");
  panel.setAttribute("aria-label", "Progress");

  function draw() {
    panel.replaceChildren();
    const headline = add(panel, "strong", "", model.get("headline"));
    headline.setAttribute("role", "status"); // read aloud when it changes
    const table = add(add(panel, "table"), "tbody");
    for (const row of model.get("rows")) line(table, row);
    add(panel, "div", "mg-progress-foot", "Public checks, for learning: no grade.");
  }

  model.on("change:headline", draw);
  model.on("change:rows", draw);
  draw();
  return () => {
    model.off("change:headline", draw);
    model.off("change:rows", draw);
  };
}

export default { render };
