// Stepper: recorded runs replayed in the page.  Nothing here waits for the kernel, so stepping works
// while a cell runs and in a saved page; only a branch and a whole large value ask for it.
import { branchForm } from "../shared/branch.js";
import { QUIET, button, h, plural } from "../shared/dom.js";
import { exporters } from "../shared/exports.js";
import { titleParts } from "../shared/draw.js";
import { lastPart } from "../shared/graph.js";
import { Inspector } from "../shared/inspector.js";
import { keptPicture, pictureKeeper } from "../shared/saved_picture.js";
import { layerControls, roleName } from "../shared/layers.js";
import { GraphPane, layoutNote } from "../shared/graph_canvas.js";
import { Playback } from "../shared/playback.js";
import { Replay, branchTaken, parseCondition, travels } from "../shared/replay.js";
import { guarded, menu, shell } from "../shared/shell.js";
import { adoptKept, openSnapshot } from "../shared/snapshot.js";
import { dropStore, pack, scene, storeOf } from "../shared/store.js";
import { SourceLight } from "../shared/source_light.js";
import { brief, bytes, renderValue, seconds } from "../shared/values.js";
import { Flow } from "./flow.js";

const PATIENCE_MS = 6000;
const MAX_CARDS = 40;

function initialize({ model }) {
  storeOf(model);
  return () => dropStore(model);
}

/** `run`: the number of the recorded run that is shown first. */
function render({ model, el, run = 0 }) {
  const store = storeOf(model);
  const title = model.get("title");
  store.send({ kind: "opened" });
  let frame = null;
  let stop = null;
  let gone = false;
  const start = (kept = false) => {
    frame = shell("stepper", title || "stepper", title);
    frame.body.style.setProperty("--df-height", `${model.get("height")}px`);
    el.replaceChildren(frame.element);
    if (!store.extra.trace) return;
    const view = guarded(frame, () => new StepperView(model, store, frame, run))();
    stop = { kept, dispose: () => view.then((one) => one.dispose()) };
  };
  const wait = store.on(() => {
    // A page opened on a running kernel: the trace comes with the answer to hello, in place of what was kept.
    if (!store.extra.trace || !store.heard || (stop && !stop.kept)) return;
    stop?.dispose();
    start();
  });
  start();
  if (!stop) {
    const missing = () => {
      keptPicture(model, store, frame, () => !stop && !gone);
      setTimeout(() => {
        if (!stop && !gone) frame.say("No trace has arrived: the kernel is busy or gone. Run the cell again.");
      }, PATIENCE_MS);
    };
    adoptKept(model, store).then((kept) => {
      if (stop || gone) return;
      if (kept) start(true);
      else missing();
    });
  }
  return () => {
    gone = true;
    wait();
    stop?.dispose();
    store.send({ kind: "closed" });
  };
}

class StepperView {
  constructor(model, store, frame, run) {
    Object.assign(this, { model, store, frame });
    this.keep = pictureKeeper(model, store, () => this.pane.drawing?.root, () => ({ ...scene(this.pane), nodes: this.graph.nodes, trace: this.trace }));
    this.graph = store.graph;
    this.trace = store.extra.trace;
    this.replays = this.trace.runs.map((run) => new Replay(run));
    this.number = Math.min(run, this.replays.length - 1);
    if (this.replay.run.error) this.replay.at = this.replay.steps.length; // where it failed: from there one steps back
    this.other = null; // the run that this one is compared with
    this.breaks = [];
    this.watches = new Set();
    this.flow = new Flow(this.graph, { replays: () => this.replays, replay: () => this.replay });
    this.light = new SourceLight(frame.element);
    this.pane = new GraphPane(this.graph, {
      room: (item) => this.flow.room(item),
      word: (item) => this.word(item),
      steps: true,
      host: store.host,
      only: this.trace.only?.length ? new Set(this.trace.only) : null,
      ask: () => store.host.ask({ send: (message) => store.send(message) }),
      onselect: (item) => this.show(item),
      onlayout: (result) => {
        frame.note(layoutNote(result));
        this.layers.show();
        frame.element.dataset.drawn = String(result.nodes.size);
        if (this.number !== undefined && this.now) this.paint();
        this.keep();
      },
    });
    this.layers = layerControls(this.pane, frame);
    this.inspector = new Inspector(this.graph, {
      goto: (index) => this.expose(index, true),
      close: () => this.pane.select(null),
      toggle: (item) => this.pane.toggle(item),
      light: () => {},
      isolate: (indices) => this.pane.isolate(indices),
      ask: (message) => store.question(message),
    });
    this.buildControls();
    this.buildSide();
    frame.element.addEventListener("keydown", (event) => this.key(event));
    const forget = store.on((event, detail) => {
      if (event === "error") frame.fail(detail);
      if (event === "run") this.addRun(detail.run, detail.compare ?? null);
    });
    const failed = () => frame.fail(model.get("failure"));
    model.on("change:failure", failed);
    this.dispose = () => {
      this.playback.pause();
      this.flow.dispose();
      this.light.clear();
      this.keep.stop();
      forget();
      model.off("change:failure", failed);
      this.pane.dispose();
    };
    this.paint();
    const redraw = guarded(frame, async () => {
      await this.pane.update();
      this.applyMarks();
    });
    guarded(frame, () => openSnapshot({ model, store, pane: this.pane, frame, redraw, applyMarks: () => this.applyMarks() }))();
  }

