// What every widget has around it: the error bar, the status line that screen readers hear, and the
// keyboard guard.
import { QUIET, button, h, write } from "./dom.js";
import { pinButton } from "./pin.js";

export function shell(kind, label, title = "") {
  const status = h("div", { class: "df-status", role: "status", "aria-live": "polite" });
  const note = h("div", { class: "df-note" });
  const failure = h("div", { class: "df-failure", role: "alert", hidden: true });
  const toolbar = h("div", { class: "df-toolbar", role: "toolbar", "aria-label": `${label} tools` });
  const body = h("div", { class: "df-body" });
  const foot = h("div", { class: "df-foot" }, status, note);
  if (title) toolbar.append(h("strong", { class: "df-heading" }, title));
  const element = h("div", { class: `df-widget df-${kind}`, role: "group", "aria-label": label, ...QUIET }, failure, toolbar, body, foot);
  foot.append(pinButton(element, title || label));
  // Jupyter listens on the document: what a widget has used must not go on to delete a cell.
  element.addEventListener("keydown", (event) => {
    if (!event.ctrlKey && !event.metaKey && event.key !== "Tab") event.stopPropagation();
  });
  return {
    element,
    toolbar,
    body,
    status,
    say(text) {
      write(status, text);
    },
    note(text) {
      write(note, text);
    },
    fail(text) {
      failure.hidden = !text;
      failure.replaceChildren(
        h("span", {}, text ?? ""),
        button("×", "dismiss", () => { failure.hidden = true; }),
      );
    },
  };
}

/** Runs a handler; what it throws is shown in the widget instead of being lost in the console. */
export function guarded(frame, action) {
  return async (...args) => {
    try {
      return await action(...args);
    } catch (error) {
      frame.fail(`This widget failed: ${error?.message ?? error}`);
      throw error;
    }
  };
}

/** A button that shows a list of actions under it. */
export function menu(label, title, actions) {
  const list = h("div", { class: "df-menu-list", role: "menu", hidden: true });
  const opener = button(label, title, null, { "aria-haspopup": "menu", "aria-expanded": "false" });
  const close = (focus) => {
    list.hidden = true;
    opener.setAttribute("aria-expanded", "false");
    if (focus) opener.focus();
  };
  for (const [text, action] of actions) {
    list.append(button(text, null, () => { close(true); action(); }, { role: "menuitem", class: "df-menu-item", tabindex: -1 }));
  }
  const items = [...list.children];
  opener.addEventListener("click", () => {
    const show = list.hidden;
    list.hidden = !show;
    opener.setAttribute("aria-expanded", String(show));
    if (show) items[0].focus();
  });
  list.addEventListener("keydown", (event) => {
    const at = items.indexOf(document.activeElement);
    if (event.key === "Escape") close(true);
    else if (event.key === "ArrowDown") items[(at + 1) % items.length].focus();
    else if (event.key === "ArrowUp") items[(at + items.length - 1) % items.length].focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  list.addEventListener("focusout", (event) => {
    if (event.relatedTarget !== opener && !list.contains(event.relatedTarget)) close(false);
  });
  return h("div", { class: "df-menu" }, opener, list);
}
