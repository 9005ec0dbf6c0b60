// What stands side by side and does the same: the slices of one tensor that the steps of a network read, the assignments
// that copy one network into another. Pure: tested under node.
import { kindOf, lastPart } from "./graph.js";

const LEAST_ITEMS = 15; // all of a smaller picture can be seen

/**
 * Ops of one type and name that read the same items and are read by the same: index -> one folded item, as
 * `foldSeries` makes them. None in a small picture.
 */
export function foldAlike(model, visible, { atLeast = 4, unfolded = new Set() } = {}) {
  if (visible.items.length <= LEAST_ITEMS) return new Map();
  const around = new Map(visible.items.map((item) => [item.id, { before: new Set(), after: new Set() }]));
  for (const edge of visible.edges) {
    around.get(edge.from).after.add(edge.to);
    around.get(edge.to).before.add(edge.from);
  }
  const same = new Map();
  for (const item of visible.items) {
    if (item.group) continue;
    const { before, after } = around.get(item.id);
    const node = model.nodes[item.index];
    // A source, or a result: one of its own. Assignments that nothing waits for are a list that a program runs.
    if (!before.size || !(after.size || kindOf(node) === "state")) continue;
    const base = lastPart(node.name).replace(/_\d+$/, "");
    const key = JSON.stringify([item.cluster ?? "", node.op, base, [...before].sort(), [...after].sort()]);
    if (!same.has(key)) same.set(key, { key: `${item.cluster ?? ""}/${base}~${node.op}~${item.index}`, type: node.op, base, members: [] });
    same.get(key).members.push(item.index);
  }
  const folded = new Map();
  for (const one of same.values()) {
    if (one.members.length < atLeast || unfolded.has(one.key)) continue;
    for (const index of one.members) folded.set(index, one);
  }
  return folded;
}
