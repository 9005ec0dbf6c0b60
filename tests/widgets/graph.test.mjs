import assert from "node:assert/strict";
import { test } from "node:test";
import { GraphModel, foldBlocks, foldSeries, kindOf, parseInput, visibleGraph } from "../../widgets/dataflow_widgets/shared/graph.js";
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

test("an op's own literals are no scope to open", () => {
  const model = new GraphModel([node("Add/x", "Const"), node("Add/y", "Const"), node("Add", "Add", ["Add/x:0", "Add/y:0"])]);
  assert.deepEqual(model.allScopes(), []);
  assert.equal(visibleGraph(model, { open: new Set() }).items.length, 3);
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
  assert.deepEqual(open.edges.map((edge) => edge.label), ["float32 ()", "float32 ()"]);
  assert.deepEqual(open.clusters.map((cluster) => cluster.path), ["a", "b"]);
});

test("an edge carries dtype and shape; a control edge no label", () => {
  const model = new GraphModel([node("x", "Const", [], { outputs: [{ dtype: "int64", shape: "(?, 3)" }] }), node("y", "Neg", ["x:0"]), node("z", "NoOp", ["^y"])]);
  const { edges } = visibleGraph(model, { open: new Set() });
  assert.equal(edges[0].label, "int64 (?, 3)");
  assert.equal(edges[1].control, true);
  assert.equal(edges[1].label, "");
});

test("up to 200 nodes everything is open, above that scopes start closed", () => {
  const small = new GraphModel(layers(2));
  assert.deepEqual(small.initialOpen(), opened(small));
  const large = new GraphModel(layers(40));
  assert.ok(large.nodes.length > 200);
  const { items } = visibleGraph(large, { open: large.initialOpen() });
  assert.ok(items.length <= 200, `${items.length} items`);
});

test("past a few dozen ops what training added starts closed, the model open", () => {
  const model = new GraphModel(layers(6));
  assert.ok(model.nodes.length > 60 && model.nodes.length <= 200);
  const open = model.initialOpen();
  assert.ok(open.has("layer0") && !open.has("layer0/W"));
  assert.ok(!open.has("gradients") && !open.has("train"));
});

test("5000 operations in scopes are shown as few items, each op in exactly one", () => {
  const model = new GraphModel(layers(300));
  assert.ok(model.nodes.length > 4000);
  const { items, holder } = visibleGraph(model, { open: model.initialOpen() });
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
