// The local rule that a node of a backward pass applies, with the numbers of a run in:
// ∂a/∂d = e = 3. Pure: tested under node.
import { forwardOf } from "./explain.js";
import { isLiteral, kindOf, lastPart, parseInput } from "./graph.js";
import { short } from "./glyph.js";

const square = (x) => x * x;
const one = [() => "1", () => 1];

// ∂y/∂x of each input, as [how it is written, from names x (all inputs) and y; its number].
const LOCAL = {
  Add: [one, one],
  AddV2: [one, one],
  BiasAdd: [one, one],
  Sub: [one, [() => "−1", () => -1]],
  Neg: [[() => "−1", () => -1]],
  Mul: [[(x) => x[1], (x) => x[1]], [(x) => x[0], (x) => x[0]]],
  RealDiv: [[(x) => `1/${x[1]}`, (x) => 1 / x[1]], [(x) => `−${x[0]}/${x[1]}²`, (x) => -x[0] / square(x[1])]],
  Square: [[(x) => `2·${x[0]}`, (x) => 2 * x[0]]],
  Sqrt: [[(x, y) => `1/(2·${y})`, (x, y) => 0.5 / y]],
  Exp: [[(x, y) => y, (x, y) => y]],
  Log: [[(x) => `1/${x[0]}`, (x) => 1 / x[0]]],
  Sigmoid: [[(x, y) => `${y}·(1 − ${y})`, (x, y) => y * (1 - y)]],
  Tanh: [[(x, y) => `1 − ${y}²`, (x, y) => 1 - y * y]],
  Relu: [[(x) => `[${x[0]} > 0]`, (x) => (x[0] > 0 ? 1 : 0)]],
  Sin: [[(x) => `cos ${x[0]}`, (x) => Math.cos(x[0])]],
  Cos: [[(x) => `−sin ${x[0]}`, (x) => -Math.sin(x[0])]],
  Pow: [[(x) => `${x[1]}·${x[0]}^(${x[1]}−1)`, (x) => x[1] * x[0] ** (x[1] - 1)], [(x, y) => `${y}·ln ${x[0]}`, (x, y) => y * Math.log(x[0])]],
  Sum: [one],
  Identity: [one],
  Reshape: [one],
};
LOCAL.Div = LOCAL.RealDiv;

const scopeOf = (name) => /^(.*gradients(?:_\d+)?\/.+?_grad)(?:\/|$)/.exec(name)?.[1] ?? null;
const isFloat = (node, slot) => /^(float|bfloat|double|complex|half)/.test(node.outputs?.[slot]?.dtype ?? "");

/** Which input of forward op `forward` the gradient node `index` is the gradient of; null: not its last node, or not known. */
export function inputOf(model, index, forward) {
  const scope = scopeOf(model.nodes[index].name);
  const inside = (other) => scopeOf(model.nodes[other].name) === scope;
  const isLast = (other) => !model.consumers[other].some(({ to }) => inside(to));
  if (!isLast(index)) return null;
  const inputs = model.inputs[forward].map(({ from, slot }, at) => ({ from, slot, at })).filter(({ from, slot }) => slot >= 0 && isFloat(model.nodes[from], slot));
  if (inputs.length < 2) return inputs[0]?.at ?? null;
  const { op } = model.nodes[forward];
  const reads = new Set(model.inputs[index].map((edge) => edge.from));
  if (op === "Mul" && inputs[0].from !== inputs[1].from && reads.has(inputs[0].from) !== reads.has(inputs[1].from)) return reads.has(inputs[1].from) ? 0 : 1;
  if (op === "Sub" && model.nodes[index].op === "Neg") return 1;
  const last = model.nodes.map((_, i) => i).filter((i) => inside(i) && isLast(i) && kindOf(model.nodes[i]) !== "const" && isFloat(model.nodes[i], 0));
  if (last.length === inputs.length) return inputs[last.indexOf(index)]?.at ?? null;
  const shape = model.nodes[index].outputs?.[0]?.shape;
  const same = inputs.filter(({ from, slot }) => model.nodes[from].outputs[slot].shape === shape);
  return same.length === 1 ? same[0].at : null;
}

/** A tensor as a formula calls it: a variable by its own name, a literal by its value. */
function called(model, index) {
  const node = model.nodes[index];
  if (isLiteral(model, index) && /^-?[\d.]+(e[+-]?\d+)?$/.test(node.value)) return short(Number(node.value));
  if (node.op === "Identity" && lastPart(node.name) === "read" && model.inputs[index].length) return called(model, model.inputs[index][0].from);
  return lastPart(node.name);
}

/**
 * "∂a/∂d = e = 3" for the last node of a gradient, "" where no rule is known. `valueOf(op)` gives
 * the summaries of an op's outputs; without scalars the rule has no number.
 */
export function localRule(model, index, valueOf) {
  const forward = forwardOf(model, index);
  if (forward === null) return "";
  const at = inputOf(model, index, forward);
  if (at === null) return "";
  const node = model.nodes[forward];
  const edges = node.inputs.map(parseInput).map(([name, slot]) => ({ from: model.indexOf.get(name), slot }));
  const names = edges.map(({ from }) => (from === undefined ? "?" : called(model, from)));
  const y = lastPart(node.name);
  if (node.op === "MatMul") {
    if (node.attrs?.transpose_a === "True" || node.attrs?.transpose_b === "True") return "";
    return at === 0 ? `d${names[0]} = d${y}·${names[1]}ᵀ` : `d${names[1]} = ${names[0]}ᵀ·d${y}`;
  }
  const left = `∂${y}/∂${names[at]}`;
  if (node.op === "Mean") {
    const [all, mean] = [valueOf(edges[0].from)?.[edges[0].slot], valueOf(forward)?.[0]];
    return all && mean ? `${left} = 1/${all.size / Math.max(1, mean.size)}` : "";
  }
  const rule = LOCAL[node.op]?.[at];
  if (!rule) return "";
  const numberOf = (from, slot) => {
    const summary = valueOf(from)?.[slot];
    if (summary?.kind !== "scalar") return null;
    return typeof summary.data[0] === "string" ? { nan: NaN, inf: Infinity, "-inf": -Infinity }[summary.data[0]] ?? null : summary.data[0];
  };
  const text = rule[0](names, y);
  const numbers = edges.map(({ from, slot }) => numberOf(from, slot));
  const own = numberOf(forward, 0);
  // A rule of numbers only needs those that it reads: 1 needs none.
  const value = numbers.every((x) => x !== null) && own !== null ? rule[1](numbers, own) : null;
  if (value === null || rule === one) return `${left} = ${text}`;
  const result = Number.isNaN(value) ? "NaN" : Number.isFinite(value) ? short(Number(value.toPrecision(6))) : value > 0 ? "∞" : "−∞";
  return text.replace("−", "-") === result ? `${left} = ${text}` : `${left} = ${text} = ${result.replace(/^-/, "−")}`;
}
