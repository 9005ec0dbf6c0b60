// The pictures of an explorer.  Each takes the kernel's newest spec as often as it comes; text is text.
import { QUIET, h, renew, s, unique, write } from "../shared/dom.js";
import { logTicks, short, ticks } from "../shared/numbers.js";
import { barLabels, placeLabels, shortened } from "./labels.js";

export const COLORS = ["#1f6fd6", "#d9541e", "#138a4b", "#8a4fd0", "#a37208", "#c2357a", "#0e8f9a", "#7a5c3e"];
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "12 4", "4 2"]; // the second cue of a line
const MARKS = [(x, y, r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`, (x, y, r) => `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}z`, (x, y, r) => `M${x} ${y - 1.3 * r}l${1.2 * r} ${2.2 * r}h${-2.4 * r}z`, (x, y, r) => `M${x} ${y - 1.4 * r}l${1.4 * r} ${1.4 * r}l${-1.4 * r} ${1.4 * r}l${-1.4 * r} ${-1.4 * r}z`]; // of a group

const VIRIDIS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
const DIVERGING = [[31, 111, 214], [245, 245, 245], [217, 84, 30]];

/** Red, green, blue of a share between 0 and 1. */
export function colorOf(share, diverging) {
  const ramp = diverging ? DIVERGING : VIRIDIS;
  const at = Math.min(1, Math.max(0, share)) * (ramp.length - 1);
  const low = Math.min(ramp.length - 2, Math.floor(at));
  return ramp[low].map((v, k) => Math.round(v + (ramp[low + 1][k] - v) * (at - low)));
}

const SHADES = 512;
const tables = new Map();

/** Red, green, blue of `SHADES` shares from 0 to 1, one after the other. */
function colorsOf(diverging) {
  if (!tables.has(diverging)) {
    const shares = Array.from({ length: SHADES }, (_, i) => colorOf(i / (SHADES - 1), diverging));
    tables.set(diverging, Uint8Array.from(shares.flat()));
  }
  return tables.get(diverging);
}

/** Least and most of the finite values, or the range that was given. */
export function limitsOf(arrays, given, log = false) {
  if (given) return [given[0], given[1]];
  let [least, most] = [Infinity, -Infinity];
  for (const data of arrays) {
    for (const v of data) {
      if (!Number.isFinite(v) || (log && v <= 0)) continue;
      if (v < least) least = v;
      if (v > most) most = v;
    }
  }
  if (!(least <= most)) return log ? [0.1, 1] : [0, 1];
  if (least === most) {
    if (log) return [least / 2, most * 2];
    return least ? [least - 0.5, most + 0.5] : [0, 1]; // step 0, before the first step
  }
  return [least, most];
}

/** Data to pixels along an axis. */
export function axis([least, most], log, low, high) {
  const f = log ? Math.log : (v) => v;
  const [a, b] = [f(least), f(most)];
  const to = (v) => low + ((f(v) - a) / (b - a || 1)) * (high - low);
  to.back = (p) => {
    const v = a + ((p - low) / (high - low)) * (b - a);
    return log ? Math.exp(v) : v;
  };
  to.ticks = (count) => (log ? logTicks(least, most, count) : ticks(least, most, count));
  return to;
}

/** Paints rows of values into a canvas of as many pixels; `flip` puts row 0 at the bottom. */
export function paintGrid(canvas, data, height, width, limits, { diverging = false, bands = 0, flip = false } = {}) {
  const key = [height, width, ...limits, diverging, bands, flip].join();
  if (canvas.painted?.key === key && data.every((value, i) => Object.is(value, canvas.painted.data[i]))) return;
  canvas.painted = { key, data };
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d");
  const picture = context.createImageData(width, height);
  const [least, most] = limits;
  const scale = 1 / (most - least || 1);
  const table = colorsOf(diverging);
  for (let row = 0; row < height; row++) {
    const from = (flip ? height - 1 - row : row) * width;
    for (let column = 0; column < width; column++) {
      const value = data[from + column];
      let share = (value - least) * scale;
      if (bands) share = Math.floor(share * bands) / bands;
      const [at, color] = [4 * (row * width + column), 3 * Math.round(Math.min(1, Math.max(0, share)) * (SHADES - 1))];
      const isNumber = Number.isFinite(value);
      picture.data[at] = isNumber ? table[color] : 128;
      picture.data[at + 1] = isNumber ? table[color + 1] : 128;
      picture.data[at + 2] = isNumber ? table[color + 2] : 128;
      picture.data[at + 3] = 255;
    }
  }
  context.putImageData(picture, 0, 0);
}

const centered = ([a, b]) => {
  const most = Math.max(Math.abs(a), Math.abs(b)) || 1;
  return [-most, most];
};

/** A panel: a figure with a title and a note, that draws `this.spec` into `this.stage`. */
class Panel {
  constructor(kind, set) {
    Object.assign(this, { kind, set });
    this.heading = h("figcaption", { class: "df-panel-title", id: unique("panel") });
    this.stage = h("div", { class: "df-panel-stage" });
    this.remark = h("p", { class: "df-hint", hidden: true });
    this.element = h("figure", { class: `df-explorer-panel df-panel-${kind}`, role: "group", "aria-labelledby": this.heading.id }, this.heading, this.stage, this.remark);
    this.element.panel = this; // for tests, and for the curious
  }

  take(spec) {
    this.spec = spec;
    write(this.heading, spec.title ?? "");
    write(this.remark, spec.note ?? "");
    this.remark.hidden = !spec.note;
    if (this.width) this.draw();
    else this.resize();
  }

  /** The place it has may be another: to ask for it at every frame would lay out the page twice. */
  resize() {
    if (!this.spec) return;
    this.width = Math.max(180, Math.floor(this.stage.clientWidth || 300));
    this.height = parseInt(getComputedStyle(this.element).getPropertyValue("--df-height"), 10) || 260;
    this.draw();
  }

  /** What has listeners, and stays the same element from frame to frame. */
  get grips() {
    return [this.chosen, this.frame, this.knob].filter(Boolean);
  }

  svg(width, height, ...parts) {
    this.root ??= s("svg", { class: "df-svg df-panel-svg", "aria-hidden": "true" });
    if (this.grips.length) this.root.removeAttribute("aria-hidden"); // reached by keyboard
    if (this.drawn?.[0] !== width || this.drawn[1] !== height) {
      this.drawn = [width, height];
      this.root.setAttribute("viewBox", `0 0 ${width} ${height}`);
      this.root.setAttribute("width", width);
      this.root.setAttribute("height", height);
      this.stage.style.height = `${height}px`; // known beforehand: what is drawn in it moves nothing outside
      this.stage.classList.add("df-sized");
    }
    renew(this.root, parts.flat().filter(Boolean), this.grips);
    if (!this.root.isConnected) this.stage.append(this.root);
  }

  /** What can be dragged or moved by arrow keys: takes (dx, dy) in steps, or a place in px. */
  grip(element, label, byKeys, byPointer) {
    element.setAttribute("tabindex", "0");
    element.setAttribute("role", "application");
    element.setAttribute("aria-roledescription", "handle");
    element.setAttribute("aria-label", label);
    element.setAttribute("data-lm-suppress-shortcuts", "true");
    element.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (!by) return;
      event.preventDefault();
      byKeys(...by);
    });
    const follow = (event) => {
      const box = this.root.getBoundingClientRect();
      byPointer(event.clientX - box.left, event.clientY - box.top);
    };
    element.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      element.focus();
      const move = (next) => follow(next);
      const end = () => {
        window.removeEventListener("pointermove", move);
        window.removeEventListener("pointerup", end);
        window.removeEventListener("pointercancel", end);
      };
      window.addEventListener("pointermove", move);
      window.addEventListener("pointerup", end);
      window.addEventListener("pointercancel", end);
    });
  }
}

/** Fills of `count` groups, hatched from the second on: a color is never the only cue. */
function hatched(panel, count) {
  panel.hatch ??= unique("hatch");
  const defs = Array.from({ length: Math.max(0, count - 1) }, (_, i) => s("pattern", { id: `${panel.hatch}-${i + 1}`, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: `rotate(${45 + 60 * i})` }, s("rect", { width: 6, height: 6, fill: COLORS[(i + 1) % COLORS.length] }), s("path", { class: "df-hatch", d: "M0 0V6" })));
  return { defs: s("defs", {}, defs), of: (group) => (group ? `url(#${panel.hatch}-${group})` : COLORS[0]) };
}

function axes(x, y, box, spec) {
  const parts = [s("path", { class: "df-axis-line", d: `M${box.left} ${box.top}V${box.bottom}H${box.right}` })];
  const room = Math.max(2, Math.floor((box.right - box.left) / 70));
  for (const v of x.ticks(room)) parts.push(s("text", { class: "df-axis", x: x(v), y: box.bottom + 14, "text-anchor": "middle" }, short(v)));
  for (const v of y.ticks(Math.max(2, Math.floor((box.bottom - box.top) / 45)))) {
    parts.push(s("text", { class: "df-axis", x: box.left - 5, y: y(v) + 4, "text-anchor": "end" }, short(v)));
    parts.push(s("path", { class: "df-grid-line", d: `M${box.left} ${y(v)}H${box.right}` }));
  }
  if (spec.x_label) parts.push(s("text", { class: "df-axis", x: (box.left + box.right) / 2, y: box.bottom + 30, "text-anchor": "middle" }, spec.x_label));
  if (spec.y_label) parts.push(s("text", { class: "df-axis", x: 4, y: 12 }, spec.y_label));
  return parts;
}

class Plot extends Panel {
  draw() {
    const { spec, width, height } = this;
    const lines = Object.entries(spec.lines ?? {});
    const dots = Object.entries(spec.dots ?? {});
    const names = [...lines, ...dots].map(([name]) => name);
    const rows = legendRows(names.length > 1 || dots.length ? names : names.filter(Boolean), width);
    const box = { left: 52, right: width - 10, top: 22, bottom: height - 36 - 16 * rows.length };
    const series = [...lines, ...dots].map(([, xy]) => xy);
    const x = axis(limitsOf(series.map((xy) => xy[0].data), spec.x_range, spec.log_x), spec.log_x, box.left, box.right);
    const y = axis(limitsOf(series.map((xy) => xy[1].data), spec.y_range, spec.log_y), spec.log_y, box.bottom, box.top);
    this.clip ??= unique("clip");
    const parts = axes(x, y, box, spec);
    const inside = [];
    lines.forEach(([, [xs, ys]], i) => {
      let d = "";
      let pen = "M";
      let count = 0;
      for (let k = 0; k < xs.data.length; k++) {
        const [a, b] = [x(xs.data[k]), Math.min(5000, Math.max(-5000, y(ys.data[k])))];
        if (Number.isFinite(a) && Number.isFinite(b)) {
          d += `${pen}${a.toFixed(1)} ${b.toFixed(1)}`;
          pen = "L";
          count += 1;
        } else pen = "M";
      }
      if (count === 1) { // before the first step: a line of one point cannot be seen
        const [a, b] = d.slice(1).split(" ").map(Number);
        inside.push(s("path", { class: "df-panel-dots", d: MARKS[i % MARKS.length](a, b, 3.4), fill: COLORS[i % COLORS.length] }));
      }
      inside.push(s("path", { class: "df-panel-line", d, stroke: COLORS[i % COLORS.length], "stroke-dasharray": DASHES[i % DASHES.length] }));
    });
    for (const [name, at] of Object.entries(spec.rules ?? {})) {
      inside.push(s("path", { class: "df-rule", d: `M${x(at)} ${box.top}V${box.bottom}` }), s("text", { class: "df-axis", x: x(at) + 4, y: box.top + 11 }, name));
    }
    const [points, labels] = [[], []];
    dots.forEach(([name, [xs, ys]], i) => {
      const k = lines.length + i;
      let d = "";
      for (let j = 0; j < xs.data.length; j++) {
        const [a, b] = [x(xs.data[j]), y(ys.data[j])];
        if (!Number.isFinite(a) || !Number.isFinite(b)) continue;
        d += MARKS[k % MARKS.length](a, b, 3.4);
        points.push([a, b]);
        const text = spec.labels?.[name]?.[j];
        if (text) labels.push({ x: a, y: b, text });
      }
      inside.push(s("path", { class: "df-panel-dots", d, fill: COLORS[k % COLORS.length] }));
    });
    for (const label of placeLabels(labels, points, box)) {
      if (label.far) inside.push(s("path", { class: "df-label-line", d: `M${label.x} ${label.y}L${label.at[0]} ${label.at[1] - 4}` }));
      inside.push(s("text", { class: "df-axis df-dot-label", x: label.at[0], y: label.at[1], "text-anchor": label.anchor }, label.text));
    }
    const legend = rows.flatMap((row, r) => row.map(({ name, at, index }) => s("g", { transform: `translate(${at},${height - 16 * rows.length + 16 * r + 6})` }, index < lines.length ? s("path", { class: "df-panel-line", d: "M0 0H20", stroke: COLORS[index % COLORS.length], "stroke-dasharray": DASHES[index % DASHES.length] }) : s("path", { d: MARKS[index % MARKS.length](10, 0, 3.4), fill: COLORS[index % COLORS.length] }), s("text", { class: "df-axis", x: 25, y: 4 }, name))));
    this.svg(width, height, s("clipPath", { id: this.clip }, s("rect", { x: box.left, y: box.top - 3, width: Math.max(0, box.right - box.left), height: Math.max(0, box.bottom - box.top + 6) })), parts, s("g", { "clip-path": `url(#${this.clip})` }, inside), legend);
  }
}

function legendRows(names, width) {
  const rows = [];
  let at = Infinity;
  names.forEach((name, index) => {
    const size = 44 + 7.4 * name.length;
    if (at + size > width) {
      rows.push([]);
      at = 6;
    }
    rows.at(-1).push({ name, at, index });
    at += size;
  });
  return rows;
}

class HeatMap extends Panel {
  draw() {
    const { spec } = this;
    const [rows, columns] = spec.values.shape;
    const groups = spec.group_names ?? [];
    const paths = Object.entries(spec.paths ?? {});
    const legend = legendRows([...paths.map(([name]) => name), ...groups], this.width);
    const edges = { left: 46, right: 10, top: 20, bottom: 36 };
    let width = this.width - edges.left - edges.right;
    let high = this.height + 40 - edges.top - edges.bottom;
    if (spec.square) {
      const ratio = (spec.x_range[1] - spec.x_range[0]) / (spec.y_range[1] - spec.y_range[0] || 1);
      width = Math.min(width, high * ratio);
      high = width / ratio;
    }
    const height = edges.top + high + edges.bottom + 16 * legend.length;
    const box = { left: edges.left, top: edges.top, right: edges.left + width, bottom: edges.top + high };
    const x = axis(spec.x_range, false, box.left, box.right);
    const y = axis(spec.y_range, false, box.bottom, box.top);
    this.canvas ??= h("canvas", { class: "df-panel-canvas", "aria-hidden": "true" });
    if (!this.canvas.isConnected) this.stage.prepend(this.canvas);
    Object.assign(this.canvas.style, { left: `${box.left}px`, top: `${box.top}px`, width: `${width}px`, height: `${high}px` });
    let limits = limitsOf([spec.values.data], spec.value_range);
    if (spec.diverging && !spec.value_range) limits = centered(limits);
    paintGrid(this.canvas, spec.values.data, rows, columns, limits, { diverging: spec.diverging, bands: spec.bands, flip: true });
    this.clip ??= unique("clip");
    const over = [];
    if (spec.points) {
      const [xs, ys, kinds] = spec.points;
      const byKind = new Map();
      for (let k = 0; k < xs.data.length; k++) {
        const kind = Math.round(kinds.data[k]);
        byKind.set(kind, (byKind.get(kind) ?? "") + MARKS[kind % MARKS.length](x(xs.data[k]), y(ys.data[k]), 3));
      }
      for (const [kind, d] of byKind) over.push(s("path", { class: "df-panel-point", d, fill: COLORS[kind % COLORS.length] }));
    }
    paths.forEach(([, [xs, ys]], i) => {
      const at = [...xs.data].map((v, k) => [x(v), y(ys.data[k])]).filter(([a, b]) => Number.isFinite(a) && Number.isFinite(b));
      if (!at.length) return;
      const far = (v) => Math.min(5000, Math.max(-5000, v)).toFixed(1);
      const d = `M${at.map(([a, b]) => `${far(a)} ${far(b)}`).join("L")}`;
      const [a, b] = at.at(-1);
      over.push(s("path", { class: "df-panel-line df-halo", d }), s("path", { class: "df-panel-line", d, stroke: COLORS[i % COLORS.length], "stroke-dasharray": DASHES[i % DASHES.length] }), s("path", { class: "df-panel-point", d: MARKS[i % MARKS.length](a, b, 4.5), fill: COLORS[i % COLORS.length] }));
    });
    const names = legend.flatMap((row, r) => row.map(({ name, at, index }) => {
      const k = index < paths.length ? index : index - paths.length;
      const sign = index < paths.length ? [s("path", { class: "df-panel-line", d: "M0 0H20", stroke: COLORS[k % COLORS.length], "stroke-dasharray": DASHES[k % DASHES.length] }), s("path", { d: MARKS[k % MARKS.length](10, 0, 4), fill: COLORS[k % COLORS.length] })] : s("path", { d: MARKS[k % MARKS.length](10, 0, 4), fill: COLORS[k % COLORS.length] });
      return s("g", { transform: `translate(${at},${height - 16 * legend.length + 16 * r + 4})` }, sign, s("text", { class: "df-axis", x: 25, y: 4 }, name));
    }));
    this.svg(Math.max(this.width, 1), height, s("clipPath", { id: this.clip }, s("rect", { x: box.left, y: box.top, width, height: high })), axes(x, y, box, spec).filter((part) => !part.classList.contains("df-grid-line")), s("g", { "clip-path": `url(#${this.clip})` }, over), names, this.handle(x, y));
    this.root.classList.add("df-over");
  }

  handle(x, y) {
    const given = this.spec.handle;
    if (!given) return null;
    Object.assign(this, { x, y });
    if (!this.knob) {
      this.knob = s("g", { class: "df-knob" }, s("circle", { r: 12, class: "df-knob-area" }), s("circle", { r: 6, class: "df-knob-dot" }));
      const inside = ([a, b]) => {
        const [xr, yr] = [this.spec.x_range, this.spec.y_range];
        return [Math.min(xr[1], Math.max(xr[0], a)), Math.min(yr[1], Math.max(yr[0], b))];
      };
      const say = (place) => this.set(this.spec.handle[0], inside(place));
      this.grip(this.knob, given[0], (dx, dy) => {
        const [, a, b] = this.spec.handle;
        const [xr, yr] = [this.spec.x_range, this.spec.y_range];
        say([a + (dx * (xr[1] - xr[0])) / 40, b + (dy * (yr[1] - yr[0])) / 40]);
      }, (px, py) => say([this.x.back(px), this.y.back(py)]));
    }
    const [name, a, b] = given;
    this.knob.setAttribute("transform", `translate(${x(a)},${y(b)})`);
    this.knob.setAttribute("aria-label", `${name}: ${short(a)}, ${short(b)}; move it with the arrow keys`);
    return this.knob;
  }
}

class Images extends Panel {
  draw() {
    const { spec } = this;
    const [count, rows, columns] = spec.values.shape;
    const across = Math.min(count, spec.columns || Math.max(1, Math.min(count, 4)));
    const down = Math.ceil(count / across);
    const label = spec.labels?.length ? 18 : 4;
    const cell = Math.max(1, Math.min((this.width - 8 * (across - 1)) / across / columns, Math.max(60, (this.height * 1.15) / down - label) / rows));
    const size = [columns * cell, rows * cell];
    let limits = limitsOf([spec.values.data], spec.value_range);
    if (spec.diverging && !spec.value_range) limits = centered(limits);
    this.canvases ??= [];
    while (this.canvases.length < count) this.canvases.push(h("canvas", { class: "df-panel-canvas df-pixels", "aria-hidden": "true" }));
    for (const gone of this.canvases.splice(count)) gone.remove();
    const over = [];
    this.canvases.forEach((canvas, i) => {
      const at = [(i % across) * (size[0] + 8), Math.floor(i / across) * (size[1] + label)];
      if (!canvas.isConnected) this.stage.prepend(canvas);
      Object.assign(canvas.style, { left: `${at[0]}px`, top: `${at[1]}px`, width: `${size[0]}px`, height: `${size[1]}px` });
      paintGrid(canvas, spec.values.data.subarray(i * rows * columns, (i + 1) * rows * columns), rows, columns, limits, { diverging: spec.diverging });
      over.push(s("rect", { class: "df-image-rim", x: at[0] + 0.5, y: at[1] + 0.5, width: size[0] - 1, height: size[1] - 1 }));
      if (spec.labels?.[i]) over.push(s("text", { class: "df-axis", x: at[0], y: at[1] + size[1] + 13 }, spec.labels[i]));
      if (spec.marked) {
        let d = "";
        for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) if (spec.marked.data[(i * rows + r) * columns + c]) d += `M${at[0] + c * cell} ${at[1] + r * cell}h${cell}v${cell}h${-cell}z`;
        over.push(s("path", { class: "df-image-mark", d }));
      }
    });
    Object.assign(this, { cell: cell, across, size, label, rows, columns, count });
    this.svg(this.width, down * (size[1] + label) + 2, over, this.cellGrip(), this.windowGrip());
    this.root.classList.add("df-over");
  }

  cellGrip() {
    const given = this.spec.cell;
    if (!given) return null;
    const choose = (image, row, column) => {
      const keep = (v, most) => Math.min(most - 1, Math.max(0, v));
      this.set(this.spec.cell[0], [keep(image, this.count), keep(row, this.rows), keep(column, this.columns)]);
    };
    const place = (px, py) => {
      const [i, j] = [Math.floor(px / (this.size[0] + 8)), Math.floor(py / (this.size[1] + this.label))];
      choose(j * this.across + i, Math.floor((py - j * (this.size[1] + this.label)) / this.cell), Math.floor((px - i * (this.size[0] + 8)) / this.cell));
    };
    if (!this.chosen) {
      this.chosen = s("rect", { class: "df-image-chosen" });
      this.grip(this.chosen, given[0], (dx, dy) => {
        const [, image, row, column] = this.spec.cell;
        choose(image, row - dy, column + dx);
      }, place);
      this.stage.addEventListener("pointerdown", (event) => {
        if (event.target === this.chosen || !this.spec.cell || this.frame?.contains(event.target)) return;
        const box = this.root.getBoundingClientRect();
        place(event.clientX - box.left, event.clientY - box.top);
      });
    }
    const [name, image, row, column] = given;
    this.put(this.chosen, image, row, column, 1, 1);
    this.chosen.setAttribute("aria-label", `${name}: image ${image + 1}, row ${row + 1}, column ${column + 1}; move it with the arrow keys`);
    return this.chosen;
  }

  windowGrip() {
    const given = this.spec.window;
    if (!given) return null;
    const move = (row, column) => {
      const [, , , high, wide] = this.spec.window;
      const keep = (v, size, most) => Math.min(most - size, Math.max(0, v));
      this.set(this.spec.window[0], [keep(Math.round(row), high, this.rows), keep(Math.round(column), wide, this.columns)]);
    };
    if (!this.frame) {
      this.frame = s("rect", { class: "df-image-window" });
      this.grip(this.frame, given[0], (dx, dy) => move(this.spec.window[1] - dy, this.spec.window[2] + dx), (px, py) => {
        const [, , , high, wide] = this.spec.window;
        move(py / this.cell - high / 2, px / this.cell - wide / 2);
      });
    }
    const [name, row, column, high, wide] = given;
    this.put(this.frame, 0, row, column, high, wide);
    this.frame.setAttribute("aria-label", `${name}: row ${row + 1}, column ${column + 1}; move it with the arrow keys`);
    return this.frame;
  }

  put(element, image, row, column, high, wide) {
    const { cell } = this;
    const at = [(image % this.across) * (this.size[0] + 8), Math.floor(image / this.across) * (this.size[1] + this.label)];
    const box = { x: at[0] + column * cell, y: at[1] + row * cell, width: wide * cell, height: high * cell };
    for (const [key, value] of Object.entries(box)) element.setAttribute(key, value);
  }
}

