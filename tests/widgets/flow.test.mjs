import assert from "node:assert/strict";
import { test } from "node:test";
import { GraphModel } from "../../widgets/dataflow_widgets/shared/graph.js";
import { inputOf, localRule } from "../../widgets/dataflow_widgets/shared/backward.js";
import { glyphOf, roomFor } from "../../widgets/dataflow_widgets/shared/glyph.js";
import { Replay } from "../../widgets/dataflow_widgets/shared/replay.js";
import { node } from "./graphs.mjs";

const scalar = (value) => ({ kind: "scalar", shape: [], data: [value], dtype: "float32", size: 1, bytes: 4, shape_text: "()" });
const vector = (data, stats = {}) => ({ kind: "table", rows: 1, columns: data.length, shape: [data.length], data, size: data.length, bytes: 4 * data.length, shape_text: `(${data.length},)`, stats });
const step = (i, type, out, reads = []) => ({ i, type, s: 1e-6, in: reads, out });
const run = (steps, more = {}) => new Replay({ steps, fetched: [], fed: [], feed_values: {}, ...more });

const product = () =>
  new GraphModel([
    node("d", "VariableV2"),
    node("d/read", "Identity", ["d:0"]),
    node("e", "Const", [], { value: "3." }),
    node("a", "Mul", ["d/read:0", "e:0"]),
    node("gradients/a_grad/Mul", "Mul", ["dy:0", "e:0"]),
    node("gradients/a_grad/Mul_1", "Mul", ["dy:0", "d/read:0"]),
  ]);

test("the gradient of a product is the other factor, with its number", () => {
  const graph = product();
  const values = { 1: [scalar(2)], 2: [scalar(3)], 3: [scalar(6)] };
  assert.equal(localRule(graph, 4, (i) => values[i] ?? null), "∂a/∂d = e = 3");
  assert.equal(localRule(graph, 5, (i) => values[i] ?? null), "∂a/∂e = d = 2");
  assert.equal(localRule(graph, 4, () => null), "∂a/∂d = e");
  assert.equal(localRule(graph, 3, (i) => values[i] ?? null), "", "a forward op applies no such rule");
});

test("only the last node of a gradient has the rule; one output of two inputs is told apart", () => {
  const graph = new GraphModel([
    node("x"), node("one", "Const", [], { value: "1." }), node("b", "Sub", ["x:0", "one:0"]), node("loss", "Square", ["b:0"]),
    node("gradients/loss_grad/mul/x", "Const", [], { value: "2." }),
    node("gradients/loss_grad/mul", "Mul", ["gradients/loss_grad/mul/x:0", "b:0"]),
    node("gradients/loss_grad/mul_1", "Mul", ["dy:0", "gradients/loss_grad/mul:0"]),
    node("gradients/b_grad/Neg", "Neg", ["gradients/loss_grad/mul_1:0"]),
  ]);
  assert.equal(inputOf(graph, 5, 3), null);
  assert.equal(localRule(graph, 6, (i) => ({ 2: [scalar(-5)], 3: [scalar(25)] })[i] ?? null), "∂loss/∂b = 2·b = −10");
  assert.equal(localRule(graph, 7, () => null), "∂b/∂one = −1");
});

test("products of matrices say which factor is transposed", () => {
  const graph = new GraphModel([
    node("A"), node("W"), node("C", "MatMul", ["A:0", "W:0"]),
    node("gradients/C_grad/MatMul", "MatMul", ["dy:0", "W:0"]), node("gradients/C_grad/MatMul_1", "MatMul", ["A:0", "dy:0"]),
  ]);
  assert.equal(localRule(graph, 3, () => null), "dA = dC·Wᵀ");
  assert.equal(localRule(graph, 4, () => null), "dW = Aᵀ·dC");
});

