import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { exportDot, findAside, findHubs, layoutDot } from "../../widgets/dataflow_widgets/shared/dot.js";
import { GraphModel, visibleGraph } from "../../widgets/dataflow_widgets/shared/graph.js";
import { layered } from "../../widgets/dataflow_widgets/shared/layered.js";
import { pieces, stack } from "../../widgets/dataflow_widgets/shared/rows.js";
import { chooseOpen } from "../../widgets/dataflow_widgets/shared/legible.js";
import { addVolumes, dimensions, holdsLayers, wrapsLayers } from "../../widgets/dataflow_widgets/shared/volumes.js";
import { MOST_BY_GRAPHVIZ, layout, readJson0 } from "../../widgets/dataflow_widgets/shared/layout.js";
import { DOT_EVIL, EVIL, layers, lesson, node } from "./graphs.mjs";

globalThis.__ENGINE__ = "test";
globalThis.__VERSION__ = "test";
const { EngineHost } = await import("../../widgets/dataflow_widgets/shared/engine.js");

const shown = (nodes, open) => {
  const model = new GraphModel(nodes);
  return { model, visible: visibleGraph(model, { open: open ?? new Set(model.allScopes()) }) };
};

// A Graphviz that puts node i at (100 i, 50 i), to check the reading of coordinates.
function fakeJson(visible) {
  return JSON.stringify({
    bb: "0,0,1000,500",
    objects: visible.items.map((_, i) => ({ _gvid: i, name: `n${i}`, pos: `${i * 100},${i * 50}` })),
    edges: visible.edges.map((_, i) => ({ eid: String(i), pos: "e,10,20 1,2 3,4 5,6 7,8", lp: "4,5" })),
  });
}

test("no name, label or value ever enters the DOT that is laid out", () => {
  const { model, visible } = shown([node(EVIL, "Const", [], { value: "<script>" }), node(DOT_EVIL, "Placeholder", [`${EVIL}:0`]), node("sc<ope/x", "Neg", [`${DOT_EVIL}:0`])]);
  const { text } = layoutDot(visible, model);
  for (const bad of ["img", "evil", "script", "ope", "Placeholder", "float32"]) assert.ok(!text.includes(bad), bad);
});

test("the steps of the longest path stand straight, whatever all of them read", () => {
  const steps = ["a", "b", "c", "d", "e"];
  const nodes = [node("default", "Const"), node("training", "PlaceholderWithDefault", ["default:0"])];
  steps.forEach((name, i) => nodes.push(node(name, "Add", [i ? `${steps[i - 1]}:0` : "training:0", "training:0"])));
  nodes.push(node("skip", "Add", ["a:0", "e:0"]));
  const { model, visible } = shown(nodes);
  const { text } = layoutDot(visible, model);
  const number = (name) => visible.items.findIndex((item) => model.nodes[item.index]?.name === name);
  const weight = (from, to) => /weight=(\d+)/.exec(text.split("\n").find((line) => line.startsWith(`n${number(from)} -> n${number(to)} `)))?.[1] ?? null;
  for (const [from, to] of [["default", "training"], ["training", "a"], ["a", "b"], ["d", "e"], ["e", "skip"]]) assert.equal(weight(from, to), "20", `${from} -> ${to}`);
  for (const to of ["b", "c", "d", "e"]) assert.equal(weight("training", to), null, to);
  assert.equal(weight("a", "skip"), null);
});

test("names in exported DOT are quoted strings", () => {
  const { model, visible } = shown([node(DOT_EVIL, "Const"), node("end\\", "Neg", [`${DOT_EVIL}:0`])]);
  const text = exportDot(visible, model);
  assert.ok(text.includes('a\\"]; evil [label=\\"\\\\N\\\\'), text);
  assert.ok(text.includes('tooltip="end\\\\"'));
});

