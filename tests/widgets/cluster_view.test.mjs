// What a recorded cluster looks like at a moment, without a page.
import assert from "node:assert/strict";
import test from "node:test";
import { behind, momentsOf, positionOf, sceneAt, widths } from "../../widgets/dataflow_widgets/cluster_view/play.js";

// Two workers (cards 1 and 2) of one parameter server (card 0), each with one step.
const asynchronous = {
  sync: false,
  spans: [[1, 0, 0, 1, 3, 1], [2, 0, 0, 1, 6, 2]],
  messages: [[0, 0, 1, 1, 100, 0, 1, 1], [1, 0, 2, 1, 100, 0, 1, 2], [0, 1, 0, 2, 300, 3, 4, 1], [1, 2, 0, 2, 100, 6, 7, 2]],
  steps: [[1, 1, 0, 4, 0, 0, "applied", null], [2, 2, 0, 7, 0, 1, "applied", null]],
};

test("moments are all times, once and in order", () => {
  const moments = momentsOf(asynchronous);
  assert.deepEqual(moments, [0, 1, 3, 4, 6, 7]);
  assert.equal(positionOf(moments, 5), 3);
  assert.equal(positionOf(moments, -1), 0);
  assert.equal(positionOf(moments, 99), 5);
});

test("a message is on its way from when it left until it is there", () => {
  const moments = momentsOf(asynchronous);
  const names = (at) => sceneAt(asynchronous, moments, at).flying.map((m) => `${m.from}>${m.to}`);
  assert.deepEqual(names(0), ["0>1", "0>2"]);
  assert.deepEqual(names(2), ["1>0"]);
  assert.deepEqual(names(4), ["2>0"]);
  assert.equal(sceneAt(asynchronous, moments, 3).flying[0].share, 1, "there at its last moment");
});

test("a slow worker falls behind by the updates of the others", () => {
  const moments = momentsOf(asynchronous);
  const before = sceneAt(asynchronous, moments, 2);
  assert.equal(behind(before, before.workers.get(2)), 0);
  const after = sceneAt(asynchronous, moments, 4);
  assert.equal(after.version, 1);
  assert.equal(behind(after, after.workers.get(2)), 1);
  assert.equal(behind(after, after.workers.get(1)), 0);
  assert.deepEqual(after.running, [[2, 0, 0]]);
});

test("a link is as wide as what has arrived over it", () => {
  const none = widths(asynchronous, 0, 2);
  assert.deepEqual(none.counts, [0, 0]);
  const all = widths(asynchronous, 7, 2);
  assert.deepEqual(all.bytes, [400, 200]);
  assert.ok(all.pixels[0] > all.pixels[1] && all.pixels[1] > none.pixels[1]);
});

test("workers of a synchronous step wait at the barrier until the next token", () => {
  const play = {
    sync: true,
    spans: [],
    messages: [],
    steps: [[1, 1, 0, 2, 0, 0, "applied", 0], [2, 2, 0, 5, 0, 0, "applied", 0], [3, 1, 5, 6, 1, 0, "applied", 5]],
  };
  const moments = momentsOf(play);
  const at = (time) => sceneAt(play, moments, positionOf(moments, time));
  assert.deepEqual([at(2).workers.get(1).waits, at(2).workers.get(2).waits], [true, false]);
  assert.equal(at(2).version, 0);
  assert.deepEqual([at(5).workers.get(1).waits, at(5).version], [false, 1]);
});
