import assert from "node:assert/strict";
import { test } from "node:test";
import { copyShared, wholeOf } from "../../widgets/dataflow_widgets/shared/copies.js";
import { spoken } from "../../widgets/dataflow_widgets/shared/draw.js";
import { GraphModel, foldSeries, visibleGraph } from "../../widgets/dataflow_widgets/shared/graph.js";
import { titleOf } from "../../widgets/dataflow_widgets/shared/measure.js";
import { pieces } from "../../widgets/dataflow_widgets/shared/rows.js";
import { node } from "./graphs.mjs";

/** A recurrent network by hand: each step reads its part of xs, the same W and b, and two states. */
function unrolled(steps) {
  const nodes = [node("xs", "Placeholder"), node("W", "VariableV2"), node("b", "VariableV2"), node("h", "Fill"), node("c", "Fill")];
  let [h, c] = ["h:0", "c:0"];
  for (let t = 0; t < steps; t++) {
    nodes.push(
      node(`slice_${t}`, "StridedSlice", ["xs:0"]),
      node(`concat_${t}`, "ConcatV2", [`slice_${t}:0`, h]),
      node(`MatMul_${t}`, "MatMul", [`concat_${t}:0`, "W:0"]),
      node(`add_${t}`, "AddV2", [`MatMul_${t}:0`, "b:0"]),
      node(`Tanh_${t}`, "Tanh", [`add_${t}:0`]),
      node(`cell_${t}`, "Mul", [`Tanh_${t}:0`, c]),
      node(`out_${t}`, "Mul", [`cell_${t}:0`, `add_${t}:0`]),
    );
    [h, c] = [`out_${t}:0`, `cell_${t}:0`];
  }
  return new GraphModel(nodes);
}
const see = (model) => visibleGraph(model, { open: new Set() });

test("what every step reads stands beside every step, and no edge is lost", () => {
  const model = unrolled(6);
  const plain = see(model);
  const copied = copyShared(plain, model);
  const named = (name) => copied.items.filter((item) => model.nodes[item.index].name === name);
  for (const name of ["xs", "W", "b"]) {
    assert.equal(named(name).length, 6);
    assert.equal(new Set(named(name).map((item) => item.id)).size, 6);
    for (const item of named(name)) {
      assert.equal(copied.edges.filter((edge) => edge.from === item.id).length, 1);
      assert.equal(titleOf(item, model).detail, "in 6 places");
      assert.match(spoken(item, model), /drawn in 6 places/);
    }
  }
  assert.equal(named("h").length, 1);
  assert.equal(copied.edges.length, plain.edges.length);
  const ends = (edges) => edges.map((edge) => `${wholeOf(edge.from)} ${edge.to}`).sort();
  assert.deepEqual(ends(copied.edges), ends(plain.edges));
  const index = model.indexOf.get("W");
  assert.equal(copied.holder[index], `n:${index}`, "what is asked for by its operation is the first");
});

test("then the network can be set in rows, which it could not before", () => {
  const model = unrolled(6);
  const plain = see(model);
  assert.equal(pieces(plain, model, 900), null);
  const rows = pieces(copyShared(plain, model), model, 900);
  assert.ok(rows.length >= 3, String(rows?.length));
  for (let t = 0; t < 6; t++) {
    const rowOf = (name) => rows.findIndex((row) => row.items.some((item) => model.nodes[item.index].name === name));
    assert.ok(Math.abs(rowOf(`slice_${t}`) - rowOf(`concat_${t}`)) <= 1, `step ${t}: its input is near it`);
  }
});

test("a small picture, and one whose sources have few readers, stay as they are", () => {
  const small = unrolled(3);
  const visible = see(small);
  assert.equal(copyShared(visible, small), visible);
  const model = unrolled(6);
  const once = visibleGraph(model, { open: new Set(), only: new Set(model.nodes.flatMap((each, i) => (/^(xs|W|b)$/.test(each.name) ? [] : [i]))) });
  assert.equal(copyShared(once, model), once);
});

test("a run of nodes is counted without the constants that are part of them", () => {
  const nodes = [];
  for (let i = 0; i < 12; i++) nodes.push(node(`Sum_${i}/axis`, "Const", [], { role: null, owner: `Sum_${i}` }), node(`Sum_${i}`, "Sum", [`Sum_${i}/axis:0`]));
  const model = new GraphModel(nodes);
  const shown = new Set();
  const folded = foldSeries(model);
  const [item] = visibleGraph(model, { open: new Set(), shown, folded }).items;
  assert.equal(item.members.length, 24);
  assert.equal(titleOf(item, model).title, "Sum × 12");
});
