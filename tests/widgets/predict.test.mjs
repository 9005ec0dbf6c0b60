// How the pruning wave of a run walks back from what it fetches.
import assert from "node:assert/strict";
import { test } from "node:test";
import { GraphModel } from "../../widgets/dataflow_widgets/shared/graph.js";
import { waveLevels } from "../../widgets/dataflow_widgets/predict/wave.js";

const node = (name, ...inputs) => ({ name, op: "Add", inputs, outputs: [] });
const graph = new GraphModel([node("x"), node("y"), node("sum", "x:0", "y:0"), node("product", "x:0", "y:0"), node("unused", "sum:0"), node("power", "sum:0", "product:0")]);

test("the wave takes one edge at a time and leaves out what the run does not need", () => {
  assert.deepEqual(waveLevels(graph, { fetched: [5], fed: [], needed: [0, 1, 2, 3, 5] }), [[5], [2, 3], [0, 1]]);
});

test("the wave stops at what is fed", () => {
  assert.deepEqual(waveLevels(graph, { fetched: [4], fed: [2], needed: [4] }), [[4], [2]]);
});

test("the wave goes round a loop once", () => {
  const loop = new GraphModel([node("start"), node("merge", "start:0", "next:0"), node("next", "merge:0")]);
  assert.deepEqual(waveLevels(loop, { fetched: [2], fed: [], needed: [0, 1, 2] }), [[2], [1], [0]]);
});
