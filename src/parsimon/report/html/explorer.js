/*
 * The front of a study: choose a point, see its words, its curve and what a threshold costs.
 *
 * A view is a panel of the page with its study and its state. Events change the state and call
 * `show`, which brings everything that depends on it up to date.
 */

/** Return the element of a panel with that role. */
function part(view, name) {
  return view.panel.querySelector(`[data-part="${name}"]`);
}

function sizeOf(view, model) {
  return view.axis === "size" ? model.size : model.variables.length;
}

function sizeInWords(view, model) {
  return plural(sizeOf(view, model), view.axis === "size" ? view.study.unit : "variable");
}

/** What is special about a model, in words. */
function marksOf(study, place) {
  const names = [];
  if (!study.models[place].variables.length) names.push("guessing");
  if (place === study.knee) names.push("after it size buys less");
  if (place === study.chosen) names.push("drawn here");
  return names.join(", ");
}

/** An error in percent; of a number, what it leaves: the share of the variance that is explained. */
function errorShown(study, error) {
  if (study.task !== "regression" || error === null) return percent(error, 2);
  return percent(Math.max(0, 1 - error), 2);
}

function errorWords(study, error) {
  return `${study.task === "regression" ? "explained" : "error"} ${errorShown(study, error)}`;
}

function spokenPoint(view, place) {
  const model = view.study.models[place];
  const error = errorWords(view.study, model.error);
  const mark = marksOf(view.study, place);
  return [sizeInWords(view, model), error, mark, model.words].filter(Boolean).join(", ");
}

function drawFront(view) {
  const study = view.study;
  const places = study[view.axis];
  const models = places.map((place) => study.models[place]);
  const chart = part(view, "front");
  const box = boxOf(chart);
  const sizes = models.map((model) => sizeOf(view, model));
  const layout = frontLayout(box, models, sizes, study.baseline);
  const x = { ...layout.x, label: `number of ${view.axis === "size" ? `${view.study.unit}s` : "variables"}` };
  const numeric = study.task === "regression";
  const y = { ...layout.y, label: numeric ? "variance left" : "cross-validated error" };
  const drawn = [axes(box, x, y)];
  if (study.baseline !== null) {
    const height = y.scale(study.baseline);
    const ends = { x1: box.left, x2: box.right, y1: height, y2: height };
    drawn.push(shape("line", { ...ends, class: "baseline-line" }));
  }
  view.points = places.map((place, k) =>
    frontPoint(layout.places[k], marksOf(study, place), spokenPoint(view, place), box.right),
  );
  chart.replaceChildren(...drawn, stairs(layout.places), ...view.points);
  view.points.forEach(function (point, k) {
    for (const kind of ["pointerenter", "click", "focus"]) {
      point.addEventListener(kind, () => select(view, places[k]));
    }
  });
}

function showModel(view, model) {
  const mark = marksOf(view.study, view.model);
  const spread = model.standard_error;
  const texts = {
    mark: sizeInWords(view, model) + (mark ? ` \u00b7 ${mark}` : ""),
    words: model.words,
    error: errorShown(view.study, model.error) + (spread === null ? "" : ` \u00b1 ${percent(spread, 2)}`),
    loss: fixed(model.log_loss, 3),
  };
  for (const [name, text] of Object.entries(texts)) {
    const element = part(view, name);
    if (element && element.textContent !== text) element.textContent = text;
  }
}

function showCounts(view, roc, counts) {
  for (const [name, count] of Object.entries(counts)) {
    const positive = name === "true_positive" || name === "false_negative";
    const rows = positive ? roc.n_positive : roc.n_negative;
    const [low, high] = shareEnds(count, rows);
    const share = document.createElement("small");
    share.textContent = `${percent(count / rows, 1)} (${fixed(100 * low, 1)} to ${fixed(100 * high, 1)})`;
    part(view, name).replaceChildren(String(count), share);
  }
}

function showSlider(view, name, value, text) {
  const slider = part(view, name);
  slider.value = value;
  slider.setAttribute("aria-valuetext", text);
  part(view, `${name}-shown`).textContent = text;
}

