// The graph that runs on the cluster, colored by task, with what its Sends and Recvs carry.
import { h } from "../shared/dom.js";
import { GraphModel } from "../shared/graph.js";
import { GraphPane, layoutNote } from "../shared/pane.js";
import { guarded } from "../shared/shell.js";
import { bytes } from "../shared/values.js";
import { colorOf, lineWidth, traffic } from "./state.js";

const SEVERAL = "#d0d0d0";

export class GraphBox {
  constructor(store, frame, height) {
    this.frame = frame;
    this.transfers = new Map(); // by the name of the Send
    this.tasks = []; // of the cluster, in its order: a task keeps its color
    this.pane = new GraphPane(new GraphModel(), {
      host: store.host,
      direction: "down",
      ask: () => store.host.ask({ send: (message) => store.send(message) }),
      word: (item) => this.word(item),
      // How gradients are made is not what this picture is about: one box, to be opened.
      mayOpen: (path) => !/^gradients(_\d+)?(\/|$)/.test(path),
      onlayout: (result) => {
        this.note.textContent = layoutNote(result);
        this.element.dataset.drawn = String(result.nodes.size);
        this.paint();
      },
    });
    this.words = h("p", { class: "df-hint df-cluster-graph-words" });
    this.note = h("p", { class: "df-hint" });
    this.legend = h("div", { class: "df-legend" });
    this.list = h("details", { class: "df-cluster-transfers" }, h("summary", { "data-lm-suppress-shortcuts": "true" }, "What travels, as a list"), h("div", { class: "df-wide", tabindex: 0, role: "region", "aria-label": "what travels between tasks", "data-lm-suppress-shortcuts": "true" }));
    this.element = h("section", { class: "df-cluster-graph", "aria-label": "graph by task", hidden: true }, h("div", { class: "df-cluster-graph-head" }, h("h4", {}, "Graph by task"), this.pane.zoomBar), this.words, this.pane.element, this.legend, this.note, this.list);
    this.pane.element.style.setProperty("--df-height", `${height}px`);
  }

  /** Another graph: {nodes, transfers, words}. */
  take(message) {
    this.transfers = new Map(message.transfers.map((t) => [t.send, t]));
    this.message = message;
    this.element.hidden = false;
    this.words.textContent = message.words;
    this.pane.setModel(new GraphModel(message.nodes));
    return guarded(this.frame, () => this.pane.update())();
  }

  follow(runsPerSecond, tasks) {
    if (runsPerSecond === this.runs && tasks.join() === this.tasks.join()) return;
    this.runs = runsPerSecond;
    this.tasks = tasks;
    if (this.message) this.paint();
  }

  /** Above a node: its task. */
  word(item) {
    const tasks = new Set(item.members.map((i) => this.pane.model.nodes[i].device));
    return tasks.size === 1 ? [...tasks][0] : `${tasks.size} tasks`;
  }

  paint() {
    const { pane } = this;
    if (!pane.drawing) return;
    const where = (item) => new Set(item.members.map((i) => pane.model.nodes[i].device));
    const homes = pane.visible.items.map((item) => [item.id, where(item)]);
    pane.fills = new Map(homes.map(([id, tasks]) => [id, tasks.size === 1 ? colorOf([...tasks][0], this.tasks) : SEVERAL]));
    const entries = [...new Set(pane.model.nodes.map((node) => node.device))].sort((a, b) => this.tasks.indexOf(a) - this.tasks.indexOf(b)).map((task) => [task, colorOf(task, this.tasks)]);
    if (homes.some(([, tasks]) => tasks.size > 1)) entries.push(["several", SEVERAL]);
    pane.widths = new Map();
    for (const edge of pane.visible.edges) {
      const here = [...edge.tensors.keys()].map((name) => this.transfers.get(name.slice(0, name.lastIndexOf(":")))).filter(Boolean);
      const total = here.reduce((sum, transfer) => sum + (transfer.bytes ?? 0), 0);
      if (total) pane.widths.set(edge.id, lineWidth(total));
      // Between a Send and its Recv: what travels there.
      const label = here.length === 1 && pane.drawing.edgeElements.get(edge.id)?.querySelector(".df-edge-label");
      if (label) {
        // It begins where the layout put the shorter word, beside the line.
        const { x, width } = label.getBBox();
        if (width && label.getAttribute("text-anchor") === "middle") {
          label.setAttribute("x", x);
          label.setAttribute("text-anchor", "start");
        }
        label.textContent = traffic(here[0], this.runs);
      }
    }
    this.legend.replaceChildren(...entries.map(([name, value]) => h("span", { class: "df-key" }, h("i", { style: `background:${value}` }), name)));
    pane.paint();
    this.table();
  }

  table() {
    const head = ["value", "from", "to", "bytes a run", "a second"].map((text) => h("th", { scope: "col" }, text));
    const rows = this.message.transfers.map((t) => h("tr", {}, h("th", { scope: "row" }, t.tensor), h("td", {}, t.from), h("td", {}, t.to), h("td", {}, t.bytes === null ? "known at run time" : bytes(t.bytes)), h("td", {}, t.bytes !== null && this.runs ? bytes(Math.round(t.bytes * this.runs)) : "–")));
    this.list.lastChild.replaceChildren(h("table", { class: "df-values" }, h("caption", {}, "Values that travel between tasks"), h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)));
  }

  dispose() {
    this.pane.dispose();
  }
}
