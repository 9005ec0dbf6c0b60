import assert from "node:assert/strict";
import { test } from "node:test";
import { GraphModel, foldBlocks, visibleGraph } from "../../widgets/dataflow_widgets/shared/graph.js";
import { LEGIBLE, bestDrawn, betterDirection, chooseOpen, estimate } from "../../widgets/dataflow_widgets/shared/legible.js";
import { components, inRows } from "../../widgets/dataflow_widgets/shared/packing.js";
import { chain, layers, lesson, node } from "./graphs.mjs";

const seer = (model) => (open) => {
  const visible = visibleGraph(model, { open });
  const blocks = foldBlocks(model, visible);
  return blocks.size ? visibleGraph(model, { open, blocks }) : visible;
};
const choose = (nodes, room, directions = ["down", "right"]) => {
  const model = new GraphModel(nodes);
  const see = seer(model);
  return { model, see, ...chooseOpen(model, { see, room, directions }) };
};
const PANE = { width: 1200, height: 440 };

test("a small graph is open, however small the pane is", () => {
  const { model, open } = choose(lesson(), { width: 300, height: 100 });
  assert.deepEqual(open, new Set(model.allScopes()));
});

test("what was drawn decides between directions, and a drawing that is too wide loses", async () => {
  const room = { width: 641, height: 306 };
  const sizes = { right: { width: 952, height: 410 }, down: { width: 620, height: 520 }, rows: { width: 952, height: 410 } };
  const asked = [];
  const draw = async (direction) => {
    asked.push(direction);
    return sizes[direction];
  };
  const best = await bestDrawn(sizes.right, "right", ["down", "right", "rows"], room, draw);
  assert.equal(best.direction, "down");
  assert.equal(best.result, sizes.down);
  assert.deepEqual(asked, ["down", "rows"]);
  const kept = await bestDrawn(sizes.down, "down", ["down", "right"], room, draw);
  assert.equal(kept.direction, "down", "one that shows less does not replace it");
  const alike = { width: 640, height: 500 };
  assert.equal((await bestDrawn(sizes.down, "down", ["down", "right"], room, async () => alike)).direction, "down", "nor one that shows hardly more");
  const fits = { width: 600, height: 300 };
  assert.equal((await bestDrawn(fits, "right", ["down"], room, () => assert.fail("drawn for nothing"))).result, fits);
});

test("what is opened fits", () => {
  for (const count of [3, 8, 40]) {
    const { model, see, open, direction } = choose(layers(count), PANE);
    const visible = see(open);
    if (visible.items.length <= 30) continue; // shown whole, see above
    const size = estimate(visible, model, direction, PANE.width);
    assert.ok(size.width * LEGIBLE <= PANE.width && size.height * LEGIBLE <= PANE.height, `${count}: ${JSON.stringify(size)}`);
  }
});

test("a larger pane opens no less", () => {
  const small = choose(layers(12), PANE);
  const large = choose(layers(12), { width: 4000, height: 3000 });
  assert.ok(large.see(large.open).items.length >= small.see(small.open).items.length);
});

test("four equal scopes are one block when they are closed", () => {
  const { see, open } = choose(layers(12), PANE);
  assert.ok(see(open).items.some((item) => item.fold?.paths.length === 12));
});

test("what does not fit even when it is closed is drawn in the better direction", () => {
  assert.equal(choose(chain(60), PANE).direction, "right");
  assert.equal(choose(chain(60), { width: 400, height: 4000 }).direction, "down");
});

test("parts without an edge between them are told apart; an open scope holds its own together", () => {
  const model = new GraphModel([node("a"), node("b", "Neg", ["a:0"]), node("c"), node("s/d"), node("s/e")]);
  const parts = components(visibleGraph(model, { open: new Set(["s"]) }));
  assert.deepEqual(parts.map((part) => part.items.length), [2, 1, 2]);
  assert.deepEqual(parts[2].clusters.map((cluster) => cluster.path), ["s"]);
});

test("parts stand in rows, none over another, with their edges", () => {
  const part = (id, width) => ({ width, height: 40, nodes: new Map([[id, { x: width / 2, y: 20, width, height: 40 }]]), edges: [{ id: `e${id}`, path: "M0.0,0.0C1,2 3,4 5,6", arrow: "", label: [1, 1] }], clusters: [] });
  const all = inRows([part("a", 300), part("b", 300), part("c", 300)], 700);
  const at = [...all.nodes.values()].map(({ x, y }) => [x, y]);
  assert.deepEqual(at, [[150, 20], [476, 20], [150, 86]]);
  assert.equal(all.width, 626);
  assert.equal(all.edges[1].path, "M326.0,0.0C327.0,2.0 329.0,4.0 331.0,6.0");
});

test("a scope that may not be opened stays closed", () => {
  const model = new GraphModel(layers(2));
  const mayOpen = (path) => !path.startsWith("gradients");
  const { open } = chooseOpen(model, { see: seer(model), room: PANE, directions: ["down"], mayOpen });
  assert.ok(open.has("layer0") && ![...open].some((path) => path.startsWith("gradients")));
});

test("a drawing turns where that shows much more of it, and stays where all of it is seen", () => {
  const chain = Array.from({ length: 14 }, (_, i) => node(`op_with_a_name_${i}`, "Neg", i ? [`op_with_a_name_${i - 1}:0`] : []));
  const model = new GraphModel(chain);
  const visible = visibleGraph(model, { open: new Set() });
  const ways = ["down", "right", "rows"];
  const wide = { width: 900, height: 440 };
  assert.equal(betterDirection(visible, model, wide, ways, "right"), "rows");
  assert.equal(betterDirection(visible, model, { width: 400, height: 2000 }, ways, "right"), "down");
  assert.equal(betterDirection(visible, model, { width: 9000, height: 440 }, ways, "right"), "right");
  assert.equal(betterDirection(visible, model, wide, ways, "rows"), "rows");
});
