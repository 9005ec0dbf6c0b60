// What a recorded cluster looks like at a moment, without a page.
import assert from "node:assert/strict";
import test from "node:test";
import { keyAct } from "../../widgets/dataflow_widgets/cluster_view/controls.js";
import { Flight } from "../../widgets/dataflow_widgets/cluster_view/flight.js";
import { labelPlaces } from "../../widgets/dataflow_widgets/cluster_view/picture.js";
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

test("labels of dots cover no machine and no other label", () => {
  const cards = [{ x: 300, y: 0, w: 200, h: 100 }, { x: 300, y: 150, w: 200, h: 100 }];
  const size = { width: 960, height: 300 };
  const points = [[400, 104], [400, 125], [400, 148], [940, 125]];
  const found = labelPlaces(points, [120, 120, 120, 120], cards, size);
  const boxes = found.map((spot, i) => spot && [points[i][0] + spot[0], points[i][1] + spot[1] - 11, points[i][0] + spot[0] + 120, points[i][1] + spot[1] + 3]);
  assert.ok(boxes[1] && boxes[3]);
  const all = [...boxes.filter(Boolean), ...cards.map((c) => [c.x, c.y, c.x + c.w, c.y + c.h])];
  all.forEach((one, i) => all.slice(i + 1).forEach((two) => assert.ok(one[0] >= two[2] || one[2] <= two[0] || one[1] >= two[3] || one[3] <= two[1], `${one} covers ${two}`)));
  for (const box of boxes.filter(Boolean)) assert.ok(box[2] <= 960);
});

test("a dot arrives when its message has, and waits on the way until then", () => {
  let now = 0;
  const flight = new Flight((a, b) => (a === 9 || b === 9 ? undefined : 0), () => now);
  flight.take([[1, 0, 1, "weights", 8, 100, 100.001], [2, 1, 0, "gradients/w", 8, 100, null], [3, 9, 0, "x", 8, 100, null]]);
  assert.deepEqual(flight.flying().map((dot) => dot.id), [1, 2], "none where there is no link");
  now = 2;
  const [held] = flight.flying();
  assert.ok(held.id === 2 && held.isHeld && held.share < 0.5);
  assert.match(flight.words((i) => `task ${i}`), /gradients\/w from task 1 to task 0, not there yet/);
  flight.take([[2, 1, 0, "gradients/w", 8, 100, 102]]);
  now = 2.1;
  assert.ok(flight.flying()[0].share > held.share && !flight.flying()[0].isHeld);
  now = 3;
  assert.deepEqual(flight.flying(), []);
  flight.take(Array.from({ length: 500 }, (_, k) => [10 + k, 0, 1, "x", 8, 100, null]));
  assert.ok(flight.dots.size <= 60);
});

test("keys ask for what is possible", () => {
  const task = { name: "worker:1", state: "running", isCut: false, delay: 0.2, linkDelay: 0 };
  assert.deepEqual(keyAct("c", task, true), { do: "cut", task: "worker:1" });
  assert.equal(keyAct("c", { ...task, isCut: true }, true).do, "mend");
  assert.deepEqual(keyAct("s", task, true), { do: "slow_down", task: "worker:1", seconds: 0.5 });
  assert.equal(keyAct("l", task, true).seconds, 0.05);
  assert.equal(keyAct("p", { ...task, state: "paused" }, true).do, "resume");
  for (const key of ["k", "p", "c", "s", "l"]) assert.equal(keyAct(key, { ...task, state: "dead" }, true), null);
  assert.equal(keyAct("r", { ...task, state: "dead" }, true).do, "restart");
  assert.equal(keyAct("r", task, false), null);
});
