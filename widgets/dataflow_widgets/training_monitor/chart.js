// One panel of curves: axes, a line and a band for each run, a crosshair that says the values.
import { QUIET, h, s, unique } from "../shared/dom.js";
import { logTicks, short, ticks } from "../shared/numbers.js";
import { HIGH, LOW, MEAN, STEP, smooth } from "./data.js";

const [LEFT, TOP, RIGHT, BOTTOM] = [66, 8, 12, 38];
const NEAR = 8; // px from a press to what is meant
const DASHES = [null, "6 4", "2 3", "9 3 2 3"]; // tell training and validation of one run apart
// Drawn around 0, 0: what tells runs apart where colors do not.
const MARKERS = [
  "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
  "M-3.2 -3.2h6.4v6.4h-6.4z",
  "M0 -4.2L4 3.2H-4z",
  "M0 -4.6L4.6 0L0 4.6L-4.6 0z",
  "M-1.4 -4.2h2.8v2.8h2.8v2.8h-2.8v2.8h-2.8v-2.8h-2.8v-2.8h2.8z",
];
export const NUM_COLORS = 10;
export const runClass = (index) => `df-run-${index % NUM_COLORS}`;
export const marker = (index) => MARKERS[(index + Math.floor(index / NUM_COLORS)) % MARKERS.length];

export class CurveChart {
  /** `view` holds what all panels share: {monitor, hidden, smoothing, isLog, range, cursor, changed(), say(), recorded(), open()}. */
  constructor(name, view) {
    Object.assign(this, { name, view, parts: [{ metric: name, side: "" }] });
    this.width = 360;
    this.clip = unique("clip");
    this.root = s("svg", { class: "df-chart-svg", "aria-hidden": "true" });
    this.tip = h("div", { class: "df-tip", hidden: true });
    this.note = h("div", { class: "df-chart-note" });
    this.stage = h("div", { class: "df-chart-stage", tabindex: 0, role: "application", "aria-roledescription": "curves", ...QUIET }, this.root, this.tip);
    this.element = h("section", { class: "df-panel" }, h("h4", {}, name), (this.sides = h("p", { class: "df-chart-key", hidden: true })), this.stage, this.note);
    this.listen();
  }

  get height() {
    return this.view.height;
  }

