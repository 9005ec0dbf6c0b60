// The ways in which a question is answered: nodes clicked in a graph, rows put in order or ticked, a
// choice, a typed value.  Each form is { element, value(), set(given), lock(locked) }; `changed(words)`
// tells what the last action did.
import { QUIET, button, h, plural, s, unique } from "../shared/dom.js";
import { coloring } from "../shared/palette.js";
import { GraphPane, layoutNote } from "../shared/graph_canvas.js";
import { waveLevels } from "./wave.js";

const GRADES = { right: "✓ right", wrong: "✗ wrong", missed: "→ missed" };

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
  let rings = new Map(); // name -> "right", "wrong" or "missed"
  let wave = null; // the nodes that the pruning wave has reached, while it runs
  let timer = null;
  let solution = null; // what `Question.marks` says, once it may be shown
  let locked = false;
  let listed = 0;
  const boxes = new Map();
  const list = h("div", { class: "df-pick-list" });
  const legend = h("div", { class: "df-legend", hidden: true });
  const grades = (item) => new Set(item.members.map((index) => rings.get(store.graph.nodes[index].name)).filter(Boolean));
  const gradeOf = (item) => ["wrong", "missed", "right"].find((grade) => grades(item).has(grade)) ?? "";
  const pane = new GraphPane(store.graph, {
    host: store.host,
    ask: () => store.host.ask({ send: (message) => store.send(message) }),
    word: (item) => {
      const grade = gradeOf(item);
      if (grade) return GRADES[grade];
      return !item.group && picked.has(store.graph.nodes[item.index].name) ? "marked" : "";
    },
    onactivate: (item) => {
      if (item.group) return changed(`${item.path ?? "These nodes"}: open the scope to mark what is in it.`);
      toggle(store.graph.nodes[item.index].name);
    },
    onlayout: (result) => {
      frame.note(layoutNote(result));
      frame.element.dataset.drawn = String(result.nodes.size);
      show();
      settled(pane);
    },
  });
  function toggle(name, on = !picked.has(name)) {
    if (locked) return;
    if (on) picked.add(name);
    else picked.delete(name);
    rings.delete(name); // what was said of it was said of another answer
    show();
    changed(`${name} ${on ? "marked" : "not marked any more"}; ${plural(picked.size, "node")} marked.`);
  }
  function show() {
    for (const [name, box] of boxes) box.checked = picked.has(name);
    if (!pane.visible) return;
    for (const index of solution?.solution ?? []) if (!rings.has(nameOf(index))) rings.set(nameOf(index), "missed");
    const { fills, entries } = coloring(question.color || solution?.color || "kind", pane);
    pane.fills = fills;
    legend.hidden = !entries.length;
    legend.replaceChildren(...entries.map(([name, value]) => h("span", { class: "df-key" }, h("i", { style: `background:${value}` }), name)));
    const classes = new Map();
    for (const item of pane.visible.items) {
      const names = new Set();
      if (!item.group && picked.has(store.graph.nodes[item.index].name)) names.add("df-picked");
      const grade = gradeOf(item);
      if (grade) names.add(`df-graded-${grade}`);
      if (wave && item.members.some((index) => wave.reached.has(index))) names.add("df-wave");
      if (wave && item.members.some((index) => wave.front.has(index))) names.add("df-wave-front");
      if (names.size) classes.set(item.id, names);
      ring(item, grade);
    }
    pane.setClasses(classes);
    for (const edge of pane.visible.edges) {
      const reached = (id) => wave && pane.itemById(id).members.some((index) => wave.reached.has(index));
      pane.drawing.edgeElements.get(edge.id)?.classList.toggle("df-wave", Boolean(reached(edge.from) && reached(edge.to)));
    }
  }
  /** A ring around a node: what a grade says where there is no color. */
  function ring(item, grade) {
    const element = pane.drawing?.elements.get(item.id);
    const at = pane.layout?.nodes.get(item.id);
    element?.querySelector(".df-ring")?.remove();
    element?.querySelector(".df-tag").setAttribute("dy", grade ? 8 : 0); // below the ring
    if (!grade || !element || !at) return;
    const [w, hgt] = [at.width + 11, at.height + 11];
    element.prepend(s("rect", { class: `df-ring df-ring-${grade}`, x: at.x - w / 2, y: at.y - hgt / 2, width: w, height: hgt, rx: 11 }));
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
  const nameOf = (index) => store.graph.nodes[index].name;
  const short = (indices, limit = 6) => indices.slice(0, limit).map(nameOf).join(", ") + (indices.length > limit ? ` and ${indices.length - limit} more` : "");
  /** From what is fetched back, against the arrows: each level of nodes that the run needs. */
  function play(marks) {
    stop();
    const levels = waveLevels(store.graph, marks);
    const pruned = store.graph.nodes.map((_, index) => index).filter((index) => !levels.flat().includes(index));
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const end = () => {
      stop();
      pane.setMarks(marks);
      show();
      changed(pruned.length ? `The wave from ${short(marks.fetched)} never reached ${short(pruned)}: pruned.` : "The wave reached every node: nothing is pruned.");
    };
    if (still || !pane.visible) return end();
    pane.setMarks(null);
    wave = { reached: new Set(), front: new Set() };
    const step = (at) => {
      if (at === levels.length) return end();
      wave.front = new Set(levels[at]);
      for (const index of levels[at]) wave.reached.add(index);
      show();
      changed(at ? `One step back: ${short(levels[at])}.` : `The run fetches ${short(levels[at])}.`);
      timer = setTimeout(() => step(at + 1), Math.max(120, Math.min(700, 5000 / levels.length)));
    };
    step(0);
  }
  function stop() {
    clearTimeout(timer);
    wave = null;
  }
  const again = button("▶ The wave again", "Play once more how the run reaches back from what it fetches", () => play(solution), { hidden: true });
  const tools = h("div", { class: "df-form-tools" }, again, pane.zoomBar);
  return {
    element: h("div", { class: "df-node-form" }, tools, pane.element, legend, h("details", { class: "df-as-list" }, h("summary", QUIET, "The same as a list"), list)),
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
    },
    /** Rings what an answer marked, as right or wrong; null: no answer yet. */
    grade(answer) {
      rings = new Map((answer?.given ?? []).map((name) => [name, answer.right || !(answer.mistakes ?? []).includes(name) ? "right" : "wrong"]));
      show();
    },
    /** The answer in the picture: what was missed, and what the run needs; `fresh`: play the wave. */
    reveal(marks, fresh = false) {
      stop();
      solution = marks;
      again.hidden = !marks?.needed;
      if (marks?.needed && fresh) return play(marks);
      pane.setMarks(marks?.needed ? marks : null);
      show();
    },
    dispose() {
      stop();
      pane.dispose();
    },
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
      h("span", { class: "df-order-text df-raw" }, text),
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
        h("legend", { class: group.label ? "df-raw" : "df-unseen" }, group.label || "choices"),
        group.options.map((text) => {
          const input = h("input", { type: "radio", name, ...QUIET });
          input.addEventListener("change", () => {
            chosen[at] = text;
            const answer = `“${text}”`; // said as it was written, in any language
            changed(`${answer} chosen.`);
          });
          inputs.push([at, text, input]);
          return h("label", { class: "df-pick" }, input, h("span", { class: "df-raw" }, text));
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
