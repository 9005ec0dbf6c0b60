// RewritePlayer: pruning and each rewrite of a plan, before and after.
import { QUIET, button, h, onResize, plural } from "../shared/dom.js";
import { exporters } from "../shared/exports.js";
import { Inspector } from "../shared/inspector.js";
import { pictureKeeper } from "../shared/saved_picture.js";
import { openWhenSent } from "../shared/opening.js";
import { LEGIBLE, estimate } from "../shared/legible.js";
import { MORPH_MS, morph, seenIn } from "../shared/morph.js";
import { GraphPane, layoutNote } from "../shared/graph_canvas.js";
import { Playback } from "../shared/playback.js";
import { RewriteHistory } from "../shared/rewrites.js";
import { seconds } from "../shared/values.js";
import { guarded, menu } from "../shared/shell.js";
import { dropStore, storeOf } from "../shared/store.js";

const MOST_NEARBY = 60;
const SIDE_PX = 320; // the list of rewrites beside the graphs
const FRAME_PX = 40; // around each of them
const LYING = 1.5; // widths of the pane that a graph may take lying
const STAY_MS = 400; // so long a rewrite is looked at before it is measured
const PATIENCE_MS = 60000; // the kernel measures when no cell runs
const NEARBY_FROM = 15; // larger graphs show what a rewrite touches, at first

function initialize({ model }) {
  storeOf(model);
  return () => dropStore(model);
}

const render = openWhenSent({
  kind: "rewrite-player",
  name: "rewrites",
  field: "steps",
  make: (...args) => new RewriteView(...args),
  late: "No rewrites have arrived",
});

class RewriteView {
  constructor(model, store, frame) {
    Object.assign(this, { model, store, frame });
    this.keep = pictureKeeper(model, store, () => (this.columns[1].hidden ? this.panes[0] : this.panes[1]).drawing?.root);
    this.history = new RewriteHistory(store.graph.nodes, store.extra.steps);
    this.position = this.history.first();
    this.panes = ["before", "after"].map((side) => this.makePane(side));
    this.build();
    const endSizes = onResize(frame.body, () => this.arrange());
    this.dispose = () => {
      clearTimeout(this.staying);
      endSizes();
      this.playback.pause();
      this.keep.stop();
      for (const pane of this.panes) pane.dispose();
    };
    this.go(this.position);
  }

  makePane(side) {
    const { store, frame } = this;
    const pane = new GraphPane(store.graph, {
      host: this.model.get("standalone") ? null : store.host,
      empty: side === "after" ? "Nothing is left here." : "Nothing was here.",
      ask: () => store.host.ask({ send: (message) => store.send(message) }),
      onselect: (item) => {
        this.inspector.model = pane.model;
        this.selecting = pane;
        this.inspector.show(item, null);
      },
      onlayout: (result) => {
        frame.note(layoutNote(result));
        frame.element.dataset.drawn = String(result.nodes.size);
      },
      onkey: (event) => this.key(event),
    });
    return pane;
  }

