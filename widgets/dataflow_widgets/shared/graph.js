// The graph as the page knows it: operations in creation order, name scopes as a tree, and the
// part of it that is visible when some scopes are closed.  Pure data, no DOM: runs under node.

import { stepsOf } from "./steps.js";

export const PLAIN_LIMIT = 60; // up to this many ops nothing is put aside at first
const MOST_LABELS = 3; // a tensor that goes to more items has its shape written on one of the edges
export const FULL_LIMIT = 200; // above this many visible nodes long flat runs are folded

/** What a graph holds beside the model (`dataflow.introspect.node_roles`), in the order it is named. */
export const ROLES = ["gradient", "optimizer", "initializer", "saver", "summary", "assertion"];
/** The layers that the bar switches: the machinery that each shows; null: all of it, nothing folded. */
export const LAYERS = { model: new Set(), gradients: new Set(["gradient"]), everything: null };

/** "layer1/MatMul:0" -> ["layer1/MatMul", 0]; "^init" -> ["init", -1] (a control input). */
export function parseInput(text) {
  if (text.startsWith("^")) return [text.slice(1), -1];
  const at = text.lastIndexOf(":");
  return at < 0 ? [text, 0] : [text.slice(0, at), Number(text.slice(at + 1))];
}

export const lastPart = (name) => name.slice(name.lastIndexOf("/") + 1);
const parentOf = (name) => name.slice(0, Math.max(0, name.lastIndexOf("/")));

