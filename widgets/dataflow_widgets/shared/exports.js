// Saving what is seen: SVG with its colors written in, PNG from that SVG, DOT, and one HTML file
// that works with no kernel and no network.
import { download, h, s } from "./dom.js";
import { exportDot } from "./dot.js";
import { settle } from "./morph.js";
import { pack } from "./store.js";
import { source } from "./style.js";
import { tableFor } from "./translate.js";

const INHERITED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-family", "font-weight", "visibility", "paint-order", "stroke-linejoin"];

export function standaloneSvg(root, background = true) {
  settle(root);
  const copy = root.cloneNode(true);
  const from = [root, ...root.querySelectorAll("*")];
  const styles = new Map();
  const dropped = [];
  const to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((element, i) => {
    const computed = getComputedStyle(element);
    if (computed.display === "none" || (element.tagName === "text" && !element.textContent)) return void dropped.push(to[i]);
    const own = Object.fromEntries(INHERITED.map((name) => [name, computed.getPropertyValue(name)]));
    styles.set(element, own);
    const above = element === root ? {} : styles.get(element.parentNode) ?? {}; // of a dropped one: dropped too
    // Only what differs from the element around it, which is how these are inherited: a fifth of the size.
    for (const [name, value] of Object.entries(own)) {
      if (value !== above[name]) to[i].setAttribute(name, value);
      else to[i].removeAttribute(name);
    }
    if (computed.opacity !== "1") to[i].setAttribute("opacity", computed.opacity);
    for (const name of [...to[i].attributes].map((a) => a.name)) {
      if (name === "class" || name === "tabindex" || name === "style" || name.startsWith("data-")) to[i].removeAttribute(name);
    }
  });
  for (const gone of dropped) gone.remove();
  const [x, y, width, height] = root.getAttribute("viewBox").split(" ").map(Number);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  if (background) {
    const fill = getComputedStyle(root.closest(".df-widget") ?? document.body).backgroundColor;
    copy.prepend(s("rect", { x, y, width, height, fill }));
  }
  return new XMLSerializer().serializeToString(copy);
}

export async function png(svg) {
  const image = new Image();
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    await new Promise((resolve, reject) => {
      image.onload = resolve;
      image.onerror = () => reject(new Error("the picture could not be painted"));
      image.src = url;
    });
    const k = Math.min(2, 8000 / Math.max(image.width, image.height));
    const canvas = h("canvas", { width: Math.round(image.width * k), height: Math.round(image.height * k) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  } finally {
    URL.revokeObjectURL(url);
  }
}

const json = (value) => JSON.stringify(value).replace(/</g, "\\u003c").replace(/\u2028|\u2029/g, " ");

/** One HTML page around the widget's own module and a state that needs no kernel. */
export async function standaloneHtml(model, state, title) {
  const language = model.get("language") || "en";
  const table = tableFor(language);
  const safe = title.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
  return `<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; img-src data: blob:; worker-src blob:">
<title>${safe}</title><style>body{margin:1rem;font-family:sans-serif}@media(prefers-color-scheme:dark){body{background:#111}}</style></head>
<body><main id="widget"></main>
<script type="module">
const state = ${json({ ...state, language, table })};
const packed = Uint8Array.from(atob(${json(await pack(source(), false))}), (c) => c.charCodeAt(0));
const source = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
const model = { get: (k) => state[k], set: (k, v) => { state[k] = v; }, save_changes() {}, send() {}, on() {}, off() {} };
const module = await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
module.adopt(source);
const widget = module.widgets[${json(model.get("kind"))}];
await widget.initialize?.({ model });
await widget.render({ model, el: document.getElementById("widget") });
</script></body></html>
`;
}

export function exporters(pane, name, frame, htmlState, model) {
  const svg = () => standaloneSvg(pane.drawing.root);
  return [
    ["Picture (SVG)", () => download(`${name}.svg`, svg(), "image/svg+xml")],
    ["Picture (PNG)", () => png(svg()).then((blob) => download(`${name}.png`, blob)).catch((e) => frame.fail(e.message))],
    ["Graphviz (DOT)", () => download(`${name}.dot`, exportDot(pane.visible, pane.model, { direction: pane.direction, classes: classesOf(pane) }), "text/vnd.graphviz")],
    ["Web page (HTML)", () => htmlState().then((state) => standaloneHtml(model, state, name)).then((page) => download(`${name}.html`, page, "text/html"))],
  ];
}

export function classesOf(pane) {
  return new Map([...(pane.states ?? [])].map(([id, states]) => [id, new Set(states.map((state) => `df-${state}`))]));
}