  listen() {
    const { stage } = this;
    stage.addEventListener("pointermove", (event) => this.moved(event));
    stage.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.scale) return;
      this.dragFrom = this.stepAt(event);
      stage.setPointerCapture(event.pointerId);
    });
    stage.addEventListener("pointerup", (event) => {
      const from = this.dragFrom;
      this.dragFrom = this.dragTo = null;
      if (from === null || from === undefined || !this.scale) return;
      const to = this.stepAt(event);
      const { x0, x1 } = this.scale;
      if (Math.abs(to - from) > (x1 - x0) * 0.02) this.view.zoomTo([Math.min(from, to), Math.max(from, to)]);
      else {
        this.paint();
        this.open(to);
      }
    });
    stage.addEventListener("pointerleave", () => {
      if (document.activeElement !== stage) this.view.point(null);
    });
    stage.addEventListener("dblclick", () => this.view.zoomTo(null));
    stage.addEventListener("blur", () => this.view.point(null));
    stage.addEventListener("keydown", (event) => this.key(event));
  }

  stepAt(event) {
    const box = this.root.getBoundingClientRect();
    const { x0, x1, across } = this.scale;
    const x = ((event.clientX - box.left) / box.width) * this.width;
    return Math.min(x1, Math.max(x0, x0 + ((x - LEFT) / across) * (x1 - x0)));
  }

  moved(event) {
    if (!this.scale) return;
    const step = this.stepAt(event);
    if (this.dragFrom !== null && this.dragFrom !== undefined) this.dragTo = step;
    this.view.point(step);
  }

  key(event) {
    if (!this.scale || event.ctrlKey || event.metaKey || event.altKey) return;
    const { x0, x1 } = this.scale;
    const cursor = this.view.cursor ?? (event.key === "ArrowLeft" ? x1 : x0);
    const span = x1 - x0;
    const shift = (by) => this.view.zoomTo([x0 + by, x1 + by]);
    const actions = {
      ArrowRight: () => (event.shiftKey ? shift(span / 4) : this.walk(cursor, 1)),
      ArrowLeft: () => (event.shiftKey ? shift(-span / 4) : this.walk(cursor, -1)),
      PageDown: () => this.walk(cursor, 10),
      PageUp: () => this.walk(cursor, -10),
      Home: () => this.walk(x0, 0),
      End: () => this.walk(x1, 0),
      "+": () => this.view.zoomTo([cursor - span / 4, cursor + span / 4]),
      "=": () => this.view.zoomTo([cursor - span / 4, cursor + span / 4]),
      "-": () => this.view.zoomTo([x0 - span / 2, x1 + span / 2]),
      0: () => this.view.zoomTo(null),
      Escape: () => this.view.point(null),
      Enter: () => this.open(cursor),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }

  /** The crosshair `by` rows further; what it meets is said. */
  walk(from, by) {
    const steps = new Set();
    for (const [, { rows }] of this.shown()) {
      for (let i = 0; i < rows.length; i++) {
        const step = rows.at(i, STEP);
        if (step >= this.scale.x0 && step <= this.scale.x1) steps.add(step);
      }
    }
    const sorted = [...steps].sort((a, b) => a - b);
    if (!sorted.length) return;
    let at = sorted.findIndex((step) => step >= from);
    if (at < 0) at = sorted.length - 1;
    if (by < 0 && this.view.cursor === null) at += 1;
    const step = sorted[Math.min(sorted.length - 1, Math.max(0, at + by))];
    this.view.point(step);
    this.view.say(`${this.name}, step ${short(step)}: ${this.readings(step).map(({ label, value }) => `${label} ${short(value)}`).join(", ")}`);
  }

  /** The recorded step nearest to a place on the axis opens, if one is near. */
  open(step) {
    const near = (this.scale.x1 - this.scale.x0) * (NEAR / this.scale.across);
    const widest = Math.max(0, ...this.shown().map(([, { rows, stride }]) => (stride > 1 && rows.length > 1 ? rows.at(1, STEP) - rows.at(0, STEP) : 0)));
    const [reading] = this.readings(step).sort((a, b) => Math.abs(a.step - step) - Math.abs(b.step - step));
    this.view.open(step, Math.max(near, widest), reading?.step ?? step);
  }

  /** Marks on the axis of the steps that can be opened. */
  recorded() {
    const { x0, x1, x, down } = this.scale;
    const steps = new Set(this.view.recorded().map(({ step }) => step).filter((step) => step >= x0 && step <= x1));
    return [...steps].map((step) => s("path", { class: "df-recorded-mark", d: `M${x(step).toFixed(1)} ${TOP + down - 7}l5 7h-10z` }, s("title", {}, `step ${short(step)} was recorded: press here to step through it`)));
  }

  /** The curves that are not hidden: [[run, curve, side, number of the side]]. */
  shown() {
    const { monitor, hidden } = this.view;
    const all = this.parts.flatMap(({ metric, side }, at) => [...(monitor.curves.get(metric) ?? [])].map(([run, curve]) => [run, curve, side, at]));
    return all.filter(([run]) => !hidden.has(run));
  }

  /** Another measure of the same kind joins, or the only one is told by its own name again. */
  setParts(parts) {
    this.parts = parts;
    this.sides.hidden = parts.length < 2;
    this.sides.replaceChildren(...parts.map(({ side }, at) => h("span", { class: "df-key" }, s("svg", { viewBox: "0 -4 26 8", width: 26, height: 8, "aria-hidden": "true" }, s("path", { class: "df-line-key", d: "M0 0H26", "stroke-dasharray": DASHES[at % DASHES.length] })), side)));
  }

  readings(step) {
    return this.shown()
      .map(([run, curve, side]) => {
        const row = curve.rows.nearest(step);
        return { run, label: side ? `${run}, ${side}` : run, row, step: curve.rows.at(row, STEP), value: curve.rows.at(row, MEAN) };
      })
      .filter(({ row }) => row >= 0)
      .sort((a, b) => b.value - a.value);
  }

  measure() {
    let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
    const { range, isLog, smoothing } = this.view;
    let dropped = 0;
    this.lines = this.shown().map(([run, curve, side, at]) => ({ run, curve, side, at, smoothed: smoothing > 0 ? smooth(curve.rows, smoothing) : null }));
    for (const { curve } of this.lines) {
      for (let i = 0; i < curve.rows.length; i++) {
        const x = curve.rows.at(i, STEP);
        if (x < x0) x0 = x;
        if (x > x1) x1 = x;
      }
    }
    if (range) [x0, x1] = range;
    for (const { curve } of this.lines) {
      for (let i = 0; i < curve.rows.length; i++) {
        const x = curve.rows.at(i, STEP);
        const y = curve.rows.at(i, MEAN);
        if (x < x0 || x > x1 || !Number.isFinite(y)) continue;
        if (isLog && y <= 0) {
          dropped += 1;
          continue;
        }
        if (y < y0) y0 = y;
        if (y > y1) y1 = y;
      }
    }
    this.dropped = dropped;
    if (!(x1 >= x0) || !(y1 >= y0)) return null;
    if (x1 === x0) [x0, x1] = [x0 - 0.5, x1 + 0.5];
    const f = isLog ? Math.log : (v) => v;
    let [g0, g1] = [f(y0), f(y1)];
    const pad = (g1 - g0) * 0.06 || (isLog ? 0.3 : Math.abs(g0) * 0.1) || 1;
    [g0, g1] = [g0 - pad, g1 + pad];
    const across = this.width - LEFT - RIGHT;
    const down = this.height - TOP - BOTTOM;
    return {
      x0, x1, across, down,
      low: isLog ? Math.exp(g0) : g0,
      high: isLog ? Math.exp(g1) : g1,
      x: (v) => LEFT + ((v - x0) / (x1 - x0)) * across,
      y: (v) => TOP + down - ((f(v) - g0) / (g1 - g0)) * down,
    };
  }

  draw() {
    const { view } = this;
    this.root.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    this.root.setAttribute("height", this.height);
    this.scale = this.measure();
    const { scale } = this;
    const parts = [];
    if (!scale) {
      this.root.replaceChildren(s("text", { class: "df-axis", x: LEFT, y: this.height / 2 }, this.shown().length ? "nothing to show in this range" : "every run is hidden"));
      this.note.textContent = "";
      return;
    }
    const mark = view.isLog ? logTicks(scale.low, scale.high, 5) : ticks(scale.low, scale.high, 5);
    for (const tick of mark) {
      const y = scale.y(tick);
      if (y < TOP - 1 || y > TOP + scale.down + 1) continue;
      parts.push(s("path", { class: "df-grid", d: `M${LEFT} ${y.toFixed(1)}h${scale.across}` }), s("text", { class: "df-axis", x: LEFT - 6, y: y + 3.5, "text-anchor": "end" }, short(tick)));
    }
    for (const tick of ticks(scale.x0, scale.x1, Math.max(2, this.width / 90))) {
      const x = scale.x(tick);
      parts.push(s("text", { class: "df-axis", x: Math.min(x, this.width - 14), y: this.height - 22, "text-anchor": "middle" }, short(tick)));
    }
    const middle = TOP + scale.down / 2;
    parts.push(
      s("text", { class: "df-axis df-axis-title", x: LEFT + scale.across / 2, y: this.height - 5, "text-anchor": "middle" }, "step"),
      s("text", { class: "df-axis df-axis-title", transform: `translate(13 ${middle}) rotate(-90)`, "text-anchor": "middle" }, this.name.length > 28 ? `${this.name.slice(0, 27)}…` : this.name),
    );
    parts.push(s("path", { class: "df-baseline", d: `M${LEFT} ${TOP + scale.down + 0.5}h${scale.across}` }));
    const clip = s("clipPath", { id: this.clip }, s("rect", { x: LEFT, y: TOP - 4, width: scale.across + 6, height: scale.down + 8 }));
    const lines = s("g", { "clip-path": `url(#${this.clip})` });
    for (const line of this.lines) lines.append(...this.line(line));
    parts.push(...this.flag(), ...this.recorded());
    this.over = s("g");
    this.root.replaceChildren(clip, ...parts, lines, this.over);
    this.describe();
    this.paint();
  }

  /** Where the first value that is no number came, of all curves. */
  flag() {
    const { x0, x1, x, down } = this.scale;
    const bad = this.lines.filter(({ curve }) => curve.bad && curve.firstBad >= x0 && curve.firstBad <= x1);
    if (!bad.length) return [];
    const first = Math.min(...bad.map(({ curve }) => curve.firstBad));
    const at = x(first);
    const left = at > this.width - 130;
    return [
      s("g", { class: "df-nan-flag" }, s("title", {}, `first NaN or infinity: step ${short(first)}`), s("path", { d: `M${at.toFixed(1)} ${TOP}v${down}` }),
        s("path", { class: "df-pennant", d: `M${at.toFixed(1)} ${TOP}l${left ? -9 : 9} 5l${left ? 9 : -9} 5z` }),
        s("text", { class: "df-axis", x: at + (left ? -13 : 13), y: TOP + 9, "text-anchor": left ? "end" : "start" }, `first NaN, step ${short(first)}`)),
    ];
  }

  line({ run, curve, side, at: number, smoothed }) {
    const { rows } = curve;
    const { scale, view } = this;
    const index = view.monitor.indexOf(run);
    const good = (v) => Number.isFinite(v) && !(view.isLog && v <= 0);
    // Not more than two rows for a pixel: neighbors are joined into their extremes.
    const first = Math.max(0, rows.nearest(scale.x0) - 1);
    const last = Math.min(rows.length - 1, rows.nearest(scale.x1) + 1);
    const stride = Math.max(1, Math.floor((last - first + 1) / (scale.across * 1.5)));
    let [path, faint, pen] = ["", "", "M"];
    const upper = [];
    const lower = [];
    const spots = [];
    let spotAt = -Infinity;
    let end = null;
    for (let i = first; i <= last; i += stride) {
      const raw = rows.at(i, MEAN);
      const value = smoothed ? smoothed[i] : raw;
      if (!good(value)) {
        pen = "M";
        continue;
      }
      const x = scale.x(rows.at(i, STEP));
      const y = scale.y(value);
      const at = `${x.toFixed(1)} ${y.toFixed(1)}`;
      path += pen + at;
      if (smoothed) faint += `${pen}${x.toFixed(1)} ${scale.y(raw).toFixed(1)}`;
      pen = "L";
      if (curve.stride > 1 && good(rows.at(i, LOW))) {
        upper.push(`${x.toFixed(1)} ${scale.y(rows.at(i, HIGH)).toFixed(1)}`);
        lower.push(`${x.toFixed(1)} ${scale.y(rows.at(i, LOW)).toFixed(1)}`);
      }
      end = [x, y];
      if (x - spotAt > 110) {
        spots.push(end);
        spotAt = x;
      }
    }
    if (end && spots.at(-1) !== end) spots.push(end);
    const group = s("g", { class: `df-line-of ${runClass(index)}`, "data-run": run, "data-side": side || null });
    const dashes = DASHES[number % DASHES.length];
    if (upper.length > 1) group.append(s("path", { class: "df-curve-band", d: `M${upper.join("L")}L${lower.reverse().join("L")}Z` }));
    if (smoothed) group.append(s("path", { class: "df-curve df-faint", d: faint }));
    group.append(s("path", { class: "df-curve", d: path, "stroke-dasharray": dashes }));
    const many = this.lines.length > 1;
    for (const [x, y] of many ? spots : spots.slice(-1)) group.append(s("path", { class: "df-spot", d: marker(index), transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` }));
    return [group];
  }

  /** Crosshair and values, and the stretch that is being chosen: what changes without new data. */
  paint() {
    const { scale, view, over } = this;
    if (!scale || !over) return;
    over.replaceChildren();
    if (this.dragFrom !== null && this.dragFrom !== undefined && this.dragTo !== null && this.dragTo !== undefined) {
      const [a, b] = [scale.x(this.dragFrom), scale.x(this.dragTo)].sort((p, q) => p - q);
      over.append(s("rect", { class: "df-chosen", x: a, y: TOP, width: b - a, height: scale.down }));
    }
    const { cursor } = view;
    const readings = cursor === null ? [] : this.readings(cursor);
    if (!readings.length || cursor < scale.x0 || cursor > scale.x1) {
      this.tip.hidden = true;
      return;
    }
    const nearest = readings.reduce((best, one) => (Math.abs(one.step - cursor) < Math.abs(best.step - cursor) ? one : best)).step;
    const x = scale.x(nearest);
    over.append(s("path", { class: "df-cross", d: `M${x.toFixed(1)} ${TOP}v${scale.down}` }));
    for (const { run, step, value } of readings) {
      if (!Number.isFinite(value) || (view.isLog && value <= 0)) continue;
      const index = view.monitor.indexOf(run);
      over.append(s("path", { class: `df-spot df-line-of ${runClass(index)}`, d: marker(index), transform: `translate(${scale.x(step).toFixed(1)} ${scale.y(value).toFixed(1)}) scale(1.25)` }));
    }
    this.tip.replaceChildren(
      h("div", { class: "df-tip-step" }, `step ${short(nearest)}`),
      ...readings.slice(0, 12).map(({ run, label, value }) =>
        h("div", { class: "df-tip-row" }, swatch(view.monitor.indexOf(run)), h("span", { class: "df-tip-name" }, label), h("b", {}, short(value))),
      ),
    );
    this.tip.hidden = false;
    const share = x / this.width;
    this.tip.style.left = share < 0.5 ? `calc(${(share * 100).toFixed(2)}% + 12px)` : "";
    this.tip.style.right = share < 0.5 ? "" : `calc(${((1 - share) * 100).toFixed(2)}% + 12px)`;
    if (share < 0.5) this.tip.style.right = "auto";
    else this.tip.style.left = "auto";
  }

  describe() {
    const notes = [];
    if (this.dropped) notes.push(`${this.dropped} at or below 0 not shown on a logarithmic axis`);
    let stride = 1;
    for (const [run, { bad, firstBad, stride: each }, side] of this.shown()) {
      if (bad) notes.push(`${side ? `${run}, ${side}` : run}: ${bad} NaN or infinite, first at step ${short(firstBad)}`);
      stride = Math.max(stride, each);
    }
    if (stride > 1) notes.push(`lines are means of ${stride} points, bands their extremes`);
    this.note.textContent = notes.join("; ");
    const words = this.shown().map(([run, { rows }, side]) => `${side ? `${run}, ${side}` : run} ${short(rows.at(rows.length - 1, MEAN))} at step ${short(rows.at(rows.length - 1, STEP))}`);
    this.stage.setAttribute("aria-label", `${this.name}: ${words.join(", ")}. Arrow keys read values, Enter opens a recorded step, plus and minus zoom, 0 shows all.`);
  }
}

export function swatch(index) {
  return s("svg", { class: `df-run-swatch ${runClass(index)}`, viewBox: "-9 -6 18 12", width: 18, height: 12, "aria-hidden": "true" }, s("path", { class: "df-curve", d: "M-9 0H9" }), s("path", { class: "df-spot", d: marker(index) }));
}
