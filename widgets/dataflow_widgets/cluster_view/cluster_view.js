// ClusterView: a cluster as a picture.  Where everything is drawn was decided by the kernel
// (scene.py); here it is played: messages as dots, parts that run, versions, barriers, rates.
import { QUIET, button, download, h, plural, write } from "../shared/dom.js";
import { png, standaloneHtml, standaloneSvg } from "../shared/exports.js";
import { pictureKeeper } from "../shared/saved_picture.js";
import { openWhenSent } from "../shared/opening.js";
import { Playback } from "../shared/playback.js";
import { menu } from "../shared/shell.js";
import { dropStore, storeOf } from "../shared/store.js";
import { bytes, number, seconds } from "../shared/values.js";
import { TrainingTools } from "./controls.js";
import { LivePicture, waitsAtBarrier } from "./live.js";
import { behind, momentsOf, positionOf, sceneAt, widths } from "./play.js";

function initialize({ model }) {
  storeOf(model);
  return () => dropStore(model);
}

const MOST_DOTS = 60;

const render = openWhenSent({
  kind: "cluster-view",
  name: "cluster view",
  field: "scene",
  make: (...args) => new ClusterScene(...args),
  late: "No cluster has arrived",
});

class ClusterScene {
  constructor(model, store, frame) {
    Object.assign(this, { model, store, frame, at: 0, seenProblem: 0, dismissed: new Set() });
    const act = (request) => this.act(request);
    this.view = new LivePicture({ act, keys: (event) => this.key(event) });
    this.keep = pictureKeeper(model, store, () => this.picture.root);
    this.take();
    this.build(act);
    this.forget = store.on((event, detail) => {
      if (event === "graph" && store.extra.scene !== this.scene) this.rebuild();
      if (event === "state") this.live(detail);
      if (event === "messages") this.view.travel(detail);
    });
    this.failed = () => frame.fail(model.get("failure"));
    model.on("change:failure", this.failed);
    this.paint();
  }

  take() {
    const { scene, play, subject, ringWords } = this.store.extra;
    Object.assign(this, { scene, play: play ?? null, subject });
    this.moments = this.play ? momentsOf(this.play) : [0];
    const hasBarrier = this.play ? this.play.sync : waitsAtBarrier(this.state?.trainings ?? []);
    this.view.take(this.store.extra, hasBarrier, ringWords);
  }

  get picture() {
    return this.view.picture;
  }

  /** Another picture of the same cluster. */
  rebuild() {
    this.take();
    this.paint();
  }

  build(act) {
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
    this.trainingTools = new TrainingTools(act);
    frame.body.append(h("div", { class: "df-cv" }, this.news, this.trainingTools.element, this.view.element));
  }

  dispose() {
    this.forget();
    this.keep.stop();
    this.playback?.pause();
    this.view.dispose();
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
    write(this.view.telling, now.flying.length ? `On its way: ${now.flying.slice(0, 4).map((m) => this.messageWords(m)).join("; ")}${now.flying.length > 4 ? `; and ${now.flying.length - 4} more` : ""}.` : "Nothing is on its way.");
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
    this.view.live(state);
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
    this.frame.element.dataset.state = state.tasks.map((task) => task.state).join(" ");
    this.frame.element.dataset.mode = training?.mode ?? "";
    this.frame.element.dataset.step = String(training?.global_step ?? 0);
    this.keep();
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

  async act(act) {
    this.frame.fail("");
    const answer = await this.store.question({ kind: "act", act });
    if (!answer) this.frame.fail("The kernel has not answered: a cell keeps it busy, or it is gone. What was asked for happens when it is free.");
    else if (answer.words) this.frame.note(answer.words);
  }

  key({ key }) {
    if (!this.play || (key !== "n" && key !== "p")) return false;
    this.go(this.at + (key === "n" ? 1 : -1));
    return true;
  }
}

export default { initialize, render };
