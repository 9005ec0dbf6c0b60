// From visible graph to coordinates: Graphviz in a worker with a watchdog, then gentler attempts,
// then our own layered drawing.  A layout that takes too long degrades; it never freezes the page.
import { findAside, findHubs, layoutDot } from "./dot.js";
import { arrowHead, layered } from "./layered.js";
import { face } from "./measure.js";
import { components, inRows } from "./packing.js";
import { pieces, stack } from "./rows.js";

export const WATCHDOG_MS = 3000;
export const MOST_BY_GRAPHVIZ = 3000; // it takes longer than the watchdog for more items, with every limit

/** Reads Graphviz's json0 (y upwards, inches) into px with y downwards. */
export function readJson0(text, visible, faces, hubs = new Set()) {
  const json = typeof text === "string" ? JSON.parse(text) : text;
  const [x0, y0, x1, y1] = json.bb.split(",").map(Number);
  const height = y1 - y0;
  const flip = (pair) => {
    const [x, y] = pair.split(",").map(Number);
    return [x - x0, height - (y - y0)];
  };
  const nodes = new Map();
  const clusters = [];
  for (const object of json.objects ?? []) {
    const match = /^(n|cluster_)(\d+)$/.exec(object.name);
    if (!match) continue;
    if (match[1] === "n") {
      const item = visible.items[Number(match[2])];
      const [x, y] = flip(object.pos);
      nodes.set(item.id, { x, y, ...faces.get(item.id), hub: hubs.has(item.id) });
    } else if (object.bb) {
      const [a, b, c, d] = object.bb.split(",").map(Number);
      clusters.push({ path: visible.clusters[Number(match[2])].path, x: a - x0, y: height - (d - y0), width: c - a, height: d - b });
    }
  }
  const edges = [];
  for (const edge of json.edges ?? []) {
    if (!edge.pos) continue;
    const known = visible.edges[Number(edge.eid)];
    let tip = null;
    const points = [];
    for (const part of edge.pos.split(" ")) {
      if (part.startsWith("e,")) tip = flip(part.slice(2));
      else if (!part.startsWith("s,")) points.push(flip(part));
    }
    const f = ([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`;
    const path = `M${f(points[0])}C${points.slice(1).map(f).join(" ")}`;
    const end = points[points.length - 1];
    edges.push({
      id: known.id,
      path,
      arrow: tip ? arrowHead(null, tip, end) : "",
      label: edge.lp ? flip(edge.lp) : points[Math.floor(points.length / 2)],
    });
  }
  return { width: x1 - x0, height, nodes, edges, clusters };
}

/** The layout of a single node. */
function alone(item, model, hubs) {
  const look = face(item, model);
  return { width: look.width, height: look.height, nodes: new Map([[item.id, { x: look.width / 2, y: look.height / 2, ...look, hub: hubs.has(item.id) }]]), edges: [], clusters: [] };
}

/** `place` for each part of `visible`, and what it makes of them in rows. */
async function byParts(visible, model, hubs, width, place) {
  const parts = components(visible, hubs);
  if (parts.length === 1) return place(visible);
  const layouts = [];
  for (const part of parts) layouts.push(part.items.length === 1 && !part.clusters.length ? alone(part.items[0], model, hubs) : await place(part));
  return inRows(layouts, width);
}

/** `place` of one part: whole, or in rows of at most `width` px where that is asked for and can be. */
async function inOneOrRows(part, model, { direction, width }, place) {
  const rows = direction === "rows" ? pieces(part, model, width) : null;
  if (!rows) return place(part);
  const layouts = [];
  for (const row of rows) layouts.push(await place(row));
  return stack(part, layouts);
}

/**
 * Lays `visible` out, parts without an edge between them in rows of at most `width` px. `host` is the
 * page's Graphviz (null: none to be had). `direction` is "down", "up", "right", or "rows": to the right, and
 * in rows where that is too long. Returns the layout with `attempt`: "graphviz", "limits", "hubs"
 * or "layered", and `hubs`, the items drawn without edges.
 */
export async function layout(visible, model, host, { direction = "down", watchdog = WATCHDOG_MS, allEdges = false, rolesKnown = false, width = 900 } = {}) {
  if (!visible.items.length) return { width: 10, height: 10, nodes: new Map(), edges: [], clusters: [], attempt: "empty", hubs: new Set() };
  const labels = visible.edges.length <= 400;
  const aside = allEdges ? new Set() : findAside(visible, model, rolesKnown);
  const hubs = new Set([...aside, ...findHubs(visible)]);
  const all = [
    { attempt: "graphviz", labels, hubs: aside },
    { attempt: "limits", limited: true, labels: false, hubs: aside },
    { attempt: "hubs", limited: true, labels: false, hubs },
  ];
  // Known to explode: do not spend the first watchdog on finding out.
  const explodes = hubs.size && visible.items.length > 60 && visible.edges.length > 150 && !allEdges;
  const attempts = explodes ? [{ ...all[0], attempt: "hubs", hubs }, all[2]] : all;
  const failures = [];
  if (host && visible.items.length <= MOST_BY_GRAPHVIZ) {
    for (const { attempt, ...options } of attempts) {
      if (attempt === "hubs" && !hubs.size) continue;
      try {
        const place = async (part) => {
          const dot = layoutDot(part, model, { direction, ...options });
          const json = await host.layout(dot.text, { watchdog, size: part.items.length });
          return readJson0(json, part, dot.faces, options.hubs);
        };
        const result = await byParts(visible, model, options.hubs, width, (part) => inOneOrRows(part, model, { direction, width }, place));
        return { ...result, attempt, hubs: options.hubs ?? new Set(), failures };
      } catch (error) {
        failures.push(`${attempt}: ${error?.message ?? error}`);
        if (error?.name === "EngineMissing") break;
      }
    }
  }
  const plain = await byParts(visible, model, new Set(), width, (part) => layered(part, model));
  return { ...plain, attempt: "layered", hubs: new Set(), failures };
}
