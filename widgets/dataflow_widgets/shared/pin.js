// Pin: a widget leaves its cell and stays in sight beside the notebook until it is put back.  JupyterLab
// has "Create New View for Cell Output" for that, which a widget cannot reach; this works in every front end.
import { button, h } from "./dom.js";

const homes = new WeakMap(); // element of a view -> what puts it back

/** A button that pins `element`, the whole of a widget, and puts it back. */
export function pinButton(element, label) {
  const pin = button("Pin", "Keep this in sight beside the notebook", () => (homes.has(element) ? homes.get(element)(true) : fasten()), { "aria-pressed": "false", class: "df-button df-small df-pin" });
  const fasten = () => {
    const height = element.offsetHeight;
    const back = button("Put it back here", null, () => homes.get(element)?.(true));
    const place = h("div", { class: "df-widget df-pin-place", style: `min-height:${Math.min(height, 160)}px` }, h("p", {}, `${label} is pinned beside the notebook. `, back));
    const holder = h("div", { class: "df-pinned", role: "region", "aria-label": `pinned: ${label}` });
    element.replaceWith(place);
    document.body.append(holder);
    holder.append(element);
    pin.setAttribute("aria-pressed", "true");
    pin.textContent = "Unpin";
    pin.focus();
    homes.set(element, (isShown) => {
      homes.delete(element);
      if (isShown && place.isConnected) place.replaceWith(element);
      holder.remove();
      pin.setAttribute("aria-pressed", "false");
      pin.textContent = "Pin";
      if (isShown) pin.focus();
    });
  };
  return pin;
}

/** The view is closed: a pinned one must not outlive it. */
export function unpin(element) {
  homes.get(element)?.(false);
}
