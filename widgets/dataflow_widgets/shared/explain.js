// Answers about a graph and a run, in words and as sets of ops.  Pure: tested under node.
import { plural } from "./dom.js";
import { parseInput } from "./graph.js";

/** Shortest chain of ops from `start` to one in `goals`, walking towards consumers inside `allowed`. */
export function pathTo(model, start, goals, allowed = null) {
  const from = new Map([[start, null]]);
  const queue = [start];
  for (let i = 0; i < queue.length; i++) {
    const at = queue[i];
    if (goals.has(at)) {
      const path = [];
      for (let step = at; step !== null; step = from.get(step)) path.unshift(step);
      return path;
    }
    for (const { to } of model.consumers[at]) {
      if (from.has(to) || (allowed && !allowed.has(to))) continue;
      from.set(to, at);
      queue.push(to);
    }
  }
  return null;
}

const list = (names, limit = 4) => {
  const shown = names.slice(0, limit).map((name) => `'${name}'`).join(", ");
  return names.length > limit ? `${shown} and ${names.length - limit} more` : shown;
};

/**
 * Why op `index` ran, or why it did not, under marks {fetched, fed, needed} (sets of indices).
 * Returns {text, path}: the ops to light up.
 */
export function why(model, index, marks) {
  const { name } = model.nodes[index];
  if (!marks) return { text: "Nothing has been run or highlighted yet.", path: [] };
  if (marks.fed.has(index) && !marks.needed.has(index)) {
    return { text: `'${name}' was fed: its value came from feed_dict, so the op itself did not run.`, path: [index] };
  }
  if (marks.fetched.has(index)) return { text: `'${name}' ran because it was fetched.`, path: [index] };
  if (marks.needed.has(index)) {
    const path = pathTo(model, index, marks.fetched, marks.needed) ?? [index];
    const last = model.nodes[path[path.length - 1]].name;
    const between = path.length - 2;
    const via = between > 0 ? `, through ${list(path.slice(1, -1).map((i) => model.nodes[i].name))}` : "";
    return { text: `'${name}' ran because '${last}' was fetched and needs it${via}.`, path };
  }
  const behindFeed = pathTo(model, index, marks.fed);
  if (behindFeed && pathTo(model, index, marks.fetched)) {
    const fed = model.nodes[behindFeed[behindFeed.length - 1]].name;
    return { text: `'${name}' did not run: the fetch needs it only through '${fed}', whose value was fed instead.`, path: behindFeed };
  }
  const below = model.descendants([index]);
  const ends = [...below].filter((i) => !model.consumers[i].length && i !== index).map((i) => model.nodes[i].name);
  const others = ends.length ? ` So would fetching ${list(ends)}.` : "";
  return { text: `'${name}' did not run: nothing that was fetched needs it. Fetching '${name}' itself would run it.${others}`, path: [...below] };
}

const GRADIENT = /^(?:.*\/)?gradients(?:_\d+)?\/(.+)_grad(?:\/|$)/;

/** For a gradient op the forward op it differentiates, else null. */
export function forwardOf(model, index) {
  const match = GRADIENT.exec(model.nodes[index].name);
  return match ? model.indexOf.get(match[1]) ?? null : null;
}

/** The gradient ops of a forward op (empty when there are none). */
export function gradientsOf(model, index) {
  const { name } = model.nodes[index];
  const found = [];
  model.nodes.forEach((node, i) => {
    const match = GRADIENT.exec(node.name);
    if (match && match[1] === name) found.push(i);
  });
  return found;
}

/** What the backward pass computes, for the ops learners meet first. */
export const FORMULAS = {
  Add: "z = x + y:  dx = dz,  dy = dz (summed over broadcast axes)",
  AddV2: "z = x + y:  dx = dz,  dy = dz (summed over broadcast axes)",
  Sub: "z = x − y:  dx = dz,  dy = −dz",
  Mul: "z = x·y:  dx = dz·y,  dy = dz·x",
  RealDiv: "z = x / y:  dx = dz / y,  dy = −dz·x / y²",
  Div: "z = x / y:  dx = dz / y,  dy = −dz·x / y²",
  MatMul: "C = A·B:  dA = dC·Bᵀ,  dB = Aᵀ·dC",
  Relu: "y = max(x, 0):  dx = dy where x > 0, else 0",
  Sigmoid: "y = σ(x):  dx = dy·y·(1 − y)",
  Tanh: "y = tanh x:  dx = dy·(1 − y²)",
  Exp: "y = eˣ:  dx = dy·y",
  Log: "y = ln x:  dx = dy / x",
  Square: "y = x²:  dx = dy·2x",
  Sqrt: "y = √x:  dx = dy / (2y)",
  Pow: "z = xʸ:  dx = dz·y·xʸ⁻¹,  dy = dz·z·ln x",
  Neg: "y = −x:  dx = −dy",
  Mean: "y = mean(x):  dx = dy / n, spread over the averaged axes",
  Sum: "y = sum(x):  dx = dy, spread over the summed axes",
  BiasAdd: "y = x + b:  dx = dy,  db = dy summed over all but the last axis",
  Softmax: "y = softmax(x):  dx = (dy − Σ dy·y)·y",
  SoftmaxCrossEntropyWithLogits: "dlogits = (softmax(logits) − labels)·dloss",
  SparseSoftmaxCrossEntropyWithLogits: "dlogits = (softmax(logits) − onehot(labels))·dloss",
  Identity: "y = x:  dx = dy",
  Reshape: "y = x in another shape:  dx = dy in x's shape",
};

/** Ops whose name or type matches; "type:MatMul" and "device:gpu" narrow it. */
export function search(model, text) {
  const query = text.trim().toLowerCase();
  if (!query) return [];
  const field = /^(type|device|name):(.*)$/.exec(query);
  const needle = field ? field[2].trim() : query;
  if (!needle) return [];
  const hits = [];
  model.nodes.forEach((node, index) => {
    const fields = { type: node.op, device: node.device ?? "", name: node.name };
    const places = field ? [fields[field[1]]] : [node.name, node.op];
    const rank = places.map((place) => place.toLowerCase()).map((place) => (place === needle ? 0 : place.startsWith(needle) ? 1 : place.includes(needle) ? 2 : 9));
    const best = Math.min(...rank);
    if (best < 9) hits.push({ index, best });
  });
  return hits.sort((a, b) => a.best - b.best || a.index - b.index).map((hit) => hit.index);
}

export function countWords(total, marks) {
  if (!marks) return plural(total, "operation");
  return `${plural(total, "operation")}: ${marks.fetched.size} fetched, ${marks.fed.size} fed, ${marks.needed.size} needed, ${total - new Set([...marks.needed, ...marks.fed, ...marks.fetched]).size} pruned`;
}

/** The same words where only dashes mark what is pruned. */
export function dashedWords(words) {
  const [, total, fetched, fed, needed, pruned, rest] = /^(.+): (\d+) fetched, (\d+) fed, (\d+) needed, (\d+) pruned(.*)$/.exec(words) ?? [];
  return total ? `${total}: ${fetched} fetched, ${fed} fed, ${needed} needed, ${pruned} pruned (dashed)${rest}` : words;
}

export { parseInput };
