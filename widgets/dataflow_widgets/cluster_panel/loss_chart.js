// The loss of a training against steps or time: axes with numbers, one line.
import { QUIET, h, s } from "../shared/dom.js";
import { duration, short, ticks } from "../shared/numbers.js";

const [WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM] = [560, 132, 52, 8, 10, 24];

/** Places of [seconds, step, loss] rows in the chart, and of its ticks; `by` is "steps" or "time". */
export function chartOf(rows, by) {
  const known = rows.filter(([, , loss]) => Number.isFinite(loss));
  if (known.length < 2) return null;
  const xs = known.map(([seconds, step]) => (by === "time" ? seconds : step));
  const ys = known.map(([, , loss]) => loss);
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
  const [y0, y1] = [Math.min(0, ...ys), Math.max(...ys)];
  const x = (value) => LEFT + ((value - x0) / (x1 - x0 || 1)) * (WIDTH - LEFT - RIGHT);
  const y = (value) => HEIGHT - BOTTOM - ((value - y0) / (y1 - y0 || 1)) * (HEIGHT - TOP - BOTTOM);
  const point = (value, i) => `${i ? "L" : "M"}${x(xs[i]).toFixed(1)} ${y(value).toFixed(1)}`;
  const across = ticks(x0, x1, 6).map((value) => ({ at: x(value), text: by === "time" ? duration(value) : short(value) }));
  const up = ticks(y0, y1, 4).map((value) => ({ at: y(value), text: short(value) }));
  return { line: ys.map(point).join(""), across, up };
}

export class LossChart {
  constructor() {
    this.by = "steps";
    this.choice = h("select", { class: "df-select df-small", "aria-label": "loss against", onchange: () => this.turn(), ...QUIET }, ["steps", "time"].map((each) => h("option", { value: each }, `against ${each}`)));
    this.root = s("svg", { class: "df-cluster-chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": "loss" });
    this.element = h("figure", { class: "df-cluster-loss", hidden: true }, h("figcaption", {}, "Loss on all data, ", this.choice), this.root);
  }

  turn() {
    this.by = this.choice.value;
    this.paint(this.rows);
  }

  /** Rows: [seconds of the cluster, global step, loss]. */
  paint(rows) {
    this.rows = rows;
    const chart = chartOf(rows, this.by);
    this.element.hidden = !chart;
    if (!chart) return;
    const bottom = HEIGHT - BOTTOM;
    this.root.setAttribute("aria-label", `loss against ${this.by}: from ${short(rows[0][2])} to ${short(rows.at(-1)[2])}`);
    this.root.replaceChildren(
      ...chart.up.flatMap(({ at, text }) => [s("path", { class: "df-cluster-grid", d: `M${LEFT} ${at}H${WIDTH - RIGHT}` }), s("text", { x: LEFT - 6, y: at + 4, "text-anchor": "end" }, text)]),
      ...chart.across.map(({ at, text }) => s("text", { x: at, y: bottom + 16, "text-anchor": "middle" }, text)),
      s("path", { class: "df-cluster-axis", d: `M${LEFT} ${TOP}V${bottom}H${WIDTH - RIGHT}` }),
      s("path", { class: "df-cluster-spark", d: chart.line }),
    );
  }
}
