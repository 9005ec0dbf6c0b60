// A plain layered drawing of our own, for when Graphviz cannot be had (no kernel to send it, no
// worker allowed, layout failed): longest-path layers, two barycenter sweeps, straight edges. An open scope
// is laid out by itself and stands as one box in what is around it.
import { ranks } from "./legible.js";
import { face } from "./measure.js";

const GAP_X = 26;
const GAP_Y = 46;
const FRAME = { side: 10, head: 24, foot: 10 };

/** Sets `units` ({id, width, height}) in rows by the edges between them; gives each its center `x` and `y`. */
function inLayers(units, edges) {
  const { rank, next, before } = ranks({ items: units, edges });
  const known = new Map(units.map((unit) => [unit.id, unit]));
  const rows = [];
  for (const [id, depth] of rank) (rows[depth] ??= []).push(id);
  const place = new Map();
  const settle = (row) => row.forEach((id, i) => place.set(id, i));
  rows.forEach(settle);
  for (const [list, neighbors] of [[rows, before], [[...rows].reverse(), next]]) {
    for (const row of list) {
      const weight = new Map(
        row.map((id) => {
          const around = neighbors.get(id).map((other) => place.get(other));
          return [id, around.length ? around.reduce((a, b) => a + b, 0) / around.length : place.get(id)];
        }),
      );
      row.sort((a, b) => weight.get(a) - weight.get(b));
      settle(row);
    }
  }
  const widths = rows.map((row) => row.reduce((sum, id) => sum + known.get(id).width + GAP_X, -GAP_X));
  const width = Math.max(0, ...widths);
  let y = 0;
  rows.forEach((row, i) => {
    const height = Math.max(...row.map((id) => known.get(id).height));
    let x = (width - widths[i]) / 2;
    for (const id of row) {
      const unit = known.get(id);
      Object.assign(unit, { x: x + unit.width / 2, y: y + height / 2 });
      x += unit.width + GAP_X;
    }
    y += height + GAP_Y;
  });
  return { width, height: Math.max(0, y - GAP_Y) };
}

export function layered(visible, model) {
  const parents = new Map(visible.clusters.map(({ path, parent }) => [path, parent]));
  const chainOf = (path) => (path ? [...chainOf(parents.get(path) ?? null), path] : []);
  const chains = new Map(visible.items.map((item) => [item.id, chainOf(item.cluster ?? null)]));
  const nodes = new Map();
  const clusters = [];
  /** Lays out the scope `path` (null: all); returns its size and what puts it at a place. */
  const arrange = (path) => {
    const depth = chainOf(path).length;
    const units = [];
    for (const item of visible.items) {
      if ((item.cluster ?? null) !== path) continue;
      const look = face(item, model);
      units.push({ id: item.id, width: look.width, height: look.height, put: (x, y) => nodes.set(item.id, { x, y, ...look }) });
    }
    for (const inner of visible.clusters.filter((cluster) => cluster.parent === path)) {
      const { width: w, height: h, put } = arrange(inner.path);
      const size = { width: w + 2 * FRAME.side, height: h + FRAME.head + FRAME.foot };
      units.push({
        id: `c:${inner.path}`,
        ...size,
        put: (x, y) => {
          clusters.push({ path: inner.path, x: x - size.width / 2, y: y - size.height / 2, ...size });
          put(x - w / 2, y - size.height / 2 + FRAME.head);
        },
      });
    }
    const here = new Set(units.map((unit) => unit.id));
    const unitOf = (id) => {
      const chain = chains.get(id);
      const unit = chain.length > depth ? `c:${chain[depth]}` : id;
      return here.has(unit) ? unit : null;
    };
    const edges = visible.edges
      .map((edge) => ({ from: unitOf(edge.from), to: unitOf(edge.to) }))
      .filter(({ from, to }) => from && to && from !== to);
    const size = inLayers(units, edges);
    return { ...size, put: (x, y) => units.forEach((unit) => unit.put(x + unit.x, y + unit.y)) };
  };
  const all = arrange(null);
  const width = Math.max(60, all.width) + 16;
  all.put((width - all.width) / 2, 8);
  const edges = visible.edges.map((edge) => {
    const a = nodes.get(edge.from);
    const b = nodes.get(edge.to);
    const down = b.y >= a.y;
    const from = [a.x, a.y + (down ? a.height / 2 : -a.height / 2)];
    const to = [b.x, b.y + (down ? -b.height / 2 - 6 : b.height / 2 + 6)];
    return { id: edge.id, path: `M${from}L${to}`, arrow: arrowHead(from, [b.x, to[1] + (down ? 6 : -6)], to), label: [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2] };
  });
  return { width, height: all.height + 16, nodes, edges, clusters };
}

/** A small triangle whose tip is at `tip`, seen from the last point of the line. */
export function arrowHead(_from, tip, base) {
  const dx = tip[0] - base[0];
  const dy = tip[1] - base[1];
  const length = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [(-dy / length) * 3.2, (dx / length) * 3.2];
  const f = (n) => n.toFixed(1);
  return `M${f(tip[0])},${f(tip[1])}L${f(base[0] + ux)},${f(base[1] + uy)}L${f(base[0] - ux)},${f(base[1] - uy)}Z`;
}
