// The picture of the chosen cluster, ClusterView's own, with what stands on its machines in words and
// what travels as a list.
import { h } from "../shared/dom.js";
import { bytes } from "../shared/values.js";
import { LivePicture, waitsAtBarrier } from "../cluster_view/live.js";

export class PictureBox {
  constructor(act, height) {
    this.view = new LivePicture({ act });
    this.words = h("p", { class: "df-hint df-cluster-graph-words" });
    this.list = h("details", { class: "df-cluster-transfers", hidden: true }, h("summary", { "data-lm-suppress-shortcuts": "true" }, "What travels, as a list"), h("div", { class: "df-wide", tabindex: 0, role: "region", "aria-label": "what travels between tasks", "data-lm-suppress-shortcuts": "true" }));
    this.element = h("section", { class: "df-cluster-picture", "aria-label": "picture of the cluster", hidden: true }, this.view.element, h("div", { class: "df-cluster-about" }, this.words, this.list));
    this.view.scroller.style.setProperty("--df-height", `${height}px`);
  }

  /** Another scene: {scene, traveling, words}. */
  take(message) {
    this.message = message;
    this.element.hidden = false;
    this.words.textContent = message.words;
    this.list.hidden = !message.traveling.length;
    this.view.take(message, waitsAtBarrier(this.view.state?.trainings ?? []));
    this.element.dataset.drawn = String(message.scene.tasks.length);
    this.table();
  }

  /** The chosen cluster as it is now, or null; `state` is the whole panel's. */
  live(chosen, state) {
    this.element.hidden = !chosen || !this.message;
    if (!chosen) return;
    const trainings = state.trainings.filter((training) => training.cluster === chosen.id);
    this.view.live({ tasks: chosen.tasks, launched: chosen.launched, trainings, ringWords: state.ringWords });
    if (state.runsPerSecond !== this.runs) {
      this.runs = state.runsPerSecond;
      if (this.message) this.table();
    }
  }

  table() {
    const head = ["value", "from", "to", "bytes a run", "a second"].map((text) => h("th", { scope: "col" }, text));
    const rows = this.message.traveling.map((t) => h("tr", {}, h("th", { scope: "row" }, t.tensor), h("td", {}, t.from), h("td", {}, t.to), h("td", {}, t.bytes === null ? "known at run time" : bytes(t.bytes)), h("td", {}, t.bytes !== null && this.runs ? bytes(Math.round(t.bytes * this.runs)) : "–")));
    this.list.lastChild.replaceChildren(h("table", { class: "df-values" }, h("caption", {}, "Values that travel between tasks"), h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)));
  }

  dispose() {
    this.view.dispose();
  }
}
