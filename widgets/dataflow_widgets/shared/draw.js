// A layout as SVG elements.  State (pruned, fetched, selected ...) is classes set later by mark();
// drawing never depends on it, so that a highlight never moves anything.
import { tensorLabel } from "./graph.js";
import { QUIET, plural, s, write } from "./dom.js";
import { NATURES, clusterTitle } from "./measure.js";
import { faces } from "./volumes.js";

/** A tensor as a box, with the kernel that made it before it. */
function solid({ box, window, drawn }, x, y) {
  const left = x - drawn.width / 2;
  const floor = y + drawn.height;
  const shift = window ? window.front + window.back + 10 : 0;
  const all = window ? faces(window, left, floor - (box.high - window.high) / 2 - box.back / 2).map(([name, d]) => [`${name} df-window`, d]) : [];
  all.push(...faces(box, left + shift, floor));
  return all.map(([name, d]) => s("path", { class: name, d }));
}

function outline(look, x, y) {
  const { width: w, height: h, kind } = look;
  if (look.volume) return solid(look.volume, x, y - h / 2);
  const box = (extra = {}) => s("rect", { class: "df-shape", x: x - w / 2, y: y - h / 2, width: w, height: h, rx: 6, ...extra });
  if (kind === "const" || kind === "literal") return [box({ rx: Math.min(h / 2, 20) })];
  if (kind === "placeholder") {
    const d = 8;
    return [
      s("path", {
        class: "df-shape",
        d: `M${x - w / 2 + d},${y - h / 2}H${x + w / 2}L${x + w / 2 - d},${y + h / 2}H${x - w / 2}Z`,
      }),
    ];
  }
  if (kind === "variable") {
    const [l, r, t, b, e] = [x - w / 2, x + w / 2, y - h / 2 + 4, y + h / 2 - 4, 4];
    return [
      s("path", { class: "df-shape", d: `M${l},${t}A${w / 2},${e} 0 0 1 ${r},${t}V${b}A${w / 2},${e} 0 0 1 ${l},${b}Z` }),
      s("path", { class: "df-rim", d: `M${l},${t}A${w / 2},${e} 0 0 0 ${r},${t}` }),
    ];
  }
  if (kind === "scope") {
    // The one behind is a part of its size: an arrow that comes from below or from the right ends there, not under it.
    const size = { width: w - 4, height: h - 4 };
    return [box({ x: x - w / 2 + 4, y: y - h / 2 + 4, class: "df-shape df-behind", ...size }), box(size)];
  }
  if (kind === "control") {
    return [s("path", { class: "df-shape", d: `M${x - w / 2},${y}L${x - w / 2 + 9},${y - h / 2}H${x + w / 2 - 9}L${x + w / 2},${y}L${x + w / 2 - 9},${y + h / 2}H${x - w / 2 + 9}Z` })];
  }
  return [box()];
}

/** What a screen reader says of an item, without its state. */
export function spoken(item, model) {
  if (item.fold?.paths) return `${item.fold.paths.length} equal scopes ${item.fold.paths[0]} to ${item.fold.paths.at(-1)}, folded, ${item.fold.type}`;
  if (item.fold) return `${item.numDrawn} operations of type ${item.fold.type} named ${item.fold.base}, folded`;
  if (item.group) return `scope ${item.path}, closed, ${plural(item.numDrawn, "operation")}`;
  const node = model.nodes[item.index];
  const outputs = (node.outputs ?? []).map((_, slot) => tensorLabel(node, slot)).join(", ");
  return `${node.op} ${node.name}${outputs ? `, ${outputs}` : ""}${node.value ? `, value ${node.value}` : ""}${item.places ? `, drawn in ${item.places} places` : ""}`;
}

/** What the title of an open scope is made of. */
export const titleParts = (path, nature) => clusterTitle(path, nature).map((text, i) => (i ? s("tspan", { class: "df-nature", dx: 6 }, text) : text));

