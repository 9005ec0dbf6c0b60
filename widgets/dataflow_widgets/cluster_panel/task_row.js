// One task: its figures, what can be done to it, and, opened, where it lives and what it printed.
import { QUIET, button, h, s, unique, write } from "../shared/dom.js";
import { allowed, cells, size, sparkline, stateOf, traveled } from "./state.js";

const DELAYS = [0, 0.05, 0.2, 0.5, 1, 2];
const WIDTH = 64;
const HEIGHT = 18;

export class TaskRow {
  /** `act(request)` asks the kernel; `open(name or "")` says whose log is shown. */
  constructor(task, { act, open, say }) {
    this.name = task.name;
    this.task = task;
    this.act = act;
    this.say = say;
    const press = (label, request) => button(label, null, () => this.press(request), { class: "df-button df-small", "aria-label": `${label} ${task.name}` });
    const detail = unique("task");
    this.opener = h("button", { type: "button", class: "df-cluster-name", "aria-expanded": "false", "aria-controls": detail, title: `Address, variables and log of ${task.name}`, onclick: () => open(this.isOpen ? "" : this.name), ...QUIET }, h("span", { class: "df-cluster-arrow", "aria-hidden": "true" }, "▸"), task.name);
    this.state = h("span", { class: "df-cluster-state" });
    this.spark = s("path", { class: "df-cluster-spark" });
    this.texts = Object.fromEntries(["device", "steps", "staleness", "received", "sent", "variables", "memory"].map((key) => [key, h("span")]));
    this.pauser = press("Pause", () => ({ do: this.task.state === "paused" ? "resume" : "pause" }));
    this.slower = h("select", { class: "df-select df-small", "aria-label": `Slow down ${task.name}: seconds longer a step`, title: "Make a straggler: every step takes so much longer", onchange: () => this.press({ do: "slow_down", seconds: Number(this.slower.value) }), ...QUIET }, DELAYS.map((value) => h("option", { value }, value ? `+${value} s` : "full speed")));
    this.restarter = press("Restart", { do: "restart" });
    this.killer = press("Kill", { do: "kill" });
    this.restarts = h("span", { class: "df-cluster-restarts" });
    const small = (key) => {
      this.texts[key].className = "df-cluster-small";
      return this.texts[key];
    };
    const cell = (label, ...children) => h("td", { "data-label": label }, ...children);
    const spark = s("svg", { class: "df-cluster-sparkbox", width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" }, this.spark);
    this.row = h(
      "tr",
      { "data-task": task.name },
      h("th", { scope: "row" }, this.opener),
      cell("state", this.state, small("device"), this.restarts),
      cell("steps/s", h("span", { class: "df-cluster-rate" }, this.texts.steps, spark)),
      cell("staleness", this.texts.staleness),
      cell("bytes", small("received"), small("sent")),
      cell("variables", this.texts.variables, small("memory")),
      h("td", { class: "df-cluster-buttons" }, h("div", {}, this.pauser, this.slower, this.restarter, this.killer)),
    );
    this.facts = h("dl", { class: "df-cluster-facts" });
    this.log = h("pre", { class: "df-text df-cluster-log", tabindex: 0, role: "region", "aria-label": `log of ${task.name}`, ...QUIET });
    this.more = h("tr", { class: "df-cluster-more", id: detail, hidden: true }, h("td", { colspan: 7 }, h("div", { class: "df-cluster-detail" }, this.facts, h("div", {}, h("h4", {}, `Log of ${task.name}`), this.log))));
  }

  press(given) {
    const request = typeof given === "function" ? given() : given;
    const why = allowed(this.task, this.launched)[request.do];
    return why ? this.say(`Not now: ${why}.`) : this.act({ ...request, task: this.name });
  }

  setOpen(isOpen, lines, hasLogs) {
    this.isOpen = isOpen;
    this.more.hidden = !isOpen;
    this.opener.setAttribute("aria-expanded", String(isOpen));
    this.opener.firstChild.textContent = isOpen ? "▾" : "▸";
    if (!isOpen) return;
    const text = !lines ? "…" : lines.length ? lines.join("\n") : hasLogs ? "Nothing has been printed yet." : "The log of a server that was started elsewhere is where it was started.";
    if (this.log.textContent === text) return;
    const atEnd = this.log.scrollTop + this.log.clientHeight >= this.log.scrollHeight - 4;
    this.log.textContent = text;
    if (atEnd) this.log.scrollTop = this.log.scrollHeight;
  }

  update(task, launched, history) {
    const look = stateOf(task.state);
    this.row.dataset.state = task.state;
    this.row.dataset.pid = task.pid ?? "";
    this.row.dataset.delay = task.delay;
    const state = `${look.mark} ${look.word}`;
    if (this.state.textContent !== state) this.state.replaceChildren(h("span", { "aria-hidden": "true" }, look.mark), ` ${look.word}`);
    this.state.dataset.tone = look.tone;
    const again = [task.delay ? `+${task.delay} s` : "", task.restarts ? `started ${task.restarts + 1} times` : ""].filter(Boolean).join(", ");
    write(this.restarts, again);
    const texts = { ...cells(task), device: task.device ?? "" };
    for (const [key, element] of Object.entries(this.texts)) write(element, texts[key]);
    this.spark.setAttribute("d", sparkline(history, WIDTH, HEIGHT));
    const can = allowed(task, launched);
    const paused = task.state === "paused";
    const word = paused ? "Continue" : "Pause";
    if (this.pauser.textContent !== word) {
      this.pauser.textContent = word;
      this.pauser.setAttribute("aria-label", `${word} ${task.name}`);
    }
    this.refuse(this.pauser, paused ? can.resume : can.pause);
    this.refuse(this.restarter, can.restart);
    this.refuse(this.killer, can.kill);
    this.refuse(this.slower, can.slow_down);
    const active = this.slower.getRootNode().activeElement === this.slower;
    if (!active) {
      if (![...this.slower.options].some((option) => Number(option.value) === task.delay)) this.slower.append(h("option", { value: task.delay }, `+${task.delay} s`));
      this.slower.value = String(task.delay);
    }
    this.task = task;
    this.launched = launched;
    if (this.isOpen) this.showFacts(task);
  }

  /** Not `disabled`, which would take the focus away from a button that has just been pressed. */
  refuse(element, why) {
    element.setAttribute("aria-disabled", String(Boolean(why)));
    element.title = why || element.getAttribute("aria-label");
  }

  showFacts(task) {
    const queues = Object.entries(task.queues).map(([name, count]) => `${name}: ${count}`).join(", ");
    const sizes = Object.entries(task.sizes).map(([name, count]) => `${name} (${size(count)})`).join(", ");
    const facts = [
      ["address", task.address],
      ["process", task.pid],
      ["steps", task.steps],
      ["received", traveled(task.received, task.sharedReceived)],
      ["sent", traveled(task.sent, task.sharedSent)],
      ["updates", task.updates || null],
      ["largest staleness", task.largestStaleness],
      ["late gradients dropped", task.dropped || null],
      ["queues", queues],
      ["variables", sizes],
    ].filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== "–");
    const text = JSON.stringify(facts);
    if (text === this.shownFacts) return;
    this.shownFacts = text;
    this.facts.replaceChildren(...facts.flatMap(([key, value]) => [h("dt", {}, key), h("dd", {}, String(value))]));
  }
}
