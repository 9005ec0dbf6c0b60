// The layout engine as one classic script: runs in a worker, or in the page when imported there.
import { Graphviz } from "@hpcc-js/wasm-graphviz";

const loading = Graphviz.load();

async function run(dot) {
  const graphviz = await loading;
  return graphviz.layout(dot, "json0", "dot");
}

globalThis[Symbol.for("dataflow.widgets.graphviz.run")] = run;

if (typeof WorkerGlobalScope !== "undefined" && globalThis instanceof WorkerGlobalScope) {
  globalThis.addEventListener("message", async ({ data }) => {
    try {
      globalThis.postMessage({ id: data.id, result: await run(data.dot) });
    } catch (error) {
      globalThis.postMessage({ id: data.id, error: String(error?.message ?? error) });
    }
  });
  loading.then(() => globalThis.postMessage({ ready: true }));
}