function costInWords(table, threshold, ratio) {
  const cost = costOf(table[threshold], ratio);
  const other = cheapest(table, ratio);
  const least = costOf(table[other], ratio);
  const rest =
    cost <= least + 1e-9
      ? "No other threshold costs less at this ratio, on these rows."
      : `The cheapest at this ratio, on these rows, is ${fixed(other / 100, 2)}, with ${fixed(least, 1)}.`;
  return `The errors in 100 rows like these cost as much as ${fixed(cost, 1)} false alarms. ${rest}`;
}

function areaInWords(roc) {
  const [area, low, high] = roc.auc;
  const interval = `${percent(roc.confidence, 0)} interval ${fixed(low, 3)} to ${fixed(high, 3)}`;
  const known = low !== null && high !== null;
  return `Area ${fixed(area, 3)}${known ? ` (${interval})` : ""}. Dashes: chance. Dots: equal cost.`;
}

/** What was moved last leads: the threshold or the ratio; the other follows. */
function showDecision(view, roc, table) {
  if (view.leads === "threshold") view.ratio = ratioFor(table, view.threshold);
  else view.threshold = cheapest(table, ratioOf(view.ratio));
  const ratio = ratioOf(view.ratio);
  const counts = table[view.threshold];
  showSlider(view, "threshold", view.threshold, fixed(view.threshold / 100, 2));
  showSlider(view, "ratio", view.ratio, plural(ratio, "false alarm"));
  showCounts(view, roc, counts);
  part(view, "cost").textContent = costInWords(table, view.threshold, ratio);
  part(view, "auc").textContent = areaInWords(roc);
  drawRoc(part(view, "roc"), roc, counts, ratio);
}

function show(view) {
  const model = view.study.models[view.model];
  const places = view.study[view.axis];
  view.points.forEach(function (point, k) {
    const chosen = places[k] === view.model;
    point.setAttribute("aria-checked", String(chosen));
    point.setAttribute("tabindex", chosen ? "0" : "-1");
  });
  showModel(view, model);
  if (!part(view, "decision")) return;
  part(view, "decision").hidden = part(view, "curve").hidden = !model.roc;
  if (model.roc) showDecision(view, model.roc, view.tables[view.model]);
}

function select(view, model) {
  if (model === view.model) return;
  view.model = model;
  show(view);
}

/** Draw the front anew, against size or variables; keep the model if this front has it. */
function turn(view, axis) {
  view.axis = axis;
  const places = view.study[axis];
  if (!places.includes(view.model)) view.model = places.at(-1);
  drawFront(view);
  show(view);
}

function moveByKey(view, event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const places = view.study[view.axis];
  const here = places.indexOf(view.model);
  const last = places.length - 1;
  const next = Math.min(here + 1, last);
  const previous = Math.max(here - 1, 0);
  const targets = { ArrowRight: next, ArrowDown: next, ArrowLeft: previous, ArrowUp: previous };
  const there = { ...targets, Home: 0, End: last }[event.key];
  if (there === undefined) return;
  event.preventDefault();
  select(view, places[there]);
  view.points[there].focus();
}

function startPanel(panel, study) {
  const view = { panel, study, model: study.chosen, threshold: 50, ratio: 0, leads: "threshold" };
  view.tables = study.models.map(
    (model) => model.roc && POSITIONS.map((threshold) => countsAt(model.roc, threshold)),
  );
  for (const name of ["threshold", "ratio"]) {
    part(view, name)?.addEventListener("input", function (event) {
      view[name] = Number(event.target.value);
      view.leads = name;
      show(view);
    });
  }
  part(view, "front").addEventListener("keydown", (event) => moveByKey(view, event));
  part(view, "axis").hidden = !study.variables.length;
  part(view, "axis").addEventListener("change", (event) => turn(view, event.target.value));
  window.addEventListener("resize", () => turn(view, view.axis));
  turn(view, "size");
}

/** A panel that cannot be filled gives way to the drawing that stands for it. */
function startExplorers() {
  const studies = JSON.parse(document.getElementById("studies").textContent);
  for (const panel of document.querySelectorAll(".panel[data-study]")) {
    const study = studies[Number(panel.dataset.study)];
    try {
      if (!study.size.length) throw new RangeError("The front of this study is empty.");
      startPanel(panel, study);
    } catch (error) {
      panel.closest(".explorer").classList.add("failed");
      console.warn(error);
    }
  }
}
