// A recorded run as positions 0 ... n: at position k the first k ops are done.  Pure data.

const isBad = (value) => value === "nan" || value === "inf" || value === "-inf";

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
  if (!trimmed) return { error: "Write a node name, type:OpType, nan, or a condition such as max > 100." };
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
          const value = field === "value" ? summary?.data?.[0] : summary?.stats?.[field.toLowerCase()];
          return typeof value === "number" && COMPARE[sign](value, Number(limit));
        }),
    };
  }
  const index = graph.indexOf.get(trimmed);
  if (index === undefined) return { error: `No operation is called '${trimmed}'.` };
  return { text: trimmed, test: (step) => step.i === index };
}

export class Replay {
  constructor(trace) {
    this.trace = trace;
    this.steps = trace.steps;
    this.at = 0;
    this.breaks = [];
    this.watches = new Set();
    this.position = new Map(this.steps.map((step, k) => [step.i, k]));
    // The last step that reads each op's value; fetched values live to the end.
    this.lastUse = new Map();
    this.steps.forEach((step, k) => {
      for (const from of step.in ?? []) this.lastUse.set(from, k);
    });
    for (const index of trace.fetched) this.lastUse.set(index, this.steps.length);
  }

  go(to) {
    this.at = Math.max(0, Math.min(this.steps.length, to));
  }

  current() {
    return this.at ? this.steps[this.at - 1] : null;
  }

  /** Position at which one of `members` is done (the last of them to run), or null. */
  stepOf(members) {
    const found = members.map((index) => this.position.get(index)).filter((k) => k !== undefined);
    return found.length ? Math.max(...found) + 1 : null;
  }

  /** Summaries of an op's outputs if they exist at this position, else null. */
  valueOf(index) {
    const k = this.position.get(index);
    if (k !== undefined) return k < this.at ? this.steps[k].out ?? [] : null;
    return this.trace.feed_values?.[index] ?? null;
  }

  state() {
    const done = this.steps.slice(0, this.at).map((step) => step.i);
    const finished = new Set([...done, ...this.trace.fed]);
    const ready = this.steps.slice(this.at).filter((step) => (step.in ?? []).every((i) => finished.has(i) || !this.position.has(i))).map((step) => step.i);
    const alive = new Set();
    let aliveBytes = 0;
    const consider = (index, outputs) => {
      if (!((this.lastUse.get(index) ?? -1) >= this.at)) return;
      const held = (outputs ?? []).filter(Boolean);
      if (!held.length) return;
      alive.add(index);
      aliveBytes += held.reduce((sum, summary) => sum + (summary.bytes ?? 0), 0);
    };
    for (let k = 0; k < this.at; k++) consider(this.steps[k].i, this.steps[k].out);
    for (const index of this.trace.fed) consider(index, this.trace.feed_values?.[index]);
    return { done, ready, alive, aliveBytes, current: this.at ? this.steps[this.at - 1].i : null };
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
