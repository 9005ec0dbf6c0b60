// A graph through its rewrites: position 0 is the graph as built, position k the graph after step k.
// Pure data, no DOM: runs under node.
import { GraphModel, parseInput } from "./graph.js";
import { plural } from "./dom.js";
import { staticBytes } from "./palette.js";
import { bytes } from "./values.js";

const FREE = new Set(["Const", "Placeholder", "PlaceholderWithDefault", "Variable", "VariableV2", "VarHandleOp", "NoOp", "Identity"]);

export class RewriteHistory {
  /** steps: [{rule, equation, at, after, removed: [names], put: [nodes], num_hits, kernel}] */
  constructor(nodes, steps) {
    this.nodes = nodes;
    this.steps = steps;
  }

  /** The first position that changes something, to begin at: pruning, where something is pruned. */
  first() {
    const at = this.steps.findIndex((step) => step.removed.length || step.put.length) + 1;
    return at || Math.min(1, this.steps.length);
  }

  /** The nodes by name at a position. */
  at(position) {
    const state = new Map(this.nodes.map((node) => [node.name, node]));
    for (const step of this.steps.slice(0, position)) {
      for (const name of step.removed) state.delete(name);
      for (const node of step.put) state.set(node.name, node);
    }
    return state;
  }

  graphAtStart() {
    return new GraphModel(this.nodes);
  }

  /**
   * What step `position` (from 1) did: {before, after: GraphModel, gone, added, rewired: Set of
   * names, near: Set of names that touch any of them}.
   */
  change(position) {
    const [before, after] = [this.at(position - 1), this.at(position)];
    const step = this.steps[position - 1];
    const gone = new Set(step.removed);
    const added = new Set(step.put.map((node) => node.name).filter((name) => !before.has(name)));
    const rewired = new Set(step.put.map((node) => node.name).filter((name) => before.has(name)));
    const near = new Set([...gone, ...added, ...rewired]);
    const center = new Set(near);
    for (const state of [before, after]) {
      for (const node of state.values()) {
        const sources = node.inputs.map((text) => parseInput(text)[0]);
        if (center.has(node.name)) for (const name of sources) near.add(name);
        else if (sources.some((name) => center.has(name) && !rewired.has(name))) near.add(node.name);
      }
    }
    return { before: new GraphModel([...before.values()]), after: new GraphModel([...after.values()]), gone, added, rewired, near };
  }

  /** What step `position` saves in each run, in words. */
  savedWords(position) {
    const { ops, size } = this.saves(position);
    const step = this.steps[position - 1];
    // Pruning is no rewrite: what no fetch needs is not run without it either.
    if (step.rule === "pruning") return step.removed.length ? `${plural(step.removed.length, "node")}, of which ${ops} would compute something, are not run at all.` : "Every node of the graph is needed.";
    const parts = [];
    if (ops > 0) parts.push(plural(ops, "op"));
    if (size > 0) parts.push(`${bytes(size)} of values`);
    if (parts.length) return `Saves ${parts.join(" and ")} in each run.`;
    return ops < 0 ? `Costs ${plural(-ops, "op")} more.` : "As many ops as before, of a cheaper kind.";
  }

  /** What step `position` saves in each run: ops that compute something, and the bytes of their outputs where sizes are known. */
  saves(position) {
    const { before, after, gone, added } = this.change(position);
    const cost = (graph, names) => {
      const nodes = [...names].map((name) => graph.get(name)).filter((node) => node && !FREE.has(node.op));
      const sizes = nodes.flatMap((node) => (node.outputs ?? []).map((output) => staticBytes(`${output.dtype} ${output.shape}`)));
      return { ops: nodes.length, size: sizes.some((size) => size === null) ? NaN : sizes.reduce((a, b) => a + b, 0) };
    };
    const [less, more] = [cost(before, gone), cost(after, added)];
    return { ops: less.ops - more.ops, size: less.size - more.size };
  }

  /** The rules with the positions of their steps: [{equation, rule, hits, positions}], in order. */
  rules() {
    const found = new Map();
    this.steps.forEach((step, i) => {
      if (!found.has(step.equation)) found.set(step.equation, { equation: step.equation, rule: step.rule, hits: 0, positions: [] });
      const rule = found.get(step.equation);
      rule.hits += step.num_hits ?? 1;
      rule.positions.push(i + 1);
    });
    return [...found.values()];
  }

  /** The next position after `from` (round and round) whose rule, equation or nodes match. */
  find(text, from) {
    const needle = text.trim().toLowerCase();
    const total = this.steps.length;
    if (!needle) return null;
    for (let i = 1; i <= total; i++) {
      const position = ((from - 1 + i) % total) + 1;
      const step = this.steps[position - 1];
      const words = [step.rule, step.equation, step.at, step.after, ...step.removed];
      if (words.some((word) => String(word ?? "").toLowerCase().includes(needle))) return position;
    }
    return null;
  }

  /** The position in words, for the status line. */
  sentence(position) {
    const count = this.at(position).size;
    if (!position) return `The graph as it was built: ${plural(count, "node")}. ${plural(this.steps.length, "step")} to come.`;
    const step = this.steps[position - 1];
    const { gone, added, rewired } = this.change(position);
    const place = step.at ? `, at ${step.at}${step.num_hits > 1 ? ` and ${step.num_hits - 1} more` : ""}` : "";
    const parts = [
      gone.size && plural(gone.size, "node goes", "nodes go"),
      added.size && plural(added.size, "node is new", "nodes are new"),
      rewired.size && plural(rewired.size, "node is rewired", "nodes are rewired"),
    ].filter(Boolean);
    parts.push(parts.length ? `${count} left` : "Nothing changes");
    return `Step ${position} of ${this.steps.length}${place}: ${step.equation.replace(/\.$/, "")}. ${parts.join(", ")}.`;
  }
}