test("coordinates are read with y downwards, edges with their arrow and label", () => {
  const { model, visible } = shown(lesson());
  const { faces } = layoutDot(visible, model);
  const result = readJson0(fakeJson(visible), visible, faces);
  assert.equal(result.nodes.get("n:2").x, 200);
  assert.equal(result.nodes.get("n:2").y, 400);
  assert.equal(result.edges.length, visible.edges.length);
  assert.match(result.edges[0].path, /^M1\.0,498\.0C/);
  assert.match(result.edges[0].arrow, /^M10\.0,480\.0L/);
  assert.deepEqual(result.edges[0].label, [4, 495]);
});

test("a hub is found, a small graph has none", () => {
  const many = [node("hub", "NoOp", Array.from({ length: 40 }, (_, i) => `^a${i}`)), ...Array.from({ length: 40 }, (_, i) => node(`a${i}`))];
  assert.deepEqual([...findHubs(shown(many).visible)], ["n:0"]);
  assert.equal(findHubs(shown(lesson()).visible).size, 0);
});

test("own layers: every node placed once, inputs above their users, loops end", () => {
  const { model, visible } = shown(layers(5));
  const result = layered(visible, model);
  assert.equal(result.nodes.size, visible.items.length);
  for (const edge of visible.edges) assert.ok(result.nodes.get(edge.from).y < result.nodes.get(edge.to).y);
  const loop = shown([node("Merge", "Merge", ["Next:0"]), node("Next", "NextIteration", ["Merge:0"])]);
  assert.equal(layered(loop.visible, loop.model).nodes.size, 2);
});

test("no two boxes of a layer overlap", () => {
  const { model, visible } = shown(layers(4));
  const boxes = [...layered(visible, model).nodes.values()];
  boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => {
    if (a.y === b.y) assert.ok(Math.abs(a.x - b.x) >= (a.width + b.width) / 2);
  }));
});

test("scopes of training stand aside in all but small pictures", () => {
  const model = new GraphModel(layers(5));
  const visible = visibleGraph(model, { open: new Set(model.allScopes().filter((path) => !model.isDetail(path))) });
  assert.deepEqual([...findAside(visible, model)].sort(), ["s:gradients"]);
  assert.equal(findAside(shown(layers(1)).visible, model).size, 0);
  // Where roles are known, what is of the model stays where its edges lead.
  assert.equal(findAside(visible, model, true).size, 0);
  for (const one of model.nodes) if (one.name.startsWith("gradients/")) one.role = "gradient";
  assert.deepEqual([...findAside(visible, model, true)], ["s:gradients"]);
});

test("a layout that is stopped is tried with limits, then without hubs, then drawn plainly", async () => {
  const nodes = [node("hub", "Concat", Array.from({ length: 40 }, (_, i) => `a${i}:0`)), ...Array.from({ length: 40 }, (_, i) => node(`a${i}`)), node("after", "Neg", ["a0:0"])];
  const { model, visible } = shown(nodes);
  const texts = [];
  const slow = { layout: async (text) => { texts.push(text); throw Object.assign(new Error("stopped"), { name: "LayoutTimeout" }); } };
  const result = await layout(visible, model, slow);
  assert.equal(result.attempt, "layered");
  assert.equal(texts.length, 3);
  assert.ok(!texts[0].includes("nslimit") && texts[1].includes("nslimit=1") && texts[2].includes("nslimit=1"));
  const count = (text) => text.split("->").length - 1;
  assert.deepEqual(texts.map(count), [41, 41, 1], "the last attempt leaves the hub's edges out");
  assert.equal(result.failures.length, 3);
});

test("the first attempt that works is used", async () => {
  const { model, visible } = shown(lesson());
  let calls = 0;
  const once = { layout: async () => { calls += 1; if (calls === 1) throw new Error("memory access out of bounds"); return fakeJson(visible); } };
  const result = await layout(visible, model, once);
  assert.equal(result.attempt, "limits");
});

