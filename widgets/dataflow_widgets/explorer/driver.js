// What all views of one explorer share: the values, the newest frame, and the turns asked of the kernel.
import { unpack } from "../shared/store.js";
import { typed } from "../shared/numbers.js";

const SILENT_MS = 4000; // a kernel that has not answered for so long is busy or gone
const FRAME_MS = 30; // at most about 30 frames a second: a kernel has other cells to run
const CALM_FRAME_MS = 300; // where the reader prefers reduced motion
const QUIET_MS = 1500;
const MOST_IN_FLIGHT = 2; // the kernel computes one turn while the answer to the other travels and is painted

/** A frame whose arrays are Float32Arrays with a shape; from a message or out of a recording. */
export function decode(value, buffers) {
  if (Array.isArray(value)) return value.map((item) => decode(item, buffers));
  if (!value || typeof value !== "object") return value;
  if ("$" in value) return { data: typed(buffers[value.$], Float32Array), shape: value.shape };
  if ("q" in value) {
    const steps = Uint8Array.from(atob(value.q), (c) => c.charCodeAt(0));
    const data = Float32Array.from(steps, (step) => (step ? value.least + ((step - 1) / 254) * value.scale : NaN));
    return { data, shape: value.shape };
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, decode(item, buffers)]));
}

/** The recorded state nearest to `values`: a control counts by how far it is off, in its own range. */
export function nearest(frames, values, tick, controls) {
  let best = null;
  let least = Infinity;
  const last = Math.max(1, ...frames.map((frame) => frame.tick));
  for (const frame of frames) {
    let off = (0.05 * Math.abs(frame.tick - tick)) / last;
    for (const spec of controls) {
      const [a, b] = [frame.values[spec.name], values[spec.name]];
      if (spec.form !== "slider") off += a === b ? 0 : 1;
      else if (spec.log) off += Math.abs(Math.log(a / b)) / Math.log(spec.max / spec.min);
      else off += Math.abs(a - b) / (spec.max - spec.min || 1);
    }
    if (off < least) [best, least] = [frame, off];
  }
  return best;
}

export class Driver {
  constructor(model, store) {
    Object.assign(this, { model, store });
    this.values = { ...model.get("values") };
    this.frame = null;
    this.playing = false;
    this.recorded = null; // the states of the notebook, while they stand in for the kernel
    this.pending = {}; // values that the kernel has not been told
    this.steps = 0;
    this.resetting = false;
    this.number = 0; // of the newest turn
    this.inFlight = []; // the turns that have not been answered, oldest first
    this.tick = 0;
    this.inSight = new Set();
    store.on((event, detail) => {
      if (event === "frame" && detail) this.take(detail, detail.buffers);
      if (event === "turn-failed") this.refused(detail);
    });
    const { frame, arrays } = store.extra;
    if (frame) this.take(frame, arrays);
    store.extra = {};
    if (!this.frame) this.timer = setTimeout(() => this.frame || this.offline(), SILENT_MS);
  }

  stop() {
    this.playing = false;
    for (const timer of [this.timer, this.pumping, this.keeping]) clearTimeout(timer);
  }

  changed() {
    this.store.emit("explorer");
  }

  // ---- what the reader does ----

  set(name, value) {
    this.values = { ...this.values, [name]: value };
    this.pending[name] = value;
    this.changed();
    this.pump();
  }

  play(on) {
    this.playing = on;
    this.changed();
    this.pump();
  }

  advance() {
    this.steps += 1;
    this.pump();
  }

  reset() {
    this.playing = false;
    this.values = { ...this.values, ...this.model.get("form").defaults };
    this.pending = {};
    this.steps = 0;
    this.tick = 0;
    this.resetting = true;
    this.changed();
    this.pump();
  }

  /** A view says whether it is in sight: what nobody sees does not play. */
  seen(view, inSight) {
    if (inSight) this.inSight.add(view);
    else this.inSight.delete(view);
    this.pump();
  }

  // ---- turns ----

  /** Whether the reader did something that the kernel has not been told. */
  get isToldLate() {
    return this.resetting || this.steps > 0 || Object.keys(this.pending).length > 0;
  }

  /** Whether the kernel has not answered, or not been asked, for what the reader did. */
  get waits() {
    return this.inFlight.length > 0 || this.isToldLate;
  }

