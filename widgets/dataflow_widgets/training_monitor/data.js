// What the kernel has sent, put together: pure functions and one class, with no page in sight.
import { typed } from "../shared/numbers.js";

export const [STEP, MEAN, LOW, HIGH] = [0, 1, 2, 3];

const SIDES = { train: "training", training: "training", seen: "seen", val: "validation", valid: "validation", validation: "validation", test: "test", eval: "evaluation", dev: "validation", new: "new" };
const SIDE = "train|training|val|valid|validation|test|eval|dev";
const BEFORE = new RegExp(`^(${SIDE})[ ,_/.-]+(.+)$`, "i");
const AFTER = new RegExp(`^(.+?)[ ,_/.-]+(?:on[ _](?:the[ _])?)?(${SIDE}|seen|new)(?:[ _].*)?$`, "i");

/** What a metric measures and on which data: "val_loss" -> ["loss", "validation"]. */
export function sideOf(metric) {
  const before = BEFORE.exec(metric);
  if (before) return [before[2], SIDES[before[1].toLowerCase()]];
  const after = AFTER.exec(metric);
  return after ? [after[1], SIDES[after[2].toLowerCase()]] : [metric, ""];
}

/**
 * The charts of some metrics, in their order: [{name, parts: [{metric, side}]}].  The same measure on
 * training and on other data is one chart, for what is between the two curves is what they tell.
 */
export function chartsOf(metrics) {
  const groups = new Map();
  for (const metric of metrics) {
    const [base, side] = sideOf(metric);
    if (!groups.has(base)) groups.set(base, []);
    groups.get(base).push({ metric, side });
  }
  return [...groups].flatMap(([name, parts]) =>
    parts.length > 1 && new Set(parts.map((part) => part.side)).size === parts.length ? [{ name, parts: parts.map((part) => ({ ...part, side: part.side || "training" })) }] : parts.map(({ metric }) => ({ name: metric, parts: [{ metric, side: "" }] })),
  );
}

/** Rows of step, mean, lowest, highest in one growing array. */
export class Rows {
  constructor() {
    this.data = new Float64Array(4 * 64);
    this.length = 0;
  }

  /** Puts `rows` from row `from` on; false if rows before that are missing. */
  put(from, rows) {
    if (from > this.length) return false;
    const end = from + rows.length / 4;
    if (end * 4 > this.data.length) {
      const grown = new Float64Array(Math.max(end * 4, this.data.length * 2));
      grown.set(this.data.subarray(0, from * 4));
      this.data = grown;
    }
    this.data.set(rows, from * 4);
    this.length = end;
    return true;
  }

  at(row, column) {
    return this.data[row * 4 + column];
  }

  /** The row whose step is nearest to `step`; -1 without rows. */
  nearest(step) {
    if (!this.length) return -1;
    let lo = 0;
    let hi = this.length - 1;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (this.at(mid, STEP) < step) lo = mid + 1;
      else hi = mid;
    }
    if (lo > 0 && step - this.at(lo - 1, STEP) < this.at(lo, STEP) - step) return lo - 1;
    return lo;
  }
}

/** Exponential smoothing as TensorBoard does it, without the pull towards zero at the start. */
export function smooth(rows, weight) {
  const out = new Float64Array(rows.length);
  let sum = 0;
  let power = 1;
  for (let i = 0; i < rows.length; i++) {
    const value = rows.at(i, MEAN);
    if (!Number.isFinite(value)) {
      out[i] = NaN;
      continue;
    }
    sum = sum * weight + (1 - weight) * value;
    power *= weight;
    out[i] = weight > 0 ? sum / (1 - power) : value;
  }
  return out;
}

export class Monitor {
  constructor() {
    this.runs = []; // states, in the order in which they began
    this.curves = new Map(); // metric -> Map of run -> {rows, stride, bad, firstBad}
    this.histograms = new Map(); // name -> Map of run -> [{step, lo, hi, bad, counts}]
    this.confusions = new Map(); // run -> {names, counts, step}
    this.samples = new Map(); // run -> {...}
    this.seen = false;
  }

