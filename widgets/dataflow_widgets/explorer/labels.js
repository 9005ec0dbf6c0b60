// Where words stand in a picture, so that none lies over another.
const [HIGH, WIDE] = [13, 6.4]; // px of a line, and of a character, of an axis's text

/** The px that a text of an axis takes. */
export const widthOf = (text) => WIDE * String(text).length;

const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

// Beside its point, above or below it on either side; then further off, with a line to the point.
const PLACES = [-5, 9, 20, -18, 33, -31, 46, -44].flatMap((dy) => [[6, dy], [-6, dy]]);

/** A place for each label `{x, y, text}` of a point, in px: `{...label, at: [x, y], anchor, far}`, in `box`, clear of the other
 *  labels and of `points` (rows of [x, y]). A label that finds no free place stands where the fewest things are. */
export function placeLabels(labels, points, box) {
  const taken = points.map(([x, y]) => ({ left: x - 4, right: x + 4, top: y - 4, bottom: y + 4 }));
  return labels.map((label) => {
    const wide = widthOf(label.text);
    let best = null;
    for (const [dx, dy] of PLACES) {
      const left = dx > 0 ? label.x + dx : label.x + dx - wide;
      const spot = { left, right: left + wide, top: label.y + dy - HIGH + 3, bottom: label.y + dy + 3 };
      const outside = spot.left < box.left || spot.right > box.right || spot.top < box.top || spot.bottom > box.bottom;
      const cost = (outside ? 100 : 0) + taken.filter((other) => meet(spot, other)).length;
      if (!best || cost < best.cost) best = { cost, spot, at: [label.x + dx, label.y + dy], anchor: dx > 0 ? "start" : "end", far: Math.abs(dy - 2) > 12 };
      if (!cost) break;
    }
    taken.push(best.spot);
    return { ...label, at: best.at, anchor: best.anchor, far: best.far };
  });
}

/** How the labels below bars that are `step` px wide are written: `every` so manieth of them level, or all of them slanting
 *  where they are words, of at most `most` characters and `high` px below the axis. */
export function barLabels(labels, step) {
  const widest = Math.max(...labels.map(widthOf), 1);
  const room = Math.max(1, Math.ceil((widest + 6) / Math.max(1, step)));
  if (room === 1 || labels.every((label) => Number.isFinite(Number(label)))) return { slanted: false, every: room, most: Infinity, high: 14 };
  const every = Math.max(1, Math.ceil(15 / Math.max(1, step)));
  const most = 13;
  return { slanted: true, every, most, high: 16 + 0.6 * Math.min(widest, WIDE * most) };
}

/** At most `most` characters of a label. */
export const shortened = (label, most) => (String(label).length > most ? `${String(label).slice(0, most - 1)}…` : String(label));
