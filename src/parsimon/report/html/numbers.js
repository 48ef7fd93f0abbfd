/* Words for numbers, and what a threshold costs. */

const NOT_COMPUTED = "not computed";
const POSITIONS = Array.from({ length: 101 }, (_, place) => place);
const RATIO_STEPS = Array.from({ length: 81 }, (_, place) => place - 40);

function fixed(value, digits) {
  return value === null ? NOT_COMPUTED : value.toFixed(digits).replace("-", "\u2212");
}

function percent(value, digits) {
  return value === null ? NOT_COMPUTED : `${fixed(100 * value, digits)}\u202f%`;
}

/** Both ends of Wilson's 95 % interval of a share of rows. */
function shareEnds(count, rows) {
  const square = 1.959964 ** 2;
  const share = count / rows;
  const middle = share + square / (2 * rows);
  const half = Math.sqrt(square * ((share * (1 - share)) / rows + square / (4 * rows ** 2)));
  return [middle - half, middle + half].map((end) => Math.min(1, Math.max(0, end / (1 + square / rows))));
}

function plural(count, word) {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

/** Two digits, so that the ratio that is shown is the ratio that is used. */
function ratioOf(step) {
  return Number((10 ** (step / 20)).toPrecision(2));
}

/** Rows of each kind when those from `threshold` hundredths on are called positive. */
function countsAt(roc, threshold) {
  let place = roc.thresholds.length - 1;
  while (place >= 0 && roc.thresholds[place] < 100 * threshold) place -= 1;
  const found = place < 0 ? 0 : roc.true[place];
  const alarms = place < 0 ? 0 : roc.false[place];
  return {
    true_positive: found,
    false_negative: roc.n_positive - found,
    false_positive: alarms,
    true_negative: roc.n_negative - alarms,
  };
}

/** What the errors among 100 rows cost, in false alarms. */
function costOf(counts, ratio) {
  const rows = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return (100 * (ratio * counts.false_negative + counts.false_positive)) / rows;
}

/** The item that scores least; of those that tie, the nearest. */
function best(items, score, distance) {
  const scores = items.map(score);
  const least = Math.min(...scores);
  const tied = items.filter((_, place) => scores[place] <= least + 1e-9);
  return tied.reduce((one, other) => (distance(other) < distance(one) ? other : one));
}

/** The cheapest threshold; ties go to 1 / (1 + ratio), where exact probabilities would put it. */
function cheapest(table, ratio) {
  const ideal = 100 / (1 + ratio);
  return best(
    POSITIONS,
    (position) => costOf(table[position], ratio),
    (position) => Math.abs(position - ideal),
  );
}

/** The ratio at which this threshold is the cheapest, or wastes the least share of the cost. */
function ratioFor(table, threshold) {
  const share = Math.min(Math.max(threshold / 100, 0.005), 0.995);
  const ideal = 20 * Math.log10((1 - share) / share);
  function waste(step) {
    const ratio = ratioOf(step);
    const costs = POSITIONS.map((position) => costOf(table[position], ratio));
    const trivial = Math.min(costs[0], costs[100]);
    return (costs[threshold] - Math.min(...costs)) / (trivial || 1);
  }
  return best(RATIO_STEPS, waste, (step) => Math.abs(step - ideal));
}
