// One drawing of a graph turns into another: what is in both moves to its new place, what is gone
// fades, what is new appears.  What a drawing says is never a matter of this: it ends as it was drawn.
import { s } from "./dom.js";

export const MORPH_MS = 600;
const NAME = "df-morph";
const MOST_MOVED = 300; // more than that is no motion that anybody could follow

/** What is seen in a pane now; stays valid when the pane draws something else. */
export function seenIn(pane) {
  const { drawing, layout, visible, model } = pane;
  return drawing ? { drawing, layout, visible, model } : null;
}

/** Items by what they are in any drawing: a node by its name, a scope by its path. */
function byName({ visible, model, layout }) {
  const items = new Map();
  for (const item of visible.items) {
    const at = layout.nodes.get(item.id);
    if (at) items.set(item.group ? item.id : model.nodes[item.index].name, { item, at });
  }
  return items;
}

function edgeNames({ visible, model, drawing }, items) {
  const nameOf = new Map([...items].map(([name, { item }]) => [item.id, name]));
  const names = new Map();
  for (const edge of visible.edges) {
    const element = drawing.edgeElements.get(edge.id);
    if (element) names.set(`${nameOf.get(edge.from)} ${nameOf.get(edge.to)} ${element.querySelector(".df-line")?.getAttribute("d")}`, element);
  }
  return names;
}

function animate(element, frames, timing) {
  const animation = element.animate(frames, { duration: MORPH_MS, easing: "ease-in-out", fill: "backwards", ...timing });
  animation.id = NAME;
  return animation;
}

/** A picture of an element that is gone, which nobody can meet with pointer, keyboard or screen reader. */
function ghost(element) {
  const copy = element.cloneNode(true);
  for (const one of [copy, ...copy.querySelectorAll("[tabindex]")]) one.removeAttribute("tabindex");
  copy.classList.remove("df-node", "df-edge");
  return copy;
}

/** Turns what `pane` shows out of `before` (of `seenIn`), unless the reader wants no motion. */
export function morph(pane, before) {
  const now = seenIn(pane);
  if (!before || !now || before.drawing === now.drawing || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  if (Math.max(before.visible.items.length, now.visible.items.length) > MOST_MOVED) return;
  const { root } = now.drawing;
  // Both are drawn in the middle of their panes, from the top on.
  const shift = (now.layout.width - before.layout.width) / 2;
  const [old, fresh] = [byName(before), byName(now)];
  const ghosts = s("g", { class: "df-ghosts", "aria-hidden": "true" });
  const leave = (element) => {
    const copy = ghost(element);
    ghosts.append(copy);
    animate(copy, [{ opacity: 1 }, { opacity: 0 }], { duration: MORPH_MS / 2, fill: "both" });
  };
  const appear = (element) => animate(element, [{ opacity: 0 }, { opacity: 1 }], { delay: MORPH_MS / 2, duration: MORPH_MS / 2 });
  for (const [name, { item, at }] of fresh) {
    const element = now.drawing.elements.get(item.id);
    const from = old.get(name)?.at;
    element.classList.remove("df-new");
    if (!from) appear(element);
    else animate(element, [{ transform: `translate(${from.x + shift - at.x}px, ${from.y - at.y}px)` }, { transform: "none" }]);
  }
  for (const [name, { item }] of old) if (!fresh.has(name)) leave(before.drawing.elements.get(item.id));
  const [lines, newLines] = [edgeNames(before, old), edgeNames(now, fresh)];
  for (const [name, element] of newLines) if (shift || !lines.has(name)) appear(element);
  for (const [name, element] of lines) if (shift || !newLines.has(name)) leave(element);
  for (const element of root.querySelectorAll(".df-cluster, .df-frame")) appear(element);
  ghosts.setAttribute("transform", `translate(${shift},0)`);
  root.querySelector(".df-ghosts")?.remove();
  root.prepend(ghosts);
  setTimeout(() => ghosts.remove(), MORPH_MS);
}

/** Ends a morph that is under way: what is saved or kept is the drawing. */
export function settle(root) {
  root.querySelector(".df-ghosts")?.remove();
  for (const animation of root.getAnimations?.({ subtree: true }) ?? []) if (animation.id === NAME) animation.finish();
}
