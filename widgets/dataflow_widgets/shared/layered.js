// A plain layered drawing of our own, for when Graphviz cannot be had (no kernel to send it, no
// worker allowed, layout failed): longest-path layers, two barycentre sweeps, straight edges.
import { ranks } from "./legible.js";
import { face } from "./measure.js";

const GAP_X = 26;
const GAP_Y = 46;

export function layered(visible, model) {
  const faces = new Map(visible.items.map((item) => [item.id, face(item, model)]));
  const { rank, next, before } = ranks(visible);
  const rows = [];
  for (const [id, depth] of rank) (rows[depth] ??= []).push(id);
  const place = new Map();
  const settle = (row) => row.forEach((id, i) => place.set(id, i));
  rows.forEach(settle);
  for (const [list, neighbours] of [[rows, before], [[...rows].reverse(), next]]) {
    for (const row of list) {
      const weight = new Map(
        row.map((id) => {
          const around = neighbours.get(id).map((other) => place.get(other));
          return [id, around.length ? around.reduce((a, b) => a + b, 0) / around.length : place.get(id)];
        }),
      );
      row.sort((a, b) => weight.get(a) - weight.get(b));
      settle(row);
    }
  }
  const widths = rows.map((row) => row.reduce((sum, id) => sum + faces.get(id).width + GAP_X, -GAP_X));
  const width = Math.max(60, ...widths) + 16;
  const nodes = new Map();
  let y = 8;
  rows.forEach((row, i) => {
    const height = Math.max(...row.map((id) => faces.get(id).height));
    let x = (width - widths[i]) / 2;
    for (const id of row) {
      const look = faces.get(id);
      nodes.set(id, { x: x + look.width / 2, y: y + height / 2, ...look });
      x += look.width + GAP_X;
    }
    y += height + GAP_Y;
  });
  const edges = visible.edges.map((edge) => {
    const a = nodes.get(edge.from);
    const b = nodes.get(edge.to);
    const down = b.y >= a.y;
    const from = [a.x, a.y + (down ? a.height / 2 : -a.height / 2)];
    const to = [b.x, b.y + (down ? -b.height / 2 - 6 : b.height / 2 + 6)];
    return { id: edge.id, path: `M${from}L${to}`, arrow: arrowHead(from, [b.x, to[1] + (down ? 6 : -6)], to), label: [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2] };
  });
  return { width, height: y - GAP_Y + 8, nodes, edges, clusters: [] };
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
