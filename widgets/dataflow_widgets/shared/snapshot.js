// What a view shows first: the graph that the kernel sent, or what a saved page carries.
import { GraphModel } from "./graph.js";
import { keptPicture } from "./saved_picture.js";
import { face } from "./measure.js";
import { unpack, unpackLayout } from "./store.js";

const PATIENCE_MS = 4000;

/** Puts a saved snapshot into `pane`; true if it fits the graph that is known. */
export async function restoreSnapshot(model, pane) {
  const saved = await unpack(model.get("snapshot"));
  if (!saved?.layout) return false;
  if (!pane.model.nodes.length) pane.model.add(new GraphModel(saved.nodes).nodes);
  pane.open = new Set(saved.open);
  pane.only = saved.only ? new Set(saved.only) : null;
  pane.unfolded = new Set(saved.unfolded ?? []);
  pane.layer = saved.layer ?? "everything"; // a page of before there were layers
  pane.added = new Set(saved.added ?? []);
  if (saved.direction) pane.direction = saved.direction;
  pane.volumes = Boolean(saved.volumes);
  pane.knownScopes = new Set(pane.model.allScopes());
  pane.touched = true; // what was saved is shown, not chosen anew
  const visible = pane.see();
  return pane.restore(unpackLayout(saved.layout, visible, pane.model, face));
}

export async function openSnapshot({ model, store, pane, frame, redraw, applyMarks }) {
  if (model.get("standalone")) {
    // A saved web page, without a kernel. `graph_page` gives it Graphviz; one saved from a view is small and has
    // what was laid out, and draws the rest plainly.
    const { host } = pane.options;
    const brought = Boolean(host?.source || host?.coming);
    if (!brought) pane.options.host = null;
    if (!(await restoreSnapshot(model, pane))) await redraw();
    applyMarks();
    if (!brought) frame.note("A saved page: scopes that were closed open in a plainer drawing.");
    return;
  }
  if (store.heard || (store.graph.nodes.length && !model.get("snapshot"))) return redraw();
  // A notebook opened again: what it kept is drawn, whether or not a kernel comes to it.
  const { host } = pane.options;
  if (!host?.source) pane.options.host = null; // nobody to ask for it
  const restored = await restoreSnapshot(model, pane);
  if (restored) applyMarks();
  else keptPicture(model, store, frame, () => !pane.drawing);
  const timer = setTimeout(() => {
    if (store.heard) return;
    const kept = "No kernel has answered: this is what the notebook kept. Scopes open in a plainer drawing; run the cell again for the live widget.";
    frame.note(restored ? kept : "The kernel has not answered: it is busy or gone. The graph appears when it does; or run the cell again.");
  }, PATIENCE_MS);
  const forget = store.on(() => {
    if (!store.heard) return;
    forget();
    clearTimeout(timer);
    pane.options.host = host;
    if (restored) frame.note("");
  });
}

/** What a Stepper's notebook kept, for where no kernel has sent a trace; false if there is nothing. */
export async function adoptKept(model, store) {
  const saved = await unpack(model.get("snapshot"));
  if (!saved?.trace || store.extra.trace) return false;
  store.graph.add(saved.nodes);
  store.extra = { ...store.extra, trace: saved.trace };
  return true;
}
