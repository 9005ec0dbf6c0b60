// What a graph says of itself: the steps of a loop, shared weights, loops and conditions, what is alike.
import assert from "node:assert/strict";
import { test } from "node:test";
import { foldAlike } from "../../widgets/dataflow_widgets/shared/alike.js";
import { oneForAllSteps } from "../../widgets/dataflow_widgets/shared/copies.js";
import { layoutDot } from "../../widgets/dataflow_widgets/shared/dot.js";
import { GraphModel, foldBlocks, visibleGraph } from "../../widgets/dataflow_widgets/shared/graph.js";
import { roleStates } from "../../widgets/dataflow_widgets/shared/layers.js";
import { clusterTitle, titleOf } from "../../widgets/dataflow_widgets/shared/measure.js";
import { node } from "./graphs.mjs";

/** As `static_rnn` leaves it: the ops of all steps side by side in the scope of the cell; `own`: weights for each step. */
function unrolled(steps, { own = false, scope = "rnn/cell/" } = {}) {
  const nodes = [node("x", "Placeholder"), node("h0", "Fill")];
  let h = "h0:0";
  for (let t = 0; t < steps; t++) {
    const name = (base) => `${scope}${base}${t ? `_${t}` : ""}`;
    const weights = own ? name("kernel") : `${scope}kernel`;
    if (own || !t) nodes.push(node(weights, "VariableV2"), node(`${weights}/read`, "Identity", [`${weights}:0`], { owner: weights }));
    nodes.push(
      node(name("axis"), "Const", [], { value: "1" }),
      node(name("concat"), "ConcatV2", ["x:0", h, `${name("axis")}:0`]),
      node(name("MatMul"), "MatMul", [`${name("concat")}:0`, `${weights}/read:0`]),
      node(name("Tanh"), "Tanh", [`${name("MatMul")}:0`]),
      node(name("mul"), "Mul", [`${name("Tanh")}:0`, `${name("MatMul")}:0`]),
      node(`gradients/${name("mul")}_grad`, "Mul", [`${name("mul")}:0`], { role: "gradient" }),
    );
    h = `${name("mul")}:0`;
  }
  return new GraphModel([...nodes, node("loss", "Mean", [h])]);
}
const shown = new Set();

test("the steps of an unrolled cell are scopes, which fold into one with a count", () => {
  const model = unrolled(5);
  const open = new Set(["rnn", "rnn/cell"]);
  const visible = visibleGraph(model, { open, shown });
  const steps = visible.items.filter((item) => item.path?.includes("/step_"));
  assert.deepEqual(steps.map((item) => item.path), [0, 1, 2, 3, 4].map((t) => `rnn/cell/step_${t}`));
  for (const item of steps) assert.deepEqual(item.members.slice(0, item.numDrawn).map((i) => model.nodes[i].op), ["Const", "ConcatV2", "MatMul", "Tanh", "Mul"]);
  const next = (t) => visible.edges.some((edge) => edge.from === `s:rnn/cell/step_${t}` && edge.to === `s:rnn/cell/step_${t + 1}`);
  assert.ok([0, 1, 2, 3].every(next), "one leads to the next");
  const blocks = foldBlocks(model, visible);
  const folded = visibleGraph(model, { open, shown, blocks });
  const block = folded.items.find((item) => item.fold);
  assert.deepEqual([titleOf(block, model).title, titleOf(block, model).detail], ["step × 5", "5 ops each"]);
  // One that is opened shows its own ops, and is what holds them.
  const inside = visibleGraph(model, { open: new Set([...open, "rnn/cell/step_2"]), shown });
  const index = model.indexOf.get("rnn/cell/MatMul_2");
  assert.equal(inside.holder[index], `n:${index}`);
  assert.deepEqual(model.scopeChain(index), ["rnn", "rnn/cell", "rnn/cell/step_2"]);
});

test("a weight of all steps has one edge, which says so", () => {
  const model = unrolled(5);
  const visible = visibleGraph(model, { open: new Set(["rnn", "rnn/cell"]), shown });
  const kernel = `n:${model.indexOf.get("rnn/cell/kernel")}`;
  const from = (graph) => graph.edges.filter((edge) => edge.from === kernel).map((edge) => [edge.to, edge.label]);
  assert.equal(from(visible).length, 5);
  const clear = oneForAllSteps(visible, model);
  assert.deepEqual(from(clear), [["s:rnn/cell/step_0", "all 5 steps"]]);
  assert.equal(visible.edges.length - clear.edges.length, 4, "nothing else goes");
  const few = visibleGraph(discriminators(), { open: new Set(["D", "D_1"]), shown });
  assert.equal(oneForAllSteps(few, discriminators()), few);
});

test("layers with weights of their own are no steps, nor are few, nor what stands in no scope", () => {
  for (const model of [unrolled(5, { own: true }), unrolled(3), unrolled(5, { scope: "" })]) assert.ok(![...model.scopes.keys()].some((path) => path.includes("step_")));
});

