// One run: what switches its curves on and off, how far it is, and what steers it.
import { QUIET, button, h } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { duration } from "../shared/numbers.js";
import { swatch } from "./chart.js";

export class RunRow {
  /** `control(run, action, value)` asks the kernel; `toggle(run)` hides or shows the curves. */
  constructor(state, index, { control, toggle }) {
    this.name = state.name;
    this.control = control;
    this.legend = h("button", { type: "button", class: "df-run-toggle", "aria-pressed": "true", title: `Show or hide ${state.name}`, onclick: () => toggle(state.name), ...QUIET }, swatch(index), h("span", {}, state.name));
    this.bar = h("progress", { class: "df-progress", max: 1, value: 0, "aria-label": `progress of ${state.name}` });
    this.text = h("span", { class: "df-run-text" });
    this.status = h("span", { class: "df-run-status" });
    this.pauser = button("", null, () => this.act(this.state.status === "paused" ? "resume" : "pause"), { class: "df-button df-small" });
    this.stopper = button("Stop", `Stop ${state.name} after this step`, () => this.act("stop"), { class: "df-button df-small", "aria-label": `Stop ${state.name}` });
    this.rate = h("input", { class: "df-search df-rate", inputmode: "decimal", size: 8, "aria-label": `learning rate of ${state.name}`, ...QUIET });
    this.rate.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.setRate();
      else if (event.key === "Escape") this.showRate(true);
    });
    this.setter = button("Set", `Use this learning rate for ${state.name}`, () => this.setRate(), { class: "df-button df-small", "aria-label": `Use this learning rate for ${state.name}` });
    const scaled = (factor, text) => button(text, `${factor > 1 ? "Double" : "Halve"} the learning rate of ${state.name}`, () => this.setRate(this.state.rate * factor), { class: "df-button df-small" });
    this.rateBox = h("span", { class: "df-rate-box" }, h("span", { "aria-hidden": "true" }, "learning rate"), this.rate, this.setter, scaled(0.5, "÷2"), scaled(2, "×2"));
    this.steer = h("span", { class: "df-steer" }, this.pauser, this.stopper, this.rateBox);
    this.error = h("div", { class: "df-run-error", hidden: true });
    this.element = h("div", { class: "df-run-row", role: "group", "aria-label": state.name }, this.legend, this.bar, this.status, this.text, this.steer, this.error);
    this.update(state);
  }

  act(action, value) {
    return this.control(this.name, action, value);
  }

  setRate(value = Number(this.rate.value.trim().replace(",", ".") || NaN)) {
    this.typed = false;
    return this.act("rate", value);
  }

  showRate(force = false) {
    // What somebody is typing is left alone.
    if (!force && this.rate.getRootNode().activeElement === this.rate) return;
    this.rate.value = this.state.rate === null ? "" : String(Number(this.state.rate.toPrecision(6)));
  }

  update(state) {
    const old = this.state;
    this.state = state;
    const { step, steps, status, secondsLeft } = state;
    const over = ["done", "stopped", "failed", "interrupted"].includes(status);
    this.element.dataset.status = status;
    this.element.dataset.rate = state.rate ?? "";
    if (steps) {
      this.bar.value = Math.min(1, status === "done" ? 1 : step / steps);
      this.bar.hidden = false;
    } else this.bar.hidden = true;
    this.status.textContent = status;
    const left = secondsLeft !== null && !over && status !== "paused" ? `, ${duration(secondsLeft)} left` : "";
    this.text.textContent = `step ${Number(step.toPrecision(12))}${steps ? ` of ${steps}` : ""}${left}`;
    this.steer.hidden = !state.canControl || over;
    this.rateBox.hidden = !state.hasRate;
    if (!old || old.status !== status) {
      const paused = status === "paused";
      this.pauser.replaceChildren(icon(paused ? "play" : "pause"), paused ? " Resume" : " Pause");
      this.pauser.setAttribute("aria-label", `${paused ? "Resume" : "Pause"} ${state.name}`);
    }
    if (!old || old.rate !== state.rate) this.showRate();
    this.error.hidden = !state.error;
    this.error.textContent = state.error;
  }

  setHidden(hidden) {
    this.legend.setAttribute("aria-pressed", String(!hidden));
  }
}
