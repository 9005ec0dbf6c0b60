// The points of an embedding: what is near what, what is where, which labels fit.  No page in sight.

/** Rows of length 1 of an (n, d) matrix; rows of zeros stay. */
export function directions(vectors, n, d) {
  const out = new Float32Array(n * d);
  for (let i = 0; i < n; i++) {
    let sum = 0;
    for (let k = 0; k < d; k++) sum += vectors[i * d + k] ** 2;
    const length = Math.sqrt(sum) || 1;
    for (let k = 0; k < d; k++) out[i * d + k] = vectors[i * d + k] / length;
  }
  return out;
}

const STIFFNESS = 11; // of the springs, per second: nine tenths of the way in about 0.35 s

/**
 * One frame of points that are drawn to `target` by critically damped springs: they keep their speed
 * when the target changes on the way, so that training looks like motion and not like steps. Changes
 * `places` and `speeds`; says whether they still move.
 */
export function follow(places, speeds, target, seconds) {
  const dt = Math.min(0.05, seconds); // a page that was hidden does not jump
  let far = 0;
  let reach = 1e-9;
  const fade = Math.exp(-STIFFNESS * dt);
  for (let i = 0; i < places.length; i++) {
    const off = places[i] - target[i];
    const pull = speeds[i] + STIFFNESS * off;
    places[i] = target[i] + (off + pull * dt) * fade;
    speeds[i] = (speeds[i] - STIFFNESS * pull * dt) * fade;
    far = Math.max(far, Math.abs(places[i] - target[i]), Math.abs(speeds[i]) * 0.05);
    reach = Math.max(reach, Math.abs(target[i]));
  }
  return far > reach * 1e-3;
}

/** [[index, cosine]] of the `k` rows nearest to `target`, without those in `without`. */
export function nearest(units, d, target, without, k) {
  const n = units.length / d;
  let length = 0;
  for (const v of target) length += v * v;
  length = Math.sqrt(length) || 1;
  const found = [];
  for (let i = 0; i < n; i++) {
    if (without.includes(i)) continue;
    let dot = 0;
    for (let j = 0; j < d; j++) dot += units[i * d + j] * target[j];
    found.push([i, dot / length]);
  }
  return found.sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, k);
}

/** One item: its neighbors. Three, a b c: what is to c as b is to a (b - a + c). */
export function answer(units, d, items, k) {
  const row = (i) => units.subarray(i * d, (i + 1) * d);
  if (items.length === 1) return nearest(units, d, row(items[0]), items, k);
  const [a, b, c] = items.map(row);
  return nearest(units, d, Array.from(a, (v, j) => b[j] - v + c[j]), items, k);
}

/** Indices whose label holds `text`: exact ones first, then those that begin with it. */
export function search(labels, text, limit = 8) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return { found: [], total: 0 };
  const ranked = [[], [], []];
  labels.forEach((label, i) => {
    const lower = label.toLowerCase();
    const at = lower.indexOf(wanted);
    if (at >= 0) ranked[lower === wanted ? 0 : at === 0 ? 1 : 2].push(i);
  });
  const all = ranked.flat();
  return { found: all.slice(0, limit), total: all.length };
}

/** The index of the point nearest to (x, y) within `reach` px, -1 if there is none. `at` = [x, y, x, y, ...]. */
export function hit(at, x, y, reach, isShown = () => true) {
  let best = -1;
  let least = reach * reach;
  for (let i = 0; i < at.length / 2; i++) {
    const far = (at[2 * i] - x) ** 2 + (at[2 * i + 1] - y) ** 2;
    if (far <= least && isShown(i)) {
      least = far;
      best = i;
    }
  }
  return best;
}

/** The point next to `from` in the direction (dx, dy): near, and not far off the direction. */
export function beside(at, from, dx, dy, isShown = () => true) {
  let best = -1;
  let least = Infinity;
  for (let i = 0; i < at.length / 2; i++) {
    if (i === from || !isShown(i)) continue;
    const x = at[2 * i] - at[2 * from];
    const y = at[2 * i + 1] - at[2 * from + 1];
    const along = x * dx + y * dy;
    const off = Math.abs(x * dy - y * dx);
    if (along <= 0 || off > along * 1.5) continue;
    const cost = along + 2 * off;
    if (cost < least) {
      least = cost;
      best = i;
    }
  }
  return best;
}

/**
 * Labels that do not overlap: goes through `order` and keeps what fits.  `measure(i)` is the width of
 * a label; boxes stand to the right of the point, else to the left.
 */
export function place(at, order, measure, { width, height, limit, line = 13, gap = 6 }) {
  const boxes = [];
  const out = [];
  const free = (box) => box[0] >= 0 && box[2] <= width && box[1] >= 0 && box[3] <= height && !boxes.some((b) => box[0] < b[2] && b[0] < box[2] && box[1] < b[3] && b[1] < box[3]);
  for (const i of order) {
    if (out.length >= limit) break;
    const [x, y] = [at[2 * i], at[2 * i + 1]];
    if (x < 0 || y < 0 || x > width || y > height) continue;
    const wide = measure(i);
    for (const left of [x + gap, x - gap - wide]) {
      const box = [left - 2, y - line / 2, left + wide + 2, y + line / 2];
      if (!free(box)) continue;
      boxes.push(box);
      out.push({ i, x: left, y });
      break;
    }
  }
  return out;
}