  get replay() {
    return this.replays[this.number];
  }

  // Controls

  buildControls() {
    const { frame, pane, model, store } = this;
    this.playback = new Playback({
      unit: "step",
      at: () => this.replay.at,
      length: () => this.replay.steps.length,
      go: (to) => this.go(to),
      stop: (at) => this.replay.breakAt(at),
      stopped: (why) => frame.say(`${this.sentence()} Stopped: ${why}.`),
    });
    this.until = button("Run to node", "Run until the selected node is done", () => this.runToNode());
    const state = async () => ({
      ...Object.fromEntries(["marks", "title", "height"].map((key) => [key, model.get(key)])),
      payload: { nodes: this.graph.nodes, version: this.graph.nodes.length, trace: this.trace },
      snapshot: await pack(scene(pane)),
      standalone: true,
    });
    const saving = menu("Save ▾", "Save as SVG, PNG, DOT or HTML", exporters(pane, "stepper", frame, state, model));
    this.playback.forward.title = "One step forward (→ or n)";
    this.playback.back.title = "One step back (← or p)";
    frame.toolbar.append(...this.playback.elements, h("span", { class: "df-hint df-keys" }, h("kbd", {}, "←"), " ", h("kbd", {}, "→"), " step"), this.until, this.layers.select, saving, pane.zoomBar);

    // Several runs: training steps and branches
    this.runSlider = h("input", { type: "range", class: "df-slider", min: 0, max: 0, value: 0, "aria-label": "run", oninput: () => this.switchTo(Number(this.runSlider.value)), ...QUIET });
    this.runName = h("span", { class: "df-run-name" });
    this.compare = h("select", { class: "df-select", "aria-label": "compare with", onchange: () => this.compareWith(this.compare.value), ...QUIET });
    this.runBar = h("div", { class: "df-toolbar df-run-bar", role: "toolbar", "aria-label": "runs", hidden: true }, "Run", this.runSlider, this.runName, this.compare);
    frame.toolbar.after(this.runBar);
    frame.body.before(this.layers.roles);
    this.listRuns();
  }

