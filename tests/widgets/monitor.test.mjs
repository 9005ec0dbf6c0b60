// Curves, smoothing, histograms on another axis, and updates that arrive late, without a page.
import assert from "node:assert/strict";
import test from "node:test";
import { duration, logTicks, short, ticks, typed } from "../../widgets/dataflow_widgets/shared/numbers.js";
import { chartsOf, sideOf, Monitor, Rows, mistakes, rebin, smooth, toCsv } from "../../widgets/dataflow_widgets/training_monitor/data.js";

const rowsOf = (...values) => {
  const rows = new Rows();
  rows.put(0, Float64Array.from(values.flatMap((v, i) => [i, v, v, v])));
  return rows;
};
const bytesOf = (...numbers) => new DataView(Float64Array.from(numbers).buffer);
const update = (curves, more = {}) => ({ whole: false, runs: [{ name: "a" }], curves, histograms: [], confusions: [], samples: [], sliceLength: 36, ...more });
const curve = (from, rows, more = {}) => ({ run: "a", name: "loss", from, rows, stride: 1, bad: 0, firstBad: null, ...more });

test("ticks are round and inside", () => {
  assert.deepEqual(ticks(0, 1, 4).map((t) => Number(t.toPrecision(3))), [0, 0.5, 1]);
  assert.deepEqual(ticks(0, 100, 5), [0, 20, 40, 60, 80, 100]);
  assert.deepEqual(ticks(3, 3, 5), [3]);
  assert.deepEqual(logTicks(0.01, 1000, 6), [0.01, 0.1, 1, 10, 100, 1000]);
  assert.deepEqual(logTicks(1, 10, 5), [1, 2, 5, 10]);
});

test("short numbers", () => {
  assert.equal(short(0.12345678), "0.1235");
  assert.equal(short(-2), "−2");
  assert.equal(short(123456), "123k");
  assert.equal(short(1.5e7), "15M");
  assert.equal(short(0.00002), "2e−5");
  assert.equal(short(NaN), "NaN");
  assert.equal(short(-Infinity), "−∞");
  assert.deepEqual([8.4, 185, 7800].map(duration), ["8 s", "3 min 5 s", "2 h 10 min"]);
});

test("a buffer that is not aligned is read", () => {
  const bytes = new Uint8Array(17);
  bytes.set(new Uint8Array(Float64Array.from([1.5, -2]).buffer), 1);
  assert.deepEqual([...typed(new DataView(bytes.buffer, 1, 16), Float64Array)], [1.5, -2]);
  assert.equal(typed(undefined, Uint8Array).length, 0);
});

test("rows are replaced from where they changed, and gaps are refused", () => {
  const rows = rowsOf(5, 6, 7);
  assert.equal(rows.put(2, Float64Array.from([2, 8, 8, 8, 3, 9, 9, 9])), true);
  assert.deepEqual([0, 1, 2, 3].map((i) => rows.at(i, 1)), [5, 6, 8, 9]);
  assert.equal(rows.put(6, Float64Array.from([6, 1, 1, 1])), false);
  assert.equal(rows.length, 4);
  assert.equal(rows.put(0, Float64Array.from([9, 1, 1, 1])), true);
  assert.equal(rows.length, 1);
  const many = new Float64Array(4 * 1000).fill(3);
  rows.put(1, many);
  assert.equal(rows.length, 1001);
  assert.equal(rows.at(0, 0), 9);
});

test("the nearest row", () => {
  const rows = rowsOf(1, 1, 1, 1);
  assert.equal(rows.nearest(-5), 0);
  assert.equal(rows.nearest(1.4), 1);
  assert.equal(rows.nearest(1.6), 2);
  assert.equal(rows.nearest(99), 3);
  assert.equal(new Rows().nearest(1), -1);
});

test("smoothing keeps a constant and its start, and passes over gaps", () => {
  assert.deepEqual([...smooth(rowsOf(2, 2, 2), 0.9)].map((v) => Number(v.toFixed(9))), [2, 2, 2]);
  assert.deepEqual([...smooth(rowsOf(1, 5, 3), 0)], [1, 5, 3]);
  const gap = smooth(rowsOf(4, NaN, 4), 0.5);
  assert.ok(Number.isNaN(gap[1]));
  assert.equal(Number(gap[2].toFixed(9)), 4);
  // Two values at weight 0.5: (0.25 * 0 + 0.5 * 3) / 0.75
  assert.equal(Number(smooth(rowsOf(0, 3), 0.5)[1].toFixed(9)), 2);
});

