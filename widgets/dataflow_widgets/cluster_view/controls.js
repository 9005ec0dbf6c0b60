// What can be done to a running cluster: to the task that is chosen, and to the training as a whole.
import { QUIET, button, h, plural } from "../shared/dom.js";
import { bytes, number } from "../shared/values.js";

const DELAYS = [[0, "full speed"], [0.05, "+0.05 s a step"], [0.2, "+0.2 s a step"], [0.5, "+0.5 s a step"], [2, "+2 s a step"]];
const LATE = [[0, "messages on time"], [0.05, "0.05 s late"], [0.2, "0.2 s late"], [0.5, "0.5 s late"], [2, "2 s late"]];
const next = (steps, value) => steps[(steps.findIndex(([each]) => each === value) + 1) % steps.length][0];

/** What a key asks for on a task; null for a key that does nothing there. */
export function keyAct(key, task, isLaunched) {
  const runs = task.state === "running";
  const name = task.name;
  if (key === "k" && ["running", "paused", "silent"].includes(task.state)) return { do: "kill", task: name };
  if (key === "p" && (runs || task.state === "paused")) return { do: runs ? "pause" : "resume", task: name };
  if (key === "r" && isLaunched) return { do: "restart", task: name };
  if (key === "c" && runs) return { do: task.isCut ? "mend" : "cut", task: name };
  if (key === "s" && runs) return { do: "slow_down", task: name, seconds: next(DELAYS, task.delay) };
  if (key === "l" && runs) return { do: "delay", task: name, seconds: next(LATE, task.linkDelay) };
  return null;
}

export class TaskTools {
  constructor(act) {
    this.act = act;
    this.element = h("div", { class: "df-cv-tools", role: "toolbar", "aria-label": "selected task", hidden: true });
  }

  /** `task` as the kernel sent it, or undefined where none is chosen. */
  paint(task, isLaunched) {
    this.element.hidden = !task;
    if (!task) return;
    const key = [task.name, task.state, isLaunched, task.isCut].join(" ");
    if (key !== this.key) {
      this.key = key; // not before: a button that has the focus stays
      this.fill(task, isLaunched);
    }
    for (const [select, value] of [[this.slow, task.delay], [this.late, task.linkDelay]]) if (select.getRootNode().activeElement !== select) select.value = String(value);
    this.facts.textContent = [task.device, task.address, task.memory ? `${bytes(task.memory)} of memory` : "", task.variables ? `${plural(task.variables, "variable")}, ${bytes(task.variableBytes)}` : "", task.dropped ? `${plural(task.dropped, "gradient")} dropped` : ""].filter(Boolean).join(" · ");
  }

  fill(task, isLaunched) {
    const { element } = this;
    const focused = element.contains(element.getRootNode().activeElement) ? element.getRootNode().activeElement.textContent : "";
    const act = (what, title, todo, isOff = false) => button(what, title, () => this.act({ task: task.name, ...todo }), { disabled: isOff });
    const runs = task.state === "running";
    const choice = (label, todo, steps) => {
      const select = h("select", { class: "df-select", "aria-label": label, disabled: !runs, onchange: () => this.act({ do: todo, task: task.name, seconds: Number(select.value) }), ...QUIET }, steps.map(([value, text]) => h("option", { value }, text)));
      return select;
    };
    this.slow = choice(`how slow ${task.name} is`, "slow_down", DELAYS);
    this.late = choice(`how late messages of ${task.name} are`, "delay", LATE);
    this.facts = h("span", { class: "df-hint" });
    element.replaceChildren(
      h("strong", {}, task.name),
      act("Kill", "Kill the process, as a fault would (k)", { do: "kill" }, !["running", "paused", "silent"].includes(task.state)),
      task.state === "paused" ? act("Continue", "Let it go on (p)", { do: "resume" }) : act("Pause", "Stop the process: to the others it is slow, not dead (p)", { do: "pause" }, !runs),
      act("Restart", "Start it again, without its variables (r)", { do: "restart" }, !isLaunched || ["restarting", "starting"].includes(task.state)),
      task.isCut ? act("Mend link", "Link it with the others again (c)", { do: "mend" }, !runs) : act("Cut link", "Hold back all messages between it and the other tasks (c)", { do: "cut" }, !runs),
      this.slow,
      this.late,
      this.facts,
    );
    if (focused) ([...element.querySelectorAll("button:not(:disabled)")].find((each) => each.textContent === focused) ?? element.querySelector("button:not(:disabled)"))?.focus();
  }
}

