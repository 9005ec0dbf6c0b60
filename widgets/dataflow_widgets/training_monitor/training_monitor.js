// TrainingMonitor: curves, histograms, predictions and progress of several runs, with what steers
// them.  The kernel sends at most ten updates a second; the page draws once for a frame.
import { QUIET, button, download, h, onResize, plural, s } from "../shared/dom.js";
import { standaloneSvg } from "../shared/exports.js";
import { keptPicture } from "../shared/saved_picture.js";
import { short } from "../shared/numbers.js";
import { guarded, menu, shell } from "../shared/shell.js";
import { dropStore, storeOf } from "../shared/store.js";
import stepper from "../stepper/stepper.js";
import { CurveChart } from "./chart.js";
import { Monitor, chartsOf, toCsv } from "./data.js";
import { confusionPanel, samplesPanel, valueTable } from "./details.js";
import { RidgeChart } from "./ridge.js";
import { RunRow } from "./run_row.js";

/** What the page knows of a model, kept when its view is closed and opened again. */
function dataOf(store) {
  if (store.monitor) return store.monitor;
  const monitor = new Monitor();
  store.monitor = monitor;
  let asked = 0;
  store.on((event, detail) => {
    if (event !== "update" || !detail) return;
    if (monitor.take(detail, detail.buffers)) return store.emit("drawn");
    // Something was sent while the library was still loading: ask for all, but not at every update.
    if (Date.now() - asked > 1000) {
      asked = Date.now();
      store.hello();
    }
    store.emit("drawn");
  });
  return monitor;
}

function initialize({ model }) {
  dataOf(storeOf(model));
  return () => dropStore(model);
}

function render({ model, el }) {
  const store = storeOf(model);
  const monitor = dataOf(store);
  const title = model.get("title");
  const frame = shell("training-monitor", title || "training monitor", title);
  el.append(frame.element);
  store.send({ kind: "opened" });
  const view = new MonitorView(model, store, monitor, frame);
  return () => {
    view.dispose();
    store.send({ kind: "closed" });
  };
}

class MonitorView {
  constructor(model, store, monitor, frame) {
    Object.assign(this, { model, store, monitor, frame });
    this.hidden = new Set();
    this.smoothing = 0;
    this.isLog = false;
    this.range = null;
    this.cursor = null;
    this.detail = null; // the run whose histograms, matrix and samples are shown
    this.height = model.get("height");
    this.charts = new Map();
    this.ridges = new Map();
    this.rows = new Map();
    this.made = new Map(); // panels of details, by what they were made from
    this.build();
    this.forget = store.on((event, detail) => {
      if (event === "drawn") this.changed();
      if (event === "error") frame.fail(detail);
    });
    this.failed = () => frame.fail(model.get("failure"));
    model.on("change:failure", this.failed);
    if (model.get("failure")) this.failed();
    this.endSizes = onResize(this.grid, () => this.changed());
    this.drop = keptPicture(model, store, frame, () => !monitor.seen);
    this.changed();
  }

  dispose() {
    this.gone = true;
    this.closeStepper?.();
    this.forget();
    this.drop();
    this.endSizes();
    this.model.off("change:failure", this.failed);
  }

  build() {
    const { frame } = this;
    this.smoother = h("input", { type: "range", class: "df-slider df-smoother", min: 0, max: 0.99, step: 0.01, value: 0, "aria-label": "smoothing", oninput: () => {
      this.smoothing = Number(this.smoother.value);
      this.smoothText.textContent = this.smoothing.toFixed(2);
      this.changed();
    }, ...QUIET });
    this.smoothText = h("output", { class: "df-counter" }, "0.00");
    this.logger = button("Log scale", "Logarithmic vertical axes", () => {
      this.isLog = !this.isLog;
      this.logger.setAttribute("aria-pressed", String(this.isLog));
      this.changed();
    }, { "aria-pressed": "false" });
    this.whole = button("All steps", "Show the whole range again (0)", () => this.zoomTo(null), { disabled: true });
    this.tabler = button("Table", "Show the values as a table", () => {
      this.tableBox.hidden = !this.tableBox.hidden;
      this.tabler.setAttribute("aria-pressed", String(!this.tableBox.hidden));
      this.changed();
    }, { "aria-pressed": "false" });
    const saving = menu("Save ▾", "Save the curves", [
      ["Picture (SVG)", () => download("curves.svg", this.svg(), "image/svg+xml")],
      ["Values (CSV)", () => download("curves.csv", toCsv(this.monitor), "text/csv")],
    ]);
    frame.toolbar.append(h("label", { class: "df-label" }, "Smoothing ", this.smoother), this.smoothText, this.logger, this.whole, this.tabler, saving);
    this.runBox = h("div", { class: "df-runs", role: "group", "aria-label": "runs" });
    this.empty = h("p", { class: "df-empty" }, "Nothing has been logged yet. Points appear here as soon as training logs them.");
    this.grid = h("div", { class: "df-panels df-grid-wide" });
    this.picker = h("select", { class: "df-select", "aria-label": "run whose details are shown", onchange: () => { this.detail = this.picker.value; this.changed(); }, ...QUIET });
    this.pickBox = h("div", { class: "df-picker", hidden: true }, h("label", { class: "df-label" }, "Histograms and predictions of ", this.picker));
    this.details = h("div", { class: "df-panels" });
    this.tableBox = h("div", { class: "df-values-box", hidden: true });
    this.opened = h("section", { class: "df-opened", "aria-label": "a recorded step", hidden: true });
    frame.body.append(h("div", { class: "df-monitor" }, this.runBox, this.empty, this.grid, this.opened, this.tableBox, this.pickBox, this.details));
  }

