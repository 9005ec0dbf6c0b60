// Stepper: a recorded run replayed in the page.  Nothing here waits for the kernel, so stepping
// works while a cell runs, in a reopened notebook and in a saved page.
import { QUIET, button, h, plural } from "../shared/dom.js";
import { exporters, standaloneSvg } from "../shared/exports.js";
import { Inspector } from "../shared/inspector.js";
import { GraphPane, layoutNote } from "../shared/pane.js";
import { Replay, parseCondition } from "../shared/replay.js";
import { guarded, menu, shell } from "../shared/shell.js";
import { openSnapshot } from "../shared/snapshot.js";
import { pack, pictureOf, scene, storeOf } from "../shared/store.js";
import { brief, bytes, renderValue, seconds } from "../shared/values.js";

const SPEEDS = [["0.5 steps/s", 2000], ["1 step/s", 1000], ["2 steps/s", 500], ["5 steps/s", 200], ["20 steps/s", 50]];

function initialize({ model }) {
  storeOf(model);
}

async function render({ model, el }) {
  const store = storeOf(model);
  const frame = shell("stepper", model.get("title") || "stepper", model.get("title"));
  el.append(frame.element);
  store.send({ kind: "opened" });
  frame.body.style.setProperty("--df-height", `${model.get("height")}px`);
  let trace = store.extra.trace ?? null;
  if (!trace) {
    // A page opened on a running kernel: the trace comes with the answer to hello.
    trace = await new Promise((resolve) => {
      const stop = store.on((event) => {
        if (event === "graph" && store.extra.trace) {
          stop();
          resolve(store.extra.trace);
        }
      });
      setTimeout(() => resolve(null), 6000);
    });
  }
  if (!trace) {
    frame.say("No trace was kept in this notebook and no kernel has answered. Run the cell again.");
    return () => store.send({ kind: "closed" });
  }
  return build({ model, store, frame, trace });
}

