// ClusterView: a cluster as a picture.  Where everything is drawn was decided by the kernel
// (scene.py); here it is played: messages as dots, parts that run, versions, barriers, rates.
import { QUIET, button, download, h, plural, s, write } from "../shared/dom.js";
import { png, standaloneHtml, standaloneSvg } from "../shared/exports.js";
import { pictureKeeper } from "../shared/kept.js";
import { openWhenSent } from "../shared/opening.js";
import { Playback } from "../shared/playback.js";
import { menu } from "../shared/shell.js";
import { dropStore, storeOf } from "../shared/store.js";
import { bytes, number, seconds } from "../shared/values.js";
import { behind, momentsOf, positionOf, sceneAt, widths } from "./play.js";

const MOST_DOTS = 60;
const MOST_SQUARES = 12;
const DELAYS = [[0, "full speed"], [0.05, "+0.05 s a step"], [0.2, "+0.2 s a step"], [0.5, "+0.5 s a step"], [2, "+2 s a step"]];

function initialize({ model }) {
  storeOf(model);
  return () => dropStore(model);
}

const render = openWhenSent({
  kind: "cluster-view",
  name: "cluster view",
  field: "scene",
  make: (...args) => new ClusterScene(...args),
  late: "No cluster has arrived",
});

const fit = (text, width) => {
  const most = Math.floor(width / 7.3);
  return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}…`;
};
const curve = ({ points: [x1, y1, ax, ay, bx, by, x2, y2] }) => `M${x1} ${y1}C${ax} ${ay} ${bx} ${by} ${x2} ${y2}`;

class ClusterScene {
  constructor(model, store, frame) {
    Object.assign(this, { model, store, frame, at: 0, selected: -1, seenNews: 0, seenProblem: 0 });
    this.keep = pictureKeeper(model, store, () => this.root);
    this.take();
    this.build();
    this.forget = store.on((event, detail) => {
      if (event === "graph" && store.extra.scene !== this.scene) this.rebuild();
      if (event === "state") this.live(detail);
    });
    this.failed = () => frame.fail(model.get("failure"));
    model.on("change:failure", this.failed);
    this.paint();
  }

  take() {
    const { scene, play, subject, traveling } = this.store.extra;
    Object.assign(this, { scene, play: play ?? null, subject, traveling: traveling ?? [] });
    this.moments = this.play ? momentsOf(this.play) : [0];
  }

  rebuild() {
    this.take();
    this.picture.replaceChildren(this.draw());
    this.paint();
  }

  build() {
    const { frame, model, store } = this;
    if (this.play) {
      this.playback = new Playback({ unit: "moment", at: () => this.at, length: () => this.moments.length - 1, go: (to) => this.go(to) });
      this.playback.speed.value = "200";
      const step = (by) => this.goStep(by);
      frame.toolbar.append(...this.playback.elements, button("◂ step", "To the step before", () => step(-1)), button("step ▸", "To the next step", () => step(1)));
    }
    const svg = () => standaloneSvg(this.root);
    const state = () => ({ title: model.get("title"), height: model.get("height"), payload: { ...store.extra, nodes: [] }, standalone: true });
    frame.toolbar.append(menu("Save ▾", "Save as SVG, PNG or HTML", [
      ["Picture (SVG)", () => download("cluster.svg", svg(), "image/svg+xml")],
      ["Picture (PNG)", () => png(svg()).then((blob) => download("cluster.png", blob)).catch((e) => frame.fail(e.message))],
      ["Web page (HTML)", () => standaloneHtml(model, state(), "cluster").then((page) => download("cluster.html", page, "text/html"))],
    ]));
    this.news = h("ul", { class: "df-cv-news", "aria-label": "what happened", hidden: true });
    this.picture = h("div", { class: "df-scroller df-cv-picture", tabindex: -1, ...QUIET }, this.draw());
    this.picture.addEventListener("keydown", (event) => this.key(event));
    this.tools = h("div", { class: "df-cv-tools", role: "toolbar", "aria-label": "selected task", hidden: true });
    this.telling = h("div", { class: "df-cv-telling" });
    frame.body.append(h("div", { class: "df-cv" }, this.news, this.picture, this.tools, this.telling));
  }

  dispose() {
    this.forget();
    this.keep.stop();
    this.playback?.pause();
    this.model.off("change:failure", this.failed);
  }

  // The picture

  draw() {
    const { scene } = this;
    const lanes = scene.lanes.map((lane) => s("g", {}, s("rect", { class: "df-cv-lane", x: 4, y: lane.y, width: scene.width - 8, height: lane.h, rx: 8 }), ...lane.label.map((text, i) => s("text", { class: "df-detail", x: 16, y: lane.y + lane.h / 2 + 4 + 14 * i - 7 * (lane.label.length - 1) }, text))));
    this.links = scene.links.map((link) => {
      const title = s("title", {}, "");
      return s("g", { class: "df-cv-link" }, title, s("path", { class: "df-line", d: curve(link) }));
    });
    this.cards = scene.tasks.map((card, i) => this.drawCard(card, i));
    this.barrier = this.drawBarrier();
    this.dots = s("g", { class: "df-cv-dots", "aria-hidden": "true" });
    this.root = s("svg", { class: "df-svg df-cv-svg", viewBox: `0 0 ${scene.width} ${scene.height}`, width: scene.width, height: scene.height, role: "group", "aria-label": `${plural(scene.tasks.length, "machine")}, ${plural(scene.links.length, "link")}` }, ...lanes, ...this.links, this.barrier, ...this.cards.map((card) => card.element), this.dots);
    return this.root;
  }

  drawCard(card, i) {
    const parts = card.parts.map((part) => s("g", { class: `df-node df-cv-part df-kind-${part.kind}` }, s("title", {}, part.ops.slice(0, 12).join("\n")), s("rect", { class: "df-shape", x: part.x, y: part.y, width: part.w, height: part.h, rx: 10 }), s("text", { x: part.x + part.w / 2, y: part.y + 14, "text-anchor": "middle" }, fit(part.text, part.w))));
    const edges = card.edges.map(([a, b]) => {
      const [one, two] = [card.parts[a], card.parts[b]];
      return s("path", { class: "df-cv-edge", d: `M${one.x + one.w / 2} ${one.y + 10}L${two.x + two.w / 2} ${two.y + 10}` });
    });
    const badge = s("text", { class: "df-cv-badge", x: card.x + card.w - 12, y: card.y + (card.small ? 17 : 17), "text-anchor": "end" });
    const detail = s("text", { class: "df-detail", x: card.x + 12, y: card.y + 31 }, card.small ? "" : fit(card.detail, card.w - 20));
    const squares = s("g", { class: "df-cv-lag" });
    const light = s("circle", { class: "df-cv-light", cx: card.x + 12, cy: card.y + 13, r: 4 });
    const name = s("text", { class: card.small ? "df-detail" : "df-title", x: card.x + (card.small ? 19 : 22), y: card.y + 17 }, card.name);
    const element = s("g", { class: `df-cv-card df-cv-${card.job}`, tabindex: i ? -1 : 0, role: "button", "aria-label": card.name, ...QUIET }, s("rect", { class: "df-cv-machine", x: card.x, y: card.y, width: card.w, height: card.h, rx: 8 }), light, name, badge, detail, ...edges, ...parts, squares);
    element.addEventListener("click", () => this.select(this.selected === i ? -1 : i));
    element.addEventListener("focus", () => this.cards?.forEach((other, k) => other.element.setAttribute("tabindex", k === i ? 0 : -1)));
    return { element, parts, badge, detail, squares, light };
  }

  /** Where the workers of a synchronous step wait for each other: a line with a place for each. */
  drawBarrier() {
    const workers = this.scene.tasks.map((card, i) => [card, i]).filter(([card]) => card.job === "worker");
    const lane = this.scene.tasks.find((card) => card.job === "ps");
    this.places = new Map();
    if (!this.play?.sync || !lane || !workers.length) return s("g", {});
    const y = Math.max(...this.scene.tasks.filter((card) => card.job === "ps").map((card) => card.y + card.h)) + 28;
    const each = Math.min(26, 500 / workers.length);
    const left = this.scene.width / 2 - (each * workers.length) / 2 + 18;
    const places = workers.map(([card, i], k) => {
      const place = s("circle", { class: "df-cv-place", cx: left + each * (k + 0.5), cy: y, r: Math.min(6, each / 2.4) }, s("title", {}, card.name));
      this.places.set(i, place);
      return place;
    });
    return s("g", { class: "df-cv-barrier" }, s("path", { d: `M${left - 8} ${y}H${left + each * workers.length + 8}` }), ...places, s("text", { class: "df-detail", x: left - 16, y: y + 4, "text-anchor": "end" }, "barrier"));
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
    this.links.forEach((link, i) => {
      link.lastChild.style.setProperty("--df-width", `${wide.pixels[i]}px`);
      write(link.firstChild, `${scene.tasks[scene.links[i].a].name} and ${scene.tasks[scene.links[i].b].name}: ${plural(wide.counts[i], "message")}, ${bytes(wide.bytes[i])} so far`);
    });
    const running = new Set(now.running.map(([card, part]) => `${card}/${part}`));
    const most = Math.max(...play.busy);
    this.cards.forEach((card, i) => {
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
      this.drawLag(card, scene.tasks[i], job === "worker" && worker ? behind(now, worker) : 0);
      card.element.setAttribute("aria-label", `${scene.tasks[i].name}, ${card.detail.textContent || badge}`);
    });
    for (const [i, place] of this.places) place.classList.toggle("df-cv-there", Boolean(now.workers.get(i)?.waits));
    this.paintDots(now);
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

  /** One square for each update that the worker has not seen. */
  drawLag(card, place, count) {
    const shown = Math.min(count, place.small ? 5 : MOST_SQUARES);
    const top = place.y + place.h - (place.small ? 9 : 12);
    const squares = Array.from({ length: shown }, (_, k) => s("rect", { x: place.x + 12 + k * 10, y: top, width: 7, height: 7, rx: 1.5 }));
    const words = count && !place.small ? [s("text", { class: "df-detail", x: place.x + 16 + shown * 10, y: top + 7.5 }, `${plural(count, "update")} behind`)] : [];
    card.squares.replaceChildren(...squares, ...words);
  }

  paintDots(now) {
    const dots = [];
    for (const message of now.flying.slice(0, MOST_DOTS)) {
      const link = this.links[message.link].lastChild;
      const length = link.getTotalLength();
      const forward = this.scene.links[message.link].a === message.from;
      const point = link.getPointAtLength(length * (forward ? message.share : 1 - message.share));
      const size = 4.5 + Math.min(6, Math.log10(1 + message.bytes) * 0.9);
      dots.push(s("g", { class: "df-cv-dot", transform: `translate(${point.x.toFixed(1)} ${point.y.toFixed(1)})` }, s("circle", { r: size.toFixed(1) })));
    }
    const taken = [];
    const labeled = now.flying.slice(0, 3).map((message, k) => {
      const place = dots[k]?.getAttribute("transform");
      const [x, y] = (place ?? "").match(/[\d.]+/g)?.map(Number) ?? [0, 0];
      let down = -3;
      while (taken.some(([a, b]) => Math.abs(a - x) < 130 && Math.abs(b - y - down) < 14)) down -= 14;
      taken.push([x, y + down]);
      return place && s("text", { class: "df-cv-label", transform: place, x: 13, y: down }, fit(this.play.names[message.name], 150) + (message.bytes ? `, ${bytes(message.bytes)}` : ""));
    });
    this.dots.replaceChildren(...dots, ...labeled.filter(Boolean));
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
    const byName = new Map(state.tasks.map((task) => [task.task, task]));
    const most = Math.max(1, ...state.tasks.map((task) => (task.receivedPerSecond ?? 0) + (task.sentPerSecond ?? 0)));
    const rates = this.scene.tasks.map((card) => byName.get(card.task));
    this.cards.forEach((card, i) => {
      const task = rates[i];
      if (!task) return;
      card.element.dataset.state = task.state;
      const rate = (task.receivedPerSecond ?? 0) + (task.sentPerSecond ?? 0);
      const isTight = this.scene.tasks[i].job === "ps" && state.tasks.length > 2 && rate === most && rate > 1e6;
      card.element.classList.toggle("df-cv-bottleneck", isTight);
      const delay = task.delay ? `, +${task.delay} s a step` : "";
      write(card.detail, task.state === "running" ? fit(`${task.pid ? `process ${task.pid}` : task.address} · ${Number((task.stepsPerSecond ?? 0).toPrecision(3))} steps/s${delay}`, this.scene.tasks[i].w - 20) : `${task.state}${delay}`);
      write(card.badge, task.state === "running" ? `${bytes(rate)}/s` : task.state);
      const lag = this.scene.tasks[i].job === "ps" ? 0 : Math.round(this.staleness(byName));
      this.drawLag(card, this.scene.tasks[i], task.state === "running" ? lag : 0);
      card.element.setAttribute("aria-label", `${task.name}, ${task.state}, ${card.detail.textContent}`);
    });
    this.links.forEach((link, i) => {
      const { a, b } = this.scene.links[i];
      const ends = [rates[a], rates[b]].filter(Boolean);
      const isClient = ends.length < 2; // what it sends is not counted
      const other = ends.find((task) => !task.name.startsWith("ps:")) ?? ends[0];
      const rate = other && !isClient ? (other.receivedPerSecond ?? 0) + (other.sentPerSecond ?? 0) : 0;
      const isCut = ends.some((task) => task.state !== "running");
      link.classList.toggle("df-cv-cut", isCut);
      link.classList.toggle("df-cv-flows", rate > 2000 && !isCut && ends.length > 1);
      link.lastChild.style.setProperty("--df-width", `${1.4 + Math.min(7, Math.log10(1 + rate / 1000) * 1.6)}px`);
      link.lastChild.style.setProperty("--df-cv-seconds", `${Math.max(0.5, 4 - Math.log10(1 + rate / 1000))}s`);
      const values = this.traveling.filter((t) => [this.scene.tasks[a].name, this.scene.tasks[b].name].includes(t.from));
      write(link.firstChild, `${this.scene.tasks[a].name} and ${this.scene.tasks[b].name}: ${bytes(rate)} a second${values.length ? `\n${values.slice(0, 8).map((t) => `${t.tensor}${t.bytes ? `, ${bytes(t.bytes)}` : ""}`).join("\n")}` : ""}`);
    });
    const training = state.trainings[0];
    const progress = training ? ` ${training.name}: ${training.mode}, step ${training.global_step}${training.loss == null ? "" : `, loss ${number(training.loss)}`}.` : "";
    this.frame.say(state.stopped ? "The cluster is stopped." : `${this.sentence()}${progress}`);
    if (state.pending.length) this.frame.note(state.pending.join(" "));
    else this.frame.note("");
    for (const [kind, seen] of [["news", "seenNews"], ["problem", "seenProblem"]]) {
      const { id, text } = state[kind];
      if (text && id !== this[seen]) {
        this[seen] = id;
        this.tell(text, kind === "problem");
      }
    }
    for (const text of state.notices) if (!this.told?.has(text)) this.tell(text, true);
    this.told = new Set(state.notices);
    this.paintTools();
    this.frame.element.dataset.state = state.tasks.map((task) => task.state).join(" ");
    this.keep();
  }

  staleness(byName) {
    return Math.max(0, ...[...byName.values()].map((task) => task.staleness ?? 0));
  }

  /** A line that stays until it is dismissed. */
  tell(text, isAlarm = false) {
    const line = h("li", { "data-level": isAlarm ? "alarm" : "info", role: "status" }, h("span", {}, text), button("×", "Dismiss", () => {
      line.remove();
      this.news.hidden = !this.news.children.length;
    }, { class: "df-button df-small" }));
    this.news.append(line);
    while (this.news.children.length > 4) this.news.firstChild.remove();
    this.news.hidden = false;
  }

  select(i) {
    this.selected = i;
    this.cards.forEach((card, k) => {
      card.element.classList.toggle("df-cv-selected", k === i);
      card.element.setAttribute("aria-pressed", String(k === i));
    });
    this.toolsOf = null;
    this.paintTools();
  }

  paintTools() {
    const card = this.scene.tasks[this.selected];
    const task = this.state?.tasks.find((each) => each.task === card?.task);
    this.tools.hidden = !task;
    if (!task) return;
    const key = `${task.name} ${task.state} ${this.state.launched}`;
    if (key === this.toolsOf) return; // a button that has the focus stays
    this.toolsOf = key;
    const focused = this.tools.contains(document.activeElement) ? document.activeElement.textContent : "";
    const act = (what, title, todo, isOff = false) => button(what, title, () => this.act({ task: task.name, ...todo }), { disabled: isOff });
    const runs = task.state === "running";
    const slow = h("select", { class: "df-select", "aria-label": `how slow ${task.name} is`, disabled: !runs, onchange: () => this.act({ do: "slow_down", task: task.name, seconds: Number(slow.value) }), ...QUIET }, DELAYS.map(([value, text]) => h("option", { value, selected: value === task.delay }, text)));
    this.tools.replaceChildren(
      h("strong", {}, task.name),
      act("Kill", "Kill the process, as a fault would (k)", { do: "kill" }, !["running", "paused", "silent"].includes(task.state)),
      task.state === "paused" ? act("Continue", "Let it go on (p)", { do: "resume" }) : act("Pause", "Stop the process: to the others it is slow, not dead (p)", { do: "pause" }, !runs),
      slow,
      act("Restart", "Start it again, without its variables (r)", { do: "restart" }, !this.state.launched || ["restarting", "starting"].includes(task.state)),
      h("span", { class: "df-hint" }, [task.device, task.address, task.memory ? `${bytes(task.memory)} of memory` : "", task.variables ? `${plural(task.variables, "variable")}, ${bytes(task.variableBytes)}` : "", task.dropped ? `${plural(task.dropped, "gradient")} dropped` : ""].filter(Boolean).join(" · ")),
    );
    if (focused) ([...this.tools.querySelectorAll("button:not(:disabled)")].find((each) => each.textContent === focused) ?? this.tools.querySelector("button:not(:disabled)"))?.focus();
  }

  async act(act) {
    this.frame.fail("");
    const answer = await this.store.question({ kind: "act", act });
    if (!answer) this.frame.fail("The kernel has not answered: a cell keeps it busy, or it is gone. What was asked for happens when it is free.");
    else if (answer.words) this.frame.note(answer.words);
  }

  // Keys

  key(event) {
    const i = this.cards.findIndex((card) => card.element === document.activeElement);
    const task = this.state?.tasks.find((each) => each.task === this.scene.tasks[i]?.task);
    const { key } = event;
    if (key.startsWith("Arrow") && i >= 0) this.move(i, key);
    else if ((key === "Enter" || key === " ") && i >= 0) this.select(this.selected === i ? -1 : i);
    else if (key === "n" && this.play) this.go(this.at + 1);
    else if (key === "p" && this.play) this.go(this.at - 1);
    else if (key === "k" && task) this.act({ do: "kill", task: task.name });
    else if (key === "p" && task) this.act({ do: task.state === "paused" ? "resume" : "pause", task: task.name });
    else if (key === "r" && task && this.state.launched) this.act({ do: "restart", task: task.name });
    else return;
    event.preventDefault();
  }

  move(i, key) {
    const here = this.scene.tasks[i];
    const isAcross = key === "ArrowLeft" || key === "ArrowRight";
    const sign = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
    let best = -1;
    let least = Infinity;
    this.scene.tasks.forEach((card, k) => {
      const dx = card.x + card.w / 2 - here.x - here.w / 2;
      const dy = card.y - here.y;
      const along = sign * (isAcross ? dx : dy);
      if (k === i || along <= 0 || (isAcross && dy)) return;
      const far = along + 2 * Math.abs(isAcross ? dy : dx) * (isAcross ? 1 : 0.2);
      if (far < least) [best, least] = [k, far];
    });
    this.cards[best]?.element.focus();
  }
}

export default { initialize, render };
