// A view that begins when the kernel has sent what it shows: at once, or with the answer to hello.
import { keptPicture } from "./saved_picture.js";
import { guarded, shell } from "./shell.js";
import { storeOf } from "./store.js";

const PATIENCE_MS = 6000;

/**
 * The `render` of such a widget. `kind` and `name` are the shell's, `field` is what of `store.extra` has
 * to be there, `make(model, store, frame)` the view, `late` what is said when nothing has come.
 */
export function openWhenSent({ kind, name, field, make, late }) {
  return ({ model, el }) => {
    const store = storeOf(model);
    const title = model.get("title");
    const frame = shell(kind, title || name, title);
    frame.body.style.setProperty("--df-height", `${model.get("height")}px`);
    el.append(frame.element);
    store.send({ kind: "opened" });
    let view = null;
    let gone = false;
    const start = () => {
      if (!view && store.extra[field]) view = make(model, store, frame);
    };
    const forget = store.on((event, detail) => {
      if (event === "error") frame.fail(detail);
      start();
    });
    guarded(frame, async () => start())();
    const drop = keptPicture(model, store, frame, () => !view);
    setTimeout(() => {
      if (!view && !gone) frame.say(`${late}: the kernel is busy or gone. Run the cell again.`);
    }, PATIENCE_MS);
    return () => {
      gone = true;
      forget();
      drop();
      view?.dispose();
      store.send({ kind: "closed" });
    };
  };
}