  buildSide() {
    const { frame, pane } = this;
    this.condition = h("input", { class: "df-search", placeholder: "max > 100, nan, type:MatMul, a name", "aria-label": "new breakpoint: a node name, type:OpType, nan, or a condition on the values", ...QUIET });
    this.condition.addEventListener("keydown", (event) => event.key === "Enter" && this.addBreak());
    this.breakList = h("div");
    this.breaker = button("Run to break", "Run until a breakpoint", () => this.runToBreak());
    const breakBox = h("details", { class: "df-break-box" }, h("summary", { tabindex: 0, ...QUIET }, "Breakpoints"), h("div", { class: "df-line-box" }, this.condition, button("Add", "Add the breakpoint", () => this.addBreak()), this.breaker), this.breakList);
    this.now = h("section", { class: "df-now", "aria-label": "the step just done" });
    this.watchList = h("div", { class: "df-watches" });
    this.finished = h("section", { class: "df-finished", "aria-label": "values alive" });
    this.freedList = h("div");
    this.freedTitle = h("summary", { tabindex: 0, ...QUIET });
    this.freed = h("details", { class: "df-freed-box" }, this.freedTitle, this.freedList);
    this.origin = h("p", { class: "df-origin-note", hidden: true });
    this.memory = h("div", { class: "df-memory" });
    this.listBreaks();
    this.side = h("div", { class: "df-side", tabindex: -1, ...QUIET }, this.origin, this.now, this.watchList, h("h4", {}, "Alive"), this.memory, this.finished, this.freed, breakBox, this.inspector.element);
    frame.body.append(pane.element, this.side);
    const key = (name, words) => h("span", { class: "df-key" }, h("i", { class: `df-look-${name}` }), words);
    const branches = this.graph.nodes.some((node) => /^(Ref)?Switch$/.test(node.op));
    const sends = this.graph.nodes.some((node) => node.op === "_Send");
    frame.body.after(h("div", { class: "df-legend", role: "note" }, key("alive", "alive"), key("freed", "freed: nothing reads it any more"), key("ready", "ready to run"), branches && key("dead", "dead: its branch is not taken"), sends && key("wire", "on the wire: sent, not received yet")));
  }

  // Moving

  go(to) {
    const before = this.replay.at;
    this.replay.go(to);
    this.paint(this.replay.at === before + 1);
    if (this.pane.selected) this.show(this.pane.itemById(this.pane.selected));
  }

  runToNode() {
    const item = this.pane.selected && this.pane.itemById(this.pane.selected);
    const target = item ? this.replay.stepOf(item.members) : null;
    if (target !== null) this.go(target);
    else this.frame.say(item ? "The selected node does not run in this trace: it was pruned or fed." : "Select a node first.");
  }

  /** Keys that step wherever the focus is, except where they write or move a slider. */
  key(event) {
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const by = (steps) => () => this.go(this.replay.at + steps);
    const action = { n: by(1), ArrowRight: by(1), p: by(-1), ArrowLeft: by(-1), r: () => this.runToNode() }[event.key];
    if (!action) return;
    const { target } = event;
    if (target.closest("select, textarea") || (target.closest("input") && (target.type !== "range" || event.key.startsWith("Arrow")))) return;
    action();
    event.preventDefault();
  }

  /** What the picture says of an item beside its name. */
  word(item) {
    const has = (index) => item.members.includes(index);
    const said = [];
    for (const found of Object.values(this.origins ?? {})) if (found && has(found.i)) said.push(`first ${WORDS[found.what]}`);
    if (!item.group && this.dead?.ops.has(item.index)) said.push("dead");
    if (item.group && item.path) for (const [scope, loop] of this.loops ?? []) if (scope === item.path || scope.startsWith(`${item.path}/`)) said.push(iterationWords(loop));
    return said.join(", ");
  }

  expose(index, focus = false) {
    return guarded(this.frame, () => this.pane.expose(index, { focus }))();
  }

  // Breakpoints

  addBreak() {
    const parsed = parseCondition(this.condition.value, this.graph);
    if (parsed.error) return void this.frame.say(parsed.error);
    this.breaks.push(parsed);
    this.condition.value = "";
    this.listBreaks();
  }

  listBreaks() {
    for (const replay of this.replays) replay.breaks = this.breaks;
    this.breakList.replaceChildren(
      ...this.breaks.map((one, i) => h("span", { class: "df-chip" }, one.text, button("×", `Remove breakpoint ${one.text}`, () => { this.breaks.splice(i, 1); this.listBreaks(); }))),
    );
    this.breaker.disabled = !this.breaks.length;
  }

  runToBreak() {
    const hit = this.replay.nextBreak();
    this.go(hit ? hit.at : this.replay.steps.length);
    this.frame.say(`${this.sentence()} ${hit ? `Stopped: ${hit.why}.` : "No breakpoint was met."}`);
  }

  // Runs

  addRun(run, compare) {
    const replay = new Replay(run);
    replay.breaks = this.breaks;
    this.replays.push(replay);
    if (this.flow.grow(replay)) guarded(this.frame, () => this.pane.update())();
    this.other = compare;
    this.listRuns();
    this.switchTo(this.replays.length - 1);
  }