class Bars extends Panel {
  draw() {
    const { spec, width, height } = this;
    const groups = spec.values.data ? [["", spec.values]] : Object.entries(spec.values);
    const rows = groups.length > 1 ? legendRows(groups.map(([name]) => name), width) : [];
    const below = barLabels(spec.labels, (width - 60) / Math.max(1, spec.labels.length));
    const box = { left: 52, right: width - 8, top: 22, bottom: height - 12 - below.high - 16 * rows.length };
    let limits = limitsOf(groups.map(([, v]) => v.data), spec.y_range, spec.log_y);
    if (!spec.y_range) limits = spec.log_y ? [limits[0] / 3, limits[1] * 1.5] : [Math.min(0, limits[0]), Math.max(0, limits[1])];
    const y = axis(limits, spec.log_y, box.bottom, box.top);
    const x = axis([0, spec.labels.length], false, box.left, box.right);
    const parts = axes(Object.assign((v) => x(v), { ticks: () => [] }), y, box, spec);
    const base = spec.log_y ? box.bottom : y(0);
    const fills = hatched(this, groups.length);
    parts.push(fills.defs);
    const room = (x(1) - x(0)) * 0.8;
    groups.forEach(([, values], g) => {
      let d = "";
      for (let i = 0; i < values.data.length; i++) {
        const v = values.data[i];
        const top = spec.log_y && !(v > 0) ? box.bottom : Math.min(box.bottom, Math.max(box.top, y(v)));
        if (!Number.isFinite(top)) continue;
        const left = x(i) + room * 0.12 + (g * room) / groups.length;
        d += `M${left.toFixed(1)} ${base.toFixed(1)}V${top.toFixed(1)}h${(room / groups.length - 1).toFixed(1)}V${base.toFixed(1)}z`;
      }
      parts.push(s("path", { d, fill: fills.of(g), class: "df-panel-bars" }));
    });
    spec.labels.forEach((label, i) => {
      if (i % below.every) return;
      const place = below.slanted ? { "text-anchor": "end", transform: `translate(${x(i + 0.5) + 3},${box.bottom + 11}) rotate(-35)` } : { "text-anchor": "middle", x: x(i + 0.5), y: box.bottom + 14 };
      const text = shortened(label, below.most);
      parts.push(s("text", { class: "df-axis", ...place }, text, text === String(label) ? null : s("title", {}, label)));
    });
    rows.forEach((row, r) => row.forEach(({ name, at, index }) => parts.push(s("rect", { x: at, y: height - 16 * rows.length + 16 * r, width: 12, height: 10, fill: fills.of(index) }), s("text", { class: "df-axis", x: at + 18, y: height - 16 * rows.length + 16 * r + 9 }, name))));
    this.svg(width, height, parts);
  }
}

