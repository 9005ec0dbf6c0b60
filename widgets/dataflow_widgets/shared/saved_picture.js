// The picture that the notebook keeps of a view: written when things have been quiet for a moment, and
// shown with the words while the kernel has said nothing, as the loader does where there is no library.
import { h } from "./dom.js";
import { standaloneSvg } from "./exports.js";
import { pictureOf, snapshotOf } from "./store.js";

const PATIENCE_MS = 1500;
const QUIET_MS = 800;
const MOST_KEPT = 2000; // operations: more would make the notebook too fat, and the page wait
const MOST_DRAWN = 400; // nodes: a picture of more is never small enough, and to make one stops the page for seconds

/**
 * A function that has the picture written soon: that of `root()`, if there is one then; `.stop()` ends it. `state()`
 * gives what the view needs to be drawn again without a kernel, if anything.
 */
export function pictureKeeper(model, store, root, state = null) {
  let timer = null;
  let newest = 0;
  const saved = {};
  const write = (name, text, asked) => {
    if (text === saved[name] || asked !== newest) return; // an older state was still being packed
    saved[name] = text;
    model.set(name, text);
    model.save_changes();
  };
  const keep = () => {
    if (model.get("standalone") || !store.heard) return;
    clearTimeout(timer);
    const asked = ++newest;
    timer = setTimeout(async () => {
      const svg = root();
      if (!svg) return;
      write("picture", svg.querySelectorAll(".df-node").length > MOST_DRAWN ? "" : await pictureOf(standaloneSvg(svg)), asked);
      if (state && store.graph.nodes.length <= MOST_KEPT) write("snapshot", await snapshotOf(state()), asked);
    }, QUIET_MS);
  };
  keep.stop = () => clearTimeout(timer);
  return keep;
}

async function inflate(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
}

/** Shows the kept picture after a while if `isNeeded()`; it goes with the first word of the kernel. */
export function keptPicture(model, store, frame, isNeeded) {
  let box = null;
  let gone = false;
  const show = async () => {
    if (gone || !isNeeded()) return;
    const words = model.get("words") || "";
    const parts = [h("p", {}, "The kernel has not answered: it is busy or gone. This is what the notebook kept.")];
    try {
      const svg = model.get("picture") ? await inflate(model.get("picture")) : "";
      if (svg) parts.push(h("img", { alt: words.split("\n")[0] || "kept picture", src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}` }));
    } catch {
      // a damaged picture: the words remain
    }
    if (gone || !isNeeded()) return;
    box = h("div", { class: "df-kept-picture" }, ...parts, words && h("pre", { class: "df-text" }, words));
    frame.body.prepend(box);
  };
  const timer = setTimeout(show, PATIENCE_MS);
  const forget = store.on(() => {
    if (!isNeeded()) box?.remove();
  });
  return () => {
    gone = true;
    clearTimeout(timer);
    forget();
  };
}
