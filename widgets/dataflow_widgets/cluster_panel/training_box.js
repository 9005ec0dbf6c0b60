// A training: what it has reached, and the mode, which can be switched while it runs.
import { QUIET, button, h, plural, unique, write } from "../shared/dom.js";
import { short } from "../shared/numbers.js";
import { LossChart } from "./loss_chart.js";

// After so long without a word a chosen mode is no longer marked.
const HEARD_MS = 3000;
const SAY = {
  asynchronous: "each worker changes the variables by itself; nobody waits, gradients may be stale",
  synchronous: "the gradients of all workers make one step; the slowest sets the pace",
  "backup workers": "the first gradients make the step; those of the slowest come too late and are dropped",
  "all-reduce": "each worker keeps all variables; gradients are averaged around a ring of workers",
  ZeRO: "as all-reduce, but each worker keeps the optimizer's slots of its share, updates that, and sends it around",
  "model parallel": "all workers make one step together, each with its part of the model",
};

export class TrainingBox {
  constructor(training, act) {
    this.act = act;
    this.id = training.id;
    const name = unique("mode");
    this.radios = training.modes.map((mode) => h("input", { type: "radio", name, value: mode, onchange: () => this.change(mode), ...QUIET }));
    this.backups = h("input", { class: "df-search df-cluster-count", type: "number", min: 1, value: training.num_backups, "aria-label": "number of backup workers", onchange: () => this.change("backup workers"), ...QUIET });
    this.text = h("span", { class: "df-cluster-training-text" });
    this.explain = h("p", { class: "df-hint" });
    this.errors = h("div", { class: "df-cluster-errors", hidden: true });
    this.chart = new LossChart();
    this.stopper = button("Stop training", "Stop after this step; the variables stay", () => act({ do: this.running ? "stop training" : "start", training: this.id }), { class: "df-button df-small" });
    this.modes = h("fieldset", { class: "df-cluster-modes" }, h("legend", {}, "Mode"), training.modes.map((mode, i) => h("label", {}, this.radios[i], ` ${mode}`)), h("label", { class: "df-cluster-backups" }, "backups ", this.backups));
    this.element = h("section", { class: "df-cluster-training", "aria-label": `training ${training.name}` }, h("div", { class: "df-cluster-parts" }, h("div", {}, h("div", { class: "df-cluster-training-line" }, h("h4", {}, `Training: ${training.name}`), this.stopper), h("div", { class: "df-cluster-training-line" }, this.text), this.modes, this.explain, this.errors), this.chart.element));
  }

  change(mode) {
    // Marked until the kernel has heard of it: a state that was on its way says the old one.
    this.asked = { mode, until: Date.now() + HEARD_MS };
    this.act({ do: "switch", training: this.id, mode, backups: Number(this.backups.value) || 1 });
  }

  /** `isBusy`: a switch is under way, and the mode that was chosen stays marked. `isOver`: its cluster was stopped, and it with that. */
  update(training, isBusy, isOver = false) {
    this.id = training.id;
    this.running = training.state === "running";
    Object.assign(this.element.dataset, { mode: training.mode, state: training.state, step: training.global_step });
    const loss = training.loss === null ? "" : `, loss ${short(training.loss)}`;
    const text = isOver ? `ended with its cluster, global step ${training.global_step}${loss}` : `${training.state}, global step ${training.global_step}${loss}, ${plural(training.workers.length, "worker")} at work`;
    this.modes.disabled = this.stopper.hidden = isOver;
    write(this.text, text);
    const said = `${training.mode}: ${SAY[training.mode] ?? ""}`;
    write(this.explain, said);
    if (isBusy || this.asked?.mode === training.mode || this.asked?.until < Date.now()) this.asked = null;
    if (!isBusy && !this.asked) for (const radio of this.radios) radio.checked = radio.value === training.mode;
    this.backups.closest("label").hidden = training.mode !== "backup workers";
    if (this.backups.getRootNode().activeElement !== this.backups) this.backups.value = training.num_backups;
    this.stopper.textContent = this.running ? "Stop training" : "Go on training";
    this.stopper.title = this.running ? "Stop after this step; the variables stay" : "Go on with the variables as they are";
    this.chart.paint(training.losses);
    // That tasks are gone is what stopping a cluster does.
    const failed = Object.entries(training.errors).filter(([, error]) => !(isOver && error.startsWith("UnavailableError")));
    const errors = [...failed.map(([task, error]) => `${task}: ${error}`), ...(training.trouble ? [training.trouble] : [])].join("\n");
    this.errors.hidden = !errors;
    write(this.errors, errors);
  }
}
