// The style sheet travels inside the library and is put into the page once (or into the shadow root
// that a front end draws widgets in).
import { watchKernel } from "./gone.js";
import { unpin } from "./pin.js";
import { learn, speak } from "./translate.js";

let librarySource = "";

/** Called by the loader with the library's own text, which saved web pages carry. */
export function adopt(text) {
  librarySource = text;
}
export const source = () => librarySource;

const ID = `df-style-${__VERSION__}`;

function styleIn(root) {
  if (root.querySelector(`#${ID}`)) return;
  const style = document.createElement("style");
  style.id = ID;
  style.textContent = __CSS__;
  (root === document ? document.head : root).append(style);
}

export function useStyle(widget) {
  return {
    ...widget,
    render(context) {
      styleIn(document);
      requestAnimationFrame(() => {
        const root = context.el.getRootNode();
        if (root instanceof ShadowRoot) styleIn(root);
      });
      const end = widget.render(context);
      const [element] = context.el.children; // its place while it is pinned
      const { model } = context;
      const table = model.get("table"); // a saved page brings it along
      if (table) learn(model.get("language"), table);
      const hear = (message) => message?.kind === "language" && learn(message.language, message.table);
      model.on("msg:custom", hear);
      const silence = speak(element, model.get("language") ?? "en", () => model.send({ kind: "language" }));
      const unwatch = element && watchKernel(model, element, context.el);
      return () => {
        model.off("msg:custom", hear);
        unwatch?.();
        silence();
        unpin(element);
        Promise.resolve(end).then((stop) => stop?.());
      };
    },
  };
}
