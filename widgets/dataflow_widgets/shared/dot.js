// DOT text.  For layout no name ever enters it: nodes are n0, n1, ... with a fixed size, labels are
// empty tables of a fixed size, so that nothing in a graph can be read as DOT or as HTML.
// exportDot writes the same picture with real names, quoted.
import { lastPart } from "./graph.js";
import { mainPath } from "./legible.js";
import { clusterTitle, face, textWidth } from "./measure.js";

const inches = (px) => (px / 72).toFixed(3);
const room = (width, height) =>
  `<<table border="0" cellborder="0" cellspacing="0" cellpadding="0" fixedsize="true" width="${Math.ceil(width)}" height="${height}"><tr><td></td></tr></table>>`;

export const DIRECTIONS = { down: "TB", up: "BT", right: "LR", rows: "LR" };

function degrees(visible) {
  const degree = new Map();
  for (const edge of visible.edges) {
    degree.set(edge.from, (degree.get(edge.from) ?? 0) + 1);
    degree.set(edge.to, (degree.get(edge.to) ?? 0) + 1);
  }
  return degree;
}

const ASIDE_DEGREE = 8;
const ASIDE_ITEMS = 15;
const STRAIGHT = 20;

/**
 * Closed scopes and NoOps that touch many others (gradients, train, init): in all but small pictures
 * they are set aside without edges from the start, or their long edges bury the model. Where the roles of nodes
 * are known (`rolesKnown`), a scope of the model keeps its edges: a loop is what its network is about.
 */
export function findAside(visible, model, rolesKnown = false) {
  if (visible.items.length <= ASIDE_ITEMS) return new Set();
  const degree = degrees(visible);
  const isMachinery = ({ members, numDrawn }) => !rolesKnown || members.slice(0, numDrawn).filter((index) => model.nodes[index].role).length * 2 > numDrawn;
  const candidates = visible.items.filter((item) => (item.group && item.path ? isMachinery(item) : !item.group && model.nodes[item.index].op === "NoOp"));
  return new Set(candidates.filter((item) => (degree.get(item.id) ?? 0) >= ASIDE_DEGREE).map((item) => item.id));
}

/** Items with so many neighbors that Graphviz's ranking explodes on them (gradients/, train/). */
export function findHubs(visible, least = 12) {
  const degree = degrees(visible);
  const limit = Math.max(least, visible.items.length / 6);
  return new Set([...degree].filter(([, count]) => count > limit).map(([id]) => id));
}

/**
 * How straight each edge is to be: the steps of the longest path stand under one another, whatever a placeholder that
 * all of them read (whether this is training) pulls at them.
 */
function weights(visible) {
  const path = [...mainPath(visible)]; // from its end to its start
  const before = new Map(path.map((id, i) => [id, path[i + 1]]));
  return ({ from, to }) => (before.get(to) === from ? ` weight=${STRAIGHT}` : "");
}

export function layoutDot(visible, model, { direction = "down", limited = false, hubs = new Set(), labels = true } = {}) {
  const order = new Map(visible.items.map((item, i) => [item.id, `n${i}`]));
  const clusterOrder = new Map(visible.clusters.map((cluster, i) => [cluster.path, i]));
  const faces = new Map();
  const lines = ["digraph {"];
  const limits = limited ? " nslimit=1 nslimit1=1 mclimit=0.1 splines=line" : "";
  lines.push(`graph [rankdir=${DIRECTIONS[direction] ?? "TB"} bgcolor=transparent nodesep=0.3 ranksep=${visible.items.some((item) => item.room) ? 0.6 : 0.38}${limits}]`);
  lines.push('node [shape=box fixedsize=true label=""] edge [label="" arrowsize=0.7]');
  const write = (path, indent) => {
    for (const item of visible.items) {
      if ((item.cluster ?? null) !== path) continue;
      const look = face(item, model);
      faces.set(item.id, look);
      lines.push(`${indent}${order.get(item.id)} [width=${inches(look.width)} height=${inches(look.height)}]`);
    }
    for (const cluster of visible.clusters) {
      if (cluster.parent !== path) continue;
      const [name, nature = ""] = clusterTitle(cluster.path, model.natureOf(cluster.path));
      const width = textWidth(name) + (nature && textWidth(nature, "small") + 6) + 34;
      lines.push(`${indent}subgraph cluster_${clusterOrder.get(cluster.path)} { margin=10 labeljust=l label=${room(width, 16)}`);
      write(cluster.path, `${indent} `);
      lines.push(`${indent}}`);
    }
  };
  write(null, "");
  const weight = weights(visible);
  visible.edges.forEach((edge, i) => {
    if (hubs.has(edge.from) || hubs.has(edge.to)) return;
    const label = labels && edge.label ? ` label=${room(textWidth(edge.label, "small") + 8, 14)}` : "";
    lines.push(`${order.get(edge.from)} -> ${order.get(edge.to)} [eid=${i}${label}${edge.shared ? " constraint=false" : weight(edge)}]`);
  });
  lines.push("}");
  return { text: lines.join("\n"), faces };
}

const quoted = (text) => `"${String(text).replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\r?\n/g, "\\n")}"`;

/** The visible graph as DOT for people, with names as quoted strings. */
export function exportDot(visible, model, { direction = "down", classes = new Map() } = {}) {
  const order = new Map(visible.items.map((item, i) => [item.id, `n${i}`]));
  const lines = ["digraph dataflow {", `  rankdir=${DIRECTIONS[direction] ?? "TB"}; node [shape=box, style=rounded, fontname="sans-serif"];`];
  let number = 0;
  const write = (path, indent) => {
    for (const item of visible.items) {
      if ((item.cluster ?? null) !== path) continue;
      const look = face(item, model);
      const name = item.group ? item.path ?? item.fold.base : model.nodes[item.index].name;
      const state = [...(classes.get(item.id) ?? [])].filter((c) => c.startsWith("df-")).map((c) => c.slice(3));
      const style = state.includes("pruned") ? ", style=\"rounded,dashed\", color=gray" : "";
      const label = quoted(look.detail ? `${look.title}\n${look.detail}` : look.title);
      lines.push(`${indent}${order.get(item.id)} [label=${label}, tooltip=${quoted(name)}${state.length ? `, class=${quoted(state.join(" "))}` : ""}${style}];`);
    }
    for (const cluster of visible.clusters) {
      if (cluster.parent !== path) continue;
      lines.push(`${indent}subgraph cluster_${number++} { label=${quoted(lastPart(cluster.path))};`);
      write(cluster.path, `${indent}  `);
      lines.push(`${indent}}`);
    }
  };
  write(null, "  ");
  for (const edge of visible.edges) {
    const style = edge.control ? ", style=dashed" : "";
    lines.push(`  ${order.get(edge.from)} -> ${order.get(edge.to)} [label=${quoted(edge.label)}${style}];`);
  }
  return `${[...lines, "}"].join("\n")}\n`;
}
