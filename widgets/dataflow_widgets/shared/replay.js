// A recorded run as positions 0 ... n: at position k the first k ops are done.  Pure data.

import { bytes, isBad, number, seconds } from "./values.js";

/** Whether a value summary holds a NaN or an infinity. */
export function notFinite(summary) {
  if (!summary) return false;
  if (summary.stats?.nan || summary.stats?.inf) return true;
  return Boolean(summary.data?.some?.(isBad));
}

const COMPARE = { ">": (a, b) => a > b, "<": (a, b) => a < b, ">=": (a, b) => a >= b, "<=": (a, b) => a <= b, "==": (a, b) => a === b, "!=": (a, b) => a !== b };

/** A breakpoint from text: "nan", "type:MatMul", "max > 100", "loss: mean < 0.1", or a node's name. */
export function parseCondition(text, graph) {
  const trimmed = text.trim();
  if (!trimmed) return { error: "Write a node name, type:OpType, nan, or a condition on max, min, mean or value." };
  if (/^(first )?(nan|inf|nan or inf)$/i.test(trimmed)) {
    return { text: "NaN or Inf", test: (step) => (step.out ?? []).some(notFinite) };
  }
  const type = /^type:\s*(\S+)$/i.exec(trimmed);
  if (type) return { text: `type ${type[1]}`, test: (step) => step.type.toLowerCase() === type[1].toLowerCase() };
  const compare = /^(?:(.+?):\s*)?(min|max|mean|value)\s*(>=|<=|==|!=|>|<)\s*(-?[\d.]+(?:e[+-]?\d+)?)$/i.exec(trimmed);
  if (compare) {
    const [, name, field, sign, limit] = compare;
    if (name !== undefined && !graph.indexOf.has(name)) return { error: `No operation is called '${name}'.` };
    const only = name === undefined ? null : graph.indexOf.get(name);
    return {
      text: trimmed,
      test: (step) =>
        (only === null || step.i === only) &&
        (step.out ?? []).some((summary) => {
          const scalar = summary?.kind === "scalar" ? summary.data[0] : undefined;
          const value = field.toLowerCase() === "value" ? summary?.data?.[0] : summary?.stats?.[field.toLowerCase()] ?? scalar;
          return typeof value === "number" && COMPARE[sign](value, Number(limit));
        }),
    };
  }
  const index = graph.indexOf.get(trimmed);
  if (index === undefined) return { error: `No operation is called '${trimmed}'.` };
  return { text: trimmed, test: (step) => step.i === index };
}

/** Whether two summaries of one output show different values. */
export function differs(a, b) {
  const face = (s) => (s ? JSON.stringify([s.shape, s.data, s.grid, s.images, s.stats]) : "");
  return face(a) !== face(b);
}

/** What a step of a run on several devices got, sent and waited for, in sentences. */
export function travels(step, nameOf) {
  const told = (step.recv ?? []).map(([from, where, size, s]) => `Recv ${nameOf(from)} from ${where}: ${bytes(size)}, under way for at most ${seconds(s)}.`);
  for (const [where, size] of step.send ?? []) told.push(`Send to ${where}: ${bytes(size)}.`);
  if (step.wait) told.push(`${step.on} waited ${seconds(step.wait[0])}${step.wait[1] === null ? "" : ` for ${nameOf(step.wait[1])}`}.`);
  return told;
}

/** Which input a Merge of a conditional took its value from, or null. */
export function branchTaken(step, graph) {
  const slot = /^(Ref)?Merge$/.test(step.type) ? step.out?.[1]?.data?.[0] : undefined;
  return typeof slot === "number" ? graph.nodes[step.i].inputs[slot] ?? null : null;
}

export class Replay {
  constructor(run) {
    this.run = run;
    this.steps = run.steps;
    this.at = 0;
    this.breaks = [];
    this.watches = new Set();
    this.positions = new Map(); // op -> the steps it took part in; several inside a loop
    this.steps.forEach((step, k) => {
      if (!this.positions.has(step.i)) this.positions.set(step.i, []);
      this.positions.get(step.i).push(k);
    });
    // The last step that reads each op's value; fetched values live to the end.
    this.lastUse = new Map();
    this.steps.forEach((step, k) => {
      for (const from of step.in ?? []) this.lastUse.set(from, k);
    });
    for (const index of run.fetched) this.lastUse.set(index, this.steps.length);
  }

  go(to) {
    this.at = Math.max(0, Math.min(this.steps.length, to));
  }