  say(text) {
    this.frame.say(text);
  }

  detailRun() {
    return this.detail;
  }

  zoomTo(range) {
    this.range = range;
    this.whole.disabled = !range;
    this.changed();
  }

  point(step) {
    this.cursor = step;
    for (const one of this.charts.values()) one.paint();
  }

  /** What was recorded of the runs that are not hidden: [{run, step, stepper, number}]. */
  recorded() {
    return this.monitor.runs.filter(({ name }) => !this.hidden.has(name)).flatMap(({ name, recorded }) => (recorded ?? []).map(([step, stepper, number]) => ({ run: name, step, stepper, number })));
  }

  /** Opens the recorded step nearest to `step`, if one is within `reach`; `named` is the step that is spoken of. */
  async open(step, reach, named) {
    const away = (one) => Math.abs(one.step - step);
    const [found] = this.recorded().filter((one) => away(one) <= reach).sort((a, b) => away(a) - away(b));
    if (!found) return this.showOpened(h("p", { class: "df-hint" }, `Step ${short(named)} was not recorded. To step through a step, run it by `, h("code", {}, "monitor.record(step, session, fetches, feed_dict)"), " in place of ", h("code", {}, "session.run"), ", or give ", h("code", {}, "record=100"), " to the monitor of a job, its hook or its callback."));
    const id = this.model.get("steppers")?.[found.stepper]?.replace?.(/^IPY_MODEL_/, "");
    const model = id && (await Promise.resolve(this.model.widget_manager?.get_model(id)).catch(() => null));
    if (!model) return this.showOpened(h("p", { class: "df-hint" }, `Step ${short(found.step)} was recorded, but its kernel is gone: run the cell again.`));
    const el = h("div", {});
    this.showOpened(el, `Step ${short(found.step)} of ${found.run}`);
    this.closeStepper = stepper.render({ model, el, run: found.number });
    this.say(`Step ${short(found.step)} of ${found.run} is open below the charts.`);
  }

  showOpened(content, title = "") {
    this.closeOpened();
    this.opened.hidden = false;
    this.opened.replaceChildren(h("h4", {}, title, button("×", "Close this step", () => this.closeOpened(), { class: "df-button df-close" })), content);
  }

  closeOpened() {
    this.closeStepper?.();
    this.closeStepper = null;
    this.opened.hidden = true;
    this.opened.replaceChildren();
  }

  toggle(run) {
    if (!this.hidden.delete(run)) this.hidden.add(run);
    this.rows.get(run).setHidden(this.hidden.has(run));
    this.say(`${run} is ${this.hidden.has(run) ? "hidden" : "shown"}.`);
    this.changed();
  }

  async control(run, action, value) {
    this.frame.fail("");
    if (action === "rate" && !Number.isFinite(value)) return this.frame.fail("A learning rate is a number such as 0.01.");
    const answer = await this.store.question({ kind: "control", run, action, value });
    if (!answer) return this.frame.fail("The kernel has not answered: a cell keeps it busy, or it is gone. What was asked for happens when it is free.");
    if (!answer.error) this.say({ pause: `${run} pauses after this step.`, resume: `${run} goes on.`, stop: `${run} stops after this step.`, rate: `${run} takes the learning rate ${value} from the next step on.` }[action]);
  }

