// Confusion matrix, sample predictions, and the table of values: HTML that reads well aloud.
import { QUIET, h, plural } from "../shared/dom.js";
import { short } from "../shared/numbers.js";
import { MEAN, STEP, mistakes } from "./data.js";

const MAX_CELLS_WITH_NUMBERS = 20;

export function confusionPanel(matrix) {
  const { names, counts, step } = matrix;
  const n = names.length;
  const { total, right, most } = mistakes(matrix);
  const words = `${plural(total, "example")}${step === null ? "" : ` at step ${short(step)}`}: ${((100 * right) / total).toFixed(1)} % right`;
  const sums = names.map((_, r) => counts.subarray(r * n, (r + 1) * n).reduce((a, b) => a + b, 0));
  const list = h("ol", { class: "df-mistakes" }, most.map((one) => h("li", {}, h("b", {}, one.true), " taken for ", h("b", {}, one.predicted), `: ${one.count}`)));
  const picture = n <= MAX_CELLS_WITH_NUMBERS ? table(names, counts, sums) : heat(names, counts, sums, words);
  return h(
    "section",
    { class: "df-panel df-confusion" },
    h("h4", {}, "Confusion matrix"),
    h("p", { class: "df-chart-note" }, words),
    h("div", { class: "df-confusion-box" }, picture, most.length ? h("div", {}, h("p", { class: "df-chart-note" }, "Most frequent mistakes"), list) : null),
  );
}

function table(names, counts, sums) {
  const n = names.length;
  const head = h("tr", {}, h("th", { scope: "col" }, h("span", { class: "df-corner" }, "true ↓ predicted →")), names.map((name) => h("th", { scope: "col" }, name)));
  const rows = names.map((name, r) => {
    const cells = names.map((_, c) => {
      const count = counts[r * n + c];
      const share = sums[r] ? count / sums[r] : 0;
      return h("td", { class: `${r === c ? "df-cell-right" : "df-cell-wrong"}${share > 0.55 ? " df-dense" : ""}`, style: `--df-share:${(share * 100).toFixed(0)}%` }, count ? String(count) : h("span", { class: "df-zero" }, "0"));
    });
    return h("tr", {}, h("th", { scope: "row" }, name), cells);
  });
  return h("div", { class: "df-wide", tabindex: 0, role: "region", "aria-label": "confusion matrix", ...QUIET }, h("table", { class: "df-matrix" }, h("caption", {}, "Rows are true classes, columns are predicted ones."), h("thead", {}, head), h("tbody", {}, rows)));
}

function heat(names, counts, sums, words) {
  const n = names.length;
  const cell = Math.max(3, Math.floor(300 / n));
  const canvas = h("canvas", { class: "df-heat", width: n, height: n, role: "img", "aria-label": `confusion matrix, ${words}`, style: `width:${n * cell}px;height:${n * cell}px` });
  const context = canvas.getContext?.("2d");
  if (context) {
    for (let r = 0; r < n; r++) {
      for (let c = 0; c < n; c++) {
        const share = sums[r] ? counts[r * n + c] / sums[r] : 0;
        context.fillStyle = r === c ? `rgb(19 138 75 / ${share})` : `rgb(200 50 30 / ${Math.min(1, share * 2)})`;
        context.fillRect(c, r, 1, 1);
      }
    }
  }
  return canvas;
}

export function samplesPanel(shown) {
  const { predicted, true: truths, texts, step } = shown;
  const right = truths ? predicted.filter((name, i) => name === truths[i]).length : null;
  const words = [plural(predicted.length, right === 0 ? "mistake" : "sample"), step === null ? null : `at step ${short(step)}`, right ? `${right} right` : null].filter(Boolean).join(", ");
  const items = predicted.map((name, i) => {
    const good = truths ? truths[i] === name : null;
    const verdict = good === null ? null : h("span", { class: good ? "df-good" : "df-bad" }, good ? "✓ right" : "✗ wrong");
    const caption = h("figcaption", {}, h("b", {}, name), verdict, good === false ? h("span", {}, `true: ${truths[i]}`) : null);
    const body = texts ? h("blockquote", {}, texts[i]) : image(shown, i);
    return h("li", { class: texts ? "df-sample df-sample-text" : "df-sample" }, h("figure", {}, body, caption));
  });
  return h("section", { class: "df-panel df-samples" }, h("h4", {}, "Sample predictions"), h("p", { class: "df-chart-note" }, words), h("ul", {}, items));
}

function image({ shape, pixels, predicted, true: truths }, i) {
  const [, height, width, channels] = shape;
  const label = `input ${i + 1}: predicted ${predicted[i]}${truths ? `, true ${truths[i]}` : ""}`;
  const k = Math.max(1, Math.floor(64 / Math.max(width, height)));
  const canvas = h("canvas", { class: "df-heat", width, height, role: "img", "aria-label": label, style: `width:${width * k}px;height:${height * k}px` });
  const context = canvas.getContext?.("2d");
  if (!context) return canvas;
  const data = context.createImageData(width, height);
  for (let p = 0; p < width * height; p++) {
    const from = (i * width * height + p) * channels;
    for (let c = 0; c < 3; c++) data.data[p * 4 + c] = pixels[from + (channels < 3 ? 0 : c)];
    data.data[p * 4 + 3] = channels === 4 ? pixels[from + 3] : 255;
  }
  context.putImageData(data, 0, 0);
  return canvas;
}

export function valueTable(monitor) {
  const rows = [];
  for (const [name, byRun] of monitor.curves) {
    for (const [run, { rows: points, bad }] of byRun) {
      if (!points.length) continue;
      const means = Array.from({ length: points.length }, (_, i) => points.at(i, MEAN)).filter(Number.isFinite);
      const last = points.length - 1;
      const cells = [short(points.at(last, STEP)), short(points.at(last, MEAN)), ...(means.length ? [short(Math.min(...means)), short(Math.max(...means))] : ["–", "–"]), String(bad)];
      rows.push(h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, run), cells.map((text) => h("td", { class: "df-num" }, text))));
    }
  }
  const head = ["metric", "run", "step", "last", "lowest", "highest", "not finite"].map((text) => h("th", { scope: "col" }, text));
  return h("div", { class: "df-wide", tabindex: 0, role: "region", "aria-label": "values as a table", ...QUIET }, h("table", { class: "df-values" }, h("caption", {}, "Values of every run"), h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)));
}
