// Where the words of an explorer's pictures stand.
import assert from "node:assert/strict";
import test from "node:test";
import { barLabels, placeLabels, shortened, widthOf } from "../../widgets/dataflow_widgets/explorer/labels.js";

const BOX = { left: 50, right: 600, top: 20, bottom: 200 };

/** The rectangle of a placed label. */
function rect({ at, anchor, text }) {
  const left = anchor === "start" ? at[0] : at[0] - widthOf(text);
  return { left, right: left + widthOf(text), top: at[1] - 10, bottom: at[1] + 3 };
}

test("labels of points that lie together stand clear of each other and of the points", () => {
  const names = ["Add", "Mul", "BiasAdd", "Relu", "Softmax"];
  const labels = names.map((text, i) => ({ x: 120 + i, y: 100 + 4 * i, text }));
  const points = labels.map(({ x, y }) => [x, y]);
  const rects = placeLabels(labels, points, BOX).map(rect);
  for (const [i, a] of rects.entries()) {
    for (const b of rects.slice(i + 1)) assert.ok(a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top);
    for (const [x, y] of points) assert.ok(x < a.left || x > a.right || y < a.top || y > a.bottom, names[i]);
  }
});

test("a label stays in the picture: at the right side it is written to the left of its point", () => {
  const [label] = placeLabels([{ x: 590, y: 100, text: "MatMul" }], [[590, 100]], BOX);
  assert.equal(label.anchor, "end");
  const [plain] = placeLabels([{ x: 300, y: 100, text: "MatMul" }], [[300, 100]], BOX);
  assert.deepEqual([plain.anchor, plain.far], ["start", false]);
});

test("labels of bars are level where they fit, words slant, numbers are left out", () => {
  assert.deepEqual(barLabels(["a", "b"], 40), { slanted: false, every: 1, most: Infinity, high: 14 });
  const words = barLabels(["MatMul", "RandomStandardNormal"], 40);
  assert.ok(words.slanted && words.every === 1 && words.high > 40);
  const numbers = barLabels([...Array(100).keys()].map(String), 5);
  assert.ok(!numbers.slanted && numbers.every > 1);
});

test("a long label is shortened", () => {
  assert.equal(shortened("RandomStandardNormal", 13), "RandomStanda…");
  assert.equal(shortened("Relu", 13), "Relu");
});
