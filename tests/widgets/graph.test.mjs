import assert from "node:assert/strict";
import { test } from "node:test";
import { GraphModel, LAYERS, foldBlocks, foldSeries, kindOf, parseInput, visibleGraph } from "../../widgets/dataflow_widgets/shared/graph.js";
import { face } from "../../widgets/dataflow_widgets/shared/measure.js";
import { chain, layers, lesson, node } from "./graphs.mjs";

const opened = (model) => new Set(model.allScopes());

test("inputs are parsed, control inputs apart", () => {
  assert.deepEqual(parseInput("layer/MatMul:1"), ["layer/MatMul", 1]);
  assert.deepEqual(parseInput("^init"), ["init", -1]);
});

test("a message that comes twice adds nothing", () => {
  const model = new GraphModel(lesson());
  assert.equal(model.add(lesson()), 0);
  assert.equal(model.nodes.length, 6);
});

test("operations that arrive later are linked to earlier ones", () => {
  const model = new GraphModel(lesson());
  model.add([node("late", "Neg", ["pow_op:0"])]);
  assert.deepEqual(model.inputs[6], [{ from: 5, slot: 0 }]);
  assert.deepEqual(model.consumers[5], [{ to: 6, slot: 0 }]);
});

test("a tensor that many ops read has its shape written on one edge", () => {
  const labels = (count) => {
    const rows = { outputs: [{ dtype: "float32", shape: "(9,)" }] };
    const model = new GraphModel([node("x", "Placeholder", [], rows), ...Array.from({ length: count }, (_, i) => node(`a${i}`, "Sum", ["x:0"]))]);
    return visibleGraph(model, { open: new Set() }).edges.map((edge) => edge.label);
  };
  assert.deepEqual(labels(3), ["(9)", "(9)", "(9)"]);
  assert.deepEqual(labels(4), ["(9)", "", "", ""]);
});

test("an op's own literals are no scope to open", () => {
  const model = new GraphModel([node("Add/x", "Const"), node("Add/y", "Const"), node("Add", "Add", ["Add/x:0", "Add/y:0"])]);
  assert.deepEqual(model.allScopes(), []);
  assert.equal(visibleGraph(model, { open: new Set() }).items.length, 3);
});

test("a literal that a gradient reads too is still an op's own", () => {
  const gradient = { ...node("gradients/mul_grad/Mul", "Mul", ["mul/y:0"]), role: "gradient" };
  const model = new GraphModel([node("mul/y", "Const"), node("mul", "Mul", ["mul/y:0"]), gradient]);
  assert.deepEqual(model.scopeOf.slice(0, 2), ["", ""]);
});

test("a variable's scope holds the variable too", () => {
  const model = new GraphModel([node("W", "VariableV2"), node("W/read", "Identity", ["W:0"])]);
  assert.deepEqual(model.scopeOf, ["W", "W"]);
  const { items } = visibleGraph(model, { open: new Set() });
  assert.equal(items.length, 1);
  assert.deepEqual(items[0].members, [0, 1]);
});

test("a closed scope is one item, its edges are merged and counted", () => {
  const model = new GraphModel([
    node("a/x", "Const"),
    node("a/y", "Const"),
    node("b/sum", "Add", ["a/x:0", "a/y:0"]),
  ]);
  const { items, edges } = visibleGraph(model, { open: new Set() });
  assert.deepEqual(items.map((item) => item.id), ["s:a", "s:b"]);
  assert.equal(edges.length, 1);
  assert.equal(edges[0].label, "2 tensors");
  const open = visibleGraph(model, { open: new Set(["a", "b"]) });
  assert.deepEqual(open.edges.map((edge) => [...edge.tensors.values()]), [["float32 ()"], ["float32 ()"]]);
  assert.deepEqual(open.clusters.map((cluster) => cluster.path), ["a", "b"]);
});

