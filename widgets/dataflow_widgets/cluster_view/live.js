// The picture of a cluster in a page, with what can be done to the machine that is chosen: messages on
// their way, states, rates, versions.  ClusterView shows it by itself, ClusterPanel beside its table.
import { QUIET, h, write } from "../shared/dom.js";
import { TaskTools, keyAct } from "./controls.js";
import { Flight } from "./flight.js";
import { ClusterPicture } from "./picture.js";

export const waitsAtBarrier = (trainings) => trainings.some(({ mode }) => mode === "synchronous" || mode === "backup workers");

export class LivePicture {
  /** `act(request)` asks the kernel; `keys(event)` does what other keys do, and says whether it did. */
  constructor({ act, keys = () => false }) {
    Object.assign(this, { act, keys, selected: -1, scene: { tasks: [], links: [] }, state: null, numDots: 0 });
    this.scroller = h("div", { class: "df-scroller df-cv-picture", tabindex: -1, ...QUIET });
    this.scroller.addEventListener("keydown", (event) => this.key(event));
    this.tools = new TaskTools(act);
    this.telling = h("div", { class: "df-cv-telling" });
    this.element = h("div", { class: "df-cv-live" }, this.scroller, this.tools.element, this.telling);
  }

  /** Another picture, of the same cluster or of another; the machine that had the focus keeps it. */
  take({ scene, traveling }, hasBarrier = false, middle = []) {
    const focused = this.focused();
    const [task, chosen] = [focused, this.selected].map((i) => this.scene.tasks[i]?.task);
    Object.assign(this, { scene, traveling: traveling ?? [], hasBarrier });
    this.picture = new ClusterPicture(scene, { hasBarrier, select: (i) => this.select(this.selected === i ? -1 : i) });
    this.picture.paintMiddle(middle);
    const links = new Map(scene.links.flatMap(({ a, b, oneWay }, i) => [[`${a} ${b}`, i], ...(oneWay ? [] : [[`${b} ${a}`, i]])]));
    this.flight = new Flight((a, b) => links.get(`${a} ${b}`));
    this.scroller.replaceChildren(this.picture.root);
    const find = (name) => scene.tasks.findIndex((card) => card.task === name);
    this.select(chosen ? find(chosen) : -1);
    if (focused >= 0) this.picture.cards[find(task)]?.element.focus();
    if (this.state) this.live(this.state);
  }

  dispose() {
    cancelAnimationFrame(this.frameRequest);
  }

  focused() {
    const active = this.element.getRootNode().activeElement;
    return (this.picture?.cards ?? []).findIndex((card) => card.element === active);
  }

  /** {tasks, trainings, ringWords, launched} of the running cluster. */
  live(state) {
    this.state = state;
    if (!this.picture) return;
    if (waitsAtBarrier(state.trainings) !== this.hasBarrier) {
      this.take(this, !this.hasBarrier); // which comes back here
      return;
    }
    this.picture.live(state, this.traveling);
    this.picture.paintMiddle(state.ringWords);
    this.paintTools();
  }

  /** What has traveled since the last time, how far each worker is behind, and who waits. */
  travel({ messages, lags, versions, waiting, tokens }) {
    if (!this.picture) return;
    this.flight.take(messages);
    const { scene, picture } = this;
    picture.versions = Object.fromEntries(Object.entries(versions).filter(([i]) => scene.tasks[i]?.job === "ps"));
    const at = new Set(waiting);
    picture.cards.forEach((card, i) => {
      const place = scene.tasks[i];
      const runs = this.state?.tasks.find((task) => task.task === place.task)?.state === "running";
      if (place.job !== "ps" && place.job !== "client") picture.drawLag(card, place, runs && !this.hasBarrier ? (lags[i] ?? 0) : 0);
      card.element.classList.toggle("df-cv-busy", Boolean(runs) && messages.some(([, from, to]) => from === i || to === i));
      if (versions[i] !== undefined && runs && place.job === "ps" && !place.small) write(card.badge, `version ${versions[i]}`);
    });
    picture.paintBarrier((i) => at.has(i), tokens);
    write(this.telling, this.flight.words((i) => scene.tasks[i].name));
    if (!this.frameRequest) this.fly();
  }

  fly() {
    const flying = this.flight.flying();
    this.picture.paintDots(flying);
    this.element.dataset.dots = String(flying.length);
    this.frameRequest = flying.length ? requestAnimationFrame(() => this.fly()) : 0;
  }

  select(i) {
    this.selected = i;
    this.picture.cards.forEach((card, k) => {
      card.element.classList.toggle("df-cv-selected", k === i);
      card.element.setAttribute("aria-pressed", String(k === i));
    });
    this.paintTools();
  }

  paintTools() {
    const card = this.scene.tasks[this.selected];
    this.tools.paint(this.state?.tasks.find((each) => each.task === card?.task), this.state?.launched);
  }

  key(event) {
    const i = this.focused();
    const task = this.state?.tasks.find((each) => each.task === this.scene.tasks[i]?.task);
    const { key } = event;
    const asked = task && keyAct(key, task, this.state.launched);
    if (key.startsWith("Arrow") && i >= 0) this.picture.move(i, key);
    else if ((key === "Enter" || key === " ") && i >= 0) this.select(this.selected === i ? -1 : i);
    else if (asked) this.act(asked);
    else if (!this.keys(event)) return;
    event.preventDefault();
  }
}
