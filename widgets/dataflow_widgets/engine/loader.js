// What a notebook stores for every widget, so it is small: it finds the library (all widgets, sent by
// the kernel once per page and kept on globalThis) and hands over to it; until then, or for ever when
// there is no kernel, it shows the picture and the words kept in the notebook.
const KEY = Symbol.for(`dataflow.widgets.library/${__VERSION__}`);
const PATIENCE_MS = 4000;

/** Everything large comes deflated. */
const inflate = (bytes) => new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();

/** {ready: Promise of the library module, take(text), asked}: one per page. */
function shelf() {
  if (!globalThis[KEY]) {
    let arrived;
    const ready = new Promise((resolve, reject) => {
      arrived = { resolve, reject };
    });
    globalThis[KEY] = {
      asked: 0,
      loads: 0,
      source: null,
      module: null,
      ready,
      async take(packed) {
        if (this.source) return;
        this.source = packed; // so that a second answer is not taken too
        this.loads += 1;
        let url;
        try {
          if (typeof DecompressionStream === "undefined") throw new Error("this browser is too old, update it");
          const text = await inflate(packed);
          url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
          this.module = await import(/* @vite-ignore */ url);
          this.module.adopt?.(text);
          arrived.resolve(this.module);
        } catch (error) {
          arrived.reject(error);
        }
        URL.revokeObjectURL(url);
      },
    };
    ready.catch(() => {});
  }
  return globalThis[KEY];
}

/**
 * The cell has a static picture too, for viewers that run no script: it goes while the widget is there. A rule, not
 * a change of elements, as the picture may come later, and again in each view of the output.
 */
function hideStatic(token) {
  if (!/^[0-9a-f]+$/.test(token ?? "")) return;
  const picture = `.df-static-${token}`;
  const rules = [`${picture} { display: none; }`, `.jp-OutputArea-child:has(${picture}) { display: none; }`];
  // Jupyter's broken chain says that there is no kernel; the words under the widget say what that means here.
  rules.push(".df-host.jupyter-widgets-disconnected::before { display: none; }");
  const style = document.createElement("style");
  style.textContent = rules.join("\n");
  document.head.append(style);
}

const prepared = new Map(); // token of a model -> what ends it

/** Once for each model, though front ends hand in a new wrapper of it at each call. */
function prepare(model) {
  const key = model.get("token") || model;
  if (prepared.has(key)) return prepared.get(key);
  let ended = false;
  let end = null;
  prepared.set(key, () => {
    ended = true;
    prepared.delete(key);
    end?.();
  });
  const here = shelf();
  hideStatic(model.get("token"));
  model.on("msg:custom", (message, buffers) => {
    if (message?.kind === "library" && buffers?.length) here.take(buffers[0]);
  });
  // The first widget of a kernel brings library and engine along: no question, so a busy kernel
  // cannot delay it.  They are taken out at once so that no saved notebook holds them.
  const bundle = model.get("bundle");
  if (bundle?.byteLength) {
    const size = new DataView(bundle.buffer, bundle.byteOffset, 4).getUint32(0, true);
    const part = (from, length) => new DataView(bundle.buffer, bundle.byteOffset + from, length);
    if (size) here.take(part(4, size)); // else the model of the library brings it
    here.graphviz ??= part(4 + size, bundle.byteLength - 4 - size);
    model.set("bundle", new DataView(new ArrayBuffer(0))); // the kernel empties its own on hello
  } else if (!here.source && Date.now() - here.asked > 2000) {
    here.asked = Date.now();
    try {
      model.send({ kind: "library" });
    } catch {
      // no kernel: the kept picture stays
    }
  }
  here.ready.then(
    (library) => {
      if (!ended) end = library.widgets[model.get("kind")]?.initialize?.({ model });
    },
    () => {}, // said in render
  );
  return prepared.get(key);
}

/** The picture and the words that the notebook keeps. */
async function showKept(model, box) {
  const picture = model.get("picture");
  if (picture && typeof DecompressionStream !== "undefined") {
    try {
      const svg = await inflate(Uint8Array.from(atob(picture), (c) => c.charCodeAt(0)));
      const image = document.createElement("img");
      image.alt = model.get("words") || "graph";
      image.style.maxWidth = "100%";
      image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
      box.append(image);
    } catch {
      // a damaged picture: the words remain
    }
  }
  const words = document.createElement("pre");
  words.style.cssText = "white-space:pre-wrap;max-height:16em;overflow:auto";
  words.textContent = model.get("words") || "";
  const note = document.createElement("p");
  note.setAttribute("role", "status");
  setTimeout(() => {
    note.textContent = "No kernel has answered: this is what the notebook kept. Run the cell again for the live widget.";
  }, PATIENCE_MS);
  box.append(words, note);
}

function initialize({ model }) {
  if (model.get("kind") === "library") return void shelf().take(model.get("library"));
  return prepare(model); // anywidget allows two seconds for this: nothing is awaited
}

function render({ model, el }) {
  if (model.get("kind") === "library") return;
  el.classList.add("df-host");
  prepare(model);
  const here = shelf();
  let cleanup = null;
  let gone = false;
  const start = (library) => {
    if (gone) return;
    el.replaceChildren();
    const widget = library.widgets[model.get("kind")];
    if (!widget) el.textContent = `This page has no widget called ${model.get("kind")}: reload it.`;
    else cleanup = widget.render({ model, el });
  };
  if (here.module) start(here.module);
  else {
    const box = document.createElement("div");
    box.className = "df-kept";
    el.append(box);
    if (!model.get("bundle")?.byteLength && !here.source) showKept(model, box);
    here.ready.then(start, (error) => {
      box.textContent = `The widgets' library could not be loaded: ${error?.message ?? error}`;
    });
  }
  return () => {
    gone = true;
    Promise.resolve(cleanup).then((stop) => stop?.());
  };
}

export default { initialize, render };