test("more items than Graphviz can lay out in time go to plain layers at once", async () => {
  const asked = [];
  const host = { layout: (dot) => { asked.push(dot); throw new Error("stopped"); } };
  for (const [count, times] of [[MOST_BY_GRAPHVIZ, 2], [MOST_BY_GRAPHVIZ + 1, 0]]) {
    const { model } = shown(Array.from({ length: count }, (_, i) => node(`n${i}`, "Add", i ? [`n${i - 1}:0`] : [])));
    const visible = visibleGraph(model, { open: new Set() });
    assert.equal(visible.items.length, count);
    assert.equal((await layout(visible, model, host)).attempt, "layered");
    assert.equal(asked.splice(0).length, times);
  }
});

test("without an engine, plain layers at once", async () => {
  const { model, visible } = shown(lesson());
  assert.equal((await layout(visible, model, null)).attempt, "layered");
});

test("an empty graph is an empty drawing", async () => {
  const { model, visible } = shown([]);
  assert.equal((await layout(visible, model, null)).nodes.size, 0);
});

// The engine's host, with workers that do what a test says

class FakeWorker {
  static plan = [];
  static made = [];
  constructor() {
    this.handlers = {};
    this.behavior = FakeWorker.plan.shift() ?? "answer";
    FakeWorker.made.push(this);
    if (this.behavior === "forbidden") throw new Error("blocked by the content security policy");
    setTimeout(() => this.fire("message", { data: { ready: true } }), 0);
  }
  addEventListener(name, handler) {
    this.handlers[name] = handler;
  }
  fire(name, event) {
    if (!this.terminated) this.handlers[name]?.(event);
  }
  postMessage({ id, dot }) {
    if (this.behavior === "hang") return;
    if (this.behavior === "while the page is busy") {
      setTimeout(() => this.fire("message", { data: { id, result: `drawn ${dot}` } }), 40);
      queueMicrotask(() => {
        for (const end = performance.now() + 80; performance.now() < end; );
      });
      return;
    }
    const data = this.behavior === "crash" ? { id, error: "memory access out of bounds" } : { id, result: `drawn ${dot}` };
    setTimeout(() => this.fire("message", { data }), 1);
  }
  terminate() {
    this.terminated = true;
  }
}

let original;
beforeEach(() => {
  original = globalThis.Worker;
  globalThis.Worker = FakeWorker;
  FakeWorker.plan = [];
  FakeWorker.made = [];
});
afterEach(() => {
  globalThis.Worker = original;
});

const started = () => {
  const host = new EngineHost();
  host.setSource("// engine");
  return host;
};

test("one worker serves every layout, and the same text is laid out once", async () => {
  const host = started();
  assert.equal(await host.layout("a", { watchdog: 1000 }), "drawn a");
  assert.deepEqual(await Promise.all([host.layout("b", { watchdog: 1000 }), host.layout("a", { watchdog: 1000 })]), ["drawn b", "drawn a"]);
  assert.equal(FakeWorker.made.length, 1);
  assert.equal(host.cache.size, 2);
});

test("the watchdog ends a layout and its worker; the next one gets a fresh worker", async () => {
  FakeWorker.plan = ["hang", "answer"];
  const host = started();
  await new Promise((resolve) => setTimeout(resolve, 5));
  await assert.rejects(host.layout("slow", { watchdog: 20 }), { name: "LayoutTimeout" });
  assert.equal(FakeWorker.made[0].terminated, true);
  assert.equal(await host.layout("quick", { watchdog: 1000 }), "drawn quick");
  assert.equal(FakeWorker.made.length, 2);
});

test("an answer that came while the page was busy counts, though its time is over", async () => {
  FakeWorker.plan = ["while the page is busy"];
  const host = started();
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(await host.layout("a", { watchdog: 20 }), "drawn a");
  assert.equal(FakeWorker.made.length, 1);
});

