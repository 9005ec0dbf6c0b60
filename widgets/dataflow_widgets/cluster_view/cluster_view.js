// ClusterView: a cluster as a picture.  Where everything is drawn was decided by the kernel
// (scene.py); here it is played: messages as dots, parts that run, versions, barriers, rates.
import { QUIET, button, download, h, plural, write } from "../shared/dom.js";
import { png, standaloneHtml, standaloneSvg } from "../shared/exports.js";
import { pictureKeeper } from "../shared/kept.js";
import { openWhenSent } from "../shared/opening.js";
import { Playback } from "../shared/playback.js";
import { menu } from "../shared/shell.js";
import { dropStore, storeOf } from "../shared/store.js";
import { bytes, number, seconds } from "../shared/values.js";
import { TaskTools, TrainingTools, keyAct } from "./controls.js";
import { Flight } from "./flight.js";
import { ClusterPicture } from "./picture.js";
import { behind, momentsOf, positionOf, sceneAt, widths } from "./play.js";

function initialize({ model }) {
  storeOf(model);
  return () => dropStore(model);
}

const MOST_DOTS = 60;
const waitsAtBarrier = (trainings) => trainings.some(({ mode }) => mode === "synchronous" || mode === "backup workers");

const render = openWhenSent({
  kind: "cluster-view",
  name: "cluster view",
  field: "scene",
  make: (...args) => new ClusterScene(...args),
  late: "No cluster has arrived",
});

class ClusterScene {
  constructor(model, store, frame) {
    Object.assign(this, { model, store, frame, at: 0, selected: -1, seenProblem: 0, dismissed: new Set() });
    this.keep = pictureKeeper(model, store, () => this.picture.root);
    this.take();
    this.build();
    this.forget = store.on((event, detail) => {
      if (event === "graph" && store.extra.scene !== this.scene) this.rebuild();
      if (event === "state") this.live(detail);
      if (event === "messages") this.travel(detail);
    });
    this.failed = () => frame.fail(model.get("failure"));
    model.on("change:failure", this.failed);
    this.paint();
  }

  take() {
    const { scene, play, subject, traveling } = this.store.extra;
    Object.assign(this, { scene, play: play ?? null, subject, traveling: traveling ?? [] });
    this.moments = this.play ? momentsOf(this.play) : [0];
    this.hasBarrier = this.play ? this.play.sync : waitsAtBarrier(this.state?.trainings ?? []);
    this.picture = new ClusterPicture(scene, { hasBarrier: this.hasBarrier, select: (i) => this.select(this.selected === i ? -1 : i) });
    this.picture.paintMiddle(this.store.extra.ringWords ?? []);
    const links = new Map(scene.links.flatMap(({ a, b, oneWay }, i) => [[`${a} ${b}`, i], ...(oneWay ? [] : [[`${b} ${a}`, i]])]));
    this.flight = new Flight((a, b) => links.get(`${a} ${b}`));
  }

  /** Another picture of the same cluster: the machine that had the focus keeps it. */
  rebuild() {
    const focused = this.focused();
    const [task, chosen] = [focused, this.selected].map((i) => this.scene.tasks[i]?.task);
    this.take();
    this.scroller.replaceChildren(this.picture.root);
    const find = (name) => this.scene.tasks.findIndex((card) => card.task === name);
    this.select(chosen ? find(chosen) : -1);
    if (focused >= 0) this.picture.cards[find(task)]?.element.focus();
    if (this.state) {
      this.picture.live(this.state, this.traveling);
      this.picture.paintMiddle(this.state.ringWords);
    }
    this.paint();
  }

  focused() {
    const active = this.frame.element.getRootNode().activeElement;
    return this.picture.cards.findIndex((card) => card.element === active);
  }

  build() {
    const { frame, model, store } = this;
    if (this.play) {
      this.playback = new Playback({ unit: "moment", at: () => this.at, length: () => this.moments.length - 1, go: (to) => this.go(to) });
      this.playback.speed.value = "200";
      const step = (by) => this.goStep(by);
      frame.toolbar.append(...this.playback.elements, button("◂ step", "To the step before", () => step(-1)), button("step ▸", "To the next step", () => step(1)));
    }
    const svg = () => standaloneSvg(this.picture.root);
    const state = () => ({ title: model.get("title"), height: model.get("height"), payload: { ...store.extra, nodes: [] }, standalone: true });
    frame.toolbar.append(menu("Save ▾", "Save as SVG, PNG or HTML", [
      ["Picture (SVG)", () => download("cluster.svg", svg(), "image/svg+xml")],
      ["Picture (PNG)", () => png(svg()).then((blob) => download("cluster.png", blob)).catch((e) => frame.fail(e.message))],
      ["Web page (HTML)", () => standaloneHtml(model, state(), "cluster").then((page) => download("cluster.html", page, "text/html"))],
    ]));
    this.news = h("ul", { class: "df-cv-news", "aria-label": "what happened", "aria-live": "polite", hidden: true });
    this.scroller = h("div", { class: "df-scroller df-cv-picture", tabindex: -1, ...QUIET }, this.picture.root);
    this.scroller.addEventListener("keydown", (event) => this.key(event));
    const act = (request) => this.act(request);
    this.tools = new TaskTools(act);
    this.trainingTools = new TrainingTools(act);
    this.telling = h("div", { class: "df-cv-telling" });
    frame.body.append(h("div", { class: "df-cv" }, this.news, this.trainingTools.element, this.scroller, this.tools.element, this.telling));
  }

