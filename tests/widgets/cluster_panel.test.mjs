// What the panel says: states, rates, sparklines, announcements, traffic; without a page.
import assert from "node:assert/strict";
import test from "node:test";
import { chartOf } from "../../widgets/dataflow_widgets/cluster_panel/loss_chart.js";
import { History, allowed, cells, heard, rate, sparkline, stateOf, summary, traveled } from "../../widgets/dataflow_widgets/cluster_panel/state.js";

const task = (name, state = "running", more = {}) => ({ name, state, stepsPerSecond: null, staleness: null, received: 0, sent: 0, receivedPerSecond: null, sentPerSecond: null, variables: 0, variableBytes: 0, memory: null, ...more });
const cluster = (tasks, more = {}) => ({ id: "cluster 1", words: "1 ps and 1 worker", state: "running", tasks, ...more });
const state = (clusters, more = {}) => ({ clusters, chosen: clusters[0]?.id ?? null, pending: [], news: { id: 0, text: "" }, problem: { id: 0, text: "" }, ...more });

test("every state has a word and a mark, an unknown one too", () => {
  for (const name of ["running", "paused", "silent", "restarting", "dead", "stopped"]) assert.ok(stateOf(name).word && stateOf(name).mark);
  assert.equal(stateOf("weird").word, "weird");
});

test("what can be pressed, and why not", () => {
  assert.deepEqual(allowed(task("worker:1"), true), { pause: "", resume: "worker:1 is not paused", kill: "", slow_down: "", restart: "" });
  assert.equal(allowed(task("worker:1", "paused"), true).resume, "");
  assert.equal(allowed(task("worker:1", "paused"), true).kill, "");
  assert.equal(allowed(task("worker:1", "dead"), true).kill, "worker:1 is dead");
  assert.equal(allowed(task("worker:1", "dead"), true).restart, "");
  assert.match(allowed(task("worker:1", "dead"), false).restart, /who started/);
  assert.match(allowed(task("worker:1", "restarting"), true).restart, /already/);
});

test("figures are short, and unknown ones a dash", () => {
  assert.equal(rate(null), "–");
  assert.equal(rate(1234.5), "1235");
  assert.equal(rate(27.123), "27.1");
  const empty = cells(task("a", "dead", { variables: null, received: null, sent: null }));
  assert.deepEqual([empty.steps, empty.staleness, empty.received, empty.variables, empty.memory], ["–", "–", "in –", "–", ""]);
  const full = cells(task("a", "running", { stepsPerSecond: 20, staleness: 0.633, receivedPerSecond: 67000, sentPerSecond: 0, variables: 2, variableBytes: 31400, memory: 9e7 }));
  assert.equal(full.staleness, "0.63");
  assert.equal(full.received, "in 65 KB/s");
  assert.equal(full.sent, "out 0 B/s");
  assert.equal(traveled(67000, 66000), "65 KB, 64 KB of it through shared memory");
  assert.deepEqual([traveled(67000, 0), traveled(67000, null), traveled(null, null)], ["65 KB", "65 KB", "–"]);
  assert.match(full.variables, /^2 · 31 KB/);
  assert.match(full.memory, /MB of memory$/);
});

test("a sparkline has gaps where nothing is known", () => {
  assert.equal(sparkline([1], 60, 20), "");
  assert.equal(sparkline([NaN, NaN], 60, 20), "");
  assert.equal(sparkline([0, 10], 60, 20), "M0.0 19.0L60.0 1.0");
  assert.equal(sparkline([0, NaN, 10, 5], 30, 20), "M0.0 19.0M20.0 1.0L30.0 10.0");
  const history = new History(3);
  for (const value of [1, null, 3, 4]) history.add("a", value);
  assert.deepEqual(history.series.get("a").map(String), ["NaN", "3", "4"]);
});

test("what is heard: requests, their ends, and tasks that change; figures never", () => {
  const before = state([cluster([task("ps:0"), task("worker:0")])]);
  assert.equal(heard(before, state([cluster([task("ps:0", "running", { stepsPerSecond: 9 }), task("worker:0")])])), "");
  assert.equal(heard(before, state([cluster([task("ps:0"), task("worker:0", "dead")])])), "worker:0 is dead.");
  assert.equal(heard(before, state([cluster([task("ps:0", "silent"), task("worker:0")])])), "ps:0 does not answer.");
  assert.equal(heard(before, state(before.clusters, { pending: ["killing worker:0…"] })), "killing worker:0…");
  assert.equal(heard(before, state(before.clusters, { news: { id: 4, text: "worker:0 was killed." } })), "worker:0 was killed.");
  const told = state(before.clusters, { news: { id: 4, text: "worker:0 was killed." } });
  assert.equal(heard(told, told), "");
  assert.match(heard(before, state([...before.clusters, cluster([task("ps:0")], { id: "cluster 2" })])), /cluster 2 of 1 ps and 1 worker appeared/);
});

test("the line under the panel", () => {
  assert.equal(summary(null), "Waiting for the kernel…");
  assert.equal(summary(state([])), "No cluster runs in this process.");
  assert.equal(summary(state([cluster([task("ps:0"), task("worker:0", "dead")])])), "cluster 1: 1 ps and 1 worker; 1 running, 1 dead.");
  assert.equal(summary(state([cluster([], { state: "stopped" })])), "cluster 1 is stopped.");
});

test("the loss is drawn against steps and against time, with round numbers at the axes", () => {
  const rows = [[0, 0, 2.3], [1, 100, 1.1], [5, 120, NaN], [9, 200, 0.4]];
  assert.equal(chartOf(rows.slice(0, 1), "steps"), null);
  const [bySteps, byTime] = [chartOf(rows, "steps"), chartOf(rows, "time")];
  assert.equal(bySteps.line.match(/[ML]/g).length, 3, "what is no number is left out");
  assert.notEqual(bySteps.line, byTime.line);
  assert.deepEqual(bySteps.across.map((tick) => tick.text), ["0", "50", "100", "150", "200"]);
  assert.ok(byTime.across.every((tick) => tick.text.endsWith(" s")));
  assert.equal(bySteps.up[0].text, "0");
});