  /** Takes an update; false if something before it is missing, so that all must be asked for. */
  take(message, buffers) {
    const numbers = typed(buffers?.[0], Float64Array);
    const pixels = typed(buffers?.[1], Uint8Array);
    let at = 0;
    let complete = true;
    if (message.whole) {
      this.curves.clear();
      this.histograms.clear();
      this.confusions.clear();
      this.samples.clear();
    }
    this.runs = message.runs;
    this.seen = true;
    const next = (count) => numbers.subarray(at, (at += count));
    for (const { run, name, from, rows, stride, bad, firstBad } of message.curves) {
      if (!this.curves.has(name)) this.curves.set(name, new Map());
      const byRun = this.curves.get(name);
      if (!byRun.has(run)) byRun.set(run, { rows: new Rows() });
      const curve = Object.assign(byRun.get(run), { stride, bad, firstBad });
      complete = curve.rows.put(from, next(rows * 4)) && complete;
    }
    for (const { run, name, slices } of message.histograms) {
      if (!this.histograms.has(name)) this.histograms.set(name, new Map());
      const list = [];
      for (let k = 0; k < slices; k++) {
        const [step, lo, hi, bad, ...counts] = next(message.sliceLength);
        list.push({ step, lo, hi, bad, counts });
      }
      this.histograms.get(name).set(run, list);
    }
    for (const { run, names, step } of message.confusions) {
      this.confusions.set(run, { names, step, counts: next(names.length ** 2) });
    }
    let byte = 0;
    for (const one of message.samples) {
      const size = one.shape ? one.shape.reduce((a, b) => a * b, 1) : 0;
      this.samples.set(one.run, { ...one, pixels: pixels.subarray(byte, (byte += size)) });
    }
    return complete;
  }

  indexOf(run) {
    return this.runs.findIndex(({ name }) => name === run);
  }
}

/** Counts of a slice on another axis: how many values per bin of `bins` bins from lo to hi. */
export function rebin({ lo, hi, counts }, from, to, bins) {
  const out = new Float64Array(bins);
  const width = (to - from) / bins || 1;
  const step = (hi - lo) / counts.length;
  counts.forEach((count, i) => {
    if (!count) return;
    if (step <= 0) {
      out[Math.min(bins - 1, Math.max(0, Math.floor((lo - from) / width)))] += count;
      return;
    }
    // A bin that covers several of ours is spread over them.
    const a = lo + i * step;
    const b = a + step;
    for (let k = Math.max(0, Math.floor((a - from) / width)); k < bins && from + k * width < b; k++) {
      const overlap = Math.min(b, from + (k + 1) * width) - Math.max(a, from + k * width);
      if (overlap > 0) out[k] += (count * overlap) / step;
    }
  });
  return out;
}

/** Share of right predictions and the most frequent mistakes of a confusion matrix. */
export function mistakes({ names, counts }, limit = 5) {
  const n = names.length;
  let total = 0;
  let right = 0;
  const off = [];
  for (let r = 0; r < n; r++) {
    for (let c = 0; c < n; c++) {
      const count = counts[r * n + c];
      total += count;
      if (r === c) right += count;
      else if (count) off.push({ true: names[r], predicted: names[c], count });
    }
  }
  off.sort((a, b) => b.count - a.count);
  return { total, right, most: off.slice(0, limit) };
}

/** All curves as comma separated values. A name that a spreadsheet would run gets a quote before it. */
export function toCsv(monitor) {
  const cell = (text) => {
    const safe = /^[=+\-@\t]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
  };
  const lines = ["run,metric,step,mean,lowest,highest"];
  for (const [name, byRun] of monitor.curves) {
    for (const [run, { rows }] of byRun) {
      for (let i = 0; i < rows.length; i++) lines.push([cell(run), cell(name), ...[STEP, MEAN, LOW, HIGH].map((c) => rows.at(i, c))].join(","));
    }
  }
  return `${lines.join("\n")}\n`;
}
