// Histograms of one array over time, the oldest behind, the newest in front.
import { QUIET, h, s } from "../shared/dom.js";
import { short, ticks } from "../shared/numbers.js";
import { rebin } from "./data.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [360, 220, 14, 58, 62, 22];
const BINS = 48;

export class RidgeChart {
  constructor(name, view) {
    Object.assign(this, { name, view, chosen: null });
    this.root = s("svg", { class: "df-chart-svg", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" });
    this.stage = h("div", { class: "df-chart-stage", tabindex: 0, role: "application", "aria-roledescription": "histograms over time", ...QUIET }, this.root);
    this.note = h("div", { class: "df-chart-note" });
    this.element = h("section", { class: "df-panel" }, h("h4", {}, name), this.stage, this.note);
    this.stage.addEventListener("keydown", (event) => this.key(event));
    this.stage.addEventListener("pointermove", (event) => this.hover(event));
    this.stage.addEventListener("pointerleave", () => this.choose(null));
    this.stage.addEventListener("blur", () => this.choose(null));
  }

  slices() {
    return this.view.monitor.histograms.get(this.name)?.get(this.view.detailRun()) ?? [];
  }

  key(event) {
    const last = this.slices().length - 1;
    const at = this.chosen ?? last + 1;
    const to = { ArrowUp: at - 1, ArrowLeft: at - 1, ArrowDown: at + 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
    if (event.key === "Escape") this.choose(null);
    else if (to === undefined || last < 0) return;
    else {
      this.choose(Math.min(last, Math.max(0, to)));
      this.view.say(`${this.name}, ${this.sentence(this.slices()[this.chosen])}`);
    }
    event.preventDefault();
  }

  hover(event) {
    const box = this.root.getBoundingClientRect();
    const y = ((event.clientY - box.top) / box.height) * HEIGHT;
    const list = this.slices();
    if (!list.length) return;
    const at = Math.round(((y - TOP) / (HEIGHT - TOP - BOTTOM)) * (list.length - 1));
    this.choose(Math.min(list.length - 1, Math.max(0, at)));
  }

  choose(at) {
    if (at === this.chosen) return;
    this.chosen = at;
    this.draw();
  }

  sentence({ step, lo, hi, bad, counts }) {
    const total = counts.reduce((a, b) => a + b, 0);
    const top = counts.indexOf(Math.max(...counts));
    const width = (hi - lo) / counts.length;
    const most = hi > lo ? `, most around ${short(lo + (top + 0.5) * width)}` : "";
    const wrong = bad ? `, ${bad} NaN or infinite` : "";
    return total ? `step ${short(step)}: ${short(lo)} to ${short(hi)}${most}${wrong}` : `step ${short(step)}: nothing finite${wrong}`;
  }

  draw() {
    const list = this.slices();
    const finite = list.filter(({ lo }) => Number.isFinite(lo));
    this.element.hidden = !list.length;
    if (!finite.length) {
      this.root.replaceChildren(s("text", { class: "df-axis", x: LEFT, y: HEIGHT / 2 }, "no finite values"));
      return;
    }
    let lo = Math.min(...finite.map((one) => one.lo));
    let hi = Math.max(...finite.map((one) => one.hi));
    if (hi === lo) [lo, hi] = [lo - 0.5, hi + 0.5];
    const across = WIDTH - LEFT - RIGHT;
    const down = HEIGHT - TOP - BOTTOM;
    const x = (v) => LEFT + ((v - lo) / (hi - lo)) * across;
    const shapes = list.map((one) => (Number.isFinite(one.lo) ? rebin(one, lo, hi, BINS) : new Float64Array(BINS)));
    const top = Math.max(...shapes.map((shape) => Math.max(...shape))) || 1;
    const parts = ticks(lo, hi, 4).map((tick) => s("text", { class: "df-axis", x: x(tick), y: HEIGHT - 6, "text-anchor": "middle" }, short(tick)));
    const n = list.length;
    const tall = TOP - 6;
    shapes.forEach((shape, k) => {
      const base = TOP + (n > 1 ? (k / (n - 1)) * down : down);
      let d = `M${LEFT} ${base.toFixed(1)}`;
      shape.forEach((count, i) => {
        d += `L${(LEFT + ((i + 0.5) / BINS) * across).toFixed(1)} ${(base - (count / top) * tall).toFixed(1)}`;
      });
      d += `L${LEFT + across} ${base.toFixed(1)}`;
      const share = n > 1 ? k / (n - 1) : 1;
      parts.push(s("path", { class: `df-ridge${k === this.chosen ? " df-ridge-chosen" : ""}`, d, style: `--df-share:${(12 + share * 70).toFixed(0)}%` }));
      if (k === this.chosen) parts.push(s("text", { class: "df-axis df-strong", x: WIDTH - RIGHT + 6, y: base + 4 }, short(list[k].step)));
    });
    if (this.chosen === null) {
      parts.push(s("text", { class: "df-axis", x: WIDTH - RIGHT + 6, y: HEIGHT - BOTTOM + 2 }, `step ${short(list.at(-1).step)}`));
      if (n > 1) parts.push(s("text", { class: "df-axis", x: WIDTH - RIGHT + 6, y: TOP + 4 }, short(list[0].step)));
    }
    this.root.replaceChildren(...parts);
    this.note.textContent = this.sentence(list[this.chosen ?? n - 1]);
    this.stage.setAttribute("aria-label", `${this.name}: ${n} histograms, the last at ${this.sentence(list.at(-1))}. Arrow keys go through them.`);
  }
}
