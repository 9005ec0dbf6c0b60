// Tensors as figures of convolutional networks draw them: boxes in perspective whose height, width and depth are
// those of the tensor, kernels as small boxes, dense layers as bars. All from the shapes that the graph states.
import { textWidth, titleOf } from "./measure.js";

const LAYERS = new Set(["Conv1D", "Conv2D", "Conv3D", "DepthwiseConv2dNative", "Conv2DBackpropInput", "MatMul", "MaxPool", "AvgPool", "MaxPool3D", "AvgPool3D"]);
const CONVOLUTION = /^(Conv\dD|DepthwiseConv2dNative|Conv2DBackpropInput)$/;
const VARIABLE = /^(Variable|VariableV2|VarHandleOp)$/;
const TALLEST = 80; // px of the largest height, width or bar
const DEEPEST = 60; // px of the most channels
const THICKEST = 3; // px of one channel
const LEAST = 4;
const SLANT = 0.42; // how much of its length a line into the picture has, across and up
const TEXT = 36; // px under the box
const WRAPPED = 0.8; // of the layers, in a scope that is always open

/** Whether there is anything to draw so. */
export const hasConvolutions = (model) => model.nodes.some((node) => !node.role && CONVOLUTION.test(node.op));

/** Whether a scope holds several layers; one layer is one box. */
export function holdsLayers(model, path) {
  let count = 0;
  for (const node of model.nodes) if (!node.role && LAYERS.has(node.op) && node.name.startsWith(`${path}/`) && ++count > 1) return true;
  return false;
}

/** Whether a scope stands around all that the graph computes, or nearly: as a box of its own it would say nothing. */
export function wrapsLayers(model, path) {
  let [inside, all] = [0, 0];
  for (const node of model.nodes) {
    if (node.role || !LAYERS.has(node.op)) continue;
    all += 1;
    if (node.name.startsWith(`${path}/`)) inside += 1;
  }
  return inside > 1 && inside >= WRAPPED * all;
}

/** "(?, 28, 28, 32)" -> [null, 28, 28, 32]; null where the rank is not known. */
export function dimensions(shape) {
  const match = /^\(([^)]*)\)$/.exec(shape ?? "");
  return match && match[1].split(",").map((part) => part.trim()).filter(Boolean).map((part) => (/^\d+$/.test(part) ? Number(part) : null));
}

/** Index and slot of the tensor that an item gives to others: the first that is read, else that of its last op. */
function resultOf(item, visible, model) {
  if (!item.group) return [item.index, 0];
  for (const edge of visible.edges) {
    if (edge.from !== item.id || edge.control) continue;
    const name = edge.tensors.keys().next().value;
    const at = name.lastIndexOf(":");
    return [model.indexOf.get(name.slice(0, at)), Number(name.slice(at + 1))];
  }
  return [Math.max(...item.members.slice(0, item.numDrawn)), 0];
}

function measured(item, visible, model) {
  if (item.group && item.members.slice(0, item.numDrawn).every((i) => VARIABLE.test(model.nodes[i].op))) return null;
  const [index, slot] = resultOf(item, visible, model);
  const node = model.nodes[index];
  const dims = dimensions(node?.outputs?.[slot]?.shape);
  if (!dims) return null;
  if (VARIABLE.test(node.op) || (!item.group && node.op === "Const")) {
    if (dims.length !== 4 || dims.includes(null)) return null;
    return { kind: "kernel", height: dims[0], width: dims[1], depth: dims[2], words: `${dims[0]} × ${dims[1]} × ${dims[2]}, ${dims[3]} of them` };
  }
  if (dims.length === 4) {
    const first = item.members.some((i) => String(model.nodes[i].attrs?.data_format ?? "").includes("NCHW"));
    const [height, width, depth] = first ? [dims[2], dims[3], dims[1]] : dims.slice(1);
    if (height === null || width === null || depth === null) return null;
    return { kind: "volume", height, width, depth, words: `${height} × ${width} × ${depth}`, window: kernelOf(item, model) };
  }
  if (dims.length === 2 && dims[1] !== null) return { kind: "bar", height: dims[1], words: String(dims[1]) };
  return null;
}

/** The kernel of the one convolution in a closed scope. */
function kernelOf(item, model) {
  const found = item.members.filter((i) => CONVOLUTION.test(model.nodes[i].op) && !model.nodes[i].role);
  if (found.length !== 1) return null;
  let at = model.inputs[found[0]].find((input) => input.slot >= 0 && input !== model.inputs[found[0]][0])?.from;
  const dims = at === undefined ? null : dimensions(model.nodes[at].outputs?.[0]?.shape);
  return dims?.length === 4 && !dims.includes(null) ? dims : null;
}

/** Gives the items of `visible` what is drawn of them: `item.volume`, with sizes in px. */
export function addVolumes(visible, model) {
  const found = visible.items.map((item) => [item, item.fold ? null : measured(item, visible, model)]).filter(([, volume]) => volume);
  const most = (kinds, name) => Math.max(1, ...found.filter(([, one]) => kinds.includes(one.kind)).map(([, one]) => one[name]));
  const plane = TALLEST / Math.max(most(["volume"], "height"), most(["volume"], "width"));
  const across = Math.min(THICKEST, DEEPEST / most(["volume"], "depth"));
  const bar = TALLEST / most(["bar"], "height");
  const shown = new Set(found.map(([item]) => item.id));
  for (const edge of visible.edges) if (shown.has(edge.from)) edge.label = ""; // the box says it
  const px = (value, k) => Math.max(LEAST, value * k);
  for (const [item, one] of found) {
    const { title } = titleOf(item, model);
    const box = one.kind === "bar" ? { front: 12, high: px(one.height, bar), back: 0 } : { front: px(one.depth, across), high: px(one.height, plane), back: px(one.width, plane) * SLANT };
    const window = one.window && { front: px(one.window[2], across) / 2, high: px(one.window[0], plane), back: px(one.window[1], plane) * SLANT, words: `${one.window[0]} × ${one.window[1]}` };
    const drawn = { width: box.front + box.back + (window ? window.front + window.back + 10 : 0), height: box.high + box.back };
    const words = window ? `${one.words}  (${window.words})` : one.words;
    const text = Math.max(textWidth(title), textWidth(words, "small"));
    item.volume = { ...one, box, window, words, title, width: Math.ceil(Math.max(drawn.width, text) + 8), height: Math.ceil(drawn.height + TEXT), drawn };
  }
}

/** The faces of a box whose left lower front corner is at (x, y), as [class, path]. */
export function faces({ front, high, back }, x, y) {
  const f = (n) => n.toFixed(1);
  const path = (...points) => `M${points.map(([px, py]) => `${f(px)},${f(py)}`).join("L")}Z`;
  const list = [["df-shape", path([x, y], [x + front, y], [x + front, y - high], [x, y - high])]];
  if (!back) return list;
  list.push(["df-shape df-top", path([x, y - high], [x + front, y - high], [x + front + back, y - high - back], [x + back, y - high - back])]);
  list.push(["df-shape df-end", path([x + front, y], [x + front + back, y - back], [x + front + back, y - high - back], [x + front, y - high])]);
  return list;
}