function build({ model, store, frame, trace }) {
  const replay = new Replay(trace);
  const only = trace.only?.length ? new Set(trace.only) : null;
  const pane = new GraphPane(store.graph, {
    host: store.host,
    only,
    ask: () => store.host.ask({ send: (message) => store.send(message) }),
    onselect: (item) => show(item),
    onlayout: (result) => {
      frame.note(layoutNote(result));
      frame.element.dataset.drawn = String(result.nodes.size);
      keep();
    },
    onkey: (event) => keys(event),
  });
  const inspector = new Inspector(store.graph, {
    goto: (index) => guarded(frame, () => pane.expose(index, { focus: true }))(),
    close: () => pane.select(null),
    toggle: (item) => pane.toggle(item),
    light: () => {},
    isolate: (indices) => pane.isolate(indices),
    ask: (message) => store.question(message),
  });

  // Controls
  const last = replay.steps.length;
  const slider = h("input", { type: "range", class: "df-slider", min: 0, max: last, value: 0, "aria-label": "step", oninput: () => go(Number(slider.value)), ...QUIET });
  const speed = h("select", { class: "df-select", "aria-label": "speed", ...QUIET }, ...SPEEDS.map(([name, ms]) => h("option", { value: ms, selected: ms === 1000 }, name)));
  const player = button("▶ Play", "Play", () => (timer ? pause() : play()), { class: "df-button df-play" });
  const counter = h("output", { class: "df-counter" });
  let timer = null;
  const buttons = {
    first: button("⏮", "To the start", () => go(0)),
    back: button("◀", "One step back", () => go(replay.at - 1)),
    forward: button("▶|", "One step forward", () => go(replay.at + 1)),
    end: button("⏭", "To the end", () => go(last)),
  };
  const until = button("Run to node", "Run until the selected node is done", () => {
    const item = pane.selected && pane.itemById(pane.selected);
    const target = item ? replay.stepOf(item.members) : null;
    if (target === null) frame.say(item ? "The selected node does not run in this trace: it was pruned or fed." : "Select a node first.");
    else go(target);
  });
  const breaker = button("Run to break", "Run until a breakpoint", () => {
    const hit = replay.nextBreak();
    go(hit ? hit.at : last);
    frame.say(hit ? `${sentence()} Stopped: ${hit.why}.` : `${sentence()} No breakpoint was met.`);
  });
  const saving = menu("Save ▾", "Save as SVG, PNG, DOT or HTML", exporters(pane, "stepper", frame, async () => ({
    ...Object.fromEntries(["marks", "title", "height"].map((key) => [key, model.get(key)])),
    payload: { nodes: store.graph.nodes, version: store.graph.nodes.length, trace },
    snapshot: await pack(scene(pane)),
    standalone: true,
  }), model));
  frame.toolbar.append(buttons.first, buttons.back, player, buttons.forward, buttons.end, slider, counter, speed, until, saving, pane.zoomBar);

  // Breakpoints and watches
  const watchList = h("div", { class: "df-watches" });
  const breakList = h("div", { class: "df-breaks" });
  const condition = h("input", { class: "df-search", placeholder: "max > 100, nan, type:MatMul, node name", "aria-label": "new breakpoint: a node name, type:OpType, nan, or a condition such as max > 100", ...QUIET });
  const addBreak = () => {
    const parsed = parseCondition(condition.value, store.graph);
    if (parsed.error) return void frame.say(parsed.error);
    replay.breaks.push(parsed);
    condition.value = "";
    listBreaks();
  };
  condition.addEventListener("keydown", (event) => event.key === "Enter" && addBreak());
  function listBreaks() {
    breakList.replaceChildren(
      ...replay.breaks.map((one, i) => h("span", { class: "df-chip" }, one.text, button("×", `Remove breakpoint ${one.text}`, () => { replay.breaks.splice(i, 1); listBreaks(); }))),
    );
    breaker.disabled = !replay.breaks.length;
  }
  const breakBox = h("details", { class: "df-break-box" }, h("summary", { tabindex: 0, ...QUIET }, "Breakpoints"), h("div", { class: "df-line-box" }, condition, button("Add", "Add the breakpoint", addBreak), breaker), breakList);

  // Values
  const now = h("section", { class: "df-now", "aria-label": "the step just done" });
  const finished = h("section", { class: "df-finished", "aria-label": "values so far" });
  const memory = h("div", { class: "df-memory" });
  const side = h("div", { class: "df-side" }, now, watchList, h("h4", {}, "Values so far"), memory, finished, breakBox, inspector.element);
  frame.body.append(pane.element, side);

  const nameOf = (index) => store.graph.nodes[index]?.name ?? String(index);
  function sentence() {
    const step = replay.current();
    if (!step) return `Before the first of ${plural(last, "step")}: ${trace.fed.length ? `fed ${trace.fed.map(nameOf).join(", ")}.` : "nothing has run."}`;
    const time = seconds(step.s);
    return `Step ${replay.at} of ${last}: ${step.type} '${nameOf(step.i)}'${time ? ` took ${time}` : ""}.${replay.at === last ? " The run is complete." : ""}`;
  }

  function valueCard(index, outputs, { pinned = false, open = true } = {}) {
    const shown = outputs ?? [];
    return h(
      "div",
      { class: "df-card", "data-op": nameOf(index) },
      h(
        "div",
        { class: "df-card-head" },
        h("button", { type: "button", class: "df-link", onclick: () => guarded(frame, () => pane.expose(index))(), ...QUIET }, nameOf(index)),
        button(pinned ? "Unwatch" : "Watch", pinned ? `Stop watching ${nameOf(index)}` : `Keep ${nameOf(index)} in sight`, () => {
          if (!replay.watches.delete(index)) replay.watches.add(index);
          paint();
        }, { class: "df-button df-small" }),
      ),
      ...(open ? shown.map((summary) => renderValue(summary)) : [h("span", { class: "df-brief" }, shown.map(brief).join(", "))]),
      ...shown.filter((summary) => summary?.more).map((summary) => button("All values", "Fetch the whole value from the kernel", async () => full(index, shown.indexOf(summary)))),
    );
  }

  async function full(index, slot) {
    const answer = await store.question({ kind: "value", op: nameOf(index), slot });
    if (!answer) frame.say("The kernel did not answer: busy or gone. The summary is all there is.");
    else if (answer.error) frame.fail(answer.error);
    else {
      now.append(h("pre", { class: "df-text df-all", tabindex: 0, ...QUIET }, answer.text));
      frame.say(`All of ${nameOf(index)}:${slot}: ${plural(answer.size, "value")}.`);
    }
  }

  function paint() {
    const state = replay.state();
    slider.value = replay.at;
    counter.textContent = `${replay.at} / ${last}`;
    slider.setAttribute("aria-valuetext", sentence());
    buttons.first.disabled = buttons.back.disabled = replay.at === 0;
    buttons.forward.disabled = buttons.end.disabled = replay.at === last;
    const classes = new Map();
    for (const [name, indices] of Object.entries({ "df-done": state.done, "df-ready": state.ready, "df-current": state.current === null ? [] : [state.current], "df-watched": replay.watches })) {
      for (const index of indices) {
        const item = pane.itemOf(index);
        if (!item) continue;
        if (!classes.has(item.id)) classes.set(item.id, new Set());
        classes.get(item.id).add(name);
      }
    }
    pane.setClasses(classes);
    frame.element.dataset.step = String(replay.at);
    const step = replay.current();
    now.replaceChildren(step ? valueCard(step.i, step.out) : h("p", { class: "df-hint" }, "Step forward to run the first op."));
    watchList.replaceChildren(...[...replay.watches].map((index) => valueCard(index, replay.valueOf(index), { pinned: true })));
    memory.textContent = `${plural(state.alive.size, "value")} alive, ${bytes(state.aliveBytes)}; ${plural(state.ready.length, "op")} ready`;
    const cards = [];
    for (let k = replay.at - 2; k >= 0 && cards.length < 40; k--) {
      const { i, out } = replay.steps[k];
      if (!replay.watches.has(i)) cards.push(valueCard(i, out, { open: small(out) }));
    }
    for (const index of trace.fed) cards.push(valueCard(index, replay.valueOf(index), { open: small(replay.valueOf(index)) }));
    finished.replaceChildren(...cards);
    frame.say(sentence());
    const item = step && pane.itemOf(step.i);
    if (item) pane.reveal(item.id);
  }
  const small = (out) => (out ?? []).every((summary) => !summary || summary.kind === "scalar" || summary.size <= 12);

  function go(to) {
    replay.go(to);
    paint();
    if (pane.selected) show(pane.itemById(pane.selected));
  }
  function play() {
    if (replay.at === last) replay.go(0);
    player.textContent = "⏸ Pause";
    const tick = () => {
      const hit = replay.breakAt(replay.at + 1);
      go(replay.at + 1);
      if (hit) frame.say(`${sentence()} Stopped: ${hit}.`);
      if (replay.at >= last || hit) pause();
      else timer = setTimeout(tick, Number(speed.value));
    };
    timer = setTimeout(tick, Math.min(300, Number(speed.value)));
  }
  function pause() {
    clearTimeout(timer);
    timer = null;
    player.textContent = "▶ Play";
  }
  function keys(event) {
    const actions = { n: () => go(replay.at + 1), p: () => go(replay.at - 1), f: () => go(replay.at + 1), b: () => go(replay.at - 1), r: () => until.click() };
    if (!actions[event.key]) return false;
    actions[event.key]();
    return true;
  }
  function show(item) {
    inspector.show(item, pane.marks);
    if (!item || item.group) return;
    const value = replay.valueOf(item.index);
    if (value) inspector.element.append(h("h4", {}, "Value"), ...value.map((summary) => renderValue(summary)));
    else inspector.element.append(h("p", { class: "df-hint" }, replay.stepOf([item.index]) === null ? "This op does not run here: pruned or fed." : "Not computed yet at this step."));
  }

  let keeper = null;
  let saved = null;
  function keep() {
    if (model.get("standalone") || !store.heard) return;
    clearTimeout(keeper);
    keeper = setTimeout(async () => {
      const text = await pictureOf(standaloneSvg(pane.drawing.root));
      if (text === saved) return;
      saved = text;
      model.set("picture", text);
      model.save_changes();
    }, 1500);
  }
  const applyMarks = () => {
    const marks = model.get("marks");
    pane.setMarks(marks?.needed ? marks : null);
    paint();
  };
  const redraw = guarded(frame, async () => {
    await pane.update();
    applyMarks();
  });
  const forget = store.on((event, detail) => {
    if (event === "error") frame.fail(detail);
  });
  listBreaks();
  paint();
  guarded(frame, () => openSnapshot({ model, store, pane, frame, redraw, applyMarks }))();
  return () => {
    pause();
    clearTimeout(keeper);
    forget();
    pane.dispose();
    store.send({ kind: "closed" });
  };
}

export default { initialize, render };