test("after 'memory access out of bounds' the instance is discarded and the layout retried", async () => {
  FakeWorker.plan = ["crash", "answer"];
  const host = started();
  assert.equal(await host.layout("a", { watchdog: 1000 }), "drawn a");
  assert.equal(FakeWorker.made[0].terminated, true);
});

test("where workers are forbidden, small graphs are laid out in the page and large ones are not", async () => {
  FakeWorker.plan = ["forbidden", "forbidden", "forbidden"];
  const host = started();
  assert.equal(host.mode, "main");
  host.inPage = async (dot) => `in page ${dot}`;
  assert.equal(await host.layout("a", { watchdog: 1000, size: 10 }), "in page a");
  await assert.rejects(host.layout("b", { watchdog: 1000, size: 5000 }), { name: "EngineMissing" });
});

test("the engine is asked for once, however many widgets wait", async () => {
  const host = new EngineHost();
  const sent = [];
  const model = { send: (message) => sent.push(message) };
  for (let i = 0; i < 5; i++) host.ask(model);
  assert.deepEqual(sent, [{ kind: "engine" }]);
  const waiting = [host.ready(1000), host.ready(1000)];
  host.setSource("// engine");
  host.setSource("// engine again");
  assert.deepEqual(await Promise.all(waiting), [true, true]);
  assert.equal(host.loads, 1);
});

test("a kernel that does not send the engine is not waited for", async () => {
  const host = new EngineHost();
  assert.equal(await host.ready(5), false);
  await assert.rejects(host.layout("a", { watchdog: 10 }), { name: "EngineMissing" });
});

test("without Graphviz an open scope is a frame around what is in it, and nothing lies over it", () => {
  const { model, visible } = shown(layers(3));
  const result = layered(visible, model);
  assert.deepEqual(new Set(result.clusters.map((c) => c.path)), new Set(visible.clusters.map((c) => c.path)));
  const inside = (at, c) => at.x - at.width / 2 >= c.x && at.x + at.width / 2 <= c.x + c.width && at.y - at.height / 2 >= c.y && at.y + at.height / 2 <= c.y + c.height;
  const outside = (at, c) => at.x + at.width / 2 <= c.x || at.x - at.width / 2 >= c.x + c.width || at.y + at.height / 2 <= c.y || at.y - at.height / 2 >= c.y + c.height;
  for (const cluster of result.clusters) {
    for (const item of visible.items) {
      const mine = `${item.cluster ?? ""}/`.startsWith(`${cluster.path}/`);
      assert.ok((mine ? inside : outside)(result.nodes.get(item.id), cluster), `${item.id} and ${cluster.path}`);
    }
  }
});

/** `count` layers in a row, each reading a weight of its own, within the scope `around` if there is one. */
function row(count, around = "") {
  const nodes = [node(`${around}x`, "Placeholder")];
  for (let i = 0; i < count; i++) {
    nodes.push(node(`${around}weight_of_layer_${i}`, "VariableV2"), node(`${around}activation_${i}`, "MatMul", [i ? `${around}activation_${i - 1}:0` : `${around}x:0`, `${around}weight_of_layer_${i}:0`]));
  }
  return nodes;
}

for (const around of ["", "net/inner/"]) {
  test(`a long row is cut into pieces with one edge between them ${around}`, () => {
    const { model, visible } = shown(row(24, around));
    const parts = pieces(visible, model, 900);
    assert.ok(parts.length > 2);
    assert.equal(parts.reduce((sum, part) => sum + part.items.length, 0), visible.items.length);
    assert.equal(visible.edges.length - parts.reduce((sum, part) => sum + part.edges.length, 0), parts.length - 1);
    const result = stack(visible, parts.map((part) => layered(part, model)));
    assert.equal(result.nodes.size, visible.items.length);
    assert.equal(new Set(result.edges.map((edge) => edge.id)).size, visible.edges.length);
    for (const at of result.nodes.values()) assert.ok(at.x - at.width / 2 >= 0 && at.x + at.width / 2 <= result.width);
    const boxes = [...result.nodes.values()];
    boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => assert.ok(Math.abs(a.x - b.x) >= (a.width + b.width) / 2 || Math.abs(a.y - b.y) >= (a.height + b.height) / 2)));
  });
}