  /** Draws at the next frame, however often it is asked to. */
  changed() {
    if (this.asked || this.gone) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      if (!this.gone) guarded(this.frame, () => this.draw())();
    });
  }

  draw() {
    const { monitor } = this;
    this.empty.hidden = monitor.runs.length > 0 || !monitor.seen;
    this.drawRuns();
    const wanted = chartsOf(monitor.curves.keys());
    for (const [name, chart] of this.charts) {
      if (wanted.some((one) => one.name === name)) continue;
      chart.element.remove(); // its metric has joined another chart
      this.charts.delete(name);
    }
    for (const { name, parts } of wanted) {
      if (!this.charts.has(name)) {
        const chart = new CurveChart(name, this);
        this.charts.set(name, chart);
        this.grid.append(chart.element);
      }
      this.charts.get(name).setParts(parts);
    }
    for (const chart of this.charts.values()) {
      chart.width = Math.max(220, chart.stage.clientWidth || 360);
      chart.draw();
    }
    this.drawDetails();
    if (!this.tableBox.hidden) this.tableBox.replaceChildren(valueTable(monitor));
    const points = [...monitor.curves.values()].reduce((sum, byRun) => sum + [...byRun.values()].reduce((n, { rows }) => n + rows.length, 0), 0);
    this.frame.element.dataset.points = String(points);
    this.frame.element.dataset.runs = String(monitor.runs.length);
    if (monitor.seen) this.frame.note(`${plural(monitor.runs.length, "run")}, ${plural(monitor.curves.size, "curve")}. Drag in a chart to zoom, double-click for all.${this.recorded().length ? " Press a mark on the axis to step through that step." : ""}`);
    this.announce();
  }

  drawRuns() {
    this.monitor.runs.forEach((state, index) => {
      let row = this.rows.get(state.name);
      if (!row) {
        row = new RunRow(state, index, { control: (...args) => guarded(this.frame, () => this.control(...args))(), toggle: (run) => this.toggle(run) });
        this.rows.set(state.name, row);
        this.runBox.append(row.element);
      } else row.update(state);
    });
  }

  /** What screen readers hear: only when a run changes what it does, never at every point. */
  announce() {
    const now = this.monitor.runs.map(({ name, status }) => `${name}: ${status}`).join(", ");
    if (now && now !== this.announced) this.say(now);
    this.announced = now;
  }

  drawDetails() {
    const { monitor } = this;
    const withDetails = new Set([...[...monitor.histograms.values()].flatMap((byRun) => [...byRun.keys()]), ...monitor.confusions.keys(), ...monitor.samples.keys()]);
    const names = monitor.runs.map(({ name }) => name).filter((name) => withDetails.has(name));
    const previous = this.detail;
    if (!names.includes(this.detail)) this.detail = names.at(-1) ?? null;
    this.pickBox.hidden = names.length < 2;
    if (this.picker.childElementCount !== names.length || previous !== this.detail) {
      this.picker.replaceChildren(...names.map((name) => h("option", { value: name, selected: name === this.detail }, name)));
    }
    for (const name of monitor.histograms.keys()) {
      if (!this.ridges.has(name)) {
        const ridge = new RidgeChart(name, this);
        this.ridges.set(name, ridge);
        this.details.append(ridge.element);
      }
    }
    for (const ridge of this.ridges.values()) ridge.draw();
    this.keep("confusion", monitor.confusions.get(this.detail), confusionPanel);
    this.keep("samples", monitor.samples.get(this.detail), samplesPanel);
  }

  /** A panel made anew only when what it shows has changed. */
  keep(kind, given, make) {
    const old = this.made.get(kind);
    if (old?.given === given) return;
    const element = given ? make(given) : null;
    if (old?.element && element) old.element.replaceWith(element);
    else if (old?.element) old.element.remove();
    else if (element) this.details.append(element);
    this.made.set(kind, { given, element });
  }

  svg() {
    const charts = [...this.charts.values()].filter((chart) => chart.scale);
    const width = Math.max(...charts.map((chart) => chart.width), 200);
    let y = 24;
    const parts = charts.map((chart) => {
      const inner = standaloneSvg(chart.root, false).replace("<svg ", `<svg x="0" y="${y + 20}" `);
      const { color } = getComputedStyle(chart.element);
      const heading = s("text", { x: 10, y: y + 14, "font-family": "sans-serif", "font-size": 13, "font-weight": 600, fill: color }, chart.name);
      y += chart.height + 28;
      return new XMLSerializer().serializeToString(heading) + inner;
    });
    const paper = getComputedStyle(this.frame.element).backgroundColor;
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${y}" viewBox="0 0 ${width} ${y}"><rect width="${width}" height="${y}" fill="${paper}"/>${parts.join("")}</svg>`;
  }
}

export default { initialize, render };
