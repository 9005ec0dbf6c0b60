// The ways in which a question is answered: nodes clicked in a graph, rows put in order or ticked, a
// choice, a typed value.  Each form is { element, value(), set(given), lock(locked) }; `changed(words)`
// tells what the last action did.
import { QUIET, button, h, plural, unique } from "../shared/dom.js";
import { GraphPane, layoutNote } from "../shared/pane.js";

export const forms = { nodes, order, rows, choice, value };

function checkbox(label, checked, onchange, extra = {}) {
  const box = h("input", { type: "checkbox", ...QUIET, ...extra });
  box.checked = checked;
  box.addEventListener("change", () => onchange(box.checked));
  return { box, element: h("label", { class: "df-pick" }, box, h("span", {}, label)) };
}

/** Nodes of the graph, marked by click or Enter; the same as a list of check boxes. */
function nodes(question, { store, frame, changed, settled }) {
  const picked = new Set();
  let locked = false;
  let listed = 0;
  const boxes = new Map();
  const list = h("div", { class: "df-pick-list" });
  const pane = new GraphPane(store.graph, {
    host: store.host,
    ask: () => store.host.ask({ send: (message) => store.send(message) }),
    word: (item) => (!item.group && picked.has(store.graph.nodes[item.index].name) ? "marked" : ""),
    onactivate: (item) => {
      if (item.group) return changed(`${item.path ?? "These nodes"}: open the scope to mark what is in it.`);
      toggle(store.graph.nodes[item.index].name);
    },
    onlayout: (result) => {
      frame.note(layoutNote(result));
      frame.element.dataset.drawn = String(result.nodes.size);
      settled(pane);
    },
  });
  function toggle(name, on = !picked.has(name)) {
    if (locked) return;
    if (on) picked.add(name);
    else picked.delete(name);
    show();
    changed(`${name} ${on ? "marked" : "not marked any more"}; ${plural(picked.size, "node")} marked.`);
  }
  function show() {
    const classes = new Map();
    for (const item of pane.visible?.items ?? []) if (!item.group && picked.has(store.graph.nodes[item.index].name)) classes.set(item.id, new Set(["df-picked"]));
    pane.setClasses(classes);
    for (const [name, box] of boxes) box.checked = picked.has(name);
  }
  function fill() {
    for (; listed < store.graph.nodes.length; listed += 1) {
      const { name, op } = store.graph.nodes[listed];
      const { box, element } = checkbox(`${name}  (${op})`, picked.has(name), (on) => toggle(name, on));
      box.disabled = locked;
      boxes.set(name, box);
      list.append(element);
    }
  }
  const tools = h("div", { class: "df-form-tools" }, pane.zoomBar);
  return {
    element: h("div", { class: "df-node-form" }, tools, pane.element, h("details", { class: "df-as-list" }, h("summary", QUIET, "The same as a list"), list)),
    pane,
    value: () => store.graph.nodes.map((node) => node.name).filter((name) => picked.has(name)),
    set(given) {
      picked.clear();
      for (const name of given) picked.add(name);
      show();
    },
    lock(on) {
      locked = on;
      for (const box of boxes.values()) box.disabled = on;
    },
    async redraw() {
      fill();
      pane.adopt();
      await pane.update();
      show();
    },
    reveal(marks) {
      pane.setMarks(marks?.needed ? marks : null);
    },
    dispose: () => pane.dispose(),
  };
}

