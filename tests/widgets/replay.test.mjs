import assert from "node:assert/strict";
import { test } from "node:test";
import { GraphModel } from "../../widgets/dataflow_widgets/shared/graph.js";
import { countWords, dashedWords, forwardOf, gradientsOf, search, why } from "../../widgets/dataflow_widgets/shared/explain.js";
import { firstColoring, staticBytes } from "../../widgets/dataflow_widgets/shared/palette.js";
import { editable } from "../../widgets/dataflow_widgets/shared/branch.js";
import { Replay, branchTaken, notFinite, parseCondition, travels } from "../../widgets/dataflow_widgets/shared/replay.js";
import { brief, bytes, cells, number, seconds, shade } from "../../widgets/dataflow_widgets/shared/values.js";
import { layers, lesson, node } from "./graphs.mjs";

const scalar = (value, more = {}) => ({ kind: "scalar", shape: [], data: [value], dtype: "int32", size: 1, bytes: 4, shape_text: "()", ...more });
const trace = () => ({
  steps: [
    { i: 0, type: "Const", s: 1e-6, in: [], out: [scalar(2)] },
    { i: 1, type: "Const", s: 1e-6, in: [], out: [scalar(3)] },
    { i: 2, type: "Add", s: 2e-6, in: [0, 1], out: [scalar(5)] },
    { i: 3, type: "Mul", s: 2e-6, in: [0, 1], out: [scalar(6)] },
    { i: 5, type: "Pow", s: 3e-6, in: [2, 3], out: [scalar(15625)] },
  ],
  fetched: [5],
  fed: [],
  feed_values: {},
});
const marks = (m) => Object.fromEntries(Object.entries(m).map(([key, list]) => [key, new Set(list)]));

test("positions stay within the run", () => {
  const replay = new Replay(trace());
  assert.equal(replay.current(), null);
  replay.go(-3);
  assert.equal(replay.at, 0);
  replay.go(99);
  assert.equal(replay.at, 5);
  assert.equal(replay.current().i, 5);
});

test("a value exists from its step on, and is gone again when stepping back", () => {
  const replay = new Replay(trace());
  assert.equal(replay.valueOf(2), null);
  replay.go(3);
  assert.equal(replay.valueOf(2)[0].data[0], 5);
  replay.go(2);
  assert.equal(replay.valueOf(2), null);
});

test("done, ready and alive at each position", () => {
  const replay = new Replay(trace());
  assert.deepEqual(replay.state().ready, [0, 1]);
  replay.go(2);
  assert.deepEqual(replay.state().done, [0, 1]);
  assert.deepEqual(replay.state().ready, [2, 3]);
  assert.deepEqual([...replay.state().alive].sort(), [0, 1]);
  replay.go(4);
  assert.deepEqual([...replay.state().alive].sort(), [2, 3]); // x and y have had their last use
  assert.equal(replay.state().aliveBytes, 8);
  replay.go(5);
  assert.deepEqual([...replay.state().alive], [5]); // the fetched value stays
});

test("run to node finds the step of an op, and of the last op in a scope", () => {
  const replay = new Replay(trace());
  assert.equal(replay.stepOf([2]), 3);
  assert.equal(replay.stepOf([2, 3, 4]), 4);
  assert.equal(replay.stepOf([4]), null); // pruned
});

test("breakpoints: node, type, condition, first NaN", () => {
  const graph = new GraphModel(lesson());
  const replay = new Replay(trace());
  replay.breaks = [parseCondition("type:mul", graph)];
  assert.equal(replay.nextBreak().at, 4);
  replay.breaks = [parseCondition("pow_op", graph)];
  assert.equal(replay.nextBreak().at, 5);
  replay.breaks = [parseCondition("value > 5", graph)];
  assert.equal(replay.nextBreak().at, 4);
  replay.breaks = [parseCondition("pow_op: value > 1e9", graph)];
  assert.equal(replay.nextBreak(), null);
  const bad = trace();
  bad.steps[3].out = [scalar("nan")];
  const other = new Replay(bad);
  other.breaks = [parseCondition("nan", graph)];
  assert.equal(other.nextBreak().at, 4);
  assert.match(parseCondition("no_such_op", graph).error, /no_such_op/);
  assert.match(parseCondition("no_such_op: max > 3", graph).error, /no_such_op/);
  assert.ok(parseCondition("  ", graph).error);
});

