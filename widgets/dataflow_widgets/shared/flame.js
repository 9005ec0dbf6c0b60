// A recorded run as bars: lanes, name scopes above the ops, ticks, and what fits into a view.  Pure
// data, no DOM: runs under node.  Times are microseconds since the run began.

/** Ops as objects from what the kernel sent: [name number, lane, row, start, duration, bytes, inputs]. */
export function readRun({ nodes, lanes, lane_names = lanes, ops, duration, copies, waits, critical, critical_waits = critical.map(() => 0) }) {
  const read = ops.map(([node, lane, row, start, length, bytes, inputs], index) => ({ index, name: nodes[node].name, type: nodes[node].op, lane, row, start, duration: length, end: start + length, bytes, inputs, outputs: [], critical: false }));
  for (const op of read) for (const source of op.inputs) read[source].outputs.push(op.index);
  for (const index of critical) read[index].critical = true;
  return {
    lanes: lane_names,
    devices: lanes,
    ops: read,
    duration,
    critical,
    criticalWaits: critical_waits,
    copies: copies.map(([source, target, start, end, bytes]) => ({ source, target, start, end, bytes })),
    waits: waits.map(([lane, start, end, op, source]) => ({ lane, start, end, op, source })),
  };
}

/** Runs of ops beside each other in one row that share a name scope: [{path, start, end, count}]. */
export function scopeBands(ops, depth) {
  const bands = [];
  let open = null;
  for (const op of [...ops].sort((a, b) => a.start - b.start)) {
    const parts = op.name.split("/");
    const path = parts.length > depth + 1 ? parts.slice(0, depth + 1).join("/") : null;
    if (open && path === open.path) {
      open.end = Math.max(open.end, op.end);
      open.count += 1;
    } else {
      open = path === null ? null : { path, start: op.start, end: op.end, count: 1 };
      if (open) bands.push(open);
    }
  }
  return bands;
}

export const BAR = 20;
export const BAND = 14;
export const HEAD = 18;

/** Where each lane lies: {lanes: [{top, bands: [[...], ...], rows, y(row), height}], height}. */
export function stack(run, depth = 2) {
  let top = 0;
  const lanes = run.lanes.map((name, lane) => {
    const ops = run.ops.filter((op) => op.lane === lane);
    const rows = Math.max(0, ...ops.map((op) => op.row)) + 1;
    const bands = Array.from({ length: depth }, (_, level) => scopeBands(ops, level)).filter((level) => level.length);
    const first = top + HEAD + bands.length * BAND;
    const placed = { name, top, bands, rows, ops, y: (row) => first + row * BAR, height: HEAD + bands.length * BAND + rows * BAR + 8 };
    top += placed.height;
    return placed;
  });
  return { lanes, height: top };
}

const WIDE = 0.15; // a time in which no lane runs anything is cut if it is longer than this share of the rest
const LONG = 0.03; // and than this share of the run
const CUT = 0.08; // and takes this share of it then

/**
 * Times as places along an axis on which long idle times are cut short: {u(t), t(u), length,
 * pieces: [{from, to, start, end, cut}]}, `from` and `to` in µs, `start` and `end` on the axis.
 */
export function axis(run, cutting = true) {
  const busy = [];
  for (const op of [...run.ops].sort((a, b) => a.start - b.start)) {
    const last = busy.at(-1);
    if (last && op.start <= last[1]) last[1] = Math.max(last[1], op.end);
    else busy.push([op.start, op.end]);
  }
  const total = Math.max(1, busy.reduce((sum, [from, to]) => sum + to - from, 0));
  const pieces = [];
  let at = 0;
  const put = (from, to, cut) => {
    if (to <= from) return;
    const last = pieces.at(-1);
    const length = cut ? total * CUT : to - from;
    if (last && !cut && !last.cut) Object.assign(last, { to, end: last.end + length });
    else pieces.push({ from, to, start: at, end: at + length, cut });
    at += length;
  };
  let before = 0;
  for (const [from, to] of [...busy, [run.duration, run.duration]]) {
    put(before, from, cutting && from - before > Math.max(total * WIDE, run.duration * LONG));
    put(from, to, false);
    before = to;
  }
  if (!pieces.length) put(0, Math.max(1, run.duration), false);
  const along = (value, a, b, c, d) => {
    let [low, high] = [0, pieces.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (value <= pieces[middle][b]) high = middle;
      else low = middle + 1;
    }
    const piece = pieces[low];
    return piece[c] + ((value - piece[a]) / (piece[b] - piece[a])) * (piece[d] - piece[c]);
  };
  return { pieces, length: at, u: (t) => along(t, "from", "to", "start", "end"), t: (u) => along(u, "start", "end", "from", "to") };
}

/** Round times for an axis of `width` px from `from` to `to`. */
export function ticks(from, to, width) {
  const least = (to - from) / Math.max(1, width / 90);
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-9)));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= least);
  const found = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) found.push(t);
  return found;
}

/** A view [from, to] zoomed by `factor` about `center`, inside the run and at least 1 µs wide. */
export function zoomed([from, to], factor, center, duration) {
  const width = Math.min(duration, Math.max(1, (to - from) / factor));
  const start = center - ((center - from) / (to - from)) * width;
  return panned([start, start + width], 0, duration);
}

export function panned([from, to], by, duration) {
  const width = to - from;
  const start = Math.max(0, Math.min(duration - width, from + by));
  return [start, start + width];
}

/** The op that is next to `op` for an arrow key: in its lane by time, or in the lane above or below. */
export function neighbor(run, op, key) {
  const lane = (n) => run.ops.filter((other) => other.lane === n).sort((a, b) => a.start - b.start || a.index - b.index);
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const mine = lane(op.lane);
    return mine[mine.indexOf(op) + (key === "ArrowRight" ? 1 : -1)] ?? op;
  }
  const step = key === "ArrowDown" ? 1 : -1;
  for (let n = op.lane + step; n >= 0 && n < run.lanes.length; n += step) {
    const others = lane(n);
    if (others.length) return others.reduce((best, other) => (Math.abs(other.start - op.start) < Math.abs(best.start - op.start) ? other : best));
  }
  return op;
}

/** Seconds by op type, the longest first: [[type, µs, count]]. */
export function byType(run) {
  const types = new Map();
  for (const op of run.ops) {
    const known = types.get(op.type) ?? [0, 0];
    types.set(op.type, [known[0] + op.duration, known[1] + 1]);
  }
  return [...types].map(([type, [total, count]]) => [type, total, count]).sort((a, b) => b[1] - a[1]);
}