test("updates are put together; one that is missed is noticed", () => {
  const monitor = new Monitor();
  assert.equal(monitor.take(update([curve(0, 2)], { whole: true }), [bytesOf(0, 1, 1, 1, 1, 2, 2, 2)]), true);
  assert.equal(monitor.take(update([curve(1, 2, { bad: 1, firstBad: 2 })]), [bytesOf(1, 3, 3, 3, 2, 4, 4, 4)]), true);
  const { rows, bad } = monitor.curves.get("loss").get("a");
  assert.deepEqual([0, 1, 2].map((i) => rows.at(i, 1)), [1, 3, 4]);
  assert.equal(bad, 1);
  assert.equal(monitor.take(update([curve(9, 1)]), [bytesOf(9, 0, 0, 0)]), false);
  // All of it once more, as after hello: nothing twice.
  monitor.take(update([curve(0, 1)], { whole: true }), [bytesOf(0, 7, 7, 7)]);
  assert.equal(monitor.curves.get("loss").get("a").rows.length, 1);
});

test("histograms, matrices and samples come out of the same buffers", () => {
  const monitor = new Monitor();
  const message = update([curve(0, 1)], {
    histograms: [{ run: "a", name: "w", slices: 2 }],
    sliceLength: 6,
    confusions: [{ run: "a", names: ["x", "y"], step: null }],
    samples: [{ run: "a", step: 1, predicted: ["x"], true: null, texts: null, shape: [1, 1, 2, 1] }],
  });
  const numbers = bytesOf(0, 1, 1, 1, ...[0, -1, 1, 0, 3, 4], ...[5, -2, 2, 1, 5, 6], ...[8, 1, 2, 9]);
  monitor.take(message, [numbers, new DataView(Uint8Array.from([7, 250]).buffer)]);
  assert.deepEqual(monitor.histograms.get("w").get("a")[1], { step: 5, lo: -2, hi: 2, bad: 1, counts: [5, 6] });
  assert.deepEqual([...monitor.samples.get("a").pixels], [7, 250]);
  assert.deepEqual(mistakes(monitor.confusions.get("a")), { total: 20, right: 17, most: [{ true: "y", predicted: "x", count: 2 }, { true: "x", predicted: "y", count: 1 }] });
});

test("a histogram on a wider axis keeps every value", () => {
  const out = rebin({ lo: 0, hi: 1, counts: [4, 6] }, -1, 3, 8);
  assert.equal(Number(out.reduce((a, b) => a + b).toFixed(9)), 10);
  assert.deepEqual([...out].slice(0, 2), [0, 0]);
  assert.deepEqual([...out].slice(2, 4), [4, 6]);
  const point = rebin({ lo: 2, hi: 2, counts: [0, 5, 0] }, 0, 4, 4);
  assert.deepEqual([...point], [0, 0, 5, 0]);
  // A wide bin is spread over narrow ones.
  assert.deepEqual([...rebin({ lo: 0, hi: 4, counts: [8] }, 0, 4, 4)], [2, 2, 2, 2]);
});

test("CSV quotes names, also those that a spreadsheet would run", () => {
  const monitor = new Monitor();
  monitor.take(update([curve(0, 1, { name: '=cmd("x")' })], { whole: true }), [bytesOf(0, 1, 1, 1)]);
  assert.equal(toCsv(monitor), `run,metric,step,mean,lowest,highest\na,"'=cmd(""x"")",0,1,1,1\n`);
});

test("the same measure on training and other data is one chart", () => {
  assert.deepEqual(sideOf("val_loss"), ["loss", "validation"]);
  assert.deepEqual(sideOf("loss, seen digits"), ["loss", "seen"]);
  assert.deepEqual(sideOf("accuracy/test"), ["accuracy", "test"]);
  assert.deepEqual(sideOf("training time"), ["time", "training"]);
  assert.deepEqual(sideOf("latest"), ["latest", ""]);
  assert.deepEqual(chartsOf(["loss", "val_loss", "rate"]), [
    { name: "loss", parts: [{ metric: "loss", side: "training" }, { metric: "val_loss", side: "validation" }] },
    { name: "rate", parts: [{ metric: "rate", side: "" }] },
  ]);
  assert.deepEqual(chartsOf(["training time"]).map(({ name }) => name), ["training time"], "alone it keeps its name");
  assert.deepEqual(chartsOf(["loss, seen digits", "loss, new digits"]).map(({ name, parts }) => [name, parts.map(({ side }) => side)]), [["loss", ["seen", "new"]]]);
});