  /** Goes to where `other` is: the end, or the same round of the same op, or the same number. */
  alignWith(other) {
    const step = other.current();
    const rounds = step ? this.positions.get(step.i) ?? [] : [];
    const round = Math.max(0, other.iteration() - 1);
    if (other.at === other.steps.length) this.go(this.steps.length);
    else if (rounds.length > round) this.go(rounds[round] + 1);
    else this.go(other.at);
  }

  current() {
    return this.at ? this.steps[this.at - 1] : null;
  }

  /** Which time round a step is for its op, from 1; 0 for an op that runs once. */
  iteration(at = this.at) {
    const rounds = at ? this.positions.get(this.steps[at - 1].i) : [];
    return rounds.length > 1 ? rounds.indexOf(at - 1) + 1 : 0;
  }

  /** Position at which one of `members` is next done after the present one (else first), or null. */
  stepOf(members) {
    const found = members.flatMap((index) => this.positions.get(index) ?? []);
    if (!found.length) return null;
    if (members.length > 1) return Math.max(...found) + 1;
    const later = found.filter((k) => k >= this.at);
    return (later.length ? Math.min(...later) : found[0]) + 1;
  }

  /** The latest step that op `index` has done at this position, or null. */
  lastStep(index) {
    const done = (this.positions.get(index) ?? []).filter((k) => k < this.at);
    return done.length ? this.steps[done[done.length - 1]] : null;
  }

  /** Summaries of an op's outputs if they exist at this position, else null. */
  valueOf(index) {
    const step = this.lastStep(index);
    if (step) return step.out ?? [];
    return this.run.feed_values?.[index] ?? null;
  }

  state() {
    const done = [...new Set(this.steps.slice(0, this.at).map((step) => step.i))];
    const finished = new Set([...done, ...this.run.fed]);
    const waiting = this.steps.slice(this.at).filter((step) => !finished.has(step.i));
    const ready = [...new Set(waiting.filter((step) => (step.in ?? []).every((i) => finished.has(i) || !this.positions.has(i))).map((step) => step.i))];
    const alive = new Set();
    let aliveBytes = 0;
    for (const index of finished) {
      if ((this.lastUse.get(index) ?? -1) < this.at) continue;
      const held = (this.valueOf(index) ?? []).filter(Boolean);
      if (!held.length) continue;
      alive.add(index);
      aliveBytes += held.reduce((sum, summary) => sum + (summary.bytes ?? 0), 0);
    }
    return { done, ready, alive, aliveBytes, current: this.at ? this.steps[this.at - 1].i : null };
  }

  /** What one task has sent and another not yet received: pairs {from, to} of a _Send and its
   * _Recv, the latest first. */
  onTheWire(graph) {
    const found = [];
    for (const [to] of this.positions) {
      if (graph.nodes[to]?.op !== "_Recv" || this.lastStep(to)) continue;
      for (const { from } of graph.inputs[to]) if (graph.nodes[from].op === "_Send" && this.lastStep(from)) found.push({ from, to });
    }
    const sentAt = ({ from }) => Math.max(...this.positions.get(from).filter((k) => k < this.at));
    return found.sort((a, b) => sentAt(b) - sentAt(a));
  }

  /** What is dead at this position: {ops, outputs}, outputs as "op:slot" of a Switch whose other side was taken. */
  dead(graph) {
    const ops = new Set();
    const outputs = new Set();
    for (const [index] of this.positions) {
      if (!/^(Ref)?Switch$/.test(graph.nodes[index]?.op)) continue;
      const step = this.lastStep(index);
      if (!step) continue;
      const empty = (step.out ?? []).findIndex((summary) => summary === null);
      const condition = graph.inputs[index].filter((edge) => edge.slot >= 0)[1];
      const taken = condition && this.valueOf(condition.from)?.[condition.slot]?.data?.[0];
      if (empty >= 0) outputs.add(`${index}:${empty}`);
      else if (typeof taken === "boolean") outputs.add(`${index}:${taken ? 0 : 1}`);
    }
    if (!outputs.size) return { ops, outputs };
    const isDead = ({ from, slot }) => ops.has(from) || outputs.has(`${from}:${slot}`);
    const queue = [...outputs].map((text) => Number(text.split(":")[0]));
    for (let i = 0; i < queue.length; i++) {
      for (const { to } of graph.consumers[queue[i]]) {
        if (ops.has(to)) continue;
        const edges = graph.inputs[to];
        const merge = /^(Ref)?Merge$/.test(graph.nodes[to].op);
        if (merge ? !edges.every(isDead) : !edges.some(isDead)) continue;
        ops.add(to);
        queue.push(to);
      }
    }
    return { ops, outputs };
  }

