// Which scopes of a graph are open at first, and in which direction it is drawn, so that all of it can
// be read at the pane's own size. Pure: tested under node. The sizes are estimates; what Graphviz then
// makes of it is looked at by the pane, which closes what was opened last if it is too much.
import { face } from "./measure.js";
import { components, inRows } from "./packing.js";
import { pieces } from "./rows.js";

export const LEGIBLE = 0.96; // the smallest scale at which the smallest text keeps 11 px
const SMALL = 30; // so many items are shown open even if that means scrolling, where there is no choice of direction
const AROUND = 0.8; // a scope with so much of the graph is opened even if that means scrolling a little
const NEARLY = 0.7; // of the drawing, by length, is in sight then
const MOSTLY = 0.8; // with so much of a drawing in sight no other is made
const MOST_ITEMS = 200; // more than this is never opened, however large the pane is
const GAP = { across: 22, along: 28, label: 16 };
const MARGIN = { side: 24, head: 34 }; // what the frame of an open scope takes
const MOST_TRIALS = 60;

/** The layer of each item by longest path; what a loop leaves over comes after everything it can. */
export function ranks(visible) {
  const next = new Map(visible.items.map((item) => [item.id, []]));
  const before = new Map(visible.items.map((item) => [item.id, []]));
  for (const edge of visible.edges) {
    next.get(edge.from).push(edge.to);
    before.get(edge.to).push(edge.from);
  }
  const waiting = new Map([...before].map(([id, list]) => [id, list.length]));
  const rank = new Map();
  const ready = [...waiting].filter(([, count]) => count === 0).map(([id]) => id);
  const rest = new Set(waiting.keys());
  for (let i = 0; rest.size; i++) {
    if (i >= ready.length) ready.push(rest.values().next().value);
    const id = ready[i];
    if (!rest.delete(id)) continue;
    rank.set(id, Math.max(0, ...before.get(id).map((other) => (rank.has(other) ? rank.get(other) + 1 : 0))));
    for (const other of next.get(id)) {
      waiting.set(other, waiting.get(other) - 1);
      if (waiting.get(other) <= 0 && rest.has(other)) ready.push(other);
    }
  }
  return { rank, before, next };
}

/** About how large a drawing will be, in px, with parts in rows of `width`. */
export function estimate(visible, model, direction, width) {
  const sizes = components(visible).map((part) => {
    const rows = direction === "rows" ? pieces(part, model, width) : null;
    if (!rows) return sizeOf(part, model, direction);
    const each = rows.map((row) => sizeOf(row, model, direction));
    return { width: Math.max(...each.map((one) => one.width)) + 52, height: each.reduce((sum, one) => sum + one.height - GAP.across + 34, 0) };
  });
  const { width: w, height } = inRows(sizes.map((size) => ({ ...size, nodes: new Map(), edges: [], clusters: [] })), width);
  return { width: w, height };
}

function sizeOf(visible, model, direction) {
  const { rank } = ranks(visible);
  const across = [];
  const along = [];
  const frames = [];
  const flat = direction === "right" || direction === "rows";
  for (const item of visible.items) {
    const { width, height } = face(item, model);
    const at = rank.get(item.id);
    across[at] = (across[at] ?? 0) + (flat ? height : width) + GAP.across;
    along[at] = Math.max(along[at] ?? 0, flat ? width : height);
    (frames[at] ??= new Set()).add(item.cluster);
  }
  let labels = 0;
  const labeled = new Set();
  for (const edge of visible.edges) {
    const [a, b] = [rank.get(edge.from), rank.get(edge.to)];
    for (let at = a + 1; at < b; at++) across[at] = (across[at] ?? 0) + 12;
    if (edge.label && !labeled.has(a)) {
      labeled.add(a);
      labels += flat ? 50 : GAP.label;
    }
  }
  let depth = 0;
  for (const { path } of visible.clusters) depth = Math.max(depth, path.split("/").length);
  const wide = Math.max(0, ...across.map((size, at) => (size ?? 0) + ([...(frames[at] ?? [])].filter(Boolean).length) * MARGIN.side));
  const long = along.reduce((sum, size) => sum + (size ?? 0) + GAP.along, 0) + labels + depth * MARGIN.head;
  return flat ? { width: long, height: wide + depth * MARGIN.head } : { width: wide, height: long };
}

/** `current`, or the direction in which more of the drawing can be seen: by a third at least, and where not all can. */
export function betterDirection(visible, model, room, directions, current) {
  const scaleOf = (direction) => {
    const size = estimate(visible, model, direction, room.width);
    return Math.min(1, room.width / size.width) * Math.min(1, room.height / size.height);
  };
  const now = scaleOf(current);
  if (now >= 0.9) return current;
  const scales = directions.map(scaleOf);
  const most = Math.max(...scales);
  return most > 1.33 * now ? directions[scales.indexOf(most)] : current;
}

