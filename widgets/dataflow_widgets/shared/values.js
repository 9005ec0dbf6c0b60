// Values beside the graph.  The kernel sends a summary (see values.py): the numbers themselves when
// they are few, a coarse grid and a histogram when they are many.
import { h, s } from "./dom.js";

/** Whether a value is a NaN or an infinity, which JSON holds as text. */
export const isBad = (value) => value === "nan" || value === "inf" || value === "-inf";

export function number(value) {
  if (typeof value === "string") return value === "nan" ? "NaN" : value === "inf" ? "∞" : value === "-inf" ? "−∞" : value;
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Number.isInteger(value)) return Math.abs(value) < 1e7 ? String(value) : value.toPrecision(4);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(3);
  return String(Number(value.toPrecision(5)));
}

export function bytes(count) {
  if (count < 1024) return `${count} B`;
  const units = ["KB", "MB", "GB"];
  let value = count;
  let unit = -1;
  while (value >= 1024 && unit < 2) {
    value /= 1024;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export function seconds(value) {
  if (value === null || value === undefined) return "";
  if (value > 0 && value < 5e-7) return "< 1 µs";
  if (value < 1e-3) return `${(value * 1e6).toFixed(0)} µs`;
  if (value < 1) return `${(value * 1e3).toFixed(2)} ms`;
  return `${value.toFixed(2)} s`;
}

/** Color of x between lo and hi: diverging around zero when the range holds it, else one ramp. */
export function shade(x, lo, hi) {
  if (typeof x === "string") return x === "nan" ? "#b000b0" : x === "inf" ? "#ff9f00" : "#0090ff";
  const mix = (a, b, t) => a.map((v, i) => Math.round(v + (b[i] - v) * t));
  const rgb = (c) => `rgb(${c})`;
  if (lo < 0 && hi > 0) {
    const t = Math.min(1, Math.abs(x) / Math.max(-lo, hi));
    return rgb(mix([247, 247, 247], x < 0 ? [33, 102, 172] : [178, 24, 43], t));
  }
  const t = hi > lo ? (x - lo) / (hi - lo) : 0.5;
  const ramp = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
  const at = Math.min(3, Math.floor(t * 4));
  return rgb(mix(ramp[at], ramp[at + 1], t * 4 - at));
}

/** One line for a list: "float32 (2, 3)  mean 0.5". */
export function brief(summary) {
  if (!summary) return "no value";
  if (summary.kind === "scalar") return number(summary.data[0]);
  if (summary.kind === "text") return String(summary.data[0] ?? "");
  const stats = summary.stats;
  if (summary.size > 0 && summary.size <= 4 && summary.data) return `[${summary.data.map(number).join(", ")}]`;
  return stats && stats.min !== undefined ? `${number(stats.min)} … ${number(stats.max)}` : `${summary.size} values`;
}

function table(data, rows, columns, caption) {
  const body = h("tbody");
  for (let r = 0; r < rows; r++) {
    const row = h("tr");
    for (let c = 0; c < columns; c++) {
      const value = data[r * columns + c];
      row.append(h("td", { class: isBad(value) ? "df-bad" : null }, number(value)));
    }
    body.append(row);
  }
  return h("table", { class: "df-table" }, h("caption", {}, caption), body);
}

/** The cells of a grid: bytes 0 ... 250 are lo ... hi, the last three codes are not finite. */
export function cells({ levels, lo, hi }) {
  const special = { 255: "nan", 254: "inf", 253: "-inf" };
  return Array.from(atob(levels), (c) => {
    const code = c.charCodeAt(0);
    return special[code] ?? lo + ((hi - lo) * code) / 250;
  });
}

function heat(grid, caption) {
  const { rows, columns, lo, hi } = grid;
  const cell = Math.max(3, Math.min(16, Math.floor(240 / Math.max(columns, 1)), Math.floor(200 / Math.max(rows, 1))));
  const canvas = h("canvas", { class: "df-heat", width: columns, height: rows, role: "img", "aria-label": caption, style: `width:${columns * cell}px;height:${Math.max(rows * cell, rows === 1 ? 18 : 0)}px` });
  const context = canvas.getContext?.("2d");
  if (context) {
    cells(grid).forEach((value, i) => {
      context.fillStyle = shade(value, lo, hi);
      context.fillRect(i % columns, Math.floor(i / columns), 1, 1);
    });
  }
  const ends = h("div", { class: "df-scale" }, h("span", {}, number(lo)), h("span", { class: `df-ramp ${lo < 0 && hi > 0 ? "df-diverging" : ""}` }), h("span", {}, number(hi)));
  return h("figure", { class: "df-figure" }, canvas, ends, grid.note && h("figcaption", {}, grid.note));
}

function pictures({ count, shown, height, width, channels, bytes: text }, caption) {
  const raw = atob(text);
  const canvases = Array.from({ length: shown }, (_, n) => {
    const canvas = h("canvas", { class: "df-heat", width, height, role: "img", "aria-label": `image ${n + 1} of ${count}, ${caption}`, style: `width:${width * 2}px;height:${height * 2}px` });
    const context = canvas.getContext?.("2d");
    if (!context) return canvas;
    const pixels = context.createImageData(width, height);
    for (let p = 0; p < width * height; p++) {
      const from = (n * width * height + p) * channels;
      for (let c = 0; c < 3; c++) pixels.data[p * 4 + c] = raw.charCodeAt(from + (channels < 3 ? 0 : c));
      pixels.data[p * 4 + 3] = channels === 4 ? raw.charCodeAt(from + 3) : 255;
    }
    context.putImageData(pixels, 0, 0);
    return canvas;
  });
  return h("figure", { class: "df-figure" }, h("div", { class: "df-images" }, canvases), shown < count && h("figcaption", {}, `the first ${shown} of ${count}`));
}

function histogram({ counts, lo, hi }) {
  const top = Math.max(...counts, 1);
  const bars = counts.map((count, i) => s("rect", { x: i * 10, y: 40 - (count / top) * 38, width: 9, height: (count / top) * 38 }));
  return h(
    "figure",
    { class: "df-figure" },
    s("svg", { class: "df-histogram", viewBox: `0 0 ${counts.length * 10} 40`, role: "img", "aria-label": `histogram from ${number(lo)} to ${number(hi)}: ${counts.join(", ")}` }, bars),
    h("div", { class: "df-scale" }, h("span", {}, number(lo)), h("span", {}, number(hi))),
  );
}

export function statsLine(summary) {
  const { stats } = summary;
  if (!stats || stats.min === undefined) return "";
  const parts = [`min ${number(stats.min)}`, `max ${number(stats.max)}`, `mean ${number(stats.mean)}${stats.std === undefined ? "" : ` ± ${number(stats.std)}`}`];
  if (stats.nan) parts.push(`${stats.nan} NaN`);
  if (stats.inf) parts.push(`${stats.inf} infinite`);
  if (stats.of) parts.push(`from a sample of ${stats.of}`);
  return parts.join(", ");
}

/** A value as number, table, heat map with histogram, or text, by its shape. */
export function renderValue(summary) {
  if (!summary) return h("div", { class: "df-value" }, "no value");
  const kind = `${summary.dtype} ${summary.shape_text}`;
  const children = [];
  if (summary.kind === "scalar") {
    const bad = isBad(summary.data[0]);
    children.push(h("div", { class: `df-number${bad ? " df-bad" : ""}` }, number(summary.data[0])));
  } else if (summary.kind === "text") children.push(h("pre", { class: "df-text" }, summary.data.join("\n")));
  else if (summary.kind === "table") children.push(table(summary.data, summary.rows, summary.columns, kind));
  else if (summary.kind === "heat") children.push(heat(summary.grid, `${kind}, ${statsLine(summary)}`));
  else if (summary.kind === "image") children.push(pictures(summary.images, kind));
  if (summary.histogram) children.push(histogram(summary.histogram));
  const line = summary.kind === "scalar" ? "" : statsLine(summary);
  return h("div", { class: "df-value" }, h("div", { class: "df-value-kind" }, kind), ...children, line && h("div", { class: "df-stats" }, line));
}