class Tokens extends Panel {
  draw() {
    const { spec, width } = this;
    const [heads, targets, tokens] = spec.weights.shape;
    const dy = 26;
    const rows = heads > 1 ? legendRows(Array.from({ length: heads }, (_, k) => `head ${k + 1}`), width) : [];
    const height = Math.max(targets, tokens) * dy + 14 + 16 * rows.length;
    const left = Math.max(60, 12 + 7.2 * Math.max(...spec.targets.map((token) => token.length)));
    const right = width - Math.max(60, 12 + 7.2 * Math.max(...spec.tokens.map((token) => token.length)));
    const chosen = spec.chosen ? spec.chosen[1] : -1;
    const at = (i) => 20 + i * dy;
    const parts = [];
    for (let k = 0; k < heads; k++) {
      for (let i = 0; i < targets; i++) {
        if (chosen >= 0 && i !== chosen) continue;
        for (let j = 0; j < tokens; j++) {
          const weight = spec.weights.data[(k * targets + i) * tokens + j];
          if (!(weight > 0.01)) continue;
          const shift = (k - (heads - 1) / 2) * 2;
          parts.push(s("path", { class: "df-token-line", d: `M${left} ${at(i) + shift}C${(left + right) / 2} ${at(i) + shift} ${(left + right) / 2} ${at(j) + shift} ${right} ${at(j) + shift}`, stroke: COLORS[k % COLORS.length], "stroke-dasharray": DASHES[k % DASHES.length], "stroke-width": (0.4 + 7 * weight).toFixed(2) }, s("title", {}, `head ${k + 1}: ${spec.targets[i]} → ${spec.tokens[j]} ${short(weight)}`)));
        }
      }
    }
    spec.tokens.forEach((token, j) => parts.push(s("text", { class: "df-token", x: right + 8, y: at(j) + 4 }, token)));
    rows.forEach((row, r) => row.forEach(({ name, at: left, index }) => parts.push(s("g", { transform: `translate(${left},${height - 16 * rows.length + 16 * r + 8})` }, s("path", { class: "df-panel-line", d: "M0 0H20", stroke: COLORS[index % COLORS.length], "stroke-dasharray": DASHES[index % DASHES.length] }), s("text", { class: "df-axis", x: 25, y: 4 }, name)))));
    if (!spec.chosen) parts.push(...spec.targets.map((token, i) => s("text", { class: "df-token", x: left - 8, y: at(i) + 4, "text-anchor": "end" }, token)));
    this.svg(width, height, parts);
    if (!spec.chosen) return;
    // The targets are buttons, so that a key reaches them too.
    this.picks ??= [];
    while (this.picks.length < targets) {
      const i = this.picks.length;
      this.picks.push(h("button", { type: "button", class: "df-token-pick", onclick: () => this.set(this.spec.chosen[0], this.spec.chosen[1] === i ? -1 : i), ...QUIET }));
    }
    for (const gone of this.picks.splice(targets)) gone.remove();
    this.picks.forEach((pick, i) => {
      write(pick, spec.targets[i]);
      pick.setAttribute("aria-pressed", String(chosen === i));
      Object.assign(pick.style, { right: `${width - left + 4}px`, top: `${at(i) - 12}px` });
      if (!pick.isConnected) this.stage.append(pick);
    });
  }
}

