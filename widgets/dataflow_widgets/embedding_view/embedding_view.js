// EmbeddingView: points with search, neighbors and analogies.  Where the kernel has sent the vectors
// the page answers by itself, also while the kernel is busy.
import { QUIET, button, download, h, onResize, plural } from "../shared/dom.js";
import { keptPicture } from "../shared/saved_picture.js";
import { short, typed } from "../shared/numbers.js";
import { guarded, menu, shell } from "../shared/shell.js";
import { dropStore, storeOf } from "../shared/store.js";
import { swatch } from "../training_monitor/chart.js";
import { answer, directions, search } from "./points.js";
import { Scatter } from "./scatter.js";

const NUM_NEIGHBORS = 10;
const MAX_ROWS = 200;
const METHODS = [["pca", "PCA"], ["tsne", "t-SNE"]];

/** What the page knows of a model, kept when its view is closed and opened again. */
function dataOf(store) {
  if (store.points) return store.points;
  const points = { labels: null, version: 0 };
  store.points = points;
  const take = (header, buffers) => {
    if (!header.labels && !points.labels) return store.hello(); // it came before the whole
    const vectors = typed(buffers?.[1], Float32Array);
    const groups = header.labels ? (buffers?.[2]?.byteLength ? typed(buffers[2], Uint8Array) : null) : points.groups;
    Object.assign(points, header, { places: typed(buffers?.[0], Float32Array), groups });
    points.units = header.hasVectors ? directions(vectors, header.points, header.dimensions) : null;
    store.emit("moved");
  };
  store.on((event, detail) => event === "embedding" && detail && take(detail, detail.buffers));
  const { embedding, arrays } = store.extra;
  if (embedding && !points.labels) take(embedding, arrays);
  store.extra = {};
  return points;
}

function initialize({ model }) {
  dataOf(storeOf(model));
  return () => dropStore(model);
}

function render({ model, el }) {
  const store = storeOf(model);
  const data = dataOf(store);
  const title = model.get("title");
  const frame = shell("embedding-view", title || "embedding", title);
  el.append(frame.element);
  store.send({ kind: "opened" });
  const view = new EmbeddingPage(model, store, data, frame);
  return () => {
    view.dispose();
    store.send({ kind: "closed" });
  };
}

class EmbeddingPage {
  constructor(model, store, data, frame) {
    Object.assign(this, { model, store, data, frame });
    this.selected = -1;
    this.near = []; // indices that are lit: neighbors, or answers of an analogy
    this.picked = []; // up to three points of an analogy
    this.isAnalogy = false;
    this.hiddenGroups = new Set();
    this.build();
    this.forget = store.on((event, detail) => {
      if (event === "moved") guarded(frame, () => this.moved())();
      if (event === "error") frame.fail(detail);
    });
    this.failed = () => frame.fail(model.get("failure"));
    model.on("change:failure", this.failed);
    if (model.get("failure")) this.failed();
    this.endSizes = onResize(this.scatter.element, () => this.scatter.draw());
    this.themes = new MutationObserver(() => this.scatter.draw());
    this.themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
    this.drop = keptPicture(model, store, frame, () => !data.labels);
    this.moved();
  }

  dispose() {
    this.forget();
    this.drop();
    this.endSizes();
    this.themes.disconnect();
    this.model.off("change:failure", this.failed);
  }

  build() {
    const { frame } = this;
    this.scatter = new Scatter(this, this.model.get("height"));
    this.finder = h("input", { class: "df-search", type: "search", placeholder: "Search labels", "aria-label": "search labels", oninput: () => this.find(), ...QUIET });
    this.results = h("div", { class: "df-results", hidden: true });
    this.finder.addEventListener("keydown", (event) => this.searchKey(event));
    this.results.addEventListener("keydown", (event) => this.searchKey(event));
    this.method = h("select", { class: "df-select", "aria-label": "projection", onchange: () => this.project(), ...QUIET }, METHODS.map(([value, name]) => h("option", { value }, name)));
    this.analogist = button("Analogy", "Choose three points: a is to b as c is to …", () => this.setAnalogy(!this.isAnalogy), { "aria-pressed": "false" });
    this.tabler = button("Table", "Show the points as a table", () => {
      this.tableBox.hidden = !this.tableBox.hidden;
      this.tabler.setAttribute("aria-pressed", String(!this.tableBox.hidden));
      this.tabulate();
    }, { "aria-pressed": "false" });
    const zoom = h("span", { class: "df-zoom" }, button("−", "Zoom out", () => this.scatter.zoomBy(1 / 1.4)), button("+", "Zoom in", () => this.scatter.zoomBy(1.4)), button("Fit", "Show all points", () => this.scatter.fit()));
    const saving = menu("Save ▾", "Save the picture or the places", [
      ["Picture (PNG)", () => this.scatter.canvas.toBlob((blob) => download("embedding.png", blob))],
      ["Places (CSV)", () => download("embedding.csv", this.csv(), "text/csv")],
    ]);
    frame.toolbar.append(h("div", { class: "df-search-box" }, this.finder, this.results), this.method, this.analogist, this.tabler, saving, zoom);
    this.legend = h("div", { class: "df-legend", role: "group", "aria-label": "groups", hidden: true });
    this.side = h("div", { class: "df-side df-embedding-side" });
    this.tableBox = h("div", { class: "df-values-box", hidden: true });
    frame.body.append(h("div", { class: "df-embedding-main" }, this.scatter.element, this.legend, this.tableBox), this.side);
  }