  listRuns() {
    const { runs } = this.trace;
    this.runBar.hidden = runs.length < 2;
    this.runSlider.max = runs.length - 1;
    this.compare.replaceChildren(
      h("option", { value: "" }, "compare with …"),
      ...runs.map((run, i) => h("option", { value: i, selected: i === this.other }, `compare with ${run.label}`)),
    );
  }

  switchTo(number) {
    const before = this.replay;
    this.number = number;
    this.replay.alignWith(before);
    if (this.other === number) this.other = null;
    this.compare.value = this.other === null ? "" : String(this.other);
    this.applyMarks();
    if (this.pane.selected) this.show(this.pane.itemById(this.pane.selected));
  }

  compareWith(text) {
    this.other = text === "" || Number(text) === this.number ? null : Number(text);
    this.paint();
  }

  /** The compared run, brought to the same op; null when none is compared. */
  compared() {
    if (this.other === null) return null;
    const other = this.replays[this.other];
    other.alignWith(this.replay);
    return other;
  }

  // Showing

  nameOf(index) {
    return this.graph.nodes[index]?.name ?? String(index);
  }

  sentence() {
    const { replay } = this;
    const step = replay.current();
    const total = replay.steps.length;
    const failure = replay.at === total && replay.run.error ? ` Then it failed: ${replay.run.error}` : "";
    if (!step) return `Before the first of ${plural(total, "step")}: ${replay.run.fed.length ? `fed ${replay.run.fed.map((i) => this.nameOf(i)).join(", ")}.` : "nothing has run."}` + failure;
    const round = replay.iteration();
    const time = seconds(step.s);
    const dead = step.out?.length && step.out.every((summary) => summary === null) ? " It has no value: a branch not taken, or a resource." : "";
    const end = failure || (replay.at < total ? "" : " The run is complete.");
    const taken = branchTaken(step, this.graph);
    const branch = taken ? ` Branch taken: the value comes from ${taken}.` : "";
    const where = step.on ? ` on ${step.on}` : "";
    return `Step ${replay.at} of ${total}: ${step.type} '${this.nameOf(step.i)}'${where}${round ? `, iteration ${round} of ${replay.positions.get(step.i).length}` : ""}${time ? ` took ${time}` : ""}.${dead}${branch}${end}`;
  }

  /** What was sent and is not there yet, in words. */
  wireWords(wire) {
    if (!wire.length) return "";
    const sizeOf = (index) => (this.replay.valueOf(index) ?? []).reduce((sum, summary) => sum + (summary?.bytes ?? 0), 0);
    const some = wire.slice(0, 3).map(({ from }) => `${this.nameOf(from)}, ${bytes(sizeOf(from))}`).join("; ");
    return `; on the wire: ${some}${wire.length > 3 ? " …" : ""}`;
  }

  card(index, outputs, { pinned = false, open = true, freed = false } = {}) {
    const shown = outputs ?? [];
    const theirs = this.compared()?.valueOf(index);
    const pair = (summary, slot) => {
      const other = theirs?.[slot];
      if (!theirs || JSON.stringify(other) === JSON.stringify(summary)) return [renderValue(summary)];
      return [renderValue(summary), h("div", { class: "df-other" }, h("small", {}, `in ${this.trace.runs[this.other].label}:`), renderValue(other))];
    };
    const name = this.nameOf(index);
    return h(
      "div",
      { class: `df-card${freed ? " df-card-freed" : ""}`, "data-op": name },
      h(
        "div",
        { class: "df-card-head" },
        button(name, null, () => this.expose(index), { class: "df-link" }),
        button(pinned ? "Unwatch" : "Watch", pinned ? `Stop watching ${name}` : `Keep ${name} in sight`, () => {
          if (!this.watches.delete(index)) this.watches.add(index);
          this.paint();
        }, { class: "df-button df-small" }),
      ),
      ...(open ? shown.flatMap(pair) : [h("span", { class: "df-brief" }, shown.map(brief).join(", "))]),
      ...shown.filter((summary) => summary?.more).map((summary) => button("All values", "Fetch the whole value from the kernel", () => this.whole(index, shown.indexOf(summary)))),
    );
  }

  async whole(index, slot) {
    const name = this.nameOf(index);
    const answer = await this.store.question({ kind: "value", op: name, slot, run: this.number, round: Math.max(0, this.replay.iteration() - 1) });
    if (!answer) this.frame.say("The kernel did not answer: busy or gone. The summary is all there is.");
    else if (!answer.error) {
      this.now.append(h("pre", { class: "df-text df-all", tabindex: 0, ...QUIET }, answer.text));
      this.frame.say(`All of ${name}:${slot}: ${plural(answer.size, "value")}.`);
    }
  }

