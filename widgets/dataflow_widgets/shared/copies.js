// A weight that each step of an unrolled loop reads has an edge to every step: such edges bury a picture. In one of
// many nodes it is drawn again beside each of its readers, as the same variable. Pure: tested under node.
import { isLiteral, kindOf } from "./graph.js";

const MOST_ITEMS = 30; // in a smaller picture an edge to each reader can be followed
const MOST_READERS = 4;

/** The id of the item of which `id` is a copy; its own where it is none. */
export const wholeOf = (id) => id?.replace(/~\d+$/, "");

/**
 * Draws what has no inputs (variables, placeholders, constants) and more than a few readers again beside each
 * further reader. The first stays the item that `visible.holder` names; each item of several has `places`, their number.
 */
export function copyShared(visible, model) {
  if (visible.items.length <= MOST_ITEMS) return visible;
  const into = new Set(visible.edges.map((edge) => edge.to));
  const readers = new Map();
  for (const edge of visible.edges) {
    if (!readers.has(edge.from)) readers.set(edge.from, new Set());
    readers.get(edge.from).add(edge.to);
  }
  const isShared = (item) => !item.group && !into.has(item.id) && !isLiteral(model, item.index) && (readers.get(item.id)?.size ?? 0) > MOST_READERS;
  const shared = new Map(visible.items.filter(isShared).map((item) => [item.id, item]));
  if (!shared.size) return visible;
  const copies = [];
  const idFor = new Map(); // which copy a reader has
  for (const [id, item] of shared) {
    [...readers.get(id)].forEach((reader, i) => {
      const copy = i ? `${id}~${i}` : id;
      idFor.set(`${id}\u0000${reader}`, copy);
      if (i) copies.push({ ...item, id: copy, cluster: null, places: readers.get(id).size });
      else item.places = readers.get(id).size;
    });
  }
  const edges = visible.edges.map((edge) => (shared.has(edge.from) ? { ...edge, from: idFor.get(`${edge.from}\u0000${edge.to}`) } : edge));
  return { ...visible, items: [...visible.items, ...copies], edges };
}

const LEAST_STEPS = 4;

/**
 * Of the edges from one variable to all steps of an unrolled loop the first stands for all, and says so: the weights
 * of a step are those of every step.
 */
export function oneForAllSteps(visible, model) {
  const isStep = (id) => id.startsWith("s:") && model.scopes.get(id.slice(2))?.isStep;
  const variables = new Set(visible.items.filter((item) => !item.group && kindOf(model.nodes[item.index]) === "variable").map((item) => item.id));
  const toSteps = new Map();
  for (const edge of visible.edges) {
    if (edge.control || !variables.has(edge.from) || !isStep(edge.to)) continue;
    if (!toSteps.has(edge.from)) toSteps.set(edge.from, []);
    toSteps.get(edge.from).push(edge);
  }
  const left = new Set();
  const first = new Map();
  for (const edges of toSteps.values()) {
    if (edges.length < LEAST_STEPS) continue;
    first.set(edges[0], `all ${edges.length} steps`);
    for (const edge of edges.slice(1)) left.add(edge);
  }
  if (!left.size) return visible;
  return { ...visible, edges: visible.edges.filter((edge) => !left.has(edge)).map((edge) => (first.has(edge) ? { ...edge, label: first.get(edge) } : edge)) };
}