/** Rows as Graphviz makes them: columns of names, every node 60 x 30 but for the `wide`, 100 px from column to column. */
function columns(rows, wide = {}) {
  return rows.map((names) => {
    const nodes = new Map();
    names.forEach((column, i) => column.forEach((name, j) => nodes.set(name, { x: 60 + 130 * i, y: 20 + 50 * j, width: wide[name] ?? 60, height: 30 })));
    return { width: 130 * names.length, height: 50 * Math.max(...names.map((column) => column.length)), nodes, edges: [], clusters: [] };
  });
}

test("an edge to the next row passes no node, and goes no further round than it must", () => {
  const layouts = columns([[["labels", "x", "w"], ["a", "argmax"], ["b"]], [["c"], ["loss", "d"], ["e"]], [["f"], ["g"]]], { w: 90 });
  const ends = [["labels", "loss"], ["b", "c"], ["x", "e"], ["argmax", "g"], ["e", "f"]];
  const edges = ends.map(([from, to], i) => ({ id: `e:${i}`, from, to, label: "(?)" }));
  const result = stack({ edges }, layouts);
  const of = (id) => result.edges.find((edge) => edge.id === id);
  for (const [i, [from, to]] of ends.entries()) {
    const points = of(`e:${i}`).path.slice(1).split("L").map((pair) => pair.split(",").map(Number));
    for (const [name, at] of result.nodes) {
      if (name === from || name === to) continue;
      points.slice(1).forEach(([x, y], k) => {
        const [px, py] = points[k];
        const hits = Math.min(x, px) < at.x + at.width / 2 && Math.max(x, px) > at.x - at.width / 2 && Math.min(y, py) < at.y + at.height / 2 && Math.max(y, py) > at.y - at.height / 2;
        assert.ok(!hits, `${from} -> ${to} passes through ${name}`);
      });
    }
    assert.ok(points.every(([x]) => x >= 0 && x <= result.width));
  }
  const furthest = (id) => Math.max(...of(id).path.slice(1).split("L").map((pair) => Number(pair.split(",")[0])));
  assert.ok(furthest("e:0") < result.nodes.get("loss").x, "labels -> loss");
  assert.ok(furthest("e:2") < result.nodes.get("e").x, "x -> e");
  assert.ok(furthest("e:1") < result.nodes.get("b").x + 60, "the end of a row");
  assert.ok(of("e:0").label[0] < result.nodes.get("loss").x, "written on the edge");
});

test("an open scope and a loop stay in one piece", () => {
  const nodes = row(30).map((one) => (one.name.match(/_(\d+)$/)?.[1] >= 10 && one.name.match(/_(\d+)$/)[1] < 14 ? { ...one, name: `block/${one.name}` } : one));
  const renamed = new Map(row(30).map((one, i) => [one.name, nodes[i].name]));
  for (const one of nodes) one.inputs = one.inputs.map((text) => text.replace(/^[^:]+/, (name) => renamed.get(name)));
  const { model, visible } = shown(nodes);
  const parts = pieces(visible, model, 1200);
  assert.ok(parts.length > 1);
  assert.equal(parts.filter((part) => part.items.some((item) => item.cluster === "block")).length, 1);
});

const shaped = (shape) => ({ outputs: [{ dtype: "float32", shape }] });