  paint(forward = false) {
    const { replay, pane } = this;
    this.origins = replay.origins(this.graph);
    this.dead = replay.dead(this.graph);
    this.loops = replay.loops(this.graph);
    const total = replay.steps.length;
    const state = { ...replay.state(), wire: replay.onTheWire(this.graph) };
    const sentence = this.sentence();
    this.playback.paint(sentence);
    this.runSlider.value = this.number;
    this.runName.textContent = replay.run.label ?? "";
    const other = this.compared();
    const different = other ? replay.differences(other) : new Set();
    const failed = replay.at === total && replay.run.failed !== undefined ? [replay.run.failed] : [];
    const classes = new Map();
    const groups = { "df-done": state.done, "df-ready": state.ready, "df-current": state.current === null ? [] : [state.current], "df-watched": this.watches, "df-differs": different, "df-failed": failed, "df-dead": this.dead.ops, "df-alive": state.alive, "df-freed": [...state.done, ...replay.run.fed].filter((index) => !state.alive.has(index) && replay.valueOf(index)?.some(Boolean)), "df-origin": Object.values(this.origins).flatMap((found) => (found ? [found.i] : [])) };
    for (const [name, indices] of Object.entries(groups)) {
      for (const index of indices) {
        const item = pane.itemOf(index);
        if (!item || (item.group && OF_ONE.has(name))) continue;
        if (!classes.has(item.id)) classes.set(item.id, new Set());
        classes.get(item.id).add(name);
      }
    }
    this.tagPlaces();
    pane.setClasses(classes);
    this.flow.paint(pane, state, this.dead, forward, this.playback.timer ? Number(this.playback.speed.value) : 1000);
    this.paintLoops();
    this.paintOrigin();
    this.frame.element.dataset.step = String(replay.at);
    const step = replay.current();
    this.now.replaceChildren(...(step ? [this.card(step.i, step.out), this.aside(step.i), this.sourceLine(step.i), ...travels(step, (index) => this.nameOf(index)).map((text) => h("p", { class: "df-travel" }, text))].filter(Boolean) : [ h("p", { class: "df-hint" }, "Step forward to run the first op.")]));
    this.watchList.replaceChildren(...[...this.watches].map((index) => this.card(index, replay.valueOf(index), { pinned: true })));
    const ready = state.ready.slice(0, 4).map((index) => this.nameOf(index)).join(", ");
    this.memory.textContent = `${plural(state.alive.size, "value")} alive, ${bytes(state.aliveBytes)}; ${plural(state.ready.length, "op")} ready${ready && ` (${ready}${state.ready.length > 4 ? " …" : ""})`}${this.wireWords(state.wire)}${other ? `; ${plural(different.size, "value")} ${different.size === 1 ? "differs" : "differ"} from ${this.trace.runs[this.other].label}` : ""}`;
    if (!step) this.light.clear();
    const cards = [];
    const freed = [];
    const seen = new Set(step ? [step.i] : []);
    for (let k = replay.at - 2; k >= 0 && cards.length + freed.length < MAX_CARDS; k--) {
      const { i, out } = replay.steps[k];
      if (seen.has(i) || this.watches.has(i)) continue;
      seen.add(i);
      if (state.alive.has(i)) cards.push(this.card(i, out, { open: small(out) }));
      else if (out?.some(Boolean)) freed.push(this.card(i, out, { open: false, freed: true }));
    }
    for (const index of replay.run.fed) {
      const value = replay.valueOf(index);
      if (state.alive.has(index)) cards.push(this.card(index, value, { open: small(value) }));
      else freed.push(this.card(index, value, { open: false, freed: true }));
    }
    this.finished.replaceChildren(...cards);
    this.freedList.replaceChildren(...freed);
    this.freedTitle.textContent = `Freed: ${plural(freed.length, "value")}`;
    this.freed.hidden = !freed.length;
    this.frame.say(sentence);
    this.keep();
    const item = step && pane.itemOf(step.i);
    if (item) pane.reveal(item.id);
  }

