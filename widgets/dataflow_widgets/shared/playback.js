// First, back, play, forward, last, a slider and a speed: for everything that is replayed.
import { QUIET, button, h } from "./dom.js";
import { icon } from "./icons.js";

export const SPEEDS = [["½ per s", 2000], ["1 per s", 1000], ["2 per s", 500], ["5 per s", 200], ["20 per s", 50]];

export class Playback {
  /**
   * @param options unit: what is counted ("step"); at(): the position; length(): the last one;
   *                go(position): moves and repaints; stop(position): why to stop there, or "";
   *                stopped(why): playing ended because of that
   */
  constructor(options) {
    Object.assign(this, { stop: () => "", stopped: () => {}, ...options });
    const { unit } = options;
    this.timer = null;
    this.slider = h("input", { type: "range", class: "df-slider", min: 0, max: this.length(), value: 0, "aria-label": unit, oninput: () => this.go(Number(this.slider.value)), ...QUIET });
    this.speed = h("select", { class: "df-select", "aria-label": "speed", ...QUIET }, ...SPEEDS.map(([name, ms]) => h("option", { value: ms, selected: ms === 1000 }, name)));
    this.player = h("button", { type: "button", class: "df-button df-play", onclick: () => (this.timer ? this.pause() : this.play()), ...QUIET });
    this.counter = h("output", { class: "df-counter" });
    this.first = button(icon("first"), "To the start", () => this.go(0));
    this.back = button(icon("back"), `One ${unit} back`, () => this.go(this.at() - 1));
    this.forward = button(icon("forward"), `One ${unit} forward`, () => this.go(this.at() + 1));
    this.end = button(icon("end"), "To the end", () => this.go(this.length()));
    this.elements = [this.first, this.back, this.player, this.forward, this.end, this.slider, this.counter, this.speed];
    this.show();
  }

  show() {
    this.player.replaceChildren(icon(this.timer ? "pause" : "play"), this.timer ? " Pause" : " Play");
  }

  play() {
    if (this.at() === this.length()) this.go(0);
    const tick = () => {
      const next = this.at() + 1;
      const why = this.stop(next);
      this.go(next);
      if (why) this.stopped(why);
      if (this.at() >= this.length() || why) this.pause();
      else this.timer = setTimeout(tick, Number(this.speed.value));
    };
    this.timer = setTimeout(tick, Math.min(300, Number(this.speed.value)));
    this.show();
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = null;
    this.show();
  }

  /** Shows the position; `sentence` says it in words. */
  paint(sentence) {
    const [at, last] = [this.at(), this.length()];
    this.slider.max = last;
    this.slider.value = at;
    this.slider.setAttribute("aria-valuetext", sentence);
    this.counter.textContent = `${at} / ${last}`;
    this.first.disabled = this.back.disabled = at === 0;
    this.forward.disabled = this.end.disabled = at === last;
  }
}