const CONSTANTS = new Set(["Const"]);
const SOURCES = new Set(["Placeholder", "PlaceholderWithDefault", "PlaceholderV2"]);
const VARIABLES = new Set(["Variable", "VariableV2", "VarHandleOp", "TemporaryVariable"]);
const STATE = /^(Assign|Scatter|Apply|ResourceApply|SparseApply|Restore|Save)/;
const MOVES = new Set(["Send", "Recv", "_Send", "_Recv", "HostSend", "HostRecv", "_HostSend", "_HostRecv"]);
const CONTROL = new Set(["Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "RefSwitch", "RefMerge", "While", "If"]);

/** The family an op is drawn as; each has a shape and a color in the style sheet. */
export function kindOf(node) {
  const type = node.op;
  if (CONSTANTS.has(type)) return "const";
  if (SOURCES.has(type)) return "placeholder";
  if (VARIABLES.has(type)) return "variable";
  if (MOVES.has(type)) return "move";
  if (CONTROL.has(type)) return "control";
  if (STATE.test(type)) return "state";
  if (type === "NoOp") return "noop";
  if (/^gradients(_\d+)?\//.test(node.name)) return "gradient";
  return "op";
}

export class GraphModel {
  constructor(nodes = []) {
    this.nodes = [];
    this.indexOf = new Map();
    this.scopes = new Map();
    this.add(nodes);
  }

  /** Appends operations; ones already known (a message sent twice) are ignored. */
  add(nodes) {
    let added = 0;
    for (const node of nodes) {
      if (this.indexOf.has(node.name)) continue;
      this.indexOf.set(node.name, this.nodes.length);
      this.nodes.push(node);
      added += 1;
    }
    if (added) this.link();
    return added;
  }

  /** Puts new versions of known operations in place of the old ones. */
  replace(nodes) {
    for (const node of nodes) if (this.indexOf.has(node.name)) this.nodes[this.indexOf.get(node.name)] = node;
    this.link();
  }

  get(name) {
    const index = this.indexOf.get(name);
    return index === undefined ? null : this.nodes[index];
  }

  /** Recomputes inputs by index, consumers and the scope tree. */
  link() {
    const count = this.nodes.length;
    this.inputs = Array.from({ length: count }, () => []);
    this.consumers = Array.from({ length: count }, () => []);
    this.nodes.forEach((node, index) => {
      for (const text of node.inputs) {
        const [name, slot] = parseInput(text);
        const from = this.indexOf.get(name);
        if (from === undefined) continue;
        this.inputs[index].push({ from, slot });
        this.consumers[from].push({ to: index, slot });
      }
    });
    // The node that a node is part of in a picture of the model; -1: it stands for itself.
    this.ownerOf = this.nodes.map((node) => (node.owner ? this.indexOf.get(node.owner) ?? -1 : -1));
    this.buildScopes();
  }

  buildScopes() {
    this.chains = new Map();
    const members = new Map(); // scope path -> op indices anywhere below it
    this.updates = new Map(); // scope path -> how many of those apply a gradient
    this.nodes.forEach((node, index) => {
      for (let path = parentOf(node.name); path; path = parentOf(path)) {
        if (!members.has(path)) members.set(path, []);
        members.get(path).push(index);
        const update = /Apply/.test(node.op) ? 1 : 0;
        this.updates.set(path, (this.updates.get(path) ?? 0) + update);
      }
    });
    // An op such as Add whose scope holds only its own literals (Add/x, Add/y), which nothing else of the
    // model reads (gradients may), is no scope to open.
    const inline = new Set();
    for (const [path, below] of members) {
      const owner = this.indexOf.get(path);
      if (owner === undefined) continue;
      const literals = below.every(
        (i) => kindOf(this.nodes[i]) === "const" && this.consumers[i].every(({ to }) => to === owner || this.nodes[to].role),
      );
      if (literals) inline.add(path);
    }
    this.scopes = new Map([["", { path: "", parent: null, children: [], ops: [], count: this.nodes.length }]]);
    const scopeFor = (path) => {
      if (this.scopes.has(path)) return this.scopes.get(path);
      const parent = scopeFor(parentOf(path));
      if (inline.has(path)) {
        this.scopes.set(path, parent);
        return parent;
      }
      const scope = { path, parent: parent.path, children: [], ops: [], count: members.get(path)?.length ?? 0 };
      this.scopes.set(path, scope);
      parent.children.push(path);
      return scope;
    };
    this.scopeOf = this.nodes.map((node, index) => {
      const own = members.has(node.name) && !inline.has(node.name);
      const scope = scopeFor(own ? node.name : parentOf(node.name));
      scope.ops.push(index);
      if (own) scope.count += 1; // the op that gave the scope its name lives inside it
      return scope.path;
    });
    this.buildSteps();
  }

  /** The steps of an unrolled loop get a scope each, below the one that they all stand in. */
  buildSteps() {
    for (const scope of new Set(this.scopes.values())) {
      const steps = scope.path ? stepsOf(this, scope.ops, (node) => kindOf(node) === "variable") : null;
      const paths = steps?.map((_, k) => `${scope.path}/step_${k}`);
      if (!steps || paths.some((path) => this.scopes.has(path))) continue;
      steps.forEach((ops, k) => {
        this.scopes.set(paths[k], { path: paths[k], parent: scope.path, children: [], ops, count: ops.length, isStep: true });
        for (const index of ops) this.scopeOf[index] = paths[k];
      });
      scope.children.push(...paths);
      const moved = new Set(steps.flat());
      scope.ops = scope.ops.filter((index) => !moved.has(index));
    }
  }

  /** "loop" for a scope around a `tf.while_loop`, "cond" for that of a `tf.cond`, else "". */
  natureOf(path) {
    const types = this.scopes.get(path)?.ops.map((index) => this.nodes[index].op) ?? [];
    if (types.includes("LoopCond") || types.includes("While")) return "loop";
    return (types.includes("Merge") && types.includes("Switch")) || types.includes("If") ? "cond" : "";
  }

  /** Scope paths from the outermost to the one that holds op `index`. */
  scopeChain(index) {
    return this.chainTo(this.scopeOf[index]);
  }

  /** The same for a scope: made once, as it is asked for often; not to be changed. */
  chainTo(path) {
    if (!path) return [];
    if (!this.chains.has(path)) this.chains.set(path, [...this.chainTo(this.scopes.get(path).parent), path]);
    return this.chains.get(path);
  }

  allScopes() {
    return [...new Set([...this.scopes.values()].map((scope) => scope.path))].filter(Boolean);
  }

  /** The layer that is shown at first: the model, where machinery would bury it. */
  initialLayer() {
    return this.nodes.length > PLAIN_LIMIT && this.nodes.some((node) => node.role) ? "model" : "everything";
  }

  /** How many nodes of each role there are (among the indices `only`), as [role, count]; only those that are there. */
  roleCounts(only = null) {
    const counts = new Map();
    for (const [index, { role }] of this.nodes.entries()) if (role && (!only || only.has(index))) counts.set(role, (counts.get(role) ?? 0) + 1);
    return ROLES.filter((role) => counts.has(role)).map((role) => [role, counts.get(role)]);
  }

  /** Whether a layer draws op `index`, and as itself. `shown`: the layer's roles; null: all. */
  draws(index, shown) {
    if (!shown) return true;
    const { role } = this.nodes[index];
    return role ? shown.has(role) : this.ownerOf[index] < 0;
  }

  /** The node that stands for op `index` in a layer, or -1 when the layer leaves it out. */
  standIn(index, shown) {
    for (let at = index, steps = 0; at >= 0 && steps < 50; at = this.ownerOf[at], steps++) if (this.draws(at, shown)) return at;
    return -1;
  }

  /** Whether a scope holds a variable's own ops, or what an optimizer added: gradients, updates, slots. */
  isDetail(path) {
    if (isVariable(this, path)) return true;
    if (/^gradients(_\d+)?$/.test(path) || /(^|\/)(Initializer|(Adam|Momentum|RMSProp|Adagrad|Ftrl)(_\d+)?)$/.test(path)) return true;
    const scope = this.scopes.get(path);
    return scope.ops.length + scope.children.length > 1 && this.updates.get(path) * 5 > scope.count;
  }

  /** Indices of everything the ops in `from` need, themselves included. */
  ancestors(from, stopAt = new Set()) {
    return this.reach(from, (index) => (stopAt.has(index) ? [] : this.inputs[index].map((edge) => edge.from)));
  }

  descendants(from) {
    return this.reach(from, (index) => this.consumers[index].map((edge) => edge.to));
  }

  reach(from, next) {
    const seen = new Set(from);
    const stack = [...from];
    while (stack.length) {
      for (const other of next(stack.pop())) {
        if (!seen.has(other)) {
          seen.add(other);
          stack.push(other);
        }
      }
    }
    return seen;
  }
}

/** "float32 (?, 10)" for output `slot` of a node; empty where the engine said nothing. */
export function tensorLabel(node, slot) {
  const output = node.outputs?.[slot];
  if (!output) return "";
  return `${output.dtype ?? ""} ${output.shape ?? ""}`.trim();
}

/**
 * What is drawn: ops whose scopes are all open, closed scopes as single groups, edges between
 * them (several tensors between the same two items become one edge), open scopes as clusters.
 */
export function visibleGraph(model, { open, only = null, folded = null, blocks = null, shown = null } = {}) {
  const items = new Map();
  const holder = new Array(model.nodes.length).fill(null);
  const clusters = new Map();
  const clusterFor = (path) => {
    if (!path) return null;
    if (!clusters.has(path)) {
      const parent = model.scopes.get(path).parent;
      clusters.set(path, { path, parent: parent || null });
      clusterFor(parent);
    }
    return path;
  };
  const single = shown ? singles(model, only, shown) : new Map();
  const place = (index) => {
    const all = model.scopeChain(index);
    let { length } = all;
    // A scope of which one op is drawn is that op, under the scope's name.
    while (length && single.get(all[length - 1]) === index) length -= 1;
    const title = length < all.length ? all[length] : null;
    const chain = length < all.length ? all.slice(0, length) : all;
    const closed = chain.findIndex((path) => !open.has(path));
    let id;
    if (closed >= 0) {
      const block = blocks?.get(chain[closed]);
      id = block ? `b:${block.key}` : `s:${chain[closed]}`;
      if (!items.has(id)) {
        const cluster = clusterFor(closed > 0 ? chain[closed - 1] : "");
        items.set(id, { id, group: true, path: block ? null : chain[closed], fold: block ?? null, cluster, members: [] });
      }
      items.get(id).members.push(index);
    } else {
      const cluster = clusterFor(chain.length ? chain[chain.length - 1] : "");
      const fold = folded?.get(index);
      id = fold ? `f:${fold.key}` : `n:${index}`;
      if (!items.has(id)) {
        items.set(id, { id, group: Boolean(fold), fold: fold ?? null, index, cluster, members: [], scopeTitle: fold ? null : title });
      }
      items.get(id).members.push(index);
    }
    holder[index] = id;
  };
  const parts = [];
  for (let index = 0; index < model.nodes.length; index++) {
    if (only && !only.has(index)) continue;
    if (model.draws(index, shown)) place(index);
    else parts.push(index);
  }
  for (const item of items.values()) item.numDrawn = item.members.length;
  for (const index of parts) {
    const owner = model.standIn(index, shown);
    if (owner < 0 || !holder[owner]) continue;
    holder[index] = holder[owner];
    items.get(holder[owner]).members.push(index);
  }
  if (shown) dockVariables(model, items, holder);
  tellApart(model, items);
  const edges = new Map();
  model.nodes.forEach((node, to) => {
    if (!holder[to]) return;
    for (const { from, slot } of model.inputs[to]) {
      if (!holder[from] || holder[from] === holder[to]) continue;
      const control = slot < 0;
      if (control && isOfLoop(model, to)) continue;
      const key = `${holder[from]}\u0000${holder[to]}\u0000${control}`;
      if (!edges.has(key)) {
        edges.set(key, { id: `e:${edges.size}`, from: holder[from], to: holder[to], control, tensors: new Map() });
      }
      const name = control ? `^${model.nodes[from].name}` : `${model.nodes[from].name}:${slot}`;
      const edge = edges.get(key);
      edge.tensors.set(name, control ? "" : tensorLabel(model.nodes[from], slot));
      edge.times = (edge.times ?? 0) + 1;
      edge.label = control ? "" : edgeLabel(model, from, slot, items.get(holder[from]).group);
    }
  });
  labelOnce([...edges.values()]);
  const drawn = [];
  for (const edge of edges.values()) {
    drawn.push(edge);
    if (sharesVariables(model, edge, items)) {
      edge.shared = true;
      edge.label = edge.tensors.size > 1 ? `${edge.tensors.size} variables` : edge.label;
    } else if (edge.tensors.size > 1 && !edge.control) edge.label = `${edge.tensors.size} tensors`;
    // `left + left` reads one tensor twice: two lines, unless one end stands for many ops.
    else if (!edge.control && !items.get(edge.from).group && !items.get(edge.to).group && items.get(edge.to).numDrawn === items.get(edge.to).members.length) {
      for (let i = 1; i < Math.min(edge.times, 4); i++) drawn.push({ ...edge, id: `${edge.id}.${i}`, label: "" });
    }
  }
  return { items: [...items.values()], edges: drawn, clusters: [...clusters.values()], holder };
}

/** Whether a closed scope reads nothing of another but its variables: it has the same weights. */
function sharesVariables(model, edge, items) {
  const isScope = ({ path, fold }) => Boolean(path || fold?.paths);
  if (edge.control || !isScope(items.get(edge.from)) || !isScope(items.get(edge.to))) return false;
  return [...edge.tensors.keys()].every((name) => {
    const index = model.indexOf.get(parseInput(name)[0]);
    const { ownerOf } = model;
    return kindOf(model.nodes[ownerOf[index] >= 0 ? ownerOf[index] : index]) === "variable";
  });
}

/** Of many edges that carry the same tensor, the first alone says its shape. */
function labelOnce(edges) {
  const carries = new Map();
  for (const edge of edges) {
    if (edge.control || edge.tensors.size > 1) continue;
    const key = `${edge.from}\u0000${edge.tensors.keys().next().value}`;
    if (!carries.has(key)) carries.set(key, []);
    carries.get(key).push(edge);
  }
  for (const alike of carries.values()) if (alike.length > MOST_LABELS) for (const edge of alike.slice(1)) edge.label = "";
}

/** A closed scope of variables alone, all read by one other closed scope, is a part of that: a layer and its weights. */
function dockVariables(model, items, holder) {
  for (const item of [...items.values()]) {
    if (!(item.path || item.scopeTitle) || !item.members.slice(0, item.numDrawn).every((index) => kindOf(model.nodes[index]) === "variable")) continue;
    const readers = new Set(item.members.flatMap((index) => model.consumers[index].map(({ to }) => holder[to])));
    readers.delete(item.id);
    readers.delete(null);
    const [id] = readers;
    const reader = items.get(id);
    if (readers.size !== 1 || !(reader.path || reader.scopeTitle)) continue;
    for (const index of item.members) holder[index] = id;
    reader.members.push(...item.members);
    items.delete(item.id);
  }
}

/** Scope path -> the one op that a layer draws of it. */
function singles(model, only, shown) {
  const first = new Map();
  for (let index = 0; index < model.nodes.length; index++) {
    if ((only && !only.has(index)) || !model.draws(index, shown)) continue;
    for (const path of model.scopeChain(index)) first.set(path, first.has(path) ? -1 : index);
  }
  return first;
}

/** Items that would have the same title beside each other get one part of the scope more. */
function tellApart(model, items) {
  const same = new Map();
  for (const item of items.values()) {
    if (item.fold || (!item.group && isLiteral(model, item.index))) continue;
    item.name = item.group ? item.path : item.scopeTitle ?? model.nodes[item.index].name;
    const key = `${item.cluster ?? ""}\u0000${lastPart(item.name)}`;
    if (!same.has(key)) same.set(key, []);
    same.get(key).push(item);
  }
  for (const list of same.values()) {
    if (list.length < 2) continue;
    for (const item of list) {
      const parent = parentOf(item.name);
      if (parent && parent !== item.cluster) item.title = `${lastPart(parent)}/${lastPart(item.name)}`;
    }
  }
}

/** Whether a scope holds one variable, with its initial value and its reads. */
const isVariable = (model, path) => VARIABLES.has(model.get(path)?.op);

/** Whether a constant has no name of its own: `Const_1`, or the `Add/y` of `x + 2`. */
export function isLiteral(model, index) {
  const node = model.nodes[index];
  if (node.op !== "Const" || !node.value) return false;
  return /(^|\/)Const(_\d+)?$/.test(node.name) || model.indexOf.has(parentOf(node.name)) || /\/[xy]$/.test(node.name);
}

/** Whether an op is a literal of a loop: that it waits for the turn says nothing new, and its edge would draw the loop longer. */
function isOfLoop(model, index) {
  if (!isLiteral(model, index)) return false;
  return model.chainTo(model.scopeOf[index]).map((path) => model.natureOf(path)).filter(Boolean).at(-1) === "loop";
}

/** What an edge says: a shape where it is new or travels, "scalar" for that of a number; dtypes are told on hover. */
function edgeLabel(model, from, slot, whole) {
  const shape = model.nodes[from].outputs?.[slot]?.shape;
  if (!shape) return "";
  const isNew = whole || kindOf(model.nodes[from]) === "move" || !model.inputs[from].some((input) => input.slot >= 0 && model.nodes[input.from].outputs?.[input.slot]?.shape === shape);
  if (!isNew || (model.nodes[from].op === "Const" && shape === "()")) return "";
  return shape === "()" ? "scalar" : shape.replace(/,\)$/, ")");
}

/**
 * Closed scopes beside each other that hold the same operations (layer_1 ... layer_12) as one block
 * with a count.  Returns scope path -> {key, base, type, paths}.
 */
export function foldBlocks(model, visible, { atLeast = 4, unfolded = new Set() } = {}) {
  const same = new Map();
  for (const item of visible.items) {
    // A variable without a name of its own (Variable, Variable_1, ...) is still one by itself: a weight of its layer.
    if (!item.group || !item.path || (isVariable(model, item.path) && visible.items.length <= FULL_LIMIT)) continue;
    const parent = parentOf(item.path);
    const base = lastPart(item.path).replace(/_?\d+$/, "");
    // Weights stand where they were first read: a cell that is called again has the same ops, without them.
    const ops = item.members.slice(0, item.numDrawn).filter((i) => kindOf(model.nodes[i]) !== "variable");
    const nameOf = (i) => (model.scopes.get(item.path).isStep ? "" : model.nodes[i].name.slice(item.path.length));
    const inside = ops.map((i) => `${nameOf(i)} ${model.nodes[i].op}`).sort();
    const key = JSON.stringify([parent, base, inside]);
    if (!same.has(key)) same.set(key, { base, num: ops.length, paths: [] });
    same.get(key).paths.push(item.path);
  }
  const blocks = new Map();
  for (const one of same.values()) {
    if (one.paths.length < atLeast) continue;
    const key = one.paths[0];
    if (unfolded.has(key)) continue;
    const block = { key, base: one.base || lastPart(one.paths[0]), type: one.num === 1 ? "1 op each" : `${one.num} ops each`, paths: one.paths };
    for (const path of one.paths) blocks.set(path, block);
  }
  return blocks;
}

/** Whether a folded graph says little: each of its items leads to most others and back (a chain of many kinds of ops). */
export const isTangle = ({ items, edges }) => edges.length > 1.5 * items.length;

/**
 * Long flat runs of siblings of one type (500 ops called Add_1 ... Add_500 in one scope) folded into
 * one item with a count, so that a graph without name scopes stays explorable.
 */
export function foldSeries(model, { only = null, atLeast = 12, unfolded = new Set() } = {}) {
  const series = new Map();
  model.nodes.forEach((node, index) => {
    if (only && !only.has(index)) return;
    const base = lastPart(node.name).replace(/_\d+$/, "");
    const key = `${model.scopeOf[index]}\u0000${node.op}\u0000${base}`;
    if (!series.has(key)) series.set(key, { key, type: node.op, base, members: [] });
    series.get(key).members.push(index);
  });
  const folded = new Map();
  for (const one of series.values()) {
    if (one.members.length < atLeast || unfolded.has(one.key)) continue;
    for (const index of one.members) folded.set(index, one);
  }
  return folded;
}