  /** The while loops of the run: name scope -> {at: the present iteration, of: how many, over}. */
  loops(graph) {
    const found = new Map();
    for (const [index, rounds] of this.positions) {
      const node = graph.nodes[index];
      const scope = node?.op === "Merge" && node.inputs.some((text) => /\/NextIteration(_\d+)?:/.test(text)) ? node.name.slice(0, Math.max(0, node.name.lastIndexOf("/"))) : "";
      if (!scope || found.has(scope)) continue;
      const enter = graph.inputs[index][0]?.from;
      const entries = this.positions.get(enter) ?? [];
      const entered = entries.filter((k) => k < this.at);
      const [start, next] = entered.length ? [entered.at(-1), entries[entered.length] ?? Infinity] : [-1, entries[0] ?? -1];
      const all = rounds.filter((k) => k > start && k < next);
      const done = all.filter((k) => k < this.at).length;
      // The loop's condition is asked once more than its body runs.
      const of = all.length - 1;
      if (done) found.set(scope, { at: Math.min(done, of), of, over: done > of });
    }
    return found;
  }

  /** Where the first NaN of the run comes from, and the first infinity: {what, k, i, text} or null each. */
  origins(graph) {
    return (this.found ??= this.findOrigins(graph)); // a run does not change
  }

  findOrigins(graph) {
    const first = { nan: null, inf: null };
    const has = (summary, what) => Boolean(summary && ((what === "nan" ? summary.stats?.nan : summary.stats?.inf) || summary.data?.some?.((v) => (what === "nan" ? v === "nan" : v === "inf" || v === "-inf"))));
    for (const what of ["nan", "inf"]) {
      for (const i of this.run.fed) {
        if (!first[what] && (this.run.feed_values?.[i] ?? []).some((summary) => has(summary, what))) first[what] = { what, k: -1, i, text: "it was fed" };
      }
      const k = first[what] ? -1 : this.steps.findIndex((step) => (step.out ?? []).some((summary) => has(summary, what)));
      if (k >= 0) first[what] = { what, k, i: this.steps[k].i, text: this.cause(graph, k, what) };
    }
    return first;
  }

  /** "log of -1", from the inputs of step k at the element that is not finite. */
  cause(graph, k, what) {
    const step = this.steps[k];
    const was = this.at;
    this.at = k + 1;
    const inputs = (graph.inputs[step.i] ?? []).filter((edge) => edge.slot >= 0).map(({ from, slot }) => this.valueOf(from)?.[slot] ?? null);
    this.at = was;
    if (!inputs.length) return graph.nodes[step.i].op === "Const" ? "a constant" : "";
    const out = step.out.find((summary) => notFinite(summary));
    const place = out?.data?.findIndex((v) => (what === "nan" ? v === "nan" : v === "inf" || v === "-inf")) ?? -1;
    const words = inputs.map((summary) => {
      if (!summary) return "?";
      if (summary.kind === "scalar") return number(summary.data[0]);
      if (place >= 0 && summary.data && summary.size === out.size) return number(summary.data[place]);
      const { stats } = summary;
      if (stats?.min === undefined) return "not finite";
      return stats.min === stats.max ? number(stats.min) : `${number(stats.min)} … ${number(stats.max)}`;
    });
    const sign = { Add: "+", AddV2: "+", Sub: "−", Mul: "×", RealDiv: "/", Div: "/", Pow: "to the power of" }[step.type];
    return sign && words.length === 2 ? words.join(` ${sign} `) : `${step.type.toLowerCase()} of ${words.join(" and ")}`;
  }

  /** Ops whose present values differ from those that `other` has for them at its own position. */
  differences(other) {
    const found = new Set();
    const indices = new Set([...this.positions.keys(), ...this.run.fed]);
    for (const index of indices) {
      const [mine, theirs] = [this.valueOf(index), other.valueOf(index)];
      if (!mine || !theirs) continue;
      if (mine.some((summary, slot) => differs(summary, theirs[slot]))) found.add(index);
    }
    return found;
  }

  /** Why the step that ends at position `at` is a breakpoint, or "". */
  breakAt(at) {
    const step = this.steps[at - 1];
    const hit = step && this.breaks.find((one) => one.test(step));
    return hit ? hit.text : "";
  }

  nextBreak() {
    for (let at = this.at + 1; at <= this.steps.length; at++) {
      const why = this.breakAt(at);
      if (why) return { at, why };
    }
    return null;
  }
}