test("ops inside a loop run several times, each time with its own value", () => {
  const steps = [1, 2, 3].map((v) => ({ i: 7, type: "Add", in: [], out: [scalar(v)] }));
  const replay = new Replay({ steps, fetched: [], fed: [], feed_values: {} });
  replay.go(2);
  assert.equal(replay.valueOf(7)[0].data[0], 2);
  assert.equal(replay.iteration(), 2);
  assert.equal(replay.stepOf([7]), 3);
  replay.go(3);
  assert.equal(replay.stepOf([7]), 1);
});

test("two runs: the values that differ at the same position", () => {
  const first = new Replay(trace());
  const other = trace();
  other.steps[1].out = [scalar(4)];
  other.steps[2].out = [scalar(6)];
  const second = new Replay(other);
  first.go(3);
  second.go(3);
  assert.deepEqual([...second.differences(first)].sort(), [1, 2]);
  second.go(1);
  first.go(1);
  assert.equal(second.differences(first).size, 0);
});

test("a small value can be edited as text", () => {
  assert.equal(editable(scalar(2)), "2");
  assert.equal(editable({ data: [1, 2, 3, 4, 5, 6], shape: [2, 3] }), "[[1,2,3],[4,5,6]]");
  assert.equal(editable({ kind: "heat", shape: [100, 100] }), "");
});

test("NaN is found in statistics too", () => {
  assert.equal(notFinite({ kind: "heat", stats: { nan: 2, inf: 0 } }), true);
  assert.equal(notFinite({ kind: "heat", stats: { nan: 0, inf: 0 } }), false);
  assert.equal(notFinite(null), false);
});

test("a fed value is there from the start", () => {
  const replay = new Replay({ steps: [], fetched: [], fed: [2], feed_values: { 2: [scalar(9)] } });
  assert.equal(replay.valueOf(2)[0].data[0], 9);
});

test("numbers are short and exact where it matters", () => {
  assert.equal(number(15625), "15625");
  assert.equal(number(0.1 + 0.2), "0.3");
  assert.equal(number(1.5e-9), "1.500e-9");
  assert.equal(number("nan"), "NaN");
  assert.equal(number("-inf"), "−∞");
  assert.equal(number(true), "True");
  assert.equal(bytes(0), "0 B");
  assert.equal(bytes(4096), "4.0 KB");
  assert.equal(seconds(2.5e-5), "25 µs");
  assert.equal(brief(scalar(7)), "7");
});

test("heat colors: sequential, diverging around zero, and apart for NaN", () => {
  assert.equal(shade(0, 0, 1), "rgb(68,1,84)");
  assert.equal(shade(1, 0, 1), "rgb(253,231,37)");
  assert.equal(shade(0, -1, 1), "rgb(247,247,247)");
  assert.notEqual(shade("nan", 0, 1), shade(0, 0, 1));
});

test("grid bytes become values again", () => {
  const levels = btoa(String.fromCharCode(0, 125, 250, 255, 254));
  assert.deepEqual(cells({ levels, lo: -1, hi: 1 }), [-1, 0, 1, "nan", "inf"]);
});

test("why did this run: the path to the fetch", () => {
  const graph = new GraphModel(lesson());
  const m = marks({ fetched: [5], fed: [], needed: [0, 1, 2, 3, 5] });
  const answer = why(graph, 0, m);
  assert.match(answer.text, /'x' ran because 'pow_op' was fetched and needs it, through '(add|mul)_op'/);
  assert.equal(answer.path[0], 0);
  assert.equal(answer.path.at(-1), 5);
  assert.match(why(graph, 5, m).text, /was fetched/);
});

test("why not: which fetch would run it, and a value that was fed", () => {
  const graph = new GraphModel(lesson());
  assert.match(why(graph, 4, marks({ fetched: [5], fed: [], needed: [0, 1, 2, 3, 5] })).text, /Fetching 'useless' itself would run it/);
  const fed = marks({ fetched: [2], fed: [0], needed: [1, 2] });
  assert.match(why(graph, 0, fed).text, /was fed/);
  const hidden = new GraphModel([node("a", "Const"), node("b", "Neg", ["a:0"]), node("c", "Neg", ["b:0"])]);
  assert.match(why(hidden, 0, marks({ fetched: [2], fed: [1], needed: [2] })).text, /only through 'b', whose value was fed/);
  assert.match(why(graph, 0, null).text, /Nothing has been run/);
});