test("steps that a learner named so himself stay his", () => {
  const model = unrolled(5);
  model.add([node("rnn/cell/step_1/mine", "Neg", ["x:0"])]);
  assert.deepEqual([...model.scopes.keys()].filter((path) => path.includes("step_")), ["rnn/cell/step_1"]);
});

test("a cell that is called again under another name is one block, though the first holds the weights", () => {
  const nodes = [node("x", "Placeholder")];
  for (let t = 0; t < 4; t++) {
    const scope = `lstm${t ? `_${t}` : ""}`;
    if (!t) nodes.push(node("lstm/W", "VariableV2"));
    nodes.push(node(`${scope}/MatMul`, "MatMul", ["x:0", "lstm/W:0"]), node(`${scope}/Tanh`, "Tanh", [`${scope}/MatMul:0`]));
  }
  const model = new GraphModel(nodes);
  const blocks = foldBlocks(model, visibleGraph(model, { open: new Set(), shown }));
  assert.equal(blocks.size, 4);
  assert.equal(blocks.get("lstm").type, "2 ops each");
});

function discriminators() {
  const read = (name) => [node(name, "VariableV2"), node(`${name}/read`, "Identity", [`${name}:0`], { owner: name })];
  return new GraphModel([
    node("real", "Placeholder"),
    node("fake", "Placeholder"),
    ...read("D/W"),
    ...read("D/b"),
    node("D/MatMul", "MatMul", ["real:0", "D/W/read:0"]),
    node("D/add", "AddV2", ["D/MatMul:0", "D/b/read:0"]),
    node("D_1/MatMul", "MatMul", ["fake:0", "D/W/read:0"]),
    node("D_1/add", "AddV2", ["D_1/MatMul:0", "D/b/read:0"]),
    node("loss/sub", "Sub", ["D/add:0", "D_1/add:0"]),
    node("loss/Mean", "Mean", ["loss/sub:0"]),
  ]);
}

test("weights that two scopes share are told apart from what flows between them", () => {
  const model = discriminators();
  const closed = visibleGraph(model, { open: new Set(), shown });
  const between = (visible, from, to) => visible.edges.find((edge) => edge.from === from && edge.to === to);
  const edge = between(closed, "s:D", "s:D_1");
  assert.equal(edge.shared, true);
  assert.equal(edge.label, "2 variables");
  assert.ok(!between(closed, "s:D", "s:loss").shared);
  assert.equal(between(closed, "s:D_1", "s:loss").label, "scalar");
  const { text } = layoutDot(closed, model);
  assert.equal(text.split("constraint=false").length - 1, 1, "the second does not come after the first");
  // With a result beside the weights it is no more than an edge.
  model.add([node("D_1/also", "Neg", ["D/add:0"])]);
  assert.ok(!between(visibleGraph(model, { open: new Set(), shown }), "s:D", "s:D_1").shared);
});

function loopAndCond() {
  return new GraphModel([
    node("n", "Placeholder"),
    node("while/Enter", "Enter", ["n:0"]),
    node("while/Merge", "Merge", ["while/Enter:0"]),
    node("while/Less", "Less", ["while/Merge:0"]),
    node("while/LoopCond", "LoopCond", ["while/Less:0"]),
    node("while/Switch", "Switch", ["while/Merge:0", "while/LoopCond:0"]),
    node("big/Switch", "Switch", ["while/Switch:0", "n:0"]),
    node("big/Merge", "Merge", ["big/Switch:0", "big/Switch:1"]),
    node("net/rnn/while/LoopCond", "LoopCond", ["n:0"]),
    node("net/rnn/out", "Neg", ["n:0"]),
    node("plain/Neg", "Neg", ["n:0"]),
    node("plain/Abs", "Abs", ["n:0"]),
  ]);
}

test("loops and conditions say that they are, open or closed", () => {
  const model = loopAndCond();
  const nature = Object.fromEntries([...model.scopes.keys()].filter(Boolean).map((path) => [path, model.natureOf(path)]));
  assert.deepEqual(nature, { while: "loop", big: "cond", net: "", "net/rnn": "", "net/rnn/while": "loop", plain: "" });
  const { items } = visibleGraph(model, { open: new Set(), shown });
  const said = Object.fromEntries(items.filter((item) => item.path).map((item) => [item.path, titleOf(item, model).detail]));
  assert.deepEqual(said, { while: "5 ops, while loop", big: "2 ops, two branches", net: "2 ops, while loop", plain: "2 ops" });
  assert.deepEqual(clusterTitle("net/rnn/while", "loop"), ["while", "while loop"]);
  assert.deepEqual(clusterTitle("plain", ""), ["plain"]);
});

