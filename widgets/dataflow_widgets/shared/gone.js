// A widget whose kernel was restarted or has ended goes on showing what it was last told, and much of it still
// works in the page. It says so: else a cluster that has ended would be running for ever.
import { h } from "./dom.js";
import { storeOf } from "./store.js";

const ENDED = new Set(["restarting", "autorestarting", "terminating", "dead"]);
const WORDS = "The kernel of this widget was restarted or has ended: this is what it last showed. Run its cell again.";

/** Says in `element`, the widget of `model` in the page's `host`, that its kernel is gone, once it is; returns what ends it. */
export function watchKernel(model, element, host) {
  const tell = () => {
    if (element.classList.contains("df-is-gone")) return;
    storeOf(model).gone = true;
    element.classList.add("df-is-gone");
    // What starts, stops and kills asks the kernel; a drawing still zooms.
    for (const one of element.querySelectorAll(".df-body :is(button, input, select)")) if (one.closest(".df-cluster-panel") && !one.closest(".df-pane, .df-zoom")) one.disabled = true;
    element.prepend(h("p", { class: "df-gone", role: "status" }, WORDS));
  };
  // Jupyter's widgets tell of a restart, and by a class whether they are connected now; JupyterLab's kernel tells of
  // its end in any way.
  const changed = () => queueMicrotask(() => host.classList.contains("jupyter-widgets-disconnected") && tell());
  const heard = (_, status) => ENDED.has(status) && tell();
  const status = model.widget_manager?.kernel?.statusChanged;
  model.on("comm_live_update", changed);
  status?.connect?.(heard);
  return () => {
    model.off("comm_live_update", changed);
    status?.disconnect?.(heard);
  };
}