  dispose() {
    this.forget();
    this.keep.stop();
    this.playback?.pause();
    cancelAnimationFrame(this.frameRequest);
    this.model.off("change:failure", this.failed);
  }

  // Playing

  go(to) {
    this.at = Math.max(0, Math.min(this.moments.length - 1, to));
    this.paint();
  }

  goStep(by) {
    const t = this.moments[this.at];
    const begins = [...new Set(this.play.steps.map((step) => step[2]))].sort((a, b) => a - b);
    const next = by > 0 ? begins.find((begin) => begin > t) : begins.filter((begin) => begin < t).at(-1);
    if (next === undefined) return this.go(by > 0 ? this.moments.length - 1 : 0);
    return this.go(positionOf(this.moments, next));
  }

  paint() {
    if (!this.play) {
      this.frame.say(this.sentence());
      this.frame.element.dataset.drawn = String(this.scene.tasks.length);
      return;
    }
    const { scene, play } = this;
    const now = sceneAt(play, this.moments, this.at);
    const wide = widths(play, now.time, scene.links.length);
    this.picture.links.forEach((link, i) => {
      link.lastChild.style.setProperty("--df-width", `${wide.pixels[i]}px`);
      write(link.firstChild, `${scene.tasks[scene.links[i].a].name} and ${scene.tasks[scene.links[i].b].name}: ${plural(wide.counts[i], "message")}, ${bytes(wide.bytes[i])} so far`);
    });
    const running = new Set(now.running.map(([card, part]) => `${card}/${part}`));
    const most = Math.max(...play.busy);
    this.picture.cards.forEach((card, i) => {
      const { job, small } = scene.tasks[i];
      card.parts.forEach((part, k) => part.classList.toggle("df-cv-runs", running.has(`${i}/${k}`)));
      card.element.classList.toggle("df-cv-busy", now.running.some(([c]) => c === i));
      const isTight = job === "ps" && play.busy[i] === most && most > 0.5;
      card.element.classList.toggle("df-cv-bottleneck", isTight);
      const worker = now.workers.get(i);
      let badge = "";
      if (job === "ps") badge = `version ${now.version}`;
      else if (worker) badge = `read version ${worker.version}`;
      write(card.badge, small && job !== "ps" ? "" : badge);
      if (!small && job !== "client") write(card.detail, isTight ? `bottleneck: busy ${Math.round(100 * play.busy[i])} % of the time` : this.detailOf(worker, play.busy[i]));
      card.element.classList.toggle("df-cv-dropped", worker?.outcome === "dropped" && worker.isOver);
      this.picture.drawLag(card, scene.tasks[i], job === "worker" && worker ? behind(now, worker) : 0);
      card.element.setAttribute("aria-label", `${scene.tasks[i].name}, ${card.detail.textContent || badge}`);
    });
    this.picture.paintBarrier((i) => Boolean(now.workers.get(i)?.waits));
    this.picture.paintDots(now.flying.slice(0, MOST_DOTS).map((message) => ({ ...message, text: play.names[message.name] })));
    const sentence = this.momentWords(now);
    this.frame.say(sentence);
    this.playback.paint(sentence);
    write(this.telling, now.flying.length ? `On its way: ${now.flying.slice(0, 4).map((m) => this.messageWords(m)).join("; ")}${now.flying.length > 4 ? `; and ${now.flying.length - 4} more` : ""}.` : "Nothing is on its way.");
    this.frame.element.dataset.drawn = String(scene.tasks.length);
    this.frame.element.dataset.moment = String(this.at);
    this.keep();
  }

  detailOf(worker, busy) {
    if (!worker) return `busy ${Math.round(100 * busy)} % of the time`;
    if (worker.outcome === "dropped" && worker.isOver) return "came too late: gradient dropped";
    if (worker.waits) return "waits at the barrier";
    return `step ${worker.number}${worker.late ? `, ${worker.late} behind` : ""}`;
  }

  messageWords(message) {
    const [from, to] = [this.scene.tasks[message.from].name, this.scene.tasks[message.to].name];
    const size = message.bytes ? `, ${bytes(message.bytes)}` : "";
    return `${this.play.names[message.name]} from ${from} to ${to}${size}, ${seconds(message.received - message.sent)}`;
  }