test("gradient ops are paired with their forward op", () => {
  const graph = new GraphModel(layers(2));
  const forward = graph.indexOf.get("layer1/MatMul");
  const backward = gradientsOf(graph, forward);
  assert.deepEqual(backward.map((i) => graph.nodes[i].name), ["gradients/layer1/MatMul_grad/MatMul"]);
  assert.equal(forwardOf(graph, backward[0]), forward);
  assert.equal(forwardOf(graph, forward), null);
});

test("search: by name, type and device, best first", () => {
  const graph = new GraphModel([...lesson(), node("z", "MatMul", [], { device: "/job:ps/task:0" })]);
  assert.deepEqual(search(graph, "add").map((i) => graph.nodes[i].name), ["add_op"]);
  assert.deepEqual(search(graph, "type:matmul").map((i) => graph.nodes[i].name), ["z"]);
  assert.deepEqual(search(graph, "device:ps"), [6]);
  assert.deepEqual(search(graph, "   "), []);
  assert.deepEqual(search(graph, "type:"), []);
});

test("counts in words", () => {
  assert.equal(countWords(6, marks({ fetched: [5], fed: [], needed: [0, 1, 2, 3, 5] })), "6 operations: 1 fetched, 0 fed, 5 needed, 1 pruned");
  assert.equal(countWords(1, null), "1 operation");
  assert.equal(dashedWords("18 operations: 1 fetched, 0 fed, 3 needed, 15 pruned"), "18 operations: 1 fetched, 0 fed, 3 needed, 15 pruned (dashed)");
  assert.equal(dashedWords("1 operation"), "1 operation");
});

test("bytes of a static shape", () => {
  assert.equal(staticBytes("float32 (784, 10)"), 31360);
  assert.equal(staticBytes("int64 ()"), 8);
  assert.equal(staticBytes("float32 (3,)"), 12);
  assert.equal(staticBytes("float32 (?, 10)"), null);
  assert.equal(staticBytes("float32 <unknown>"), null);
});

test("another run is brought to the same op, or to its end", () => {
  const long = new Replay(trace());
  const short = new Replay({ ...trace(), steps: trace().steps.slice(2) });
  long.go(4);
  short.alignWith(long);
  assert.equal(short.current().i, 3);
  long.go(5);
  short.alignWith(long);
  assert.equal(short.at, 3);
  short.go(1);
  long.alignWith(short);
  assert.equal(long.current().i, 2);
});

test("what a step on several tasks got, sent and waited for", () => {
  const step = { i: 4, type: "MatMul", on: "worker 0", recv: [[2, "ps 0", 160000, 3.7e-4]], send: [["ps 0", 4]], wait: [3.9e-4, 2] };
  assert.deepEqual(travels(step, (i) => `op${i}`), ["Recv op2 from ps 0: 156 KB, under way for at most 370 µs.", "Send to ps 0: 4 B.", "worker 0 waited 390 µs for op2."]);
  assert.deepEqual(travels({ i: 1, on: "ps 0", wait: [0.5, null] }, String), ["ps 0 waited 500.00 ms."]);
  assert.deepEqual(travels({ i: 1 }, String), []);
});

test("the branch that a Merge took", () => {
  const graph = { nodes: [{ inputs: ["no:0", "yes:0"] }] };
  assert.equal(branchTaken({ i: 0, type: "Merge", out: [scalar(9), scalar(1)] }, graph), "yes:0");
  assert.equal(branchTaken({ i: 0, type: "Merge", out: [scalar(9), scalar(0)] }, graph), "no:0");
  assert.equal(branchTaken({ i: 0, type: "Merge", out: [scalar(9), null] }, graph), null);
  assert.equal(branchTaken({ i: 0, type: "Add", out: [scalar(9), scalar(1)] }, graph), null);
});

test("a graph on several devices is colored by device at first, another by kind", () => {
  const on = (...devices) => devices.map((device, i) => ({ name: `n${i}`, device }));
  assert.equal(firstColoring(on("", "/job:ps/task:0", "/job:worker", "/job:worker")), "device");
  assert.equal(firstColoring(on("", "/cpu:0", "/cpu:0")), "kind");
  assert.equal(firstColoring([]), "kind");
});
