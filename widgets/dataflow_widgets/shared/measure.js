// Text widths.  The page measures with a canvas; without one (node, worker) a table of average
// advances is close enough and errs on the wide side.
import { controlWords } from "./control.js";
import { plural } from "./dom.js";
import { isLiteral, kindOf, lastPart } from "./graph.js";

let context;
const FONT = '-apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
export const FONTS = { label: `600 13px ${FONT}`, small: `11.5px ${FONT}` };

function estimate(text, size) {
  let width = 0;
  for (const c of text) {
    if (/[\u1100-\uffff]|[\ud800-\udfff]/.test(c)) width += 1;
    else if (/[ilj.,:;|'!()[\]]/.test(c)) width += 0.32;
    else if (/[mwMW@]/.test(c)) width += 0.88;
    else if (/[A-Z]/.test(c)) width += 0.68;
    else width += 0.57;
  }
  return width * size;
}

export function textWidth(text, font = "label") {
  if (typeof document !== "undefined" && context === undefined) {
    context = document.createElement("canvas").getContext?.("2d") ?? null;
  }
  if (!context) return estimate(text, font === "label" ? 13 : 11.5);
  context.font = FONTS[font];
  return context.measureText(text).width;
}

export function shorten(text, limit) {
  const letters = [...text];
  if (letters.length <= limit) return text;
  const head = Math.ceil((limit - 1) * 0.6);
  return `${letters.slice(0, head).join("")}…${letters.slice(-(limit - 1 - head)).join("")}`;
}

export const NATURES = { loop: "while loop", cond: "two branches" };
/** The name of an open scope, and what it is where that is more than a scope. */
export const clusterTitle = (path, nature) => [lastPart(path), ...(nature ? [NATURES[nature]] : [])];

/** The lines written in an item, and the family it is drawn as. */
export function titleOf(item, model) {
  let title;
  let detail = "";
  let kind;
  if (item.fold) {
    title = `${item.fold.base} × ${item.fold.paths?.length ?? item.numDrawn}`;
    detail = item.fold.type;
    kind = "scope";
  } else if (item.group) {
    title = item.title ?? lastPart(item.path);
    detail = plural(item.numDrawn, "op");
    const nature = model.natureOf(item.path) || (item.members.slice(0, item.numDrawn).some((index) => model.nodes[index].op === "LoopCond") ? "loop" : "");
    if (nature) detail += `, ${NATURES[nature]}`;
    const owner = model.get(item.path);
    kind = owner && kindOf(owner) === "variable" ? "variable" : "scope";
  } else {
    const node = model.nodes[item.index];
    kind = kindOf(node);
    title = item.title ?? lastPart(item.scopeTitle ?? node.name);
    if (kind === "const" && node.value) detail = node.value;
    else if (item.places) detail = `in ${item.places} places`;
    else if (title.replace(/_\d+$/, "") !== node.op) detail = node.op;
    else if (kind === "control") [detail] = controlWords(model, item.index);
  }
  return { title: shorten(title, 28), detail: shorten(detail, 30), kind };
}

/** The one or two lines written in an item, its size in px, and the family it is drawn as. */
export function face(item, model) {
  if (!item.fold && !item.group && isLiteral(model, item.index)) {
    const value = shorten(model.nodes[item.index].value, 24);
    return { title: "", detail: value, kind: "literal", width: Math.max(24, Math.ceil(textWidth(value, "small") + 16)), height: 22 };
  }
  const { title, detail, kind } = titleOf(item, model);
  if (item.volume) return { title, detail: item.volume.words, kind, volume: item.volume, width: item.volume.width, height: item.volume.height };
  const inner = Math.max(textWidth(title), detail ? textWidth(detail, "small") : 0);
  const pad = item.group ? 34 : kind === "op" || kind === "gradient" ? 20 : 26;
  const size = { width: Math.max(44, Math.ceil(inner + pad)), height: detail ? 40 : 30 };
  const { room } = item; // for a picture of the value, under the text
  if (!room) return { title, detail, kind, ...size };
  return { title, detail, kind, room, width: Math.max(size.width, room.width + 18), height: size.height + room.height + 2 };
}