export class TrainingTools {
  constructor(act) {
    this.act = act;
    this.element = h("div", { class: "df-cv-tools df-cv-training", role: "toolbar", "aria-label": "training", hidden: true });
  }

  paint(state) {
    const training = state.trainings[0];
    const key = JSON.stringify([training?.name, training?.modes, training?.batch_size === null, state.launched, state.stopped]);
    this.element.hidden = state.stopped || (!training && !state.launched);
    if (this.element.hidden) return;
    if (key !== this.key) {
      this.key = key;
      this.fill(training, state);
    }
    const show = (field, value) => {
      if (field && field.getRootNode().activeElement !== field) field.value = String(value);
    };
    show(this.workers, state.jobs.worker);
    if (this.restarts) this.restarts.checked = state.autoRestart;
    if (!training) return;
    show(this.mode, training.mode);
    show(this.backups, training.num_backups);
    show(this.batch, training.batch_size);
    this.backups.closest("label").hidden = training.mode !== "backup workers";
    this.stopper.textContent = training.state === "running" ? "Stop training" : "Go on training";
    this.running = training.state === "running";
    const trouble = [...Object.entries(training.errors ?? {}).map(([task, error]) => `${task}: ${error}`), training.trouble].filter(Boolean).join(" ");
    this.progress.textContent = `step ${training.global_step}${training.loss == null ? "" : `, loss ${number(training.loss)}`}`;
    this.trouble.textContent = trouble;
  }

  fill(training, state) {
    const count = (label, least, change) => {
      const field = h("input", { class: "df-search df-cv-count", type: "number", min: least, max: 10000, "aria-label": label, onchange: () => change(Number(field.value)), ...QUIET });
      return field;
    };
    const labeled = (text, field) => h("label", {}, `${text} `, field);
    const parts = [];
    if (training) {
      const change = (more) => this.act({ do: "switch", training: 0, mode: this.mode.value, backups: Number(this.backups.value) || 1, ...more });
      this.mode = h("select", { class: "df-select", "aria-label": "mode of the training", onchange: () => change({}), ...QUIET }, training.modes.map((mode) => h("option", { value: mode }, mode)));
      this.backups = count("number of backup workers", 1, () => change({}));
      this.batch = training.batch_size === null ? null : count("examples of each worker a step", 1, (batch) => change({ batch }));
      this.stopper = button("Stop training", "Stop after this step, or go on with the variables as they are", () => this.act({ do: this.running ? "stop training" : "start", training: 0 }));
      this.progress = h("span", { class: "df-hint" });
      this.trouble = h("span", { class: "df-cv-trouble" });
      parts.push(h("strong", {}, training.name), this.progress, labeled("mode", this.mode), labeled("backups", this.backups), this.batch && labeled("batch", this.batch), this.stopper);
    } else parts.push(button("Train a demo", "Softmax regression on 1,797 handwritten digits, on all workers", () => this.act({ do: "train" })));
    if (state.launched && state.jobs.worker !== undefined) {
      this.workers = count("number of workers", 1, (worker) => this.act({ do: "resize", jobs: { worker } }));
      this.restarts = h("input", { type: "checkbox", onchange: () => this.act({ do: "auto restart", restart: this.restarts.checked }), ...QUIET });
      parts.push(labeled("workers", this.workers), h("label", {}, this.restarts, " start again what dies"));
    }
    this.element.replaceChildren(...parts.filter(Boolean), ...(training ? [this.trouble] : []));
  }
}