/** Items put in order: by dragging, by the buttons of a row, or with Alt and an arrow key. */
function order(question, { changed }) {
  let items = question.items.map((item) => item.id);
  let locked = false;
  const texts = new Map(question.items.map((item) => [item.id, item.text]));
  const rows = new Map();
  const list = h("ol", { class: "df-order", "aria-label": "order; Alt and an arrow key move an item" });
  const move = (id, to, key = null) => {
    const from = items.indexOf(id);
    if (locked || to < 0 || to >= items.length || to === from) return;
    items.splice(to, 0, ...items.splice(from, 1));
    place();
    if (key) rows.get(id).querySelector(`[data-key="${key}"]:not(:disabled)`)?.focus();
    changed(`${id} moved to place ${to + 1} of ${items.length}.`);
  };
  for (const { id, text } of question.items) {
    const row = h(
      "li",
      { class: "df-order-row", tabindex: -1, "data-name": id, ...QUIET },
      h("span", { class: "df-grip", "aria-hidden": "true" }, "⠿"),
      h("span", { class: "df-order-text" }, text),
      button("↑", `Move ${id} up`, () => move(id, items.indexOf(id) - 1, "up"), { "data-key": "up" }),
      button("↓", `Move ${id} down`, () => move(id, items.indexOf(id) + 1, "down"), { "data-key": "down" }),
    );
    row.addEventListener("keydown", (event) => {
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const at = items.indexOf(id);
      if (event.altKey) {
        move(id, at + step);
        row.focus();
      } else rows.get(items[at + step])?.focus();
    });
    row.addEventListener("pointerdown", (event) => drag(event, id));
    rows.set(id, row);
  }
  function drag(event, id) {
    if (locked || event.button !== 0 || event.target.closest("button")) return;
    event.preventDefault();
    const row = rows.get(id);
    row.classList.add("df-dragged");
    row.focus();
    const follow = (e) => {
      const to = items.findIndex((other) => {
        const box = rows.get(other).getBoundingClientRect();
        return e.clientY < box.top + box.height / 2;
      });
      const from = items.indexOf(id);
      const target = to < 0 ? items.length - 1 : to > from ? to - 1 : to;
      if (target !== from) move(id, target);
    };
    const stop = () => {
      row.classList.remove("df-dragged");
      removeEventListener("pointermove", follow);
      removeEventListener("pointerup", stop);
      removeEventListener("pointercancel", stop);
    };
    addEventListener("pointermove", follow);
    addEventListener("pointerup", stop);
    addEventListener("pointercancel", stop);
  }
  function place() {
    const focused = document.activeElement;
    list.replaceChildren(...items.map((id) => rows.get(id)));
    if (list.contains(focused)) focused.focus();
    items.forEach((id, at) => {
      const row = rows.get(id);
      row.setAttribute("tabindex", at ? "-1" : "0");
      row.querySelector('[data-key="up"]').disabled = locked || at === 0;
      row.querySelector('[data-key="down"]').disabled = locked || at === items.length - 1;
    });
  }
  place();
  return {
    element: list,
    value: () => [...items],
    set(given) {
      if (given.length === items.length && given.every((id) => texts.has(id))) items = [...given];
      place();
    },
    lock(on) {
      locked = on;
      place();
    },
  };
}

/** Lines of a record, of which some can be ticked. */
function rows(question, { changed }) {
  const picked = new Set();
  const boxes = new Map();
  const list = h(
    "ol",
    { class: "df-rows" },
    question.rows.map(({ id, text, can }) => {
      if (!can) return h("li", {}, h("span", { class: "df-fixed-row" }, text));
      const { box, element } = checkbox(text, false, (on) => {
        if (on) picked.add(id);
        else picked.delete(id);
        changed(`line ${id + 1} ${on ? "marked" : "not marked any more"}; ${plural(picked.size, "line")} marked.`);
      });
      boxes.set(id, box);
      return h("li", {}, element);
    }),
  );
  return {
    element: list,
    value: () => [...picked].sort((a, b) => a - b),
    set(given) {
      picked.clear();
      for (const id of given) picked.add(id);
      for (const [id, box] of boxes) box.checked = picked.has(id);
    },
    lock(on) {
      for (const box of boxes.values()) box.disabled = on;
    },
  };
}

/** One choice of each group. */
function choice(question, { changed }) {
  const chosen = question.groups.map(() => null);
  const inputs = [];
  const element = h(
    "div",
    { class: "df-choices" },
    question.groups.map((group, at) => {
      const name = unique("choice");
      return h(
        "fieldset",
        {},
        h("legend", { class: group.label ? null : "df-unseen" }, group.label || "choices"),
        group.options.map((text) => {
          const input = h("input", { type: "radio", name, ...QUIET });
          input.addEventListener("change", () => {
            chosen[at] = text;
            changed(`${text} chosen.`);
          });
          inputs.push([at, text, input]);
          return h("label", { class: "df-pick" }, input, h("span", {}, text));
        }),
      );
    }),
  );
  return {
    element,
    value: () => [...chosen],
    set(given) {
      given.forEach((text, at) => {
        chosen[at] = text;
      });
      for (const [at, text, input] of inputs) input.checked = chosen[at] === text;
    },
    lock(on) {
      for (const [, , input] of inputs) input.disabled = on;
    },
  };
}

/** A number or a list, typed. */
function value(question, { submit }) {
  const input = h("input", { type: "text", class: "df-search", "aria-label": "your value: a number, a list, True or False", placeholder: "a number or a list", autocomplete: "off", spellcheck: "false", ...QUIET });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    submit();
  });
  return {
    element: h("div", { class: "df-value-form" }, input),
    value: () => input.value,
    set(given) {
      input.value = given;
    },
    lock(on) {
      input.disabled = on;
    },
  };
}
