// What a view shows first: the graph that the kernel sent, or what a saved page carries.
import { GraphModel } from "./graph.js";
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
  pane.knownScopes = new Set(pane.model.allScopes());
  pane.touched = true; // what was saved is shown, not chosen anew
  const visible = pane.see();
  return pane.restore(unpackLayout(saved.layout, visible, pane.model, face));
}

export async function openSnapshot({ model, store, pane, frame, redraw, applyMarks }) {
  if (model.get("standalone")) {
    // A saved web page: no kernel, no engine; what was laid out is shown, the rest is drawn plainly.
    pane.options.host = null;
    if (!(await restoreSnapshot(model, pane))) await redraw();
    applyMarks();
    frame.note("A saved page: scopes that were closed open in a plainer drawing.");
    return;
  }
  if (store.graph.nodes.length || store.heard) return redraw();
  setTimeout(() => {
    if (!store.heard) frame.note("The kernel has not answered: it is busy or gone. The graph appears when it does; or run the cell again.");
  }, PATIENCE_MS);
}