  /** Says that the picture leaves out the op of this step, in the layer that is chosen. */
  aside(index) {
    const { role } = this.graph.nodes[index];
    if (!this.pane.visible || this.pane.itemOf(index) || !role) return null;
    return h("p", { class: "df-hint df-aside" }, `Not in this picture, put aside: ${roleName(role)}.`);
  }

  /** The line of code that made an op, lit in the notebook too where that can be. */
  sourceLine(index) {
    const { source } = this.graph.nodes[index];
    if (!source) return null;
    const lit = this.light.show(source);
    const place = source.cell ? `cell ${source.cell}, line ${source.line}` : source.file ? `${source.file.split(/[\\/]/).pop()}, line ${source.line}` : "";
    return h("div", { class: "df-source", "data-lit": String(lit) }, h("small", {}, place), source.text && h("code", {}, source.text));
  }

  /** Frames of loops say which iteration they are in. */
  paintLoops() {
    for (const [path, element] of this.pane.drawing?.clusterElements ?? []) {
      const loop = this.loops.get(path);
      const label = element.querySelector(".df-cluster-label");
      const words = loop ? `${lastPart(path)} · ${iterationWords(loop)}` : "";
      if (label.dataset.words === words) continue;
      label.dataset.words = words;
      label.replaceChildren(...(loop ? [words] : titleParts(path, this.pane.model.natureOf(path))));
    }
  }

  paintOrigin() {
    const found = Object.values(this.origins).filter(Boolean).sort((a, b) => a.k - b.k);
    this.origin.hidden = !found.length;
    this.origin.replaceChildren(
      ...found.flatMap(({ what, i, k, text }, n) => [
        n ? "; " : "",
        `first ${WORDS[what]}: `,
        button(this.nameOf(i), "Go to where it is made", () => { this.go(k + 1); this.expose(i); }, { class: "df-link" }),
        text && `, ${text}`,
      ]),
    );
  }

  /** In a run on several devices or tasks each op says where it runs. */
  tagPlaces() {
    const { pane, replay } = this;
    if (!replay.steps.some((step) => step.on)) return;
    const places = new Map();
    for (const { i, on } of replay.steps) {
      const item = pane.itemOf(i);
      if (item && on) places.set(item.id, (places.get(item.id) ?? new Set()).add(on));
    }
    pane.tags = new Map([...places].map(([id, where]) => [id, where.size > 1 ? `${where.size} places` : [...where][0]]));
  }

  show(item) {
    this.inspector.show(item, this.pane.marks);
    if (item && item.id !== this.shownId) requestAnimationFrame(() => { this.side.scrollTop = this.inspector.element.offsetTop - this.side.offsetTop - 8; });
    this.shownId = item?.id;
    if (!item || item.group) return;
    const { index } = item;
    const value = this.replay.valueOf(index);
    const runs = this.replay.stepOf([index]) !== null;
    if (value) this.inspector.element.append(h("h4", {}, "Value"), ...value.map((summary) => renderValue(summary)));
    else this.inspector.element.append(h("p", { class: "df-hint" }, runs ? "Not computed yet at this step." : "This op does not run here: pruned or fed."));
    if ((runs || value) && !this.model.get("standalone")) {
      this.inspector.element.append(branchForm(this.nameOf(index), value, (slot, text) => this.branch(index, slot, text)));
    }
  }

  async branch(index, slot, text) {
    const answer = await this.store.question({ kind: "branch", op: this.nameOf(index), slot, text, run: this.number }, 60000);
    if (!answer) return "The kernel did not answer: busy or gone.";
    if (answer.error) return answer.error;
    return "Done: the branch is shown, with what differs lit.";
  }

  applyMarks() {
    const marks = this.replay.run.marks ?? this.model.get("marks");
    this.pane.setMarks(marks?.needed ? marks : null);
    this.paint();
  }

}

const WORDS = { nan: "NaN", inf: "infinity" };
const OF_ONE = new Set(["df-alive", "df-freed", "df-dead"]); // of values, which a closed scope has many of
const iterationWords = ({ at, of, over }) => (over ? `ended after ${plural(of, "iteration")}` : `iteration ${at} of ${of}`);
const small = (out) => (out ?? []).every((summary) => !summary || summary.kind === "scalar" || summary.size <= 12);

export default { initialize, render };
