// Values on the graph: in each node the value that it has at this step, on the edges into the current
// node what it reads, moving there from where it was made.
import { s } from "../shared/dom.js";
import { localRule } from "../shared/backward.js";
import { drawGlyph, glyphOf, roomFor } from "../shared/glyph.js";
import { isLiteral, lastPart } from "../shared/graph.js";
import { textWidth } from "../shared/measure.js";
import { brief } from "../shared/values.js";

const MOST_ROUNDS = 60; // of a loop, of which room is made for the largest
const TRAVEL_MS = 450;
const RULE = 15; // the height of a line with a local rule
const TOKEN = { width: 74, height: 26 }; // the most that a value on an edge takes
const PASSING = new Set(["Switch", "RefSwitch", "NextIteration", "LoopCond", "Enter"]); // they do not run by themselves inside of loops

const calm = () => typeof matchMedia !== "undefined" && matchMedia("(prefers-reduced-motion: reduce)").matches;

export class Flow {
  /** options: replays(): all runs; replay(): the one shown. */
  constructor(graph, options) {
    Object.assign(this, { graph, ...options });
    this.rooms = new Map();
    this.shown = new Map(); // item id -> what its glyph was made from
  }

  /** A run was added: the room that a node needs may have grown. True if it has. */
  grow(replay) {
    const before = this.rooms;
    this.rooms = new Map();
    return [...before].some(([index, old]) => {
      if (!replay.positions.has(index) && !replay.run.feed_values?.[index]) return false;
      const now = this.roomOf(index);
      return (now?.width ?? 0) > (old?.width ?? 0) || (now?.height ?? 0) > (old?.height ?? 0);
    });
  }

  /** The room in an item for the picture of its value, over all steps of all runs; null for none. */
  room(item) {
    if (item.group || item.index === undefined) return null;
    const { index } = item;
    if (!this.rooms.has(index)) this.rooms.set(index, this.roomOf(index));
    return this.rooms.get(index);
  }

  roomOf(index) {
    if (this.isWritten(index)) return null;
    const glyphs = [];
    let rule = "";
    for (const replay of this.replays()) {
      const rounds = replay.positions.get(index) ?? [];
      for (const k of [...rounds.slice(0, MOST_ROUNDS), ...rounds.slice(-1)]) glyphs.push(glyphOf(main(replay.steps[k].out)));
      if (!rounds.length) glyphs.push(glyphOf(main(replay.run.feed_values?.[index])));
      if (rounds.length) rule ||= this.rule(replay, index, replay.steps.length);
    }
    const room = roomFor(glyphs);
    if (!room || !rule) return room;
    return { width: Math.max(room.width, Math.ceil(textWidth(`${rule}00`, "small"))), height: room.height + RULE };
  }