test("many ops between the same two are one with a count, where the picture is not small", () => {
  const fan = (count, more = []) =>
    new GraphModel([
      node("x", "Placeholder"),
      ...Array.from({ length: count }, (_, t) => node(`slice${t ? `_${t}` : ""}`, "StridedSlice", ["x:0"])),
      node("sum", "AddN", Array.from({ length: count }, (_, t) => `slice${t ? `_${t}` : ""}:0`)),
      ...more,
    ]);
  const model = fan(14, [node("slice_99", "StridedSlice", ["x:0"]), node("other", "Neg", ["x:0"])]);
  const visible = visibleGraph(model, { open: new Set(), shown });
  const folded = foldAlike(model, visible);
  assert.deepEqual([...folded.keys()], Array.from({ length: 14 }, (_, t) => t + 1), "not what leads elsewhere");
  const { items } = visibleGraph(model, { open: new Set(), shown, folded });
  assert.equal(titleOf(items.find((item) => item.fold), model).title, "slice × 14");
  assert.equal(foldAlike(model, visible, { unfolded: new Set([folded.get(1).key]) }).size, 0);
  const small = fan(5);
  assert.equal(foldAlike(small, visibleGraph(small, { open: new Set(), shown })).size, 0);
});

test("what is put aside says what the last run made of it", () => {
  const model = new GraphModel([
    node("x", "Placeholder"),
    node("gradients/a", "Mul", [], { role: "gradient" }),
    node("gradients/b", "Mul", [], { role: "gradient" }),
    node("Adam/update", "ApplyAdam", [], { role: "optimizer" }),
    node("Adam", "NoOp", [], { role: "optimizer" }),
    node("save", "SaveV2", [], { role: "saver" }),
  ]);
  const marks = { fetched: new Set([4]), fed: new Set([0]), needed: new Set([2, 3, 4]) };
  assert.deepEqual([...roleStates(model, marks)], [["gradient", "needed"], ["optimizer", "fetched"], ["saver", "pruned"]]);
  assert.deepEqual([...roleStates(model, marks, new Set([1, 5]))], [["gradient", "pruned"], ["saver", "pruned"]]);
  assert.equal(roleStates(model, null).size, 0);
});

test("variables without names stand beside their readers, each by itself", () => {
  const stack = (count) => {
    const nodes = [node("x", "Placeholder")];
    let value = "x:0";
    for (let i = 0; i < count; i++) {
      const end = i ? `_${i}` : "";
      nodes.push(node(`Variable${end}`, "VariableV2"), node(`Variable${end}/read`, "Identity", [`Variable${end}:0`]));
      nodes.push(node(`MatMul${end}`, "MatMul", [value, `Variable${end}/read:0`]));
      value = `MatMul${end}:0`;
    }
    return new GraphModel(nodes);
  };
  const closed = (model) => foldBlocks(model, visibleGraph(model, { open: new Set() }));
  assert.equal(closed(stack(8)).size, 0);
  assert.equal(closed(stack(150)).size, 150, "in a graph of hundreds of items they are one");
});

test("assignments that copy one network into another are one, whether a group runs them or a list", () => {
  const nodes = ["s", "a", "r"].map((name) => node(name, "Placeholder"));
  for (const net of ["eval", "target"]) {
    for (let i = 0; i < 5; i++) nodes.push(node(`${net}/w${i}`, "VariableV2"), node(`${net}/MatMul${i}`, "MatMul", ["s:0", `${net}/w${i}:0`]));
  }
  for (let i = 0; i < 12; i++) nodes.push(node(`far${i}`, "Neg", [i ? `far${i - 1}:0` : "a:0"]));
  const assigns = [];
  for (let i = 0; i < 5; i++) assigns.push(nodes.push(node(`Assign${i ? `_${i}` : ""}`, "Assign", [`target/w${i}:0`, `eval/w${i}:0`])) - 1);
  nodes.push(...Array.from({ length: 4 }, (_, i) => node(`Mean${i ? `_${i}` : ""}`, "Mean", ["eval/MatMul0:0"])));
  const model = new GraphModel(nodes);
  const folded = foldAlike(model, visibleGraph(model, { open: new Set() }));
  assert.deepEqual([...folded.keys()], assigns, "and results stay one by one");
});

test("a literal of a loop has no edge that says it waits; one of a condition has", () => {
  const model = new GraphModel([
    ...loopAndCond().nodes,
    node("while/Less/y", "Const", ["^while/Merge"], { value: "100" }),
    node("while/limit", "Const", ["^while/Merge"], { value: "3" }),
    node("big/mul", "Mul", ["big/Merge:0", "big/mul/y:0"]),
    node("big/mul/y", "Const", ["^big/Switch"], { value: "2" }),
  ]);
  const { edges, items } = visibleGraph(model, { open: new Set(model.allScopes()) });
  const nameOf = (id) => model.nodes[items.find((item) => item.id === id).index].name;
  const waiting = edges.filter((edge) => edge.control).map((edge) => `${nameOf(edge.from)} > ${nameOf(edge.to)}`);
  assert.deepEqual(waiting, ["while/Merge > while/limit", "big/Switch > big/mul/y"]);
});