  momentWords(now) {
    const running = now.running.map(([card, , name]) => `${this.play.names[name]} on ${this.scene.tasks[card].name}`);
    const waits = [...now.workers.values()].filter((worker) => worker.waits).length;
    const parts = [`${seconds(now.time)} of ${seconds(this.play.duration)}`, `version ${now.version}`];
    if (running.length) parts.push(`runs ${running.slice(0, 2).join(", ")}${running.length > 2 ? ` and ${running.length - 2} more` : ""}`);
    if (now.flying.length) parts.push(`${plural(now.flying.length, "message")} on the way`);
    if (waits) parts.push(`${waits} of ${now.workers.size} wait at the barrier`);
    return `${parts.join("; ")}.`;
  }

  sentence() {
    const tasks = this.scene.tasks.filter((card) => card.job !== "client");
    const what = `${plural(tasks.length, "task")}: ${tasks.slice(0, 8).map((card) => card.name).join(", ")}${tasks.length > 8 ? " …" : ""}.`;
    return this.subject === "spec" ? `${what} Nothing has to run for this picture.` : what;
  }

  // A running cluster

  live(state) {
    this.state = state;
    if (waitsAtBarrier(state.trainings) !== this.hasBarrier) this.rebuild();
    this.picture.live(state, this.traveling);
    this.picture.paintMiddle(state.ringWords);
    const training = state.trainings[0];
    const progress = training ? ` ${training.name}: ${training.mode}, step ${training.global_step}${training.loss == null ? "" : `, loss ${number(training.loss)}`}.` : "";
    this.frame.say(state.stopped ? "The cluster is stopped." : `${this.sentence()}${progress}`);
    this.frame.note(state.pending.join(" ") || state.news.text);
    const { id, text } = state.problem;
    if (text && id !== this.seenProblem) {
      this.seenProblem = id;
      this.frame.fail(text);
    }
    this.paintNews(state.lines);
    this.trainingTools.paint(state);
    this.paintTools();
    this.frame.element.dataset.state = state.tasks.map((task) => task.state).join(" ");
    this.frame.element.dataset.mode = training?.mode ?? "";
    this.frame.element.dataset.step = String(training?.global_step ?? 0);
    this.keep();
  }

  /** What has traveled since the last time, how far each worker is behind, and who waits. */
  travel({ messages, lags, versions, waiting, tokens }) {
    this.flight.take(messages);
    const { scene, picture } = this;
    picture.versions = Object.fromEntries(Object.entries(versions).filter(([i]) => scene.tasks[i].job === "ps"));
    const at = new Set(waiting);
    picture.cards.forEach((card, i) => {
      const place = scene.tasks[i];
      const runs = this.state?.tasks.find((task) => task.task === place.task)?.state === "running";
      if (place.job !== "ps" && place.job !== "client") picture.drawLag(card, place, runs && !this.hasBarrier ? (lags[i] ?? 0) : 0);
      card.element.classList.toggle("df-cv-busy", runs && messages.some(([, from, to]) => from === i || to === i));
      if (versions[i] !== undefined && runs && place.job === "ps" && !place.small) write(card.badge, `version ${versions[i]}`);
    });
    picture.paintBarrier((i) => at.has(i), tokens);
    write(this.telling, this.flight.words((i) => scene.tasks[i].name));
    if (!this.frameRequest) this.fly();
  }

  fly() {
    const flying = this.flight.flying();
    this.picture.paintDots(flying);
    this.frame.element.dataset.dots = String(flying.length);
    this.frameRequest = flying.length ? requestAnimationFrame(() => this.fly()) : 0;
  }

  /** Lines that stay until they are dismissed. */
  paintNews(all) {
    const lines = all.filter((line) => !this.dismissed.has(line.id)); // an older state may still be on its way
    const key = lines.map((line) => line.id).join(" ");
    this.news.hidden = !lines.length;
    if (key === this.newsKey) return;
    this.newsKey = key;
    this.news.replaceChildren(...lines.map(({ id, text, level }) => h("li", { "data-level": level }, h("span", {}, text), button("×", "Dismiss", () => {
      this.store.send({ kind: "dismiss", line: id });
      this.dismissed.add(id);
      this.paintNews(all);
    }, { class: "df-button df-small" }))));
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

  async act(act) {
    this.frame.fail("");
    const answer = await this.store.question({ kind: "act", act });
    if (!answer) this.frame.fail("The kernel has not answered: a cell keeps it busy, or it is gone. What was asked for happens when it is free.");
    else if (answer.words) this.frame.note(answer.words);
  }

  // Keys

  key(event) {
    const i = this.focused();
    const task = this.state?.tasks.find((each) => each.task === this.scene.tasks[i]?.task);
    const { key } = event;
    const asked = task && keyAct(key, task, this.state.launched);
    if (key.startsWith("Arrow") && i >= 0) this.picture.move(i, key);
    else if ((key === "Enter" || key === " ") && i >= 0) this.select(this.selected === i ? -1 : i);
    else if (key === "n" && this.play) this.go(this.at + 1);
    else if (key === "p" && this.play) this.go(this.at - 1);
    else if (asked) this.act(asked);
    else return;
    event.preventDefault();
  }
}

export default { initialize, render };
