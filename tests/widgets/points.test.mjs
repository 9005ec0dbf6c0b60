// Neighbors, analogies, search, hit testing and labels of an embedding, without a page.
import assert from "node:assert/strict";
import test from "node:test";
import { answer, beside, directions, follow, hit, nearest, place, search } from "../../widgets/dataflow_widgets/embedding_view/points.js";

// man, woman, king, queen: royal and female are the two directions.
const vectors = Float32Array.from([1, 0.1, 0, 1, 0.1, 1, 1, 2, 0, 1, 2, 1]);
const units = directions(vectors, 4, 3);

test("rows get length 1, rows of zeros stay", () => {
  const out = directions(Float32Array.from([3, 4, 0, 0]), 2, 2);
  assert.deepEqual([...out].map((v) => Number(v.toFixed(6))), [0.6, 0.8, 0, 0]);
});

test("neighbors by cosine, the point itself left out, ties by number", () => {
  assert.deepEqual(nearest(units, 3, units.subarray(6, 9), [2], 5).map(([i]) => i), [3, 1, 0].sort((a, b) => dot(2, b) - dot(2, a)));
  const same = directions(Float32Array.from([1, 0, 2, 0, 5, 0, 0, 1]), 4, 2);
  assert.deepEqual(answer(same, 2, [2], 3).map(([i, cosine]) => [i, Number(cosine.toFixed(6))]), [[0, 1], [1, 1], [3, 0]]);
});

const dot = (i, j) => [0, 1, 2].reduce((sum, k) => sum + units[i * 3 + k] * units[j * 3 + k], 0);

test("man is to woman as king is to queen", () => {
  assert.deepEqual(answer(units, 3, [0, 1, 2], 5).map(([i]) => i), [3]);
});

test("search puts exact labels first, then beginnings", () => {
  const labels = ["making", "Kingdom", "king", "queen", "viking"];
  assert.deepEqual(search(labels, " KING "), { found: [2, 1, 0, 4], total: 4 });
  assert.deepEqual(search(labels, "king", 1), { found: [2], total: 4 });
  assert.deepEqual(search(labels, "  "), { found: [], total: 0 });
});

test("the point under the pointer, if one is near", () => {
  const at = Float32Array.from([0, 0, 10, 0, 12, 0]);
  assert.equal(hit(at, 10.6, 1, 5), 1);
  assert.equal(hit(at, 10.6, 1, 5, (i) => i !== 1), 2);
  assert.equal(hit(at, 100, 100, 5), -1);
});

test("arrow keys go to what lies in that direction", () => {
  const at = Float32Array.from([0, 0, 10, 1, 30, 0, 0, 20, 2, 18]);
  assert.equal(beside(at, 0, 1, 0), 1);
  assert.equal(beside(at, 1, 1, 0), 2);
  assert.equal(beside(at, 0, -1, 0), -1);
  assert.equal(beside(at, 0, 0, 1), 3);
});

test("labels never overlap, the first in order win, all stay inside", () => {
  const n = 300;
  const at = new Float32Array(2 * n);
  for (let i = 0; i < 2 * n; i++) at[i] = ((i * 7919) % 4000) / 10;
  const options = { width: 400, height: 400, limit: 40 };
  const out = place(at, [...Array(n).keys()], () => 50, options);
  assert.equal(out[0].i, 0);
  assert.ok(out.length > 10 && out.length <= 40);
  for (const a of out) {
    assert.ok(a.x >= 0 && a.x + 50 <= 400 && a.y >= 0 && a.y <= 400);
    for (const b of out) assert.ok(a === b || Math.abs(a.y - b.y) >= 13 || a.x + 50 < b.x || b.x + 50 < a.x);
  }
  assert.deepEqual(place(at, [], () => 1, options), []);
});

test("points that follow a target that moves on never stop on the way, and arrive", () => {
  const [places, speeds] = [new Float32Array([0]), new Float32Array([0])];
  let before = 0;
  for (let frame = 0; frame < 60; frame++) {
    follow(places, speeds, [1 + Math.floor(frame / 6)], 1 / 60); // a new place ten times a second
    assert.ok(places[0] > before, `frame ${frame} moves on`);
    before = places[0];
  }
  let frames = 0;
  while (follow(places, speeds, [11], 1 / 60) && frames < 300) frames += 1;
  assert.ok(frames > 5 && frames < 120);
  assert.ok(Math.abs(places[0] - 11) < 0.02);
  follow(places, speeds, [0], 60);
  assert.ok(places[0] > 5, "a page that was hidden for a minute does not jump");
});