class Lanes extends Panel {
  draw() {
    const { spec, width } = this;
    const dy = Math.min(34, Math.max(22, (this.height - 60) / Math.max(1, spec.lanes.length)));
    const left = 14 + 7 * Math.max(3, ...spec.lanes.map((lane) => lane.length));
    const rows = legendRows(spec.group_names ?? [], width);
    const bottom = 6 + dy * spec.lanes.length;
    const height = bottom + 34 + 16 * rows.length;
    const x = axis(limitsOf(spec.spans.map(([, start, end]) => [start, end]), spec.x_range), false, left, width - 10);
    const fills = hatched(this, Math.max(1, spec.group_names?.length ?? 0));
    const parts = spec.lanes.map((lane, i) => s("text", { class: "df-axis", x: left - 8, y: 6 + dy * (i + 0.5) + 4, "text-anchor": "end" }, lane));
    parts.push(fills.defs, s("path", { class: "df-axis-line", d: `M${left} 6V${bottom}H${width - 10}` }));
    for (const v of x.ticks(Math.max(2, Math.floor(width / 90)))) parts.push(s("text", { class: "df-axis", x: x(v), y: bottom + 14, "text-anchor": "middle" }, short(v)));
    for (const [lane, start, end, label, group] of spec.spans) {
      const [a, b] = [x(start), x(end)];
      parts.push(s("rect", { class: "df-lane-span", x: a.toFixed(1), y: 8 + dy * lane, width: Math.max(0.5, b - a - 1).toFixed(1), height: dy - 4, rx: 2, fill: fills.of(group) }, s("title", {}, `${label || (spec.group_names?.[group] ?? "")}: ${short(start)} to ${short(end)}`)));
      if (label && b - a > 8 + 6.6 * label.length) parts.push(s("text", { class: "df-lane-label", x: (a + b) / 2, y: 6 + dy * (lane + 0.5) + 4, "text-anchor": "middle" }, label));
    }
    if (spec.x_label) parts.push(s("text", { class: "df-axis", x: (left + width) / 2, y: bottom + 29, "text-anchor": "middle" }, spec.x_label));
    rows.forEach((row, r) => row.forEach(({ name, at, index }) => parts.push(s("rect", { x: at, y: height - 16 * rows.length + 16 * r + 2, width: 12, height: 10, fill: fills.of(index) }), s("text", { class: "df-axis", x: at + 18, y: height - 16 * rows.length + 16 * r + 11 }, name))));
    this.svg(width, height, parts);
  }
}

