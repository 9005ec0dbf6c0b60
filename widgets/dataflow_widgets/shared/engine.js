// One Graphviz for the whole page.  The first widget asks the kernel for its source (a custom
// message); it is kept on globalThis under a registered symbol, so that later widgets, each with its
// own copy of this module, find it there.  It runs in a worker made from a Blob; where a content
// security policy forbids that, on the main thread for small graphs.

const KEY = Symbol.for(`dataflow.widgets.graphviz/${__ENGINE__}`);
const MAIN_THREAD_LIMIT = 120; // without a worker there is no watchdog, so only what is surely quick
const CACHE_SIZE = 40;

class EngineMissing extends Error {
  name = "EngineMissing";
}

export class EngineHost {
  constructor() {
    this.source = null;
    this.asked = 0;
    this.waiting = [];
    this.queue = Promise.resolve();
    this.cache = new Map();
    this.mode = "worker";
    this.worker = null;
    this.loads = 0;
  }

  /** Asks the kernel through `model`, unless somebody has just done so. */
  ask(model) {
    const now = Date.now();
    if (this.source || this.coming || now - this.asked < 2500) return;
    this.asked = now;
    model.send({ kind: "engine" });
  }

  /** Takes the engine as the kernel sends it: deflated. */
  async take(packed) {
    if (this.source || this.coming) return;
    this.coming = true;
    try {
      this.setSource(await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text());
    } finally {
      this.coming = false;
    }
  }

  setSource(text) {
    if (this.source) return;
    this.source = text;
    this.loads += 1;
    for (const resolve of this.waiting.splice(0)) resolve(true);
    this.start();
  }

  /** Resolves to true when the source is here, to false after `patience` ms. */
  ready(patience) {
    if (this.source) return Promise.resolve(true);
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      setTimeout(() => resolve(false), patience);
    });
  }

  start() {
    if (this.mode !== "worker" || this.worker) return;
    try {
      const url = URL.createObjectURL(new Blob([this.source], { type: "text/javascript" }));
      this.worker = new Worker(url);
      this.worker.addEventListener("error", (event) => {
        // An error before the first answer means that workers are not allowed here.
        if (!this.worker?.answered) this.mode = "main";
        this.discard();
        this.current?.reject(new Error(event.message || "the layout worker failed"));
      });
      this.worker.addEventListener("message", ({ data }) => {
        if (this.worker) this.worker.answered = true;
        if (data.ready || !this.current || data.id !== this.current.id) return;
        if (data.error) this.current.reject(new Error(data.error));
        else this.current.resolve(data.result);
      });
      setTimeout(() => URL.revokeObjectURL(url), 5000);
    } catch {
      this.mode = "main";
      this.worker = null;
    }
  }

  discard() {
    this.worker?.terminate();
    this.worker = null;
  }

  layout(dot, { watchdog, size = 0 }) {
    if (!this.source) return Promise.reject(new EngineMissing("Graphviz has not arrived"));
    if (this.cache.has(dot)) return Promise.resolve(this.cache.get(dot));
    const job = this.queue.then(() => this.one(dot, watchdog, size));
    this.queue = job.catch(() => {});
    return job;
  }

  async one(dot, watchdog, size) {
    if (this.cache.has(dot)) return this.cache.get(dot);
    let result;
    try {
      result = await this.inWorker(dot, watchdog);
    } catch (error) {
      if (this.mode !== "main") {
        if (error.name === "LayoutTimeout") throw error;
        // "memory access out of bounds" and its kin: the same text usually works in a fresh instance.
        result = await this.inWorker(dot, watchdog);
      } else if (size > MAIN_THREAD_LIMIT) {
        throw new EngineMissing("no worker allowed, graph too large for the main thread");
      } else result = await this.onMainThread(dot);
    }
    this.cache.set(dot, result);
    if (this.cache.size > CACHE_SIZE) this.cache.delete(this.cache.keys().next().value);
    return result;
  }

  inWorker(dot, watchdog) {
    return new Promise((resolve, reject) => {
      this.start();
      if (!this.worker) return reject(new Error("no worker"));
      const id = (this.nextId = (this.nextId ?? 0) + 1);
      let timer = null;
      const finish = (settle) => (value) => {
        clearTimeout(timer);
        this.current = null;
        settle(value);
      };
      const fail = finish(reject);
      this.current = {
        id,
        resolve: finish(resolve),
        // After any failure (also "memory access out of bounds") the instance is not to be trusted.
        reject: (error) => {
          this.discard();
          fail(error);
        },
      };
      const stop = () => {
        this.discard();
        const error = new Error(`stopped after ${watchdog} ms`);
        error.name = "LayoutTimeout";
        fail(error);
      };
      // A fresh worker first compiles the engine; that time is not the layout's.
      // A page that was busy for so long finds the answer beside the end of its patience: the answer comes first.
      const last = () => (timer = setTimeout(stop));
      timer = setTimeout(last, this.worker.answered ? watchdog : watchdog + 4000);
      this.worker.postMessage({ id, dot });
    });
  }

  async onMainThread(dot) {
    if (!this.inPage) {
      const url = URL.createObjectURL(new Blob([this.source], { type: "text/javascript" }));
      try {
        await import(/* @vite-ignore */ url);
      } finally {
        URL.revokeObjectURL(url);
      }
      this.inPage = globalThis[Symbol.for("dataflow.widgets.graphviz.run")];
    }
    return this.inPage(dot);
  }
}

const SHELF = Symbol.for(`dataflow.widgets.library/${__VERSION__}`);

export function engineHost() {
  globalThis[KEY] ??= new EngineHost();
  const brought = globalThis[SHELF]?.graphviz; // by the first widget of a kernel
  if (brought) globalThis[KEY].take(brought);
  return globalThis[KEY];
}
