// What one widget model knows in this page, shared by all its views.  The kernel sends the graph in
// the `payload` trait; once read, the kernel empties the trait, so that a saved notebook does not
// carry it.  What a reopened notebook shows is the compressed `picture` (see loader.js).
import { engineHost } from "./engine.js";
import { GraphModel } from "./graph.js";

const stores = new Map();

export const PICTURE_LIMIT = 30000; // base64 characters that one widget may add to a notebook
const SNAPSHOT_LIMIT = 100000;

/** What the kernel sends as one buffer of JSON; a saved page holds it as it is. */
const unpackPayload = (payload) => (payload?.packed ? { ...payload, ...JSON.parse(new TextDecoder().decode(payload.packed)), packed: undefined } : payload);

export class Store {
  constructor(model) {
    this.model = model;
    this.graph = new GraphModel();
    this.extra = {};
    this.listeners = new Set();
    this.answers = new Map();
    this.nextQuestion = 1;
    this.host = engineHost();
    this.heard = false; // whether the kernel has said anything since this page opened
    this.gone = false; // whether that kernel has ended since: nobody is there to be asked
    this.onCustom = (message, buffers) => this.receive(message, buffers);
    model.on("msg:custom", this.onCustom);
    model.on("change:payload", () => this.takePayload());
    this.takePayload();
    this.hello();
  }

  hello() {
    this.send({ kind: "hello", version: this.graph.nodes.length, runs: this.extra.trace?.runs?.length ?? 0 });
    if (!this.host.source) this.host.ask({ send: (message) => this.send(message) });
  }

  send(message, buffers) {
    try {
      // anywidget: send(content, callbacks, buffers)
      this.model.send(message, undefined, buffers);
    } catch {
      // a dead kernel: what is in the page goes on working
    }
  }

  /** Asks the kernel; resolves with its answer, or null after `patience` ms (kernel busy or gone). */
  question(message, patience = 8000) {
    if (this.gone) return Promise.resolve(null);
    const id = this.nextQuestion++;
    return new Promise((resolve) => {
      this.answers.set(id, resolve);
      setTimeout(() => this.answers.delete(id) && resolve(null), patience);
      this.send({ ...message, id });
    });
  }

  takePayload() {
    const payload = unpackPayload(this.model.get("payload"));
    if (!payload?.nodes) return;
    this.heard = true;
    this.extra = { ...this.extra, ...payload, nodes: undefined };
    if (payload.replace) this.graph = new GraphModel();
    const added = this.graph.add(payload.nodes);
    this.emit("graph", { added, payload });
  }

  receive(message, buffers) {
    if (!message || typeof message !== "object") return;
    this.heard = true;
    if (message.kind === "engine" && buffers?.length) {
      this.host.take(buffers[0]).catch((error) => this.emit("error", `Graphviz did not arrive whole: ${error.message}`));
    } else if (message.kind === "ops") {
      const added = this.graph.add(message.nodes);
      this.emit("graph", { added, fresh: message.fresh });
    } else if (message.kind === "changed") {
      this.graph.replace(message.nodes);
      this.emit("graph", { added: message.nodes.length });
    } else if (message.kind === "answer" && this.answers.has(message.id)) {
      const resolve = this.answers.get(message.id);
      this.answers.delete(message.id);
      resolve(message.error ? { error: message.error } : { ...message.content, buffers });
      if (message.error) this.emit("error", message.error);
    } else if (message.kind === "run") {
      // Numbered, because one sent while the page was loading is sent again after hello.
      if (this.extra.trace?.runs.length !== message.number) return;
      this.extra.trace.runs.push(message.run);
      this.emit("run", message);
    } else if (message.kind === "error") this.emit("error", message.text);
    else this.emit(message.kind, { ...message, buffers });
  }

  emit(event, detail) {
    for (const listener of [...this.listeners]) listener(event, detail);
  }

  on(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

/**
 * The store of a model.  Front ends hand a new wrapper of the model to each call, so what tells
 * models apart is the `token` that the kernel gave; without one (a saved page), the object itself.
 */
export function storeOf(model) {
  const key = model.get("token") || model;
  if (!stores.has(key)) stores.set(key, new Store(model));
  return stores.get(key);
}

/** The model is gone: forget what is known of it. */
export function dropStore(model) {
  stores.delete(model.get("token") || model);
}

// Texts kept in a notebook or a saved page: deflated, as base64.

async function through(stream, bytes) {
  const writer = stream.writable.getWriter();
  writer.write(bytes).catch(() => {});
  writer.close().catch(() => {});
  return new Uint8Array(await new Response(stream.readable).arrayBuffer());
}

export async function pack(value, json = true) {
  if (typeof CompressionStream === "undefined") return "";
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(json ? JSON.stringify(value) : value));
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(text);
}

export async function unpack(text) {
  if (!text || typeof DecompressionStream === "undefined") return null;
  try {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), bytes)));
  } catch {
    return null;
  }
}

const round = (n) => Math.round(n * 10) / 10;

export function packLayout(result, visible) {
  return {
    w: round(result.width),
    h: round(result.height),
    n: [...result.nodes].map(([id, at]) => [id, round(at.x), round(at.y), at.width, at.height]),
    e: result.edges.map((line) => [line.id, line.path, line.arrow, ...line.label.map(round)]),
    c: result.clusters.map((c) => [c.path, round(c.x), round(c.y), round(c.width), round(c.height)]),
    a: result.attempt,
    v: visible.items.length,
  };
}

export function unpackLayout(packed, visible, model, face) {
  const faces = new Map(visible.items.map((item) => [item.id, face(item, model)]));
  return {
    width: packed.w,
    height: packed.h,
    nodes: new Map(packed.n.map(([id, x, y, width, height]) => [id, { ...faces.get(id), x, y, width, height }])),
    edges: packed.e.map(([id, path, arrow, x, y]) => ({ id, path, arrow, label: [x, y] })),
    clusters: packed.c.map(([path, x, y, width, height]) => ({ path, x, y, width, height })),
    attempt: packed.a,
    hubs: new Set(),
  };
}

/** All that a saved page needs to draw `pane` as it is, without Graphviz. */
export function scene(pane) {
  return { nodes: [], open: [...pane.open], only: pane.only ? [...pane.only] : null, unfolded: [...pane.unfolded], layer: pane.layer ?? pane.model.initialLayer(), added: [...pane.added], direction: pane.shownDirection, volumes: Boolean(pane.volumes), layout: packLayout(pane.layout, pane.visible) };
}

/** The picture of `svg` as the notebook keeps it, or "" when it would make the notebook too fat. */
export async function pictureOf(svg) {
  const text = await pack(svg, false);
  return text.length <= PICTURE_LIMIT ? text : "";
}

/** What a view is drawn again from without a kernel, as the notebook keeps it, or "" when that is too much. */
export async function snapshotOf(state) {
  const text = await pack(state);
  return text.length <= SNAPSHOT_LIMIT ? text : "";
}
