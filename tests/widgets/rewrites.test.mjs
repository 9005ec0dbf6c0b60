// The replay of rewrites in the page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { RewriteHistory } from "../../widgets/dataflow_widgets/shared/rewrites.js";

const node = (name, op, inputs = []) => ({ name, op, inputs, outputs: [{ dtype: "float32", shape: "()" }] });
const nodes = [node("x", "Placeholder"), node("one", "Const"), node("mul", "Mul", ["x:0", "one:0"]), node("dead", "Neg", ["x:0"]), node("y", "Exp", ["mul:0"]), node("far", "Neg", ["y:0"])];
const steps = [
  { rule: "pruning", equation: "what no fetch needs -> nothing", at: "", after: "", removed: ["dead"], put: [], num_hits: 1, kernel: "" },
  { rule: "times_one", equation: "x * 1 -> x", at: "mul:0", after: "x:0", removed: ["one", "mul"], put: [node("y", "Exp", ["x:0"])], num_hits: 1, kernel: "" },
  { rule: "fusion", equation: "Neg . Exp -> one kernel.", at: "far:0", after: "far/fused:0", removed: ["y", "far"], put: [node("far/fused", "_Fused", ["x:0"])], num_hits: 2, kernel: "def block(): ..." },
];
const history = new RewriteHistory(nodes, steps);

test("positions are the graph as built and after each step", () => {
  assert.deepEqual([0, 1, 2, 3].map((k) => [...history.at(k).keys()]), [
    ["x", "one", "mul", "dead", "y", "far"],
    ["x", "one", "mul", "y", "far"],
    ["x", "y", "far"],
    ["x", "far/fused"],
  ]);
  assert.deepEqual(history.at(2).get("y").inputs, ["x:0"]);
  assert.deepEqual(history.at(1).get("y").inputs, ["mul:0"]);
});

test("a change names what goes, comes, is rewired, and what is near", () => {
  const change = history.change(2);
  assert.deepEqual([...change.gone], ["one", "mul"]);
  assert.deepEqual([...change.added], []);
  assert.deepEqual([...change.rewired], ["y"]);
  assert.deepEqual([...change.near].sort(), ["mul", "one", "x", "y"]);
  assert.equal(change.before.nodes.length, 5);
  assert.equal(change.after.nodes.length, 3);
  assert.deepEqual([...history.change(3).added], ["far/fused"]);
});

test("rules count their hits and know where they are", () => {
  assert.deepEqual(history.rules().map((r) => [r.rule, r.hits, r.positions]), [["pruning", 1, [1]], ["times_one", 1, [2]], ["fusion", 2, [3]]]);
});

test("finding goes round", () => {
  assert.equal(history.find("times", 1), 2);
  assert.equal(history.find("times", 2), 2);
  assert.equal(history.find("-> x", 3), 2);
  assert.equal(history.find("FAR:0", 0), 3);
  assert.equal(history.find("nowhere", 1), null);
  assert.equal(history.find("  ", 1), null);
});

test("sentences", () => {
  assert.equal(history.sentence(0), "The graph as it was built: 6 nodes. 3 steps to come.");
  assert.equal(history.sentence(1), "Step 1 of 3: what no fetch needs -> nothing. 1 node goes, 5 left.");
  assert.equal(history.sentence(3), "Step 3 of 3, at far:0 and 1 more: Neg . Exp -> one kernel. 2 nodes go, 1 node is new, 2 left.");
});

test("pruning saves nothing against a run: it says what does not run", () => {
  assert.equal(history.savedWords(1), "1 node, of which 1 would compute something, are not run at all.");
  assert.equal(history.savedWords(2), "Saves 1 op and 4 B of values in each run.");
  const whole = new RewriteHistory([node("x", "Neg")], [{ ...steps[0], removed: [] }]);
  assert.equal(whole.savedWords(1), "Every node of the graph is needed.");
  assert.match(whole.sentence(1), /\. Nothing changes\.$/);
});

test("what a rewrite saves: ops that compute, and the bytes of their values", () => {
  assert.deepEqual(history.saves(1), { ops: 1, size: 4 });
  assert.deepEqual(history.saves(2), { ops: 1, size: 4 }, "the constant costs nothing");
  assert.deepEqual(history.saves(3), { ops: 1, size: 4 });
  const open = new RewriteHistory([{ ...node("x", "Neg"), outputs: [{ dtype: "float32", shape: "(?, 3)" }] }], [{ ...steps[0], removed: ["x"] }]);
  assert.ok(Number.isNaN(open.saves(1).size), "no bytes are claimed of what has no known size");
});

test("a player begins at the first step that changes something", () => {
  assert.equal(history.first(), 1);
  const idle = { ...steps[0], removed: [] };
  assert.equal(new RewriteHistory(nodes, [idle, ...steps.slice(1)]).first(), 2);
  assert.equal(new RewriteHistory(nodes, [idle]).first(), 1);
  assert.equal(new RewriteHistory(nodes, []).first(), 0);
});
