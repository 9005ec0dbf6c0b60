// A long graph in rows, as text is: cut where few edges pass, each piece laid out to the right by itself, and the
// edges between rows led round the ends. For a network of many layers in a row, which no pane is long enough for.
import { ranks } from "./legible.js";
import { arrowHead } from "./layered.js";
import { face, textWidth } from "./measure.js";

const MOST_CROSSING = 3; // edges that may pass from one row to the next
const WRAPPER = 0.6; // of all that is shown lies in one scope
const FILLED = 0.4; // of a row before it may end
const MARGIN = 26; // px at both ends, for the edges between rows
const GAP = 28; // px between rows, and as much again for each edge that passes
const LANE = 14;
const STEP = 30; // px between two layers, beside what is written there

/** "a/b" -> ["a", "a/b"] */
const chain = (path) => (path ? path.split("/").map((_, i, parts) => parts.slice(0, i + 1).join("/")) : []);

/**
 * Twice the layer of each item. A source goes with its first reader, just before it; so does what only such sources
 * lead to and which leads to one reader (the input of one step of a loop).
 */
function tightRanks(visible) {
  const { rank, next, before } = ranks(visible);
  const loose = new Set(); // moves along with its reader
  const inOrder = [...rank].sort((a, b) => a[1] - b[1]).map(([id]) => id);
  for (const id of inOrder) if (before.get(id).every((other) => loose.has(other) && next.get(other).length === 1)) loose.add(id);
  const tight = new Map([...rank].map(([id, at]) => [id, 2 * at]));
  for (const id of inOrder.reverse()) {
    const readers = next.get(id).map((other) => tight.get(other));
    if (!loose.has(id) || !readers.length) continue;
    const column = Math.min(...readers.map((at) => at - (at % 2)));
    tight.set(id, Math.max(0, column - (before.get(id).length ? 2 : 1)));
  }
  return tight;
}

/** `visible` in pieces of at most about `limit` px, or null where too many edges pass everywhere. */
export function pieces(visible, model, limit) {
  const rank = tightRanks(visible);
  const count = 1 + Math.max(0, ...rank.values());
  const step = new Array(count).fill(0);
  const label = new Array(count).fill(0);
  const crossing = new Array(count).fill(0); // edges that a cut after this layer would cut
  const barred = new Array(count).fill(false); // in the middle of an open scope
  const column = (id) => rank.get(id) - (rank.get(id) % 2); // a source stands under what comes before its reader
  for (const item of visible.items) step[column(item.id)] = Math.max(step[column(item.id)], face(item, model).width);
  for (const edge of visible.edges) {
    const [a, b] = [rank.get(edge.from), rank.get(edge.to)];
    if (edge.label) label[column(edge.from)] = Math.max(label[column(edge.from)], textWidth(edge.label, "small") + 12);
    for (let at = Math.min(a, b); at < Math.max(a, b); at++) crossing[at] += 1;
    if (b <= a) for (let at = b; at <= a; at++) barred[at] = true; // a loop stays in one piece
  }
  // A scope around nearly everything says little: its frame goes, so that what is in it can be cut.
  const sizes = new Map();
  for (const item of visible.items) for (const path of chain(item.cluster)) sizes.set(path, (sizes.get(path) ?? 0) + 1);
  const around = new Set([...sizes].filter(([, size]) => size > WRAPPER * visible.items.length).map(([path]) => path));
  const spans = new Map();
  for (const item of visible.items) {
    const top = chain(item.cluster).find((path) => !around.has(path));
    if (!top) continue;
    const at = rank.get(item.id);
    const [from, to] = spans.get(top) ?? [at, at];
    spans.set(top, [Math.min(from, at), Math.max(to, at)]);
  }
  for (const [from, to] of spans.values()) for (let at = from; at < to; at++) barred[at] = true;
  const widths = step.map((width, at) => (at % 2 ? 0 : width + STEP + label[at]));
  const total = widths.reduce((sum, width) => sum + width, 0);
  const most = limit - 2 * MARGIN;
  const rows = Math.ceil(total / most);
  if (rows < 2) return null;
  const target = Math.min(most, total / rows + Math.max(...widths));
  const ends = [];
  for (let start = 0; start < count; ) {
    let best = -1;
    let filled = 0;
    let room = target;
    let at = start;
    for (; at < count && (room -= widths[at]) >= 0; at++) {
      if (barred[at] || crossing[at] > MOST_CROSSING) continue;
      if (best < 0 || filled < FILLED * target || crossing[at] <= crossing[best]) [best, filled] = [at, target - room];
    }
    if (at === count) best = count - 1;
    if (best < 0) return null;
    ends.push(best);
    start = best + 1;
  }
  const rowOf = (id) => ends.findIndex((end) => rank.get(id) <= end);
  return ends.map((_, row) => {
    const items = visible.items.filter((item) => rowOf(item.id) === row).map((item) => (around.has(item.cluster) ? { ...item, cluster: null } : item));
    const here = new Set(items.map((item) => item.id));
    const wanted = new Set(items.flatMap((item) => chain(item.cluster)));
    return {
      items,
      edges: visible.edges.filter((edge) => here.has(edge.from) && here.has(edge.to)),
      clusters: visible.clusters.filter(({ path }) => wanted.has(path) && !around.has(path)).map((one) => (around.has(one.parent) ? { ...one, parent: null } : one)),
      holder: visible.holder,
    };
  });
}