test("an edge says a shape where it is new; the dtype is told on hover", () => {
  const output = (shape) => ({ outputs: [{ dtype: "int64", shape }] });
  const model = new GraphModel([
    node("x", "Placeholder", [], output("(?, 3)")),
    node("y", "Neg", ["x:0"], output("(?, 3)")),
    node("loss", "Sum", ["y:0"], output("()")),
    node("late", "Neg", ["loss:0"], output("()")),
    node("v", "VariableV2", [], output("(3,)")),
    node("w", "Neg", ["v:0", "late:0"], output("(3,)")),
    node("z", "NoOp", ["^w"]),
  ]);
  const { edges } = visibleGraph(model, { open: new Set() });
  assert.deepEqual(edges.map((edge) => edge.label), ["(?, 3)", "", "scalar", "(3)", "", ""]);
  assert.deepEqual([...edges[1].tensors], [["y:0", "int64 (?, 3)"]]);
  assert.equal(edges.at(-1).control, true);
});

test("a tensor that is read twice is two edges", () => {
  const model = new GraphModel([node("left", "Neg"), node("total", "Add", ["left:0", "left:0"])]);
  const { edges } = visibleGraph(model, { open: new Set() });
  assert.equal(edges.length, 2);
  assert.equal(new Set(edges.map((edge) => edge.id)).size, 2);
});

test("items that would have the same title get one part of the scope more", () => {
  const model = new GraphModel([node("a/out", "Neg"), node("b/out", "Neg"), node("x", "Placeholder"), node("sum", "AddN", ["a/out:0", "b/out:0", "x:0"])]);
  const all = new Set(["a", "b"]);
  const { items } = visibleGraph(model, { open: all });
  assert.deepEqual(items.map((item) => face(item, model).title), ["out", "out", "x", "sum"]); // in frames that say it
  const { items: flat } = visibleGraph(model, { open: all, shown: LAYERS.model });
  assert.deepEqual(flat.map((item) => face(item, model).title), ["a", "b", "x", "sum"]); // a scope of one op is that op
});

test("a constant without a name of its own is its value", () => {
  const model = new GraphModel([node("a", "Const", [], { value: "2." }), node("Const", "Const", [], { value: "3." }), node("mul/y", "Const", [], { value: "4." })]);
  const looks = visibleGraph(model, { open: new Set(["mul"]) }).items.map((item) => face(item, model));
  assert.deepEqual(looks.map((look) => [look.title, look.detail]), [["a", "2."], ["", "3."], ["", "4."]]);
});

// A weight with its read and assignment, a step of training, and what saves.
const trained = () => [
  node("x", "Placeholder"),
  node("dense/w", "VariableV2"),
  node("dense/w/Assign", "Assign", ["dense/w:0"], { role: "initializer", owner: "dense/w" }),
  node("dense/w/read", "Identity", ["dense/w:0"], { owner: "dense/w" }),
  node("dense/MatMul", "MatMul", ["x:0", "dense/w/read:0"]),
  node("loss/axis", "Const", [], { owner: "loss" }),
  node("loss", "Sum", ["dense/MatMul:0", "loss/axis:0"]),
  node("gradients/loss_grad", "Fill", ["loss:0"], { role: "gradient" }),
  node("train", "ApplyGradientDescent", ["dense/w:0", "gradients/loss_grad:0"], { role: "optimizer" }),
  node("save/SaveV2", "SaveV2", ["dense/w:0"], { role: "saver" }),
];

test("the layer of the model folds a variable and settings, and leaves the machinery out", () => {
  const model = new GraphModel(trained());
  const { items, edges, holder } = visibleGraph(model, { open: new Set(model.allScopes()), shown: LAYERS.model });
  assert.deepEqual(items.map((item) => model.nodes[item.index].name), ["x", "dense/w", "dense/MatMul", "loss"]);
  assert.deepEqual(items[1].members, [1, 2, 3]);
  assert.equal(items[1].numDrawn, 1);
  assert.deepEqual(edges.map((edge) => [edge.from, edge.to]), [["n:0", "n:4"], ["n:1", "n:4"], ["n:4", "n:6"]]);
  assert.equal(holder[8], null);
  assert.deepEqual(model.roleCounts(), [["gradient", 1], ["optimizer", 1], ["initializer", 1], ["saver", 1]]);
  const gradient = model.nodes.findIndex(({ role }) => role === "gradient");
  assert.deepEqual(model.roleCounts(new Set([gradient])), [["gradient", 1]]);
});