  /** The kernel's `values`, under what the reader did since the turn that they answer. */
  withNewer(values) {
    const newer = [...this.inFlight, { values: this.pending, reset: this.resetting }];
    for (const turn of newer) values = { ...values, ...(turn.reset ? this.model.get("form").defaults : {}), ...turn.values };
    return values;
  }

  pump() {
    const playing = this.playing && this.inSight.size > 0 && !document.hidden;
    if (this.recorded) return playing || this.waits ? this.replay(playing) : undefined;
    if (this.inFlight.length >= MOST_IN_FLIGHT || (!playing && !this.isToldLate)) return;
    clearTimeout(this.pumping);
    const calm = globalThis.matchMedia?.("(prefers-reduced-motion: reduce)").matches;
    const early = (this.last ?? 0) + (calm && playing ? CALM_FRAME_MS : FRAME_MS) - performance.now();
    if (early > 0) {
      this.pumping = setTimeout(() => this.pump(), early);
      return;
    }
    this.last = performance.now();
    this.ask({ values: this.pending, reset: this.resetting, steps: this.steps + (playing && !this.steps ? 1 : 0) });
    this.listen();
    if (this.inFlight.length < MOST_IN_FLIGHT && playing) this.pump();
  }

  ask(turn) {
    turn = { kind: "turn", ...turn, number: ++this.number };
    Object.assign(this, { pending: {}, steps: 0, resetting: false });
    this.inFlight.push(turn);
    this.store.send(turn);
  }

  /** Whether a turn of this number had not been answered: it is now, and so is every older one. */
  answered(number) {
    if (!this.inFlight.some((turn) => turn.number === number)) return false;
    this.inFlight = this.inFlight.filter((turn) => turn.number > number);
    this.listen();
    return true;
  }

  /** Waits for the oldest turn's answer so long, from now on. */
  listen() {
    clearTimeout(this.timer);
    const [oldest] = this.inFlight;
    if (oldest) this.timer = setTimeout(() => this.offline(oldest), SILENT_MS);
  }

  take(header, buffers) {
    if (header.number && !this.answered(header.number)) return; // an older turn's
    this.recorded = null;
    this.tick = header.tick;
    this.values = this.withNewer(header.values);
    const panels = decode(header.panels, buffers);
    this.frame = { panels, tick: header.tick, sentence: header.sentence };
    this.pump(); // the kernel computes the next one while the page draws this one
    this.changed();
    this.keepLater();
  }

  refused(detail) {
    this.answered(detail.number);
    this.playing = false;
    this.store.emit("error", detail.text);
    this.changed();
  }

  /** When things have been quiet for a moment the kernel puts the picture where the notebook keeps it. */
  keepLater() {
    clearTimeout(this.keeping);
    this.keeping = setTimeout(() => {
      if (!this.inFlight.length && !this.playing && !this.recorded) this.store.send({ kind: "keep" });
    }, QUIET_MS);
  }

  // ---- without a kernel ----

  async offline(turn = null) {
    const frames = await unpack(this.model.get("recorded"));
    if (turn && !this.inFlight.includes(turn)) return; // it has answered meanwhile
    this.silent = true;
    if (!frames?.length) {
      this.changed();
      return;
    }
    this.pending = Object.assign({}, ...this.inFlight.map((unheard) => unheard.values), this.pending);
    this.inFlight = [];
    this.recorded = frames;
    this.replay(false, true);
  }

  replay(playing, always = false) {
    const asked = always || this.isToldLate;
    const ticks = [...new Set(this.recorded.map((frame) => frame.tick))].sort((a, b) => a - b);
    if (playing || this.steps) this.tick = ticks.find((tick) => tick > this.tick) ?? ticks.at(-1);
    if (playing && this.tick === ticks.at(-1)) this.playing = false;
    const values = this.pending;
    Object.assign(this, { steps: 0, resetting: false });
    if (Object.keys(values).length) {
      this.inFlight = [];
      this.ask({ values, reset: false, steps: 0 }); // it may be back
    }
    if (!asked && !playing) return;
    const state = nearest(this.recorded, this.values, this.tick, this.model.get("form").controls);
    this.frame = { panels: decode(state.panels, []), tick: state.tick, sentence: state.sentence };
    this.changed();
    clearTimeout(this.pumping);
    if (this.playing) this.pumping = setTimeout(() => this.pump(), CALM_FRAME_MS);
  }

  /** What is to be said about where the picture comes from. */
  note() {
    if (this.recorded) return `The kernel does not answer: shown is the nearest of ${this.recorded.length} recorded states.`;
    return "";
  }
}