/** How much of a drawing is in sight. What is hidden at the side counts more: a page is scrolled down, not to the side. */
const inSight = ({ width, height }, room) => Math.min(1, room.width / (width * LEGIBLE)) ** 2 * Math.min(1, room.height / (height * LEGIBLE));

/**
 * The drawing that shows most, and its direction: the `first`, in `direction`, was chosen by an estimate. Where much of it
 * is out of sight, `draw(direction)` makes those in the other `directions`; one of them must show a quarter more.
 */
export async function bestDrawn(first, direction, directions, room, draw) {
  let best = { result: first, direction, seen: inSight(first, room) };
  if (best.seen >= MOSTLY) return best;
  best.seen *= 1.25;
  for (const other of directions.filter((one) => one !== direction)) {
    const result = await draw(other);
    const seen = inSight(result, room);
    if (seen > best.seen) best = { result, direction: other, seen };
  }
  return best;
}

/** The ids on one longest path of the drawing. */
export function mainPath(visible) {
  const { rank, before } = ranks(visible);
  let at = null;
  for (const [id, depth] of rank) if (at === null || depth > rank.get(at)) at = id;
  const path = new Set();
  while (at && !path.has(at)) {
    path.add(at);
    at = before.get(at).find((other) => rank.get(other) === rank.get(at) - 1) ?? null;
  }
  return path;
}

/**
 * Opens as much as can be read: everything if that fits, else scope by scope, those on the longest path
 * first and the largest that fits among them, never those that `mayOpen` refuses, and those that `mustOpen` names
 * whether or not they fit. `see(open)` gives the visible graph, `room` the pane's
 * size, `directions` what may be chosen from. Returns {open, order: what was opened, last at the end,
 * direction, least: the scale below which what was opened last is to be closed again}.
 */
export function chooseOpen(model, { see, room, directions, mayOpen = () => true, mustOpen = () => false }) {
  const fits = (visible, direction) => {
    const size = estimate(visible, model, direction, room.width);
    return size.width * LEGIBLE <= room.width && size.height * LEGIBLE <= room.height;
  };
  const best = (visible) => directions.find((direction) => fits(visible, direction)) ?? null;
  const scopes = model.allScopes().filter(mayOpen);
  const plain = new Set(scopes.filter((path) => !model.isDetail(path)));
  const bestScale = (visible) => {
    const scale = directions.map((one) => {
      const size = estimate(visible, model, one, room.width);
      return Math.min(room.width / size.width, room.height / size.height);
    });
    const most = Math.max(...scale);
    return { direction: directions[scale.indexOf(most)], scale: most };
  };
  for (const open of plain.size < scopes.length ? [new Set(scopes), plain] : [plain]) {
    const visible = see(open);
    const direction = visible.items.length <= MOST_ITEMS ? best(visible) : null;
    if (visible.items.length <= SMALL && (direction || !directions.includes("rows"))) return { open, order: [], direction: direction ?? bestScale(visible).direction };
    if (direction) return { open, order: [...open].sort((a, b) => a.length - b.length), direction };
  }
  const open = new Set(scopes.filter(mustOpen));
  const order = [];
  const refused = new Set();
  const tooMuch = new Set(); // what stands in the scopes that did not fit: their like are not tried
  let least = LEGIBLE;
  let visible = see(open);
  let direction = best(visible);
  for (let trial = 0; trial < MOST_TRIALS && direction; trial++) {
    const path = mainPath(visible);
    const candidates = visible.items
      .filter((item) => item.group && item.path && !refused.has(item.path) && mayOpen(item.path) && !model.isDetail(item.path))
      .sort((a, b) => path.has(b.id) - path.has(a.id) || b.numDrawn - a.numDrawn);
    if (!candidates.length) break;
    const chosen = candidates[0].path;
    const inside = path.has(candidates[0].id) + candidates[0].members.slice(0, candidates[0].numDrawn).map((index) => model.nodes[index].op).join();
    if (tooMuch.has(inside)) {
      refused.add(chosen);
      trial -= 1; // nothing was tried
      continue;
    }
    const more = see(new Set([...open, chosen]));
    let fitting = more.items.length <= MOST_ITEMS ? best(more) : null;
    const whole = visible.items.reduce((sum, item) => sum + item.members.length, 0);
    if (!fitting && more.items.length <= SMALL && candidates[0].members.length > AROUND * whole) {
      const most = bestScale(more);
      if (most.scale >= NEARLY) [fitting, least] = [most.direction, NEARLY * LEGIBLE];
    }
    if (!fitting) {
      refused.add(chosen);
      tooMuch.add(inside);
      continue;
    }
    open.add(chosen);
    order.push(chosen);
    visible = more;
    direction = fitting;
  }
  return { open, order, direction: direction ?? bestScale(visible).direction, least };
}