class Network extends Panel {
  draw() {
    const { spec, width } = this;
    const counts = spec.units.map((layer) => layer.shape[0]);
    const most = Math.max(...counts);
    const size = Math.max(22, Math.min(44, (this.height + 40) / most - 8));
    const height = most * (size + 8) + 8;
    const left = spec.names?.length ? 12 + 7 * Math.max(...spec.names.map((name) => name.length)) : 4;
    const dx = (width - left - size - 4) / Math.max(1, counts.length - 1);
    const at = (layer, unit) => [left + layer * dx, ((unit + 0.5) * height) / counts[layer]];
    const parts = [];
    spec.weights.forEach((weights, layer) => {
      const [n, m] = weights.shape;
      let scale = 1e-9;
      for (const v of weights.data) scale = Math.max(scale, Math.abs(v));
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < m; j++) {
          const v = weights.data[i * m + j];
          const [[a, b], [c, d]] = [at(layer, i), at(layer + 1, j)];
          const mid = (a + size + c) / 2;
          parts.push(s("path", { class: "df-weight", d: `M${(a + size).toFixed(1)} ${b.toFixed(1)}C${mid.toFixed(1)} ${b.toFixed(1)} ${mid.toFixed(1)} ${d.toFixed(1)} ${c.toFixed(1)} ${d.toFixed(1)}`, stroke: v > 0 ? COLORS[1] : COLORS[0], "stroke-dasharray": v > 0 ? "" : "5 3", "stroke-width": (0.3 + (5 * Math.abs(v)) / scale).toFixed(2) }, s("title", {}, `weight ${short(v)}`)));
        }
      }
    });
    (spec.names ?? []).forEach((name, i) => parts.push(s("text", { class: "df-axis", x: left - 6, y: at(0, i)[1] + 4, "text-anchor": "end" }, name)));
    this.canvases ??= [];
    let k = 0;
    spec.units.forEach((units, layer) => {
      const [count, high, wide] = units.shape;
      const limits = centered(limitsOf([units.data]));
      for (let unit = 0; unit < count; unit++, k++) {
        const canvas = (this.canvases[k] ??= h("canvas", { class: "df-panel-canvas", "aria-hidden": "true" }));
        if (!canvas.isConnected) this.stage.append(canvas);
        const [x, y] = at(layer, unit);
        Object.assign(canvas.style, { left: `${x}px`, top: `${y - size / 2}px`, width: `${size}px`, height: `${size}px` });
        paintGrid(canvas, units.data.subarray(unit * high * wide, (unit + 1) * high * wide), high, wide, limits, { diverging: true, flip: true });
      }
    });
    for (const gone of this.canvases.splice(k)) gone.remove();
    this.svg(width, height + 16, parts, s("text", { class: "df-axis", x: 4, y: height + 12 }, "weights: solid is positive, dashed negative"));
  }
}