test("volumes are to scale, from the shapes of the graph", () => {
  const nodes = [
    node("x", "Placeholder", [], shaped("(?, 28, 28, 1)")),
    node("conv/kernel", "VariableV2", [], shaped("(5, 5, 1, 32)")),
    node("conv/Conv2D", "Conv2D", ["x:0", "conv/kernel:0"], shaped("(?, 28, 28, 32)")),
    node("pool", "MaxPool", ["conv/Conv2D:0"], shaped("(?, 14, 14, 32)")),
    node("flat", "Reshape", ["pool:0"], shaped("(?, 6272)")),
    node("unknown", "Reshape", ["pool:0"], shaped("<unknown>")),
  ];
  const { model, visible } = shown(nodes, new Set());
  addVolumes(visible, model);
  const of = (id) => visible.items.find((item) => item.id === id).volume;
  const [x, conv, pool] = [of("n:0"), of("s:conv"), of("n:3")];
  assert.equal(conv.words, "28 × 28 × 32  (5 × 5)");
  assert.equal(pool.box.high * 2, x.box.high);
  assert.equal(pool.box.back * 2, x.box.back);
  assert.ok(Math.abs(conv.window.high / conv.box.high - 5 / 28) < 1e-9);
  assert.equal(conv.box.front, pool.box.front);
  assert.equal(of("n:4").kind, "bar");
  assert.equal(of("n:5"), undefined);
  assert.equal(visible.edges.find((edge) => edge.from === "n:3").label, "");
  assert.deepEqual(dimensions("(?, 28, 28, 1)"), [null, 28, 28, 1]);
  assert.equal(dimensions("<unknown>"), null);
  assert.ok(!holdsLayers(model, "conv"));
});

test("a closed scope of variables is a part of the closed scope that reads them", () => {
  const nodes = [node("x", "Placeholder"), node("v/layer/w", "VariableV2"), node("v/v/layer/Conv2D", "Conv2D", ["x:0", "v/layer/w:0"]), node("other/w", "VariableV2"), node("loss", "Add", ["v/v/layer/Conv2D:0", "other/w:0"]), node("v/layer/note", "NoOp", [], { role: "saver" })];
  const model = new GraphModel(nodes);
  const open = new Set(["v", "v/v"]);
  const visible = visibleGraph(model, { open, shown: new Set() });
  assert.equal(visible.holder[1], visible.holder[2]);
  assert.ok(visible.holder[3] !== visible.holder[4], "one that an operation reads stays");
  assert.equal(visible.edges.filter((edge) => edge.from === edge.to).length, 0);
});

test("volumes are drawn below the scopes that stand around all of a network", () => {
  const image = (shape) => ({ outputs: [{ dtype: "float32", shape }] });
  const nodes = [node("x", "Placeholder", [], image("(?, 64, 64, 3)"))];
  let value = "x:0";
  for (let i = 0; i < 40; i++) {
    const name = `Net/Net/block${i}`;
    nodes.push(node(`${name}/a/Conv2D`, "Conv2D", [value], image("(?, 64, 64, 8)")), node(`${name}/b/Conv2D`, "Conv2D", [`${name}/a/Conv2D:0`], image("(?, 64, 64, 8)")));
    value = `${name}/b/Conv2D:0`;
  }
  nodes.push(node("Net/Logits/MatMul", "MatMul", [value], image("(?, 10)")));
  const model = new GraphModel(nodes);
  assert.deepEqual(model.allScopes().filter((path) => wrapsLayers(model, path)), ["Net", "Net/Net"]);
  const see = (open) => {
    const visible = visibleGraph(model, { open });
    addVolumes(visible, model);
    return visible;
  };
  const mayOpen = (path) => holdsLayers(model, path);
  const room = { width: 400, height: 300 }; // forty boxes do not fit
  const chosen = (mustOpen) => see(chooseOpen(model, { see, room, directions: ["down"], mayOpen, mustOpen }).open).items.length;
  assert.equal(chosen(undefined), 2, "one box for all of the network");
  assert.equal(chosen((path) => wrapsLayers(model, path)), 42);
});
