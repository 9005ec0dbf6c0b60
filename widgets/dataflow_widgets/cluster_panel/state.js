// What the panel says and how: pure functions on what the kernel sent.  Runs under node.
import { short } from "../shared/numbers.js";
import { bytes } from "../shared/values.js";

export const STATES = {
  running: { word: "running", mark: "●", tone: "good" },
  paused: { word: "paused", mark: "❚❚", tone: "warn" },
  silent: { word: "no answer", said: "does not answer", mark: "…", tone: "warn" },
  restarting: { word: "restarting", mark: "↻", tone: "warn" },
  starting: { word: "starting", mark: "↻", tone: "warn" },
  dead: { word: "dead", mark: "✕", tone: "bad" },
  stopped: { word: "stopped", mark: "■", tone: "plain" },
};

export const stateOf = (name) => STATES[name] ?? { word: String(name), mark: "?", tone: "plain" };

/** Which buttons of a task can be pressed, and why not the others. */
export function allowed(task, launched) {
  const here = launched ? "" : "who started this server must start it again";
  return {
    pause: ["running", "silent"].includes(task.state) ? "" : `${task.name} is ${stateOf(task.state).word}`,
    resume: task.state === "paused" ? "" : `${task.name} is not paused`,
    kill: ["running", "paused", "silent"].includes(task.state) ? "" : `${task.name} is ${stateOf(task.state).word}`,
    slow_down: task.state === "running" ? "" : `${task.name} is ${stateOf(task.state).word}`,
    restart: here || (["restarting", "starting"].includes(task.state) ? `${task.name} is already starting` : ""),
  };
}

const dash = "–";
export const rate = (value) => (value === null || value === undefined ? dash : short(value >= 100 ? Math.round(value) : Number(value.toPrecision(3))));
export const size = (value) => (value === null || value === undefined ? dash : bytes(Math.round(value)));

/** What a task received or sent, and how much of it went through shared memory. */
export const traveled = (total, shared) => (shared ? `${size(total)}, ${size(shared)} of it through shared memory` : size(total));

const flow = (perSecond, total) => (perSecond === null || perSecond === undefined ? size(total) : `${size(perSecond)}/s`);

/** The text of each cell of a task's row. */
export function cells(task) {
  return {
    steps: rate(task.stepsPerSecond),
    staleness: task.staleness === null || task.staleness === undefined ? dash : short(Number(task.staleness.toPrecision(2))),
    received: `in ${flow(task.receivedPerSecond, task.received)}`,
    sent: `out ${flow(task.sentPerSecond, task.sent)}`,
    variables: task.variables ? `${task.variables} · ${size(task.variableBytes)}` : task.variables === 0 ? "0" : dash,
    memory: task.memory ? `${size(task.memory)} of memory` : "",
  };
}

/** A line through the last values, as the `d` of a path in a box; "" before there are two. */
export function sparkline(values, width, height) {
  const known = values.filter((v) => Number.isFinite(v));
  if (known.length < 2) return "";
  const top = Math.max(...known, 1e-9);
  const step = width / Math.max(1, values.length - 1);
  let pen = "M";
  return values
    .map((v, i) => {
      if (!Number.isFinite(v)) {
        pen = "M";
        return "";
      }
      const point = `${pen}${(i * step).toFixed(1)} ${(height - 1 - (v / top) * (height - 2)).toFixed(1)}`;
      pen = "L";
      return point;
    })
    .join("");
}

/** The last `length` values of each task (by cluster and name), one more with every update. */
export class History {
  constructor(length = 60) {
    this.length = length;
    this.series = new Map();
  }

  add(key, value) {
    const list = this.series.get(key) ?? [];
    list.push(value ?? NaN);
    if (list.length > this.length) list.shift();
    this.series.set(key, list);
    return list;
  }
}

/** What changed between two states that somebody who cannot see should hear; "" for nothing. */
export function heard(before, now) {
  if (now.pending.length && now.pending.join() !== before?.pending?.join()) return now.pending.join(" ");
  if (now.news.text && now.news.id !== before?.news?.id) return now.news.text;
  const old = new Map((before?.clusters ?? []).flatMap((c) => c.tasks.map((t) => [`${c.id} ${t.name}`, t.state])));
  const changes = [];
  for (const cluster of now.clusters) {
    if (before && !before.clusters.some((c) => c.id === cluster.id)) changes.push(`${cluster.id} of ${cluster.words} appeared`);
    for (const task of cluster.tasks) {
      const was = old.get(`${cluster.id} ${task.name}`);
      if (was && was !== task.state) changes.push(`${task.name} ${stateOf(task.state).said ?? `is ${stateOf(task.state).word}`}`);
    }
  }
  return changes.length ? `${changes.join(", ")}.` : "";
}

/** The line under the panel: the chosen cluster in a sentence. */
export function summary(state) {
  if (!state) return "Waiting for the kernel…";
  const chosen = state.clusters.find((c) => c.id === state.chosen);
  if (!chosen) return "No cluster runs in this process.";
  if (chosen.state === "stopped") return `${chosen.id} is stopped.`;
  const by = new Map();
  for (const task of chosen.tasks) by.set(task.state, (by.get(task.state) ?? 0) + 1);
  return `${chosen.id}: ${chosen.words}; ${[...by].map(([name, count]) => `${count} ${stateOf(name).word}`).join(", ")}.`;
}
