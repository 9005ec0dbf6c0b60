// A value as a small picture inside the drawing of a graph: a number, a strip, a heat map, an image, or
// a histogram where the values are too many for a cell each. Sizes are known without a page.
import { s } from "./dom.js";
import { shorten, textWidth } from "./measure.js";
import { cells, isBad, number, shade } from "./values.js";

const FEW = 6; // so many numbers of a vector are written out
const SIDE = 4; // and those of a matrix up to 4 x 4
const ROW = 17;
const WIDE = 120;
const HIGH = 48;

/** A number in at most some six characters. */
export function short(value) {
  if (typeof value !== "number" || Number.isInteger(value)) return number(value);
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e5) ? value.toExponential(1).replace("e+", "e") : String(Number(value.toPrecision(3)));
}

const written = (data, rows, columns) => {
  const texts = data.map(short);
  const width = Math.max(22, ...texts.map((text) => Math.ceil(textWidth(text, "small")) + 9));
  return { kind: "numbers", texts, cell: width, rows, columns, width: width * columns, height: ROW * rows };
};

/** What is drawn of a summary, and its size in px: {kind, width, height, ...}; null for no value. */
export function glyphOf(summary) {
  if (!summary) return null;
  if (summary.kind === "scalar") {
    const text = number(summary.data[0]);
    return { kind: "number", text, bad: isBad(summary.data[0]), width: Math.ceil(textWidth(text)) + 6, height: ROW };
  }
  if (summary.kind === "text") {
    const text = shorten(String(summary.data[0] ?? ""), 18);
    return text ? { kind: "number", text, width: Math.ceil(textWidth(text)) + 6, height: ROW } : null;
  }
  if (summary.kind === "table") {
    const { rows, columns, data } = summary;
    if (!data.length) return { kind: "number", text: "empty", width: 44, height: ROW };
    if ((rows === 1 && columns <= FEW) || (rows <= SIDE && columns <= SIDE)) {
      const glyph = written(data, rows, columns);
      if (glyph.width <= 190) return { ...glyph, data, ...range(data) };
    }
    return heat(rows, columns, data, range(data));
  }
  if (summary.kind === "image") {
    const { height, width, count } = summary.images;
    const k = Math.max(1, Math.min(3, Math.floor(HIGH / Math.max(height, width))));
    const note = count > 1 ? `1 of ${count}` : "";
    return { kind: "image", images: summary.images, side: [width * k, height * k], note, width: Math.max(width * k, note ? 40 : 0), height: height * k + (note ? 14 : 0) };
  }
  const { grid, histogram, stats } = summary;
  if (grid && !grid.note) return heat(grid.rows, grid.columns, null, { lo: grid.lo, hi: grid.hi }, grid);
  if (!histogram) return null;
  const note = stats?.mean === undefined ? "" : `${short(stats.mean)}${stats.std === undefined ? "" : ` ± ${short(stats.std)}`}`;
  return { kind: "histogram", histogram, mean: stats?.mean, std: stats?.std, note, width: Math.max(96, Math.ceil(textWidth(note, "small")) + 4), height: 26 + (note ? 15 : 0) };
}

function range(data) {
  const finite = data.map(Number).filter(Number.isFinite);
  return finite.length ? { lo: Math.min(...finite), hi: Math.max(...finite) } : { lo: 0, hi: 0 };
}

function heat(rows, columns, data, { lo, hi }, grid = null) {
  const cell = Math.min(12, WIDE / columns, Math.max(2, HIGH / rows));
  const high = Math.max(2, Math.min(cell, HIGH / rows));
  return { kind: "heat", rows, columns, data, grid, lo, hi, width: Math.max(12, columns * cell), height: rows === 1 ? 14 : Math.max(12, rows * high) };
}

/** Room that holds each of some glyphs. */
export function roomFor(glyphs) {
  const held = glyphs.filter(Boolean);
  if (!held.length) return null;
  return { width: Math.ceil(Math.max(...held.map((one) => one.width))), height: Math.ceil(Math.max(...held.map((one) => one.height))) };
}

/** Pixels as a picture that an SVG can hold; "" where there is no canvas. */
function painted(width, height, paint) {
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width, height });
  const context = canvas.getContext?.("2d");
  if (!context) return "";
  paint(context);
  return canvas.toDataURL();
}

const f = (n) => Number(n.toFixed(1));