test("other layers add the gradients, or everything as it is", () => {
  const model = new GraphModel(trained());
  const open = new Set(model.allScopes());
  const names = (shown) => visibleGraph(model, { open, shown }).items.map((item) => model.nodes[item.index].name);
  assert.equal(names(LAYERS.gradients).length, 5);
  assert.ok(names(LAYERS.gradients).includes("gradients/loss_grad"));
  assert.equal(names(LAYERS.everything).length, 10);
  assert.equal(model.initialLayer(), "everything"); // small
});

test("an owner that owns itself in a circle hangs nothing", () => {
  const model = new GraphModel([node("a", "Neg", [], { owner: "b" }), node("b", "Neg", [], { owner: "a" })]);
  assert.equal(visibleGraph(model, { open: new Set(), shown: LAYERS.model }).items.length, 0);
});

test("5000 operations in scopes are shown as few items, each op in exactly one", () => {
  const model = new GraphModel(layers(300));
  assert.ok(model.nodes.length > 4000);
  const { items, holder } = visibleGraph(model, { open: new Set() });
  const members = items.flatMap((item) => item.members);
  assert.equal(members.length, model.nodes.length);
  assert.equal(new Set(members).size, model.nodes.length);
  assert.ok(holder.every(Boolean));
});

test("long flat series fold into one item with a count, and unfold", () => {
  const model = new GraphModel(Array.from({ length: 50 }, (_, i) => node(i ? `Add_${i}` : "Add", "Add", i ? [`Add${i > 1 ? `_${i - 1}` : ""}:0`] : [])));
  const folded = foldSeries(model);
  assert.equal(folded.size, 50);
  const { items } = visibleGraph(model, { open: new Set(), folded });
  assert.equal(items.length, 1);
  assert.equal(items[0].members.length, 50);
  const key = items[0].fold.key;
  assert.equal(foldSeries(model, { unfolded: new Set([key]) }).size, 0);
});

test("equal scopes beside each other fold into one block with a count, and unfold", () => {
  const model = new GraphModel([...layers(6), node("layer7/odd", "Neg")]);
  const closed = visibleGraph(model, { open: new Set() });
  const blocks = foldBlocks(model, closed);
  assert.deepEqual([...blocks.keys()], ["layer0", "layer1", "layer2", "layer3", "layer4", "layer5"]);
  const { items, edges } = visibleGraph(model, { open: new Set(), blocks });
  const block = items.find((item) => item.fold);
  assert.equal(block.fold.paths.length, 6);
  assert.equal(block.members.length, 6 * 11);
  assert.ok(edges.every((edge) => edge.from !== edge.to));
  assert.equal(foldBlocks(model, closed, { unfolded: new Set([block.fold.key]) }).size, 0);
});

test("isolating shows only what was asked for", () => {
  const model = new GraphModel(lesson());
  const need = model.ancestors([model.indexOf.get("add_op")]);
  assert.deepEqual([...need].sort(), [0, 1, 2]);
  assert.equal(visibleGraph(model, { open: new Set(), only: need }).items.length, 3);
});

test("a loop's back edge does not hang the walk", () => {
  const model = new GraphModel([node("Merge", "Merge", ["Next:0"]), node("Next", "NextIteration", ["Merge:0"])]);
  assert.equal(model.ancestors([0]).size, 2);
});

test("kinds follow the op type", () => {
  assert.deepEqual(["Const", "Placeholder", "VariableV2", "MatMul", "Assign", "Switch", "_Send"].map((op) => kindOf(node("n", op))), ["const", "placeholder", "variable", "op", "state", "control", "move"]);
  assert.equal(kindOf(node("gradients/x_grad/Mul", "Mul")), "gradient");
});

test("a chain of a thousand nodes is linked in order", () => {
  const model = new GraphModel(chain(1000));
  assert.equal(model.descendants([0]).size, 1000);
});

test("a known operation can change: a loop's back edge", () => {
  const model = new GraphModel([node("Merge", "Merge"), node("Next", "NextIteration", ["Merge:0"])]);
  model.replace([node("Merge", "Merge", ["Next:0"]), node("unknown")]);
  assert.deepEqual(model.inputs[0], [{ from: 1, slot: 0 }]);
  assert.equal(model.nodes.length, 2);
});