  /** Whether a constant says its value anyway. */
  isWritten(index) {
    const { op, value } = this.graph.nodes[index];
    return op === "Const" && value !== undefined && (isLiteral(this.graph, index) || (/^[^…]{1,28}$/.test(value) && !/^(\[\[|[a-z]+\d*\[)/.test(value)));
  }

  rule(replay, index, at) {
    const was = replay.at;
    replay.at = at;
    const text = localRule(this.graph, index, (op) => replay.valueOf(op));
    replay.at = was;
    return text;
  }

  /** The value on an output, seen through what does not run by itself. */
  valueAt(index, slot, depth = 0) {
    const value = this.replay().valueOf(index);
    if (value) return value[slot] ?? null;
    const edge = PASSING.has(this.graph.nodes[index]?.op) && depth < 4 ? this.graph.inputs[index][0] : null;
    return edge && edge.slot >= 0 ? this.valueAt(edge.from, edge.slot, depth + 1) : null;
  }

  /** `state`: of the replay; `dead`: ops and outputs; `forward`: whether one step was made, over `ms` at most. */
  paint(pane, state, dead, forward, ms) {
    if (pane.drawing !== this.drawing) {
      this.drawing = pane.drawing;
      this.shown.clear();
    }
    if (!pane.drawing) return;
    const replay = this.replay();
    for (const item of pane.visible.items) {
      if (item.group || item.index === undefined) continue;
      const { index } = item;
      const element = pane.drawing.elements.get(item.id);
      const outputs = dead.ops.has(index) ? null : replay.valueOf(index);
      const summary = main(outputs);
      this.say(element, index, summary, state, dead);
      const place = element?.querySelector(".df-value-at");
      if (!place) continue;
      const rule = outputs && replay.positions.has(index) ? this.rule(replay, index, replay.at) : "";
      const known = this.shown.get(item.id);
      if (known && known.summary === summary && known.rule === rule) continue;
      this.shown.set(item.id, { summary, rule });
      const glyph = glyphOf(summary);
      place.replaceChildren();
      if (!glyph) continue;
      const drawn = drawGlyph(glyph);
      if (forward && state.current === index) drawn.classList.add("df-arriving");
      place.append(drawn);
      if (rule) place.append(s("text", { class: "df-glyph-small df-local-rule", x: 0, y: glyph.height + 12, "text-anchor": "middle" }, rule));
    }
    for (const edge of pane.visible.edges) {
      const isDead = [...edge.tensors.keys()].every((name) => {
        const [, op, slot] = /^\^?(.*?)(?::(\d+))?$/.exec(name);
        const index = this.graph.indexOf.get(op);
        return dead.ops.has(index) || dead.outputs.has(`${index}:${slot}`);
      });
      const element = pane.drawing.edgeElements.get(edge.id);
      element?.classList.toggle("df-dead-edge", isDead);
      element?.classList.toggle("df-on-wire", [...this.wiresOf(pane, edge, state)].length > 0);
    }
    this.move(pane, state, forward, ms);
  }

  /** Whether a Merge took its value from that input in this round; any other op reads all of its own. */
  isTaken(current, from, slot) {
    const node = this.graph.nodes[current];
    if (!/^(Ref)?Merge$/.test(node.op)) return true;
    const taken = this.replay().valueOf(current)?.[1]?.data?.[0];
    const edges = this.graph.inputs[current].filter((edge) => edge.slot >= 0);
    if (typeof taken === "number") return edges[taken]?.from === from && edges[taken].slot === slot;
    const scope = node.name.slice(0, Math.max(0, node.name.lastIndexOf("/")));
    const loop = this.replay().loops(this.graph).get(scope);
    return !loop || (this.graph.nodes[from].op === "NextIteration") === (loop.at > 1 || loop.over);
  }

  say(element, index, summary, state, dead) {
    if (!element) return;
    const what = dead.ops.has(index) ? "dead: its branch is not taken" : !summary ? "" : `value ${brief(summary)}, ${state.alive.has(index) ? "alive" : "freed"}`;
    if (what) element.setAttribute("aria-label", `${element.getAttribute("aria-label")}, ${what}`);
  }

  /** What is on the wire along an edge: the _Sends whose values are. */
  *wiresOf(pane, edge, { wire }) {
    const { holder } = pane.visible;
    for (const { from, to } of wire) if (holder[from] === edge.from && holder[to] === edge.to) yield from;
  }

  /** Puts what the current node reads on the edges into it, after a step forward it comes along them; and
   * on the edge of a message what is on the wire. */
  move(pane, state, forward, ms) {
    const { current } = state;
    cancelAnimationFrame(this.frame ?? 0);
    this.layer?.remove();
    for (const element of this.hushed ?? []) element.classList.remove("df-hushed");
    this.hushed = [];
    if (current === null) return;
    const target = pane.visible.holder[current];
    const reads = new Map();
    for (const { from, slot } of this.graph.inputs[current]) {
      const id = pane.visible.holder[from];
      if (!this.isTaken(current, from, slot)) continue;
      const summary = slot < 0 || !id || id === target ? null : this.valueAt(from, slot);
      const glyph = summary && smaller(glyphOf(summary));
      if (glyph) reads.set(id, [...(reads.get(id) ?? []), glyph]);
    }
    this.layer = s("g", { class: "df-tokens", "aria-hidden": "true" });
    pane.drawing.root.append(this.layer);
    const put = ({ element, k }, { x, y }) => element.setAttribute("transform", `translate(${x.toFixed(1)},${y.toFixed(1)})${k < 1 ? ` scale(${k.toFixed(3)})` : ""}`);
    const moving = [];
    const taken = [...pane.layout.nodes.values()].map(({ x, y, width, height }) => [x - width / 2, y - height / 2, x + width / 2, y + height / 2]);
    for (const { path, x, y } of pane.layout.clusters) taken.push([x, y, x + 26 + textWidth(lastPart(path)), y + 20]);
    for (const [id, element] of pane.drawing.elements) {
      const tag = element.querySelector(".df-tag");
      const [at, right] = [pane.layout.nodes.get(id), Number(tag.getAttribute("x"))];
      if (tag.textContent) taken.push([right - textWidth(tag.textContent, "small") * 1.1, at.y + at.height / 2, right, at.y + at.height / 2 + 15]);
    }
    for (const edge of pane.visible.edges) {
      const element = edge.control ? null : pane.drawing.edgeElements.get(edge.id);
      const wired = [...this.wiresOf(pane, edge, state)].map((from) => smaller(glyphOf(this.valueAt(from, 0)))).filter(Boolean);
      const list = element && (edge.to === target ? reads.get(edge.from) : wired);
      if (!list?.length) continue;
      const glyph = list.length > 1 ? list.shift() : list[0]; // `left + left` has an edge for each
      const line = element.querySelector(".df-line");
      const length = line.getTotalLength?.() ?? 0;
      if (!length) continue;
      const token = tokenOf(glyph);
      const rest = resting(line, length, token, taken);
      taken.push(rest.box);
      this.layer.append(token.element);
      element.classList.add("df-hushed");
      this.hushed.push(element);
      // What was put on the wire in an earlier step stays there.
      const isNew = edge.to === target || [...this.wiresOf(pane, edge, state)].includes(current);
      if (isNew) moving.push({ ...token, line, length, rest });
      else put({ element: token.element, k: token.k }, rest.point);
    }
    const still = !forward || calm() || pane.element.classList.contains("df-still");
    if (still) return void moving.forEach((one) => put(one, one.rest.point));
    // All the way into the node; then the value stays on its edge to be read.
    const length = Math.min(TRAVEL_MS, ms * 0.8);
    const begun = performance.now();
    const step = (now) => {
      const t = Math.min(1, Math.max(0, (now - begun) / length));
      for (const one of moving) put(one, t < 1 ? one.line.getPointAtLength(one.length * t * t * (3 - 2 * t)) : one.rest.point);
      if (t < 1) this.frame = requestAnimationFrame(step);
    };
    step(begun);
  }

  dispose() {
    cancelAnimationFrame(this.frame ?? 0);
  }
}

/** The output that a node shows: its first with a value. */
const main = (outputs) => outputs?.find(Boolean) ?? null;

function smaller(glyph) {
  if (glyph?.kind === "numbers") {
    // Small writing would be too small to read: such values travel as colors.
    const { rows, columns } = glyph;
    return { ...glyph, kind: "heat", k: 1, width: Math.min(TOKEN.width, columns * 14), height: rows === 1 ? 14 : Math.min(TOKEN.height, rows * 10) };
  }
  return glyph && { ...glyph, k: Math.min(1, TOKEN.width / glyph.width, glyph.kind === "number" ? 1 : TOKEN.height / glyph.height) };
}

/** A value on an edge: its glyph on a card, with the card's middle at (0, 0). */
function tokenOf(glyph) {
  const drawn = drawGlyph(glyph);
  drawn.setAttribute("transform", `translate(0,${(-glyph.height / 2).toFixed(1)})`);
  const [width, height] = [glyph.width + 6, glyph.height + 4];
  const element = s("g", { class: "df-token" }, s("rect", { x: -width / 2, y: -height / 2, width, height, rx: 5 }), drawn);
  return { element, k: glyph.k, width: width * glyph.k, height: height * glyph.k };
}

/** The place on a line nearest to its middle where a token covers no node and no other token. */
function resting(line, length, { width, height }, taken) {
  const places = [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18].map((t) => {
    const point = line.getPointAtLength(length * t);
    const box = [point.x - width / 2, point.y - height / 2, point.x + width / 2, point.y + height / 2];
    const covered = taken.reduce((sum, other) => sum + Math.max(0, Math.min(box[2], other[2]) - Math.max(box[0], other[0])) * Math.max(0, Math.min(box[3], other[3]) - Math.max(box[1], other[1])), 0);
    return { point, box, covered };
  });
  return places.reduce((best, one) => (one.covered < best.covered - 1 ? one : best));
}