  // What arrives

  moved() {
    const { data } = this;
    if (!data.labels) return;
    if (this.selected >= data.points) this.selected = -1;
    this.method.value = data.working ? "tsne" : data.method;
    this.scatter.move(data.places);
    this.drawLegend();
    const share = data.explained[0] + data.explained[1];
    const how = data.method === "pca" ? `PCA shows ${Math.round(share * 100)} % of the variance` : "t-SNE keeps neighbors together; distances between clusters mean little";
    this.frame.note([data.working ? `${data.working} …` : how, data.bad ? `${plural(data.bad, "row")} not finite` : null, data.isLive ? `live, version ${data.version}` : null].filter(Boolean).join("; "));
    const words = `${data.points} points in ${data.dimensions} dimensions`;
    this.scatter.element.setAttribute("aria-label", `${words}. Arrow keys go from point to point, Enter chooses one, plus and minus zoom, 0 shows all, slash searches.`);
    this.frame.element.dataset.version = String(data.version);
    this.frame.element.dataset.method = data.method;
    this.frame.element.dataset.working = data.working ? "yes" : "no";
    if (!this.greeted) this.frame.say(`${words}.`);
    this.greeted = true;
    this.ask(false);
    this.tabulate();
  }

  drawLegend() {
    const { groupNames } = this.data;
    this.legend.hidden = !groupNames?.length;
    if (this.legend.childElementCount === groupNames?.length) return;
    this.legend.replaceChildren(...(groupNames ?? []).map((name, i) => {
      const toggle = h("button", { type: "button", class: "df-run-toggle", "aria-pressed": "true", title: `Show or hide ${name}`, onclick: () => {
        if (!this.hiddenGroups.delete(i)) this.hiddenGroups.add(i);
        toggle.setAttribute("aria-pressed", String(!this.hiddenGroups.has(i)));
        this.scatter.draw();
      }, ...QUIET }, swatch(i), h("span", {}, name));
      return toggle;
    }));
  }

  async project() {
    const answer = await this.store.question({ kind: "method", method: this.method.value });
    if (!answer) this.frame.fail("The kernel has not answered: a cell keeps it busy, or it is gone. The projection changes when it is free.");
  }

  // Searching

  find() {
    const { found, total } = search(this.data.labels ?? [], this.finder.value);
    this.results.hidden = !this.finder.value.trim();
    this.results.replaceChildren(
      ...found.map((i) => button(this.data.labels[i], null, () => this.take(i), { class: "df-result" })),
      h("small", { class: "df-hint" }, total > found.length ? `${found.length} of ${total}` : total ? "" : "nothing found"),
    );
    this.frame.say(total ? `${plural(total, "label")} found.` : "Nothing found.");
  }

  searchKey(event) {
    const items = [...this.results.querySelectorAll("button")];
    const at = items.indexOf(event.target);
    if (event.key === "Enter" && at < 0 && items.length) items[0].click();
    else if (event.key === "Escape") {
      this.finder.value = "";
      this.results.hidden = true;
      this.finder.focus();
    } else if (event.key === "ArrowDown" && items.length) items[(at + 1) % items.length].focus();
    else if (event.key === "ArrowUp" && at >= 0) (items[at - 1] ?? this.finder).focus();
    else return;
    event.preventDefault();
  }

  take(i) {
    this.finder.value = "";
    this.results.hidden = true;
    this.choose(i);
    this.scatter.reveal(i);
    this.scatter.element.focus();
  }

  // Choosing

  hovered(i) {
    if (i >= 0 && document.activeElement === this.scatter.element) this.frame.say(this.data.labels[i]);
  }

  leave(key) {
    if (key === "/") this.finder.focus();
    else if (key === "Escape") {
      this.selected = -1;
      this.near = [];
      this.picked = [];
      this.ask();
    } else return false;
    return true;
  }

  choose(i) {
    if (this.isAnalogy) {
      if (this.picked.length >= 3) this.picked = [];
      if (!this.picked.includes(i)) this.picked.push(i);
      this.selected = -1;
    } else this.selected = i;
    this.ask();
  }

  setAnalogy(on) {
    this.isAnalogy = on;
    this.analogist.setAttribute("aria-pressed", String(on));
    this.picked = [];
    this.selected = -1;
    this.ask();
  }