const shifted = (path, dx, dy) =>
  path.replace(/(-?\d+(?:\.\d+)?),(-?\d+(?:\.\d+)?)/g, (_, x, y) => `${(Number(x) + dx).toFixed(1)},${(Number(y) + dy).toFixed(1)}`);

/** One layout of the rows that `layouts` are, with the edges of `visible` between them. */
export function stack(visible, layouts) {
  const rowOf = new Map(layouts.flatMap((one, row) => [...one.nodes.keys()].map((id) => [id, row])));
  const between = visible.edges.filter((edge) => rowOf.get(edge.from) !== rowOf.get(edge.to));
  const lanes = layouts.map(() => []); // the edges that come into each row
  for (const edge of between) lanes[rowOf.get(edge.to)].push(edge);
  const width = Math.max(...layouts.map((one) => one.width)) + 2 * MARGIN;
  const all = { width, height: 0, nodes: new Map(), edges: [], clusters: [] };
  const tops = [];
  layouts.forEach((one, row) => {
    if (row) all.height += GAP + LANE * lanes[row].length;
    tops.push(all.height);
    const [dx, dy] = [MARGIN, all.height];
    for (const [id, at] of one.nodes) all.nodes.set(id, { ...at, x: at.x + dx, y: at.y + dy });
    for (const line of one.edges) all.edges.push({ ...line, path: shifted(line.path, dx, dy), arrow: line.arrow && shifted(line.arrow, dx, dy), label: [line.label[0] + dx, line.label[1] + dy] });
    for (const cluster of one.clusters) all.clusters.push({ ...cluster, x: cluster.x + dx, y: cluster.y + dy });
    all.height += one.height;
  });
  const f = (n) => n.toFixed(1);
  lanes.forEach((edges, row) =>
    edges.forEach((edge, i) => {
      const [a, b] = [all.nodes.get(edge.from), all.nodes.get(edge.to)];
      const [here, there] = [edge.from, edge.to].map((id) => [...all.nodes].filter(([other]) => rowOf.get(other) === rowOf.get(id)).map(([, at]) => at));
      const from = rowOf.get(edge.from);
      const y = tops[row] - LANE * (edges.length - i) + 2;
      const out = width - 8 - 5 * i;
      const end = Math.max(...here.map((at) => at.x + at.width / 2)) + 14 + 5 * i;
      const points = wayOut(a, here, from + 1 < row ? out : Math.min(end, out));
      if (from + 1 < row && points.at(-1)[0] !== out) {
        // Past the rows in between, where no node stands.
        const under = tops[from + 1] - 4;
        points.push([points.at(-1)[0], under], [out, under]);
      }
      points.push([points.at(-1)[0], y]);
      const start = points.at(-1)[0];
      let tip;
      if (isFree(b, there, -1)) {
        const into = 8 + 5 * i;
        points.push([into, y], [into, b.y]);
        tip = [b.x - b.width / 2, b.y];
        points.push([tip[0] - 7, b.y]);
      } else {
        // Between two columns nothing stands.
        const beside = b.x - b.width / 2 - 13;
        tip = [b.x - b.width / 2, b.y - b.height / 4];
        points.push([beside, y], [beside, tip[1]], [tip[0] - 7, tip[1]]);
      }
      const path = `M${points.map(([px, py]) => `${f(px)},${f(py)}`).join("L")}`;
      all.edges.push({ id: edge.id, path, arrow: arrowHead(null, tip, points.at(-1)), label: [(start + points.at(-3)[0]) / 2, y - 5] });
    }),
  );
  return all;
}

/** Whether nothing stands beside `node`, at its height, to the right (`side` 1) or to the left (-1). */
const isFree = (node, row, side) => !row.some((at) => at !== node && (at.x - node.x) * side > 0 && Math.abs(at.y - node.y) < at.height / 2 + 4);

/**
 * Where an edge to a later row leaves `node`: at the end of its row to the side, elsewhere downwards, beside what stands
 * below it. Its last point has the x at which it goes down.
 */
function wayOut(node, row, out) {
  const right = node.x + node.width / 2;
  if (isFree(node, row, 1) && !row.some((at) => at.x - at.width / 2 > right)) return [[right, node.y], [out, node.y]];
  const below = row.filter((at) => at.y > node.y + 1);
  const inTheWay = (x) => below.some((at) => Math.abs(at.x - x) < at.width / 2 + 6);
  if (!inTheWay(node.x)) return [[node.x, node.y + node.height / 2]];
  for (let x = right + 9; x < out; x += 6) if (!inTheWay(x)) return [[right, node.y + node.height / 4], [x, node.y + node.height / 4]];
  return [[right, node.y], [out, node.y]];
}