export function draw(layout, visible, model, direction = "down") {
  const f = (n) => Number(n.toFixed(1));
  const root = s("svg", { class: "df-svg", viewBox: `-4 -12 ${f(layout.width + 12)} ${f(layout.height + 28)}`, role: "group", "aria-roledescription": "graph" });
  const clusterLayer = s("g", { class: "df-clusters" });
  const edgeLayer = s("g", { class: "df-edges" });
  const nodeLayer = s("g", { class: "df-nodes" });
  const elements = new Map();
  const edgeElements = new Map();
  const headLayer = s("g", { class: "df-heads" }); // above the edges: one that passes hides no title
  const clusterElements = new Map();
  for (const cluster of layout.clusters) {
    const nature = model.natureOf(cluster.path);
    const group = s(
      "g",
      { class: `df-cluster${nature ? ` df-${nature}` : ""}`, "data-scope": cluster.path, tabindex: -1, role: "group", "aria-label": `scope ${cluster.path}, open` + (nature ? `, ${NATURES[nature]}` : ""), ...QUIET },
      s("title", {}, `${cluster.path}: press to close`),
      s("text", { class: "df-cluster-label", x: f(cluster.x + 22), y: f(cluster.y + 15) }, ...titleParts(cluster.path, nature)),
      s("path", { class: "df-toggle", d: `M${f(cluster.x + 8)},${f(cluster.y + 11)}h8` }),
    );
    clusterElements.set(cluster.path, group);
    headLayer.append(group);
    const frame = s("rect", { x: f(cluster.x), y: f(cluster.y), width: f(cluster.width), height: f(cluster.height), rx: 8 });
    clusterLayer.append(s("g", { class: `df-frame${nature ? ` df-${nature}` : ""}`, "data-scope": cluster.path }, s("title", {}, `${cluster.path}: press twice to close`), frame));
  }
  const known = new Map(visible.edges.map((edge) => [edge.id, edge]));
  for (const line of layout.edges) {
    const edge = known.get(line.id);
    const group = s(
      "g",
      { class: `df-edge${edge.control ? " df-control-edge" : ""}${edge.shared ? " df-shared-edge" : ""}`, "data-edge": edge.id },
      s("title", {}, [...(edge.shared ? ["the same variables, shared:"] : []), ...[...edge.tensors].map(([name, label]) => `${name}  ${label}`.trim())].join("\n")),
      s("path", { class: "df-hit", d: line.path }),
      s("path", { class: "df-line", d: line.path }),
      line.arrow && s("path", { class: "df-arrow", d: line.arrow }),
      edge.label &&
        s("text", { class: "df-edge-label", x: f(line.label[0]), y: f(line.label[1] + 3), "text-anchor": "middle" }, edge.label),
    );
    edgeElements.set(edge.id, group);
    edgeLayer.append(group);
  }
  for (const item of visible.items) {
    const at = layout.nodes.get(item.id);
    if (!at) continue;
    const look = at;
    const middle = look.room ? at.y - look.room.height / 2 - 1 : at.y;
    const top = look.volume ? at.y + look.height / 2 - 18 : (look.detail ? middle - 2 : middle + 4) + (look.kind === "variable" ? 2 : 0);
    // Arrows end above a node, or left of it: the badge is where none can be.
    const below = direction !== "up";
    const group = s(
      "g",
      {
        class: `df-node df-kind-${look.kind}${at.hub ? " df-hub" : ""}`,
        "data-id": item.id,
        tabindex: -1,
        role: item.group ? "button" : "group",
        "aria-label": spoken(item, model),
        ...(item.group ? { "aria-expanded": "false" } : {}),
        ...QUIET,
      },
      s("title", {}, item.group ? item.path ?? item.fold.base : model.nodes[item.index].name),
      ...outline(look, at.x, at.y),
      look.title && s("text", { class: "df-title", x: f(at.x), y: f(top), "text-anchor": "middle" }, look.title),
      look.detail && s("text", { class: "df-detail", x: f(at.x), y: f(look.title ? top + 14 : middle + 4), "text-anchor": "middle" }, look.detail),
      look.room && s("g", { class: "df-value-at", transform: `translate(${f(at.x)},${f(at.y + look.height / 2 - look.room.height - 4)})` }),
      item.group && !look.volume && s("path", { class: "df-toggle", d: `M${f(at.x - look.width / 2 + 6)},${f(at.y)}h8m-4,-4v8` }),
      s("text", { class: "df-tag", x: f(at.x + look.width / 2 - 4), y: f(below ? at.y + look.height / 2 + 13 : at.y - look.height / 2 - 3), "text-anchor": "end" }),
    );
    elements.set(item.id, group);
    nodeLayer.append(group);
  }
  root.append(clusterLayer, edgeLayer, headLayer, nodeLayer);
  return { root, elements, edgeElements, clusterElements };
}

const STATES = ["fetched", "fed", "needed", "failed"];
const MOST_PRUNED_WORDS = 6;

/** Whether so much is pruned that the word at each node would hide the rest: dashes alone say it then. */
export const isCrowded = (states) => [...states.values()].filter((each) => each.includes("pruned")).length > MOST_PRUNED_WORDS;

/**
 * Classes of each item under `marks` = {fetched, fed, needed, failed}: sets of op indices (null: no
 * run yet).  A closed scope is what its members are; pruned only when all of them are.
 */
export function stateOf(item, marks) {
  if (!marks) return [];
  const states = STATES.filter((name) => item.members.some((i) => marks[name]?.has(i)));
  return states.length ? states : ["pruned"];
}

export function mark(drawing, visible, model, marks, tags = null) {
  const stateById = new Map(visible.items.filter((item) => drawing.elements.has(item.id)).map((item) => [item.id, stateOf(item, marks)]));
  const said = ["fetched", "fed", "failed", isCrowded(stateById) || "pruned"];
  for (const item of visible.items) {
    const element = drawing.elements.get(item.id);
    if (!element) continue;
    const states = stateById.get(item.id);
    for (const state of [...STATES, "pruned"]) element.classList.toggle(`df-${state}`, states.includes(state));
    const sides = marks?.first ? ["first", "second"].filter((side) => item.members.some((i) => marks[side].has(i))) : [];
    for (const side of ["first", "second"]) element.classList.toggle(`df-${side}`, sides.includes(side));
    const letters = sides.length === 2 ? "A and B" : sides[0] === "first" ? "only A" : sides[0] === "second" ? "only B" : "";
    const word = tags?.get(item.id) || letters || said.filter((state) => states.includes(state)).join(", ");
    write(element.querySelector(".df-tag"), word);
    element.setAttribute("aria-label", spoken(item, model) + (states.length ? `, ${states.join(", ")}` : "") + (letters ? `, needed by ${letters}` : "") + (tags?.has(item.id) ? `, ${tags.get(item.id)}` : ""));
  }
  for (const edge of visible.edges) {
    const element = drawing.edgeElements.get(edge.id);
    if (!element) continue;
    const to = stateById.get(edge.to) ?? [];
    const from = stateById.get(edge.from) ?? [];
    // Nothing flows into a fed op, nor into or out of a pruned one.
    const dead = to.includes("pruned") || from.includes("pruned") || (to.includes("fed") && !to.includes("needed"));
    element.classList.toggle("df-pruned", Boolean(marks) && dead);
    element.classList.toggle("df-needed", Boolean(marks) && !dead);
  }
  return stateById;
}
