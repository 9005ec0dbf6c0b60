// The flame chart's arithmetic.
import assert from "node:assert/strict";
import { test } from "node:test";
import { axis, byType, neighbor, panned, readRun, scopeBands, stack, ticks, zoomed } from "../../widgets/dataflow_widgets/shared/flame.js";

const names = [["a/b/x", "MatMul"], ["a/b/y", "Add"], ["a/z", "Add"], ["w", "Identity"]];
const run = readRun({
  nodes: names.map(([name, op]) => ({ name, op })),
  lanes: ["/cpu", "/gpu", "/none"],
  ops: [[0, 0, 0, 0, 10, 400, []], [1, 0, 0, 10, 5, 4, [0]], [3, 1, 0, 40, 20, 8, [1]], [2, 0, 0, 90, 10, 0, [2]]],
  duration: 100,
  copies: [[1, 2, 15, 40, 4]],
  waits: [[0, 15, 90, 3, 2]],
  critical: [0, 1, 2, 3],
});

test("ops know their ends, readers and the critical path", () => {
  assert.deepEqual(run.ops.map((op) => [op.name, op.end, op.outputs, op.critical]), [["a/b/x", 10, [1], true], ["a/b/y", 15, [2], true], ["w", 60, [3], true], ["a/z", 100, [], true]]);
  assert.deepEqual(run.copies, [{ source: 1, target: 2, start: 15, end: 40, bytes: 4 }]);
  assert.deepEqual(run.waits, [{ lane: 0, start: 15, end: 90, op: 3, source: 2 }]);
});

test("neighboring ops of one scope are one band", () => {
  const ops = run.ops.filter((op) => op.lane === 0);
  assert.deepEqual(scopeBands(ops, 0), [{ path: "a", start: 0, end: 100, count: 3 }]);
  assert.deepEqual(scopeBands(ops, 1), [{ path: "a/b", start: 0, end: 15, count: 2 }]);
  assert.deepEqual(scopeBands([run.ops[2]], 0), []);
});

test("lanes are stacked without overlapping", () => {
  const { lanes, height } = stack(run);
  assert.deepEqual(lanes.map((lane) => lane.bands.length), [2, 0, 0]);
  for (let i = 1; i < lanes.length; i++) assert.ok(lanes[i].top >= lanes[i - 1].top + lanes[i - 1].height);
  assert.equal(height, lanes.at(-1).top + lanes.at(-1).height);
  assert.ok(lanes[0].y(0) > lanes[0].top);
});

test("zooming keeps what is under the pointer, and stays inside the run", () => {
  assert.deepEqual(zoomed([0, 100], 2, 50, 100), [25, 75]);
  assert.deepEqual(zoomed([0, 100], 2, 0, 100), [0, 50]);
  assert.deepEqual(zoomed([25, 75], 0.5, 50, 100), [0, 100]);
  assert.deepEqual(zoomed([0, 100], 0.1, 30, 100), [0, 100]);
  const [from, to] = zoomed([10, 11], 100, 10.5, 100);
  assert.equal(to - from, 1);
  assert.deepEqual(panned([20, 40], 1000, 100), [80, 100]);
  assert.deepEqual(panned([20, 40], -1000, 100), [0, 20]);
});

test("ticks are round and not crowded", () => {
  assert.deepEqual(ticks(0, 100, 500), [0, 20, 40, 60, 80, 100]);
  for (const [from, to] of [[0, 1], [3, 77], [1000, 1_000_000]]) {
    const found = ticks(from, to, 600);
    assert.ok(found.length >= 2 && found.length <= 8, String(found));
    assert.ok(found.every((t) => t >= from && t <= to));
  }
});

test("arrows go along a lane and to the next lane that has ops", () => {
  const [x, y, w, z] = run.ops;
  assert.equal(neighbor(run, x, "ArrowRight"), y);
  assert.equal(neighbor(run, x, "ArrowLeft"), x);
  assert.equal(neighbor(run, y, "ArrowDown"), w);
  assert.equal(neighbor(run, w, "ArrowUp"), y);
  assert.equal(neighbor(run, w, "ArrowDown"), w);
  assert.equal(neighbor(run, z, "ArrowRight"), z);
});

test("time by type", () => assert.deepEqual(byType(run), [["Identity", 20, 1], ["Add", 15, 2], ["MatMul", 10, 1]]));

test("long idle times are cut short, and every time keeps its place in order", () => {
  const long = readRun({ nodes: [{ name: "a", op: "A" }, { name: "b", op: "B" }], lanes: ["x", "y"], ops: [[0, 0, 0, 0, 100, 8, []], [1, 1, 0, 42000, 100, 8, [0]]], duration: 42100, copies: [], waits: [], critical: [0, 1] });
  const cut = axis(long);
  assert.deepEqual(cut.pieces.map((piece) => [piece.from, piece.to, piece.cut]), [[0, 100, false], [100, 42000, true], [42000, 42100, false]]);
  assert.equal(cut.length, 216);
  assert.deepEqual([0, 50, 100, 21050, 42000, 42100].map((t) => Math.round(cut.u(t))), [0, 50, 100, 108, 116, 216]);
  for (const t of [0, 30, 100, 5000, 42000, 42099]) assert.ok(Math.abs(cut.t(cut.u(t)) - t) < 1e-6);
  assert.deepEqual(axis(long, false).pieces, [{ from: 0, to: 42100, start: 0, end: 42100, cut: false }]);
  assert.equal(axis(run).pieces.some((piece) => piece.cut), true, "30 of 100 µs in which nothing runs");
});