  build() {
    const { frame, history, store } = this;
    this.playback = new Playback({ unit: "rewrite", at: () => this.position, length: () => history.steps.length, go: (to) => this.go(to) });
    this.mode = this.choice("show", [["both", "Side by side"], ["before", "Before"], ["after", "After"]]);
    this.extent = this.choice("how much", [["near", "What it touches"], ["all", "Whole graph"]]);
    this.extent.value = history.nodes.length > NEARBY_FROM ? "near" : "all";
    this.swap = button("Swap (t)", "Show the other side: before or after", () => this.toggle());
    this.find = h("input", { class: "df-search", type: "search", placeholder: "Find a rewrite or node", "aria-label": "find a rewrite by its name, equation or node", ...QUIET });
    this.find.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      const found = history.find(this.find.value, this.position);
      if (found === null) frame.say(`No rewrite matches ${this.find.value.trim() || "nothing"}.`);
      else this.go(found);
    });
    const [before, after] = this.panes;
    const state = async () => ({
      ...Object.fromEntries(["title", "height"].map((key) => [key, this.model.get(key)])),
      payload: { ...store.extra, nodes: history.nodes, times: Object.fromEntries(this.times) },
      standalone: true,
    });
    const saving = menu("Save ▾", "Save as SVG, PNG, DOT or HTML", exporters(after, "rewrites", frame, state, this.model));
    frame.toolbar.append(...this.playback.elements, this.mode, this.swap, this.extent, this.find, saving, before.zoomBar);
    before.zoomBar.replaceChildren(
      ...[["+", "Zoom in", (pane) => pane.zoom(1.25)], ["−", "Zoom out", (pane) => pane.zoom(0.8)], ["Fit", "Fit the graphs to the width", (pane) => pane.fit()]].map(([label, words, act]) => button(label, words, () => this.panes.forEach(act))),
    );
    this.equation = h("p", { class: "df-equation" });
    this.saved = h("p", { class: "df-saved" });
    this.timed = h("p", { class: "df-timed", role: "status" });
    this.times = new Map(Object.entries(store.extra.times ?? {}).map(([at, time]) => [Number(at), time]));
    this.rule = h("p", { class: "df-rewrite-rule" });
    this.kernel = h("details", { class: "df-kernel", hidden: true }, h("summary", { tabindex: 0, ...QUIET }, "The fused kernel, generated"), h("pre", { class: "df-text", tabindex: 0, ...QUIET }));
    this.list = h("ol", { class: "df-rules" });
    this.inspector = new Inspector(store.graph, {
      goto: (index) => guarded(frame, () => this.selecting.expose(index, { focus: true }))(),
      close: () => this.selecting.select(null),
      toggle: (item) => this.selecting.toggle(item),
      light: () => {},
      isolate: (indices) => this.selecting.isolate(indices),
      ask: (message) => store.question(message),
    });
    const plan = h("details", {}, h("summary", { tabindex: 0, ...QUIET }, "The plan as Python"), h("pre", { class: "df-text", tabindex: 0, ...QUIET }, store.extra.plan ?? ""));
    const now = h("div", {}, this.rule, this.equation, this.saved, this.timed, this.kernel, this.inspector.element);
    this.side = h("div", { class: "df-side", tabindex: -1, ...QUIET }, now, h("div", {}, h("h4", {}, "Rewrites and their hits"), this.list, ...this.offers(), plan));
    this.columns = this.panes.map((pane, i) => h("section", { class: "df-column", "aria-label": i ? "after" : "before" }, h("h4", {}, i ? "After" : "Before"), pane.element));
    frame.body.append(h("div", { class: "df-columns" }, this.columns), this.side);
    this.listRules();
  }

  // What the graph could say instead, which no rewrite does.
  offers() {
    const offers = this.store.extra.offers ?? [];
    if (!offers.length) return [];
    const items = offers.map((offer) => h("li", {}, `${offer.text}: at `, h("code", {}, offer.node), `, ${offer.built_at}`));
    return [h("h4", {}, "What the graph could say instead"), h("ul", { class: "df-offers" }, items)];
  }

  choice(name, options) {
    return h("select", { class: "df-select", "aria-label": name, onchange: () => this.go(this.position), ...QUIET }, ...options.map(([value, text]) => h("option", { value }, text)));
  }

  listRules() {
    this.ruleButtons = this.history.rules().map((rule) => {
      const act = () => this.go(rule.positions.find((position) => position > this.position) ?? rule.positions[0]);
      return [rule, button(rule.equation, `${rule.rule}: go to its next hit`, act, { class: "df-link" })];
    });
    this.list.replaceChildren(...this.ruleButtons.map(([rule, link]) => h("li", {}, link, ` × ${rule.hits}`)));
  }

  key(event) {
    const actions = { n: () => this.go(this.position + 1), p: () => this.go(this.position - 1), t: () => this.toggle() };
    if (!actions[event.key]) return false;
    actions[event.key]();
    return true;
  }

  toggle() {
    this.mode.value = this.mode.value === "after" ? "before" : "after";
    this.go(this.position);
  }

  go(to) {
    this.position = Math.max(0, Math.min(this.history.steps.length, to));
    return guarded(this.frame, () => this.paint())();
  }

  async paint() {
    const { history, position, frame } = this;
    const step = history.steps[position - 1];
    const sentence = history.sentence(position);
    this.playback.paint(sentence);
    frame.say(sentence);
    frame.element.dataset.step = String(position);
    this.rule.textContent = step ? `${step.rule.replaceAll("_", " ")}${step.at ? `, at ${step.at}` : ""}` : "";
    this.equation.textContent = step ? step.equation : "The graph as it was built";
    this.saved.textContent = step ? history.savedWords(position) : "";
    this.measure();
    this.kernel.hidden = !step?.kernel;
    if (step?.kernel) {
      this.kernel.lastChild.textContent = step.kernel;
      this.kernel.open = true;
    }
    for (const [rule, link] of this.ruleButtons) {
      if (rule.positions.includes(position)) link.setAttribute("aria-current", "step");
      else link.removeAttribute("aria-current");
    }
    this.inspector.show(null);
    const change = position ? history.change(position) : null;
    const both = this.mode.value === "both";
    this.columns[0].hidden = Boolean(change) && !both && this.mode.value !== "before";
    this.columns[1].hidden = !change || (!both && this.mode.value !== "after");
    this.columns[0].firstChild.textContent = change ? "Before" : "As built";
    this.swap.disabled = this.mode.disabled = this.extent.disabled = !change;
    const models = change ? [change.before, change.after] : [history.graphAtStart(), null];
    await Promise.all(this.panes.map((pane, i) => (this.columns[i].hidden ? null : this.fill(pane, models[i], change))));
    if (position !== this.position) return;
    await this.arrange();
    if (position !== this.position) return;
    this.move(both && change);
    this.keep();
  }

  /** What is seen turns out of what was: the graph after a rewrite out of the one before it, where both are shown. */
  move(isPair) {
    const pane = this.panes[this.columns[1].hidden ? 0 : 1];
    const before = this.seen && (isPair ? seenIn(this.panes[0]) : this.seen);
    this.seen = seenIn(pane);
    const isQuick = this.playback.timer && Number(this.playback.speed.value) < MORPH_MS;
    if (!isQuick) morph(pane, before);
  }

  /** Says what the rewrite saves in time; asks the kernel once it has been looked at for a moment. */
  measure() {
    const { position } = this;
    clearTimeout(this.staying);
    this.timed.textContent = timeWords(this.times.get(position));
    // Pruning is no rewrite: what no fetch needs is not run without it either.
    if (position < 2 || this.times.has(position) || this.model.get("standalone") || !this.store.heard) return;
    this.staying = setTimeout(async () => {
      this.timed.textContent = "Measuring…";
      const time = (await this.store.question({ kind: "measure", step: position }, PATIENCE_MS)) ?? { reason: "the kernel has not answered: it is busy or gone" };
      if (!time.error) this.times.set(position, time);
      if (position === this.position) this.timed.textContent = timeWords(time);
    }, STAY_MS);
  }

  /** Side by side wherever both graphs fit so; the list of rewrites goes below where it takes their room. Where they do not fit
   *  they lie, and stand one above the other, so that both are in sight. */
  async arrange() {
    const shown = this.panes.filter((pane, i) => !this.columns[i].hidden);
    if (!shown.every((pane) => pane.drawing)) return; // another rewrite is being drawn
    const width = this.frame.body.clientWidth;
    const wide = (direction) => shown.map((pane) => estimate(pane.visible, pane.model, direction, width).width * LEGIBLE + FRAME_PX);
    const isTurned = this.panes[0].direction === "right";
    const needed = (isTurned ? wide("down") : shown.map((pane) => pane.layout.width * LEGIBLE + FRAME_PX)).reduce((sum, one) => sum + one, 0);
    const how = needed <= width - SIDE_PX ? "beside" : needed <= width ? "below" : "stacked";
    if (this.frame.body.dataset.arrange !== how) this.frame.body.dataset.arrange = how;
    const direction = how === "stacked" && shown.length > 1 && Math.max(...wide("right")) <= LYING * width ? "right" : "down";
    const turned = this.panes.filter((pane) => pane.direction !== direction);
    for (const pane of turned) pane.direction = direction;
    await Promise.all(turned.filter((pane) => shown.includes(pane)).map((pane) => this.redraw(pane)));
  }

  /** Draws a pane from its beginning, with what a rewrite changed in sight. */
  async redraw(pane) {
    pane.drawing = null;
    await pane.update();
    const [first] = pane.classes.keys();
    if (first && pane.drawing) pane.reveal(first);
  }

  async fill(pane, graph, change) {
    // What pruning takes away is most of the graph: there nothing is near.
    const near = change && this.extent.value === "near" && change.gone.size < MOST_NEARBY ? new Set([...change.near].map((name) => graph.indexOf.get(name)).filter((index) => index !== undefined)) : null;
    pane.setModel(graph, near);
    if (near && change.near.size <= 2 * MOST_NEARBY) pane.open = new Set(graph.allScopes()); // both sides alike
    pane.tags = null;
    pane.classes = new Map();
    await pane.update();
    if (!change || pane.model !== graph) return;
    const kinds = [[change.gone, "goes", "go", "df-goes"], [change.added, "new", "new", "df-comes"], [change.rewired, "rewired", "rewired", "df-rewired"]];
    pane.tags = new Map();
    for (const item of pane.visible.items) {
      for (const [names, one, many, name] of kinds) {
        const count = item.members.filter((index) => names.has(graph.nodes[index].name)).length;
        if (!count || pane.tags.has(item.id)) continue;
        const all = count === item.members.length;
        pane.tags.set(item.id, item.members.length === 1 ? one : all ? `all ${many}` : `${count} ${many}`);
        pane.classes.set(item.id, new Set([name, all ? "df-entire" : "df-partly"]));
      }
    }
    pane.paint();
    const [first] = pane.classes.keys();
    if (first) pane.reveal(first);
  }
}

/** What was measured of a rewrite, in words; seconds as the kernel sends them. */
function timeWords(time) {
  if (!time || time.error) return "";
  if (time.reason) return `Time not measured: ${time.reason}.`;
  const { before, after, saved, pairs } = time;
  const say = (value) => (value < 1e-3 ? `${Number((value * 1e6).toPrecision(3))} µs` : seconds(value));
  const runs = `${say(before)} without it, ${say(after)} with it: medians of ${plural(pairs, "pair")} of runs`;
  if (saved === null) return `No difference in time beyond that between runs (${runs}).`;
  return saved > 0 ? `Saves ${say(saved)} in each run, measured (${runs}).` : `Costs ${say(-saved)} in each run, measured (${runs}).`;
}

export default { initialize, render };
