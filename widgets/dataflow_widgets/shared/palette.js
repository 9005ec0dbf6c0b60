// Fill colors by op type, device, time or memory, with the legend that says them in words.
import { bytes, seconds } from "./values.js";

export const HUES = ["#8ecae6", "#ffb703", "#95d5b2", "#f4a6a6", "#cdb4db", "#ffd6a5", "#a0c4ff", "#d4e09b", "#e5989b", "#b8c0ff", "#98f5e1", "#e9c46a"];
const SEVERAL = "#d0d0d0";

function warm(t) {
  const from = [255, 245, 220];
  const to = [240, 130, 80];
  return `rgb(${from.map((v, i) => Math.round(v + (to[i] - v) * Math.sqrt(t)))})`;
}

function byGroup(by, pane) {
  const { nodes } = pane.model;
  const name = (i) => (by === "type" ? nodes[i].op : nodes[i].device || "not pinned");
  const groups = new Map();
  for (const item of pane.visible.items) {
    // A variable is where it is kept, wherever its first value comes from.
    const keys = new Set((item.group ? item.members.slice(0, item.numDrawn) : [item.index]).map(name));
    const key = keys.size === 1 ? [...keys][0] : "several";
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(item.id);
  }
  const fills = new Map();
  const entries = [...groups]
    .sort((a, b) => b[1].length - a[1].length)
    .map(([key, ids], i) => {
      const color = key === "several" ? SEVERAL : i < HUES.length ? HUES[i] : `hsl(${(i * 67) % 360} 55% 78%)`;
      for (const id of ids) fills.set(id, color);
      return [`${key} (${ids.length})`, color];
    });
  return { fills, entries: entries.slice(0, 16), missing: "" };
}

/**
 * {fills: item id -> color or null, entries: [[words, color]], missing: what to do when there is
 * nothing to show}.  `profile` = {seconds: {op index: s}, bytes: {op index: n}}.
 */
const ITEM_BYTES = { bool: 1, int8: 1, uint8: 1, int16: 2, uint16: 2, float16: 2, bfloat16: 2, float64: 8, int64: 8, uint64: 8, complex64: 8, complex128: 16 };

/** Bytes of a label such as "float32 (784, 10)"; null where a dimension is not known. */
export function staticBytes(label) {
  const match = /^(\w+) \(([^)]*)\)$/.exec(label);
  if (!match) return null;
  const dims = match[2].split(",").map((part) => part.trim()).filter(Boolean);
  if (dims.some((dim) => !/^\d+$/.test(dim))) return null;
  return dims.reduce((product, dim) => product * Number(dim), ITEM_BYTES[match[1].replace("_ref", "")] ?? 4);
}

/** Edge id -> line width in px: one more for `per` doublings of the bytes that travel along it. */
export function edgeWidths(pane, profile, per = 9, most = 4) {
  const widths = new Map();
  const measured = profile?.bytes ?? {};
  for (const edge of pane.visible?.edges ?? []) {
    if (edge.control) continue;
    let total = 0;
    for (const [name, label] of edge.tensors) {
      const from = pane.model.indexOf.get(name.slice(0, name.lastIndexOf(":")));
      total += staticBytes(label) ?? measured[from] ?? 0;
    }
    widths.set(edge.id, total ? Math.min(most, 1 + Math.log2(total + 1) / per) : 1);
  }
  return widths;
}

/** How many of `of` learners marked each node, and which were right: {marked: {op index: n}, of, right: [op index]}. */
function byMarks(pane, { marked, of, right }) {
  const fills = new Map();
  const tags = new Map();
  const most = Math.max(of, 1);
  for (const item of pane.visible.items) {
    const count = Math.max(0, ...item.members.map((i) => marked[i] ?? 0)); // of a closed scope its most marked node
    fills.set(item.id, warm((count / most) ** 2)); // in proportion: warm() lifts what is small
    const isRight = item.members.some((i) => right.includes(i));
    if (count || isRight) tags.set(item.id, `${isRight ? "✓ " : ""}${count} of ${of}`);
  }
  const entries = [["marked by nobody", warm(0)], [`by all ${of}`, warm(1)]];
  return { fills, entries: right.length ? [...entries, ["✓ right", "none"]] : entries, missing: "", tags };
}

/** What a graph is colored by at first: by device where its program has put parts of it on several, else by kind. */
export function firstColoring(nodes) {
  const devices = new Set(nodes.map(({ device }) => device).filter(Boolean));
  return devices.size > 1 ? "device" : "kind";
}

export function coloring(by, pane, profile) {
  if (by === "kind" || !pane.visible) return { fills: null, entries: [], missing: "" };
  if (by === "marks") return byMarks(pane, profile);
  if (by === "type" || by === "device") return byGroup(by, pane);
  const measured = profile?.[by === "time" ? "seconds" : "bytes"];
  if (!measured || !Object.keys(measured).length) {
    return { fills: null, entries: [], missing: `Nothing measured yet: call view.profile(session, fetches, feed_dict) to color by ${by}.` };
  }
  const fills = new Map();
  const totals = pane.visible.items.map((item) => [item.id, item.members.reduce((sum, i) => sum + (measured[i] ?? 0), 0)]);
  const top = Math.max(...totals.map(([, value]) => value), 1e-12);
  for (const [id, value] of totals) if (value > 0) fills.set(id, warm(value / top));
  const say = by === "time" ? seconds : bytes;
  return { fills, entries: [["little", warm(0.02)], [`most: ${say(top)}`, warm(1)]], missing: "" };
}
