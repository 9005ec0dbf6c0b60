import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.__ENGINE__ = "test";
globalThis.__VERSION__ = "test";
const { PICTURE_LIMIT, Store, dropStore, pack, pictureOf, storeOf, unpack } = await import("../../widgets/dataflow_widgets/shared/store.js");
const { lesson, node } = await import("./graphs.mjs");

function fakeModel(state = {}) {
  const handlers = {};
  const sent = [];
  return {
    sent,
    get: (key) => state[key],
    set: (key, value) => { state[key] = value; },
    on: (event, handler) => { handlers[event] = handler; },
    send: (message) => sent.push(message),
    message: (content, buffers) => handlers["msg:custom"](content, buffers),
    change: (key, value) => { state[key] = value; handlers[`change:${key}`](); },
  };
}

test("packed text comes back", async () => {
  const value = { name: "<é>", list: [1, 2] };
  assert.deepEqual(await unpack(await pack(value)), value);
  assert.equal(await unpack("not base64 deflate"), null);
  assert.equal(await unpack(""), null);
});

test("a picture that would make the notebook too fat is not kept", async () => {
  assert.ok((await pictureOf("<svg>".repeat(1000))).length > 0);
  const noise = Array.from({ length: 40000 }, () => Math.random().toString(36)).join("");
  assert.equal(await pictureOf(noise), "");
  assert.ok(PICTURE_LIMIT <= 40000);
});

test("the graph arrives with the payload, later operations by message; hello says what is known", () => {
  const model = fakeModel({ payload: { nodes: lesson(), version: 6 } });
  const store = new Store(model);
  assert.equal(store.graph.nodes.length, 6);
  assert.deepEqual(model.sent[0], { kind: "hello", version: 6, runs: 0 });
  const events = [];
  store.on((event, detail) => events.push([event, detail.added]));
  model.message({ kind: "ops", nodes: [node("late", "Neg", ["pow_op:0"])], fresh: [6] });
  assert.equal(store.graph.nodes.length, 7);
  assert.deepEqual(events, [["graph", 1]]);
});

test("a payload comes as one buffer of JSON, its arrays by themselves", () => {
  const told = { nodes: lesson(), trace: { runs: [] } };
  const packed = new DataView(new TextEncoder().encode(JSON.stringify(told)).buffer);
  const store = new Store(fakeModel({ payload: { packed, arrays: [7] } }));
  assert.equal(store.graph.nodes.length, lesson().length);
  assert.deepEqual(store.extra.trace, { runs: [] });
  assert.deepEqual(store.extra.arrays, [7]);
});

test("an emptied payload does not empty the graph", () => {
  const model = fakeModel({ payload: { nodes: lesson() } });
  const store = new Store(model);
  model.change("payload", {});
  assert.equal(store.graph.nodes.length, 6);
});

test("an error in the kernel's callback reaches the widget", async () => {
  const model = fakeModel({});
  const store = new Store(model);
  const seen = [];
  store.on((event, detail) => seen.push([event, detail]));
  model.message({ kind: "error", text: "KeyError: 'x'" });
  assert.deepEqual(seen, [["error", "KeyError: 'x'"]]);
  const answer = store.question({ kind: "value" });
  model.message({ kind: "answer", id: model.sent.at(-1).id, error: "gone" });
  assert.deepEqual(await answer, { error: "gone" });
});

test("a question to a kernel that is gone is given up", async () => {
  const store = new Store(fakeModel({}));
  assert.equal(await store.question({ kind: "about" }, 5), null);
});

test("a model whose send throws leaves the widget working", () => {
  const model = fakeModel({ payload: { nodes: lesson() } });
  model.send = () => { throw new Error("comm is closed"); };
  assert.equal(new Store(model).graph.nodes.length, 6);
});

test("a run that is sent twice is added once", () => {
  const model = fakeModel({ payload: { nodes: lesson(), trace: { runs: [{ label: "run 1" }] } } });
  const store = new Store(model);
  assert.equal(model.sent[0].runs, 1);
  let count = 0;
  store.on((event) => { count += event === "run" ? 1 : 0; });
  for (let i = 0; i < 2; i++) model.message({ kind: "run", number: 1, run: { label: "run 2" } });
  assert.deepEqual(store.extra.trace.runs.map((run) => run.label), ["run 1", "run 2"]);
  assert.equal(count, 1);
});

test("two wrappers of one model share a store, until the model is gone", () => {
  const state = { token: "a1", payload: { nodes: lesson() } };
  const [one, two] = [fakeModel(state), fakeModel(state)];
  assert.equal(storeOf(one), storeOf(two));
  assert.equal(two.sent.length, 0);
  const before = storeOf(one);
  dropStore(two);
  assert.notEqual(storeOf(one), before);
  dropStore(one);
});