/** The glyph as SVG, with the middle of its upper edge at (0, 0). */
export function drawGlyph(glyph) {
  const left = -glyph.width / 2;
  const words = (text, x, y, extra = {}) => s("text", { x: f(x), y: f(y), "text-anchor": "middle", ...extra }, text);
  if (glyph.kind === "number") return s("g", { class: "df-glyph" }, words(glyph.text, 0, 13, { class: `df-glyph-number${glyph.bad ? " df-glyph-bad" : ""}` }));
  if (glyph.kind === "numbers") {
    const group = s("g", { class: "df-glyph" });
    glyph.texts.forEach((text, i) => {
      const [x, y] = [left + (i % glyph.columns) * glyph.cell, Math.floor(i / glyph.columns) * ROW];
      const fill = shade(glyph.data[i] === true ? 1 : glyph.data[i] === false ? 0 : glyph.data[i], glyph.lo, glyph.hi);
      group.append(
        s("rect", { class: "df-glyph-cell", x: f(x), y: f(y), width: glyph.cell, height: ROW, fill }),
        words(text, x + glyph.cell / 2, y + 12.5, { class: "df-glyph-small", style: `fill:${inkOn(fill)}` }),
      );
    });
    return group;
  }
  if (glyph.kind === "heat") {
    const values = glyph.data ?? cells(glyph.grid);
    const href = painted(glyph.columns, glyph.rows, (context) => {
      values.forEach((value, i) => {
        context.fillStyle = shade(typeof value === "boolean" ? Number(value) : value, glyph.lo, glyph.hi);
        context.fillRect(i % glyph.columns, Math.floor(i / glyph.columns), 1, 1);
      });
    });
    return s("g", { class: "df-glyph" }, picture(href, left, glyph.width, glyph.height));
  }
  if (glyph.kind === "image") {
    const { width, height, channels, bytes } = glyph.images;
    const raw = atob(bytes);
    const href = painted(width, height, (context) => {
      const pixels = context.createImageData(width, height);
      for (let p = 0; p < width * height; p++) {
        for (let c = 0; c < 3; c++) pixels.data[p * 4 + c] = raw.charCodeAt(p * channels + (channels < 3 ? 0 : c));
        pixels.data[p * 4 + 3] = channels === 4 ? raw.charCodeAt(p * channels + 3) : 255;
      }
      context.putImageData(pixels, 0, 0);
    });
    const [wide, high] = glyph.side;
    return s("g", { class: "df-glyph" }, picture(href, -wide / 2, wide, high), glyph.note && words(glyph.note, 0, high + 12, { class: "df-glyph-small" }));
  }
  return bars(glyph, words);
}

function picture(href, x, width, height) {
  return [
    s("image", { href, x: f(x), y: 0, width: f(width), height: f(height), preserveAspectRatio: "none" }),
    s("rect", { class: "df-glyph-frame", x: f(x), y: 0, width: f(width), height: f(height) }),
  ];
}

/** A histogram, with a line at the mean and a bar of one standard deviation to each side. */
function bars(glyph, words) {
  const { counts, lo, hi } = glyph.histogram;
  const [width, high] = [96, 24];
  const top = Math.max(...counts, 1);
  const at = (value) => -width / 2 + (width * Math.min(Math.max(value - lo, 0), hi - lo)) / (hi - lo || 1);
  const group = s("g", { class: "df-glyph" });
  const wide = width / counts.length;
  counts.forEach((count, i) => group.append(s("rect", { class: "df-glyph-bar", x: f(-width / 2 + i * wide), y: f(high - (count / top) * high), width: f(wide - 0.6), height: f((count / top) * high) })));
  group.append(s("path", { class: "df-glyph-axis", d: `M${-width / 2},${high}H${width / 2}` }));
  if (glyph.mean !== undefined) {
    const { mean, std = 0 } = glyph;
    group.append(s("path", { class: "df-glyph-mean", d: `M${f(at(mean))},1V${high}M${f(at(mean - std))},${high - 3}H${f(at(mean + std))}` }));
    group.append(words(glyph.note, 0, high + 14, { class: "df-glyph-small" }));
  }
  return group;
}

/** Black or white, whichever reads better on a color "rgb(r,g,b)" or "#rrggbb". */
function inkOn(color) {
  const [r, g, b] = color.startsWith("#") ? [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16)) : color.match(/\d+/g).map(Number);
  const [x, y, z] = [r, g, b].map((v) => ((v / 255) <= 0.04 ? v / 255 / 12.92 : (((v / 255) + 0.055) / 1.055) ** 2.4));
  return 0.2126 * x + 0.7152 * y + 0.0722 * z > 0.179 ? "#111" : "#fff";
}
