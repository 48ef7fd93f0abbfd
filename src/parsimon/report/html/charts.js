/* Drawings of the explorer. Texts from the table are only ever set as text. */

function shape(name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

/** A line between two points of a box; `x` and `y` are scales. */
function segment(x, y, from, to, kind) {
  const ends = { x1: x(from[0]), y1: y(from[1]), x2: x(to[0]), y2: y(to[1]) };
  return shape("line", { ...ends, class: kind });
}

function scale(low, high, from, to) {
  return (value) => from + ((value - low) / (high - low)) * (to - from);
}

/** Some five round numbers that enclose an interval. */
function ticks(low, high) {
  const rough = (high - low || Math.abs(high) || 1) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.max(Math.ceil(high / step - 1e-9), first + 1);
  return Array.from({ length: last - first + 1 }, (_, place) => (first + place) * step);
}

/** The inside of a chart that fills its place; letters keep their size whatever the width. */
function boxOf(chart) {
  const width = Math.max(240, Math.round(chart.getBoundingClientRect().width));
  const height = Math.round(Math.min(0.8 * width, 340));
  chart.setAttribute("viewBox", `0 0 ${width} ${height}`);
  return { left: 54, right: width - 14, top: 14, bottom: height - 46 };
}

/** Each axis has a `scale`, its `ticks`, a `format` for them and a `label`. */
function axes(box, x, y) {
  const group = shape("g", { class: "axes", "aria-hidden": "true" });
  for (const tick of y.ticks) {
    const height = y.scale(tick);
    group.append(
      shape("line", { x1: box.left, x2: box.right, y1: height, y2: height, class: "grid" }),
      shape("text", { x: box.left - 8, y: height + 4, class: "end" }, y.format(tick)),
    );
  }
  for (const tick of x.ticks) {
    const place = { x: x.scale(tick), y: box.bottom + 18, class: "middle" };
    group.append(shape("text", place, x.format(tick)));
  }
  const centre = (box.left + box.right) / 2;
  const middle = (box.top + box.bottom) / 2;
  const turned = { x: 12, y: middle, class: "middle", transform: `rotate(-90 12 ${middle})` };
  group.append(
    shape("text", { x: centre, y: box.bottom + 40, class: "middle" }, x.label),
    shape("text", turned, y.label),
  );
  return group;
}

/** Where models are drawn (pixels), and the two axes that all of them fit on. */
function frontLayout(box, models, sizes, baseline) {
  const known = models.filter((model) => model.error !== null);
  const ends = known.flatMap((m) => [m.error - m.standard_error, m.error + m.standard_error]);
  if (baseline !== null) ends.push(baseline);
  const heights = ticks(Math.max(0, Math.min(...ends)), Math.max(...ends));
  const floor = heights[0];
  const y = scale(floor, heights.at(-1), box.bottom, box.top);
  const x = scale(Math.min(...sizes) - 0.5, Math.max(...sizes) + 0.5, box.left, box.right);
  const digits = heights[1] - heights[0] < 0.0099 ? 1 : 0;
  const places = models.map(function (model, k) {
    const spread = model.error === null ? null : model.standard_error;
    return {
      x: x(sizes[k]),
      y: model.error === null ? box.top : y(model.error),
      low: spread === null ? null : y(Math.max(floor, model.error - spread)),
      high: spread === null ? null : y(model.error + spread),
    };
  });
  return {
    places,
    x: { scale: x, ticks: [...new Set(sizes)], format: String },
    y: { scale: y, ticks: heights, format: (tick) => percent(tick, digits) },
  };
}

/** Steps down and to the right: what can be had with so much size or so many variables. */
function stairs(places) {
  const path = places.map((at, k) => (k ? `H${at.x}V${at.y}` : `M${at.x} ${at.y}`)).join("");
  return shape("path", { d: path, class: "stairs" });
}

/** Right of the point, where the stairs never pass; at the edge, above its bar. */
function markText(at, text, edge) {
  if (at.x + 16 + 7 * text.length <= edge) {
    return shape("text", { x: at.x + 16, y: at.y - 9 }, text);
  }
  const above = Math.min(at.y - 18, (at.high ?? at.y) - 6);
  return shape("text", { x: edge, y: above, class: "end" }, text);
}

/** As in the drawing without script: the knee has a ring, the chosen model its own colour. */
function frontPoint(at, mark, spoken, edge) {
  const kinds = `point ${mark.replaceAll(",", "")}`.trim();
  const group = shape("g", { class: kinds, role: "radio", "aria-label": spoken });
  if (at.low !== null) {
    group.append(shape("line", { x1: at.x, x2: at.x, y1: at.low, y2: at.high }));
  }
  for (const [kind, r] of [["target", 18], ["halo", 14], ["ring", 9.5], ["dot", 5.5]]) {
    group.append(shape("circle", { cx: at.x, cy: at.y, r, class: kind }));
  }
  if (mark) group.append(markText(at, mark, edge));
  return group;
}

/** The line of equal cost through a point: d found / d alarms = negatives / (ratio positives). */
function costLine(x, y, roc, found, alarms, ratio) {
  const slope = roc.n_negative / (roc.n_positive * ratio);
  const height = (share) => found + slope * (share - alarms);
  const from = Math.max(0, alarms - found / slope);
  const to = Math.min(1, alarms + (1 - found) / slope);
  return segment(x, y, [from, height(from)], [to, height(to)], "cost-line");
}

function drawRoc(chart, roc, counts, ratio) {
  const box = boxOf(chart);
  const x = scale(0, 1, box.left, box.right);
  const y = scale(0, 1, box.bottom, box.top);
  const quarters = { ticks: [0, 0.25, 0.5, 0.75, 1], format: (tick) => percent(tick, 0) };
  const found = counts.true_positive / roc.n_positive;
  const alarms = counts.false_positive / roc.n_negative;
  const line = roc.true.map(function (count, k) {
    return `L${x(roc.false[k] / roc.n_negative).toFixed(1)} ${y(count / roc.n_positive).toFixed(1)}`;
  });
  const here = `${percent(found, 1)} found, ${percent(alarms, 1)} false alarms`;
  chart.setAttribute("aria-label", `ROC curve; at the threshold ${here}`);
  chart.replaceChildren(
    axes(
      box,
      { ...quarters, scale: x, label: "false alarms, of the negative rows" },
      { ...quarters, scale: y, label: "found, of the positive rows" },
    ),
    segment(x, y, [0, 0], [1, 1], "chance"),
    costLine(x, y, roc, found, alarms, ratio),
    shape("path", { d: `M${x(0)} ${y(0)}${line.join("")}`, class: "curve" }),
    shape("circle", { cx: x(alarms), cy: y(found), r: 6, class: "here" }),
  );
}