  /** Looks up what is near what was chosen, in the page or in the kernel, and shows it. */
  async ask(aloud = true) {
    const { data } = this;
    const items = this.isAnalogy ? (this.picked.length === 3 ? [...this.picked] : []) : this.selected >= 0 ? [this.selected] : [];
    const ticket = (this.ticket = {});
    let found = [];
    if (items.length && data.units) found = answer(data.units, data.dimensions, items, NUM_NEIGHBORS);
    else if (items.length) {
      const reply = await this.store.question({ kind: "nearest", items, k: NUM_NEIGHBORS });
      if (ticket !== this.ticket) return;
      if (!reply) this.frame.fail("The kernel has not answered: a cell keeps it busy, or it is gone. Neighbors of so many vectors need it.");
      found = reply?.found ?? [];
    }
    this.near = found.map(([i]) => i).slice(0, this.isAnalogy ? 3 : NUM_NEIGHBORS);
    this.showSide(found);
    this.scatter.draw();
    if (aloud) this.speak(found);
  }

  speak(found) {
    const { labels } = this.data;
    const [a, b, c] = this.picked.map((i) => labels[i]);
    if (this.isAnalogy) {
      if (c !== undefined) this.frame.say(`${a} is to ${b} as ${c} is to ${found.length ? labels[found[0][0]] : "nothing"}.`);
      else this.frame.say(`Analogy: ${["choose the first point", `${a} is to …`, `${a} is to ${b} as …`][this.picked.length]}`);
    } else if (this.selected >= 0) this.frame.say(`${labels[this.selected]}: nearest ${found.slice(0, 3).map(([i]) => labels[i]).join(", ")}.`);
    else this.frame.say("Nothing is chosen.");
  }

  showSide(found) {
    const { labels, groups, groupNames } = this.data;
    const list = h("ol", { class: "df-near-list" }, found.map(([i, cosine]) => h("li", {}, button(labels[i], null, () => this.follow(i), { class: "df-link" }), h("span", { class: "df-cosine", style: `--df-share:${Math.max(0, cosine * 100).toFixed(0)}%` }, cosine.toFixed(3)))));
    const focused = this.side.contains(document.activeElement);
    if (this.isAnalogy) {
      const slot = (k, hint) => h("span", { class: `df-slot${this.picked[k] === undefined ? " df-hint" : ""}` }, this.picked[k] === undefined ? hint : labels[this.picked[k]]);
      this.side.replaceChildren(
        h("h4", {}, "Analogy"),
        h("p", { class: "df-analogy" }, slot(0, "first"), " is to ", slot(1, "second"), " as ", slot(2, "third"), " is to …"),
        found.length ? list : h("p", { class: "df-hint" }, "Click three points, or choose them by search or with the arrow keys and Enter."),
        button("Clear", "Choose three other points", () => { this.picked = []; this.ask(); }, { class: "df-button df-small" }),
      );
    } else if (this.selected >= 0) {
      this.side.replaceChildren(
        h("h4", {}, labels[this.selected]),
        groups ? h("p", { class: "df-hint" }, `group ${groupNames[groups[this.selected]]}`) : "",
        h("p", { class: "df-chart-note" }, `Nearest by cosine, in all ${plural(this.data.dimensions, "dimension")}`),
        list,
      );
    } else this.side.replaceChildren(h("p", { class: "df-hint" }, "Click a point, or search, to see its neighbors. Analogy takes three points."));
    if (focused) this.side.querySelector("button")?.focus();
  }

  follow(i) {
    if (!this.isAnalogy) this.choose(i);
    this.scatter.reveal(i);
  }

  // The same in text

  tabulate() {
    if (this.tableBox.hidden || !this.data.labels) return;
    const { labels, places, groups, groupNames, points } = this.data;
    const rows = labels.slice(0, MAX_ROWS).map((label, i) => h("tr", {}, h("th", { scope: "row" }, label), groups ? h("td", {}, groupNames[groups[i]]) : null, h("td", { class: "df-num" }, short(places[2 * i])), h("td", { class: "df-num" }, short(places[2 * i + 1]))));
    const head = ["label", groups ? "group" : null, "x", "y"].filter(Boolean).map((text) => h("th", { scope: "col" }, text));
    this.tableBox.replaceChildren(
      h("div", { class: "df-wide", tabindex: 0, role: "region", "aria-label": "points as a table", ...QUIET }, h("table", { class: "df-values" }, h("caption", {}, "Points and their places"), h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows))),
      points > MAX_ROWS ? h("p", { class: "df-chart-note" }, `The first ${MAX_ROWS} of ${points}; Save has all of them.`) : "",
    );
  }

  csv() {
    const { labels, places } = this.data;
    const cell = (text) => `"${(/^[=+\-@\t]/.test(text) ? `'${text}` : text).replace(/"/g, '""')}"`;
    return `label,x,y\n${labels.map((label, i) => `${cell(label)},${places[2 * i]},${places[2 * i + 1]}`).join("\n")}\n`;
  }
}

export default { initialize, render };
