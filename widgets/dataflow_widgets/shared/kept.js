// What a view shows while its kernel has said nothing: the picture and the words that the notebook
// keeps, as the loader does where there is no library at all.
import { h } from "./dom.js";

const PATIENCE_MS = 1500;

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