class Matrix extends Panel {
  draw() {
    const { spec } = this;
    const [rows, columns] = spec.values.shape;
    const key = `${rows}x${columns}:${spec.edits}`;
    if (this.key !== key) {
      this.key = key;
      this.inputs = Array.from({ length: rows * columns }, (_, i) => spec.edits ? h("input", { type: "number", step: "any", class: "df-matrix-cell", "aria-label": `${spec.title || spec.edits}, row ${Math.floor(i / columns) + 1}, column ${(i % columns) + 1}`, oninput: () => this.edited(), ...QUIET }) : h("span", { class: "df-matrix-cell" }));
      const table = h("table", { class: "df-matrix" }, Array.from({ length: rows }, (_, r) => h("tr", {}, this.inputs.slice(r * columns, (r + 1) * columns).map((cell) => h("td", {}, cell)))));
      this.stage.replaceChildren(table);
    }
    this.inputs.forEach((cell, i) => {
      const text = String(Number(spec.values.data[i].toFixed(spec.digits ?? 2)));
      if (!spec.edits) write(cell, text);
      else if (cell !== document.activeElement) cell.value = text;
    });
  }

  edited() {
    const [rows, columns] = this.spec.values.shape;
    const values = this.inputs.map((cell) => cell.valueAsNumber);
    if (values.some((v) => !Number.isFinite(v))) return; // half typed
    this.set(this.spec.edits, Array.from({ length: rows }, (_, r) => values.slice(r * columns, (r + 1) * columns)));
  }
}

class Numbers extends Panel {
  draw() {
    const rows = Object.entries(this.spec.values).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, typeof value === "number" ? short(value) : value)));
    renew(this.stage, [h("dl", { class: "df-numbers" }, rows)]);
  }
}

const KINDS = { plot: Plot, heat: HeatMap, images: Images, bars: Bars, tokens: Tokens, lanes: Lanes, network: Network, matrix: Matrix, numbers: Numbers };

/** The panel for a kind of spec; `set(name, value)` is called when something in it is moved. */
export function panelOf(kind, set) {
  return new KINDS[kind](kind, set);
}