test("each kind of value has its picture", () => {
  assert.equal(glyphOf(scalar(5)).text, "5");
  assert.equal(glyphOf(scalar("nan")).bad, true);
  assert.deepEqual(glyphOf(vector([1, 0.33333])).texts, ["1", "0.333"]);
  assert.equal(glyphOf(vector(Array.from({ length: 12 }, (_, i) => i))).kind, "heat");
  const grid = { rows: 20, columns: 30, levels: "", lo: 0, hi: 1, note: "" };
  assert.equal(glyphOf({ kind: "heat", grid, histogram: { counts: [1], lo: 0, hi: 1 } }).kind, "heat");
  const many = glyphOf({ kind: "heat", grid: { ...grid, note: "each cell is the mean of 7 x 7 values" }, histogram: { counts: [1, 2], lo: 0, hi: 1 }, stats: { mean: 0.5, std: 0.25 } });
  assert.deepEqual([many.kind, many.note], ["histogram", "0.5 ± 0.25"]);
  assert.equal(glyphOf({ kind: "image", images: { count: 5, height: 12, width: 12, channels: 1, bytes: "" } }).note, "1 of 5");
  assert.equal(glyphOf(null), null);
  assert.equal(roomFor([null]), null);
  assert.ok(roomFor([glyphOf(scalar(5)), many]).height >= many.height);
});

test("the first NaN and the first infinity are found, with what they came from", () => {
  const graph = new GraphModel([node("x", "Placeholder"), node("logx", "Log", ["x:0"]), node("y", "Neg", ["logx:0"]), node("z", "Sub", ["y:0", "y:0"])]);
  const replay = run(
    [step(1, "Log", [vector([0, "-inf", "nan"], { nan: 1, inf: 1 })], [0]), step(2, "Neg", [vector([0, "inf", "nan"], { nan: 1, inf: 1 })], [1])],
    { fed: [0], feed_values: { 0: [vector([1, 0, -1])] } },
  );
  const { nan, inf } = replay.origins(graph);
  assert.deepEqual([nan.i, nan.text, nan.k], [1, "log of -1", 0]);
  assert.deepEqual([inf.i, inf.text], [1, "log of 0"]);
  const fine = run([step(1, "Log", [scalar(0)])]);
  assert.deepEqual(fine.origins(graph), { nan: null, inf: null });
  const difference = run([step(2, "Neg", [scalar("inf")]), step(3, "Sub", [scalar("nan")], [2])]);
  assert.equal(difference.origins(graph).nan.text, "∞ − ∞");
});

test("what hangs on the side of a Switch that is not taken is dead, up to the Merge", () => {
  const graph = new GraphModel([
    node("p", "Greater"), node("x"), node("s", "Switch", ["x:0", "p:0"]), node("yes", "Neg", ["s:1"]), node("no", "Neg", ["s:0"]),
    node("m", "Merge", ["no:0", "yes:0"]), node("after", "Neg", ["m:0"]),
  ]);
  const replay = run([step(0, "Greater", [scalar(true)]), step(2, "Switch", [scalar(1), scalar(1)])]);
  assert.equal(replay.dead(graph).ops.size, 0, "nothing is known before");
  replay.go(2);
  assert.deepEqual([...replay.dead(graph).ops], [4]);
  assert.deepEqual([...replay.dead(graph).outputs], ["2:0"]);
});

test("what one task has sent and another has not received is on the wire, the latest first", () => {
  const graph = new GraphModel([
    node("a"), node("send_a", "_Send", ["a:0"]), node("send_b", "_Send", ["a:0"]),
    node("recv_a", "_Recv", ["send_a:0"]), node("recv_b", "_Recv", ["send_b:0"]), node("c", "Neg", ["recv_a:0"]),
  ]);
  const replay = run([step(1, "_Send", [scalar(1)]), step(2, "_Send", [scalar(1)]), step(3, "_Recv", [scalar(1)]), step(4, "_Recv", [scalar(1)]), step(5, "Neg", [scalar(-1)])]);
  const at = (position) => {
    replay.go(position);
    return replay.onTheWire(graph).map(({ from, to }) => [from, to]);
  };
  assert.deepEqual([0, 1, 2, 3, 4, 5].map(at), [[], [[1, 3]], [[2, 4], [1, 3]], [[2, 4]], [], []]);
});

test("a loop's iteration is counted from its Enter on", () => {
  const graph = new GraphModel([node("c"), node("while/Enter", "Enter", ["c:0"]), node("while/Merge", "Merge", ["while/Enter:0", "while/NextIteration:0"]), node("while/NextIteration", "NextIteration", ["while/Merge:0"])]);
  const merge = step(2, "Merge", [scalar(1)]);
  const replay = run([step(1, "Enter", [scalar(0)]), merge, merge, merge]);
  assert.equal(replay.loops(graph).size, 0);
  replay.go(2);
  assert.deepEqual(replay.loops(graph).get("while"), { at: 1, of: 2, over: false });
  replay.go(4);
  assert.deepEqual(replay.loops(graph).get("while"), { at: 2, of: 2, over: true });
});
