// From visible graph to coordinates: Graphviz in a worker with a watchdog, then gentler attempts,
// then our own layered drawing.  A layout that takes too long degrades; it never freezes the page.
import { findAside, findHubs, layoutDot } from "./dot.js";
import { arrowHead, layered } from "./layered.js";

export const WATCHDOG_MS = 3000;

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

/**
 * Lays `visible` out.  `host` is the page's Graphviz (null: none to be had).  Returns the layout with
 * `attempt`: "graphviz", "limits", "hubs" or "layered", and `hubs`, the items drawn without edges.
 */
export async function layout(visible, model, host, { direction = "down", watchdog = WATCHDOG_MS, allEdges = false } = {}) {
  if (!visible.items.length) return { width: 10, height: 10, nodes: new Map(), edges: [], clusters: [], attempt: "empty", hubs: new Set() };
  const labels = visible.edges.length <= 400;
  const aside = allEdges ? new Set() : findAside(visible, model);
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
  if (host) {
    for (const { attempt, ...options } of attempts) {
      if (attempt === "hubs" && !hubs.size) continue;
      const dot = layoutDot(visible, model, { direction, ...options });
      try {
        const json = await host.layout(dot.text, { watchdog, size: visible.items.length });
        const result = readJson0(json, visible, dot.faces, options.hubs);
        return { ...result, attempt, hubs: options.hubs ?? new Set(), failures };
      } catch (error) {
        failures.push(`${attempt}: ${error?.message ?? error}`);
        if (error?.name === "EngineMissing") break;
      }
    }
  }
  return { ...layered(visible, model), attempt: "layered", hubs: new Set(), failures };
}
