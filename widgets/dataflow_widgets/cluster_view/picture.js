// The picture of a cluster: machines, parts of the graph, links, barrier, dots with their labels.  Where
// they are was decided by the kernel (scene.py).
import { QUIET, plural, s, write } from "../shared/dom.js";
import { bytes, number } from "../shared/values.js";

const MOST_SQUARES = 12;
const LETTER = 6.7; // px of a label's letter
const MOST_LABELS = 3;

export const fit = (text, width) => {
  const most = Math.floor(width / 7.3);
  return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}…`;
};
const curve = ({ points: [x1, y1, ax, ay, bx, by, x2, y2] }) => `M${x1} ${y1}C${ax} ${ay} ${bx} ${by} ${x2} ${y2}`;

/** Places for a label beside a dot, the best first: [dx, dy] of its left end. */
const places = (width) => [[13, -4], [-13 - width, -4], [13, -18], [-13 - width, -18], [13, 18], [-13 - width, 18], [-width / 2, -14], [-width / 2, 24]];

/** Where the labels of dots at `points` go: [dx, dy] or null, so that none covers a machine or another label. */
export function labelPlaces(points, widths, cards, size) {
  const taken = cards.map((card) => [card.x, card.y, card.x + card.w, card.y + card.h]);
  return points.map(([x, y], i) => {
    const found = places(widths[i]).find(([dx, dy]) => {
      const [left, top, right, bottom] = [x + dx - 2, y + dy - 11, x + dx + widths[i] + 2, y + dy + 3];
      if (left < 100 || right > size.width || top < 0 || bottom > size.height) return false;
      return !taken.some(([a, b, c, d]) => left < c && right > a && top < d && bottom > b);
    });
    if (!found) return null;
    const [dx, dy] = found;
    taken.push([x + dx - 2, y + dy - 11, x + dx + widths[i] + 2, y + dy + 3]);
    return found;
  });
}

const arrowHead = ([x, y, degrees]) => s("path", { class: "df-cv-arrow", d: "M-9 -8L10 0L-9 8Z", transform: `translate(${x} ${y}) rotate(${degrees})` });

const isNarrow = (card) => card.w < 190;

export class ClusterPicture {
  /** `select(i)` is called for a machine that is pressed; `hasBarrier`: its steps are synchronous. */
  constructor(scene, { select, hasBarrier = false }) {
    Object.assign(this, { scene, select, hasBarrier, versions: {}, middleBox: [] });
    this.draw();
  }

  draw() {
    const { scene } = this;
    const lanes = scene.lanes.map((lane) => s("g", {}, s("rect", { class: "df-cv-lane", x: 4, y: lane.y, width: scene.width - 8, height: lane.h, rx: 8 }), ...lane.label.map((text, i) => s("text", { class: "df-detail df-cv-lane-name", x: 16, y: lane.y + lane.h / 2 + 4 + 14 * i - 7 * (lane.label.length - 1) }, text))));
    this.links = scene.links.map((link) => {
      const title = s("title", {}, "");
      return s("g", { class: `df-cv-link${link.oneWay ? " df-cv-arc" : ""}` }, title, ...(link.arrow ? [arrowHead(link.arrow)] : []), s("path", { class: "df-line", d: curve(link) }));
    });
    this.cards = scene.tasks.map((card, i) => this.drawCard(card, i));
    this.middle = s("g", { class: "df-cv-middle" });
    this.barrier = this.drawBarrier();
    this.tokens = s("g", { class: "df-cv-tokens" });
    this.dots = s("g", { class: "df-cv-dots", "aria-hidden": "true" });
    this.root = s("svg", { class: "df-svg df-cv-svg", viewBox: `0 0 ${scene.width} ${scene.height}`, width: scene.width, height: scene.height, role: "group", "aria-label": `${plural(scene.tasks.length, "machine")}, ${plural(scene.links.length, "link")}` }, ...lanes, ...this.links, this.middle, this.barrier, this.tokens, ...this.cards.map((card) => card.element), this.dots);
    return this.root;
  }

  drawCard(card, i) {
    const parts = card.parts.map((part) => s("g", { class: `df-node df-cv-part df-kind-${part.kind}` }, s("title", {}, part.ops.slice(0, 12).join("\n")), s("rect", { class: "df-shape", x: part.x, y: part.y, width: part.w, height: part.h, rx: 10 }), s("text", { x: part.x + part.w / 2, y: part.y + 14, "text-anchor": "middle" }, fit(part.text, part.w))));
    const edges = card.edges.map(([a, b]) => {
      const [one, two] = [card.parts[a], card.parts[b]];
      return s("path", { class: "df-cv-edge", d: `M${one.x + one.w / 2} ${one.y + 10}L${two.x + two.w / 2} ${two.y + 10}` });
    });
    // A narrow machine has its figure below the words, where the name has no room for it.
    const badge = s("text", { class: "df-cv-badge", ...(isNarrow(card) && !card.parts.length ? { x: card.x + 12, y: card.y + 46 } : { x: card.x + card.w - 12, y: card.y + 17, "text-anchor": "end" }) });
    const detail = s("text", { class: "df-detail", x: card.x + 12, y: card.y + 31 }, card.small ? "" : fit(card.detail, card.w - 20));
    const squares = s("g", { class: "df-cv-lag" });
    const light = s("circle", { class: "df-cv-light", cx: card.x + 12, cy: card.y + 13, r: 4 });
    const name = s("text", { class: card.small ? "df-detail" : "df-title", x: card.x + (card.small ? 19 : 22), y: card.y + 17 }, card.name);
    const element = s("g", { class: `df-cv-card df-cv-${card.job}`, tabindex: i ? -1 : 0, role: "button", "aria-label": card.name, ...QUIET }, s("rect", { class: "df-cv-machine", x: card.x, y: card.y, width: card.w, height: card.h, rx: 8 }), light, name, badge, detail, ...edges, ...parts, squares);
    element.addEventListener("click", () => this.select(i));
    element.addEventListener("focus", () => this.cards?.forEach((other, k) => other.element.setAttribute("tabindex", k === i ? 0 : -1)));
    return { element, parts, badge, detail, squares, light };
  }

  /** Where the workers of a synchronous step wait for each other: a line with a place for each. */
  drawBarrier() {
    const { tasks, width } = this.scene;
    const workers = tasks.map((card, i) => [card, i]).filter(([card]) => card.job === "worker");
    const servers = tasks.filter((card) => card.job === "ps");
    this.places = new Map();
    this.barrierBox = [];
    if (!this.hasBarrier || !servers.length || !workers.length) return s("g", {});
    // Beside the parameter servers where there is room, else below them.
    const end = Math.max(...servers.map((card) => card.x + card.w));
    const isBeside = width - end > 170;
    const each = Math.min(26, (isBeside ? width - end - 70 : 500) / workers.length);
    const left = isBeside ? end + 40 : width / 2 - (each * workers.length) / 2 + 18;
    const y = isBeside ? servers[0].y + servers[0].h / 2 : Math.max(...servers.map((card) => card.y + card.h)) + 28;
    const spots = workers.map(([card, i], k) => {
      const place = s("circle", { class: "df-cv-place", cx: left + each * (k + 0.5), cy: y, r: Math.min(6, each / 2.4) }, s("title", {}, card.name));
      this.places.set(i, place);
      return place;
    });
    this.barrierBox = [{ x: left - 60, y: y - 22, w: each * workers.length + 70, h: 50 }];
    [this.tokenX, this.tokenY] = isBeside ? [left, y + 22] : [left + each * workers.length + 22, y];
    const word = isBeside ? { x: left - 8, y: y - 14 } : { x: left - 16, y: y + 4, "text-anchor": "end" };
    return s("g", { class: "df-cv-barrier" }, s("path", { d: `M${left - 8} ${y}H${left + each * workers.length + 8}` }), ...spots, s("text", { class: "df-detail", ...word }, "barrier"));
  }

  /** Lines in the middle of a ring of workers. */
  paintMiddle(lines) {
    const { ring } = this.scene;
    if (!ring) return;
    const top = ring.y - 8 * (lines.length - 1) + 4;
    this.middleBox = lines.length ? [{ x: ring.x - 160, y: top - 14, w: 320, h: 16 * lines.length + 4 }] : [];
    this.middle.replaceChildren(...lines.map((line, i) => s("text", { class: "df-detail", x: ring.x, y: top + 16 * i, "text-anchor": "middle" }, line)));
  }

  /** Fills the places of those that wait; `tokens` lie there to let so many go on. */
  paintBarrier(waits, tokens) {
    for (const [i, place] of this.places) place.classList.toggle("df-cv-there", waits(i));
    if (!this.places.size) return;
    const count = Math.min(tokens ?? 0, 8);
    const made = Array.from({ length: count }, (_, k) => s("rect", { x: this.tokenX + k * 11, y: this.tokenY - 4, width: 8, height: 8, rx: 2, transform: `rotate(45 ${this.tokenX + k * 11 + 4} ${this.tokenY})` }));
    if (count) made.push(s("text", { class: "df-detail", x: this.tokenX + count * 11 + 6, y: this.tokenY + 4 }, plural(tokens, "token")));
    this.tokens.replaceChildren(...made);
  }

  /** One square for each update that the worker has not seen. */
  drawLag(card, place, count) {
    const shown = Math.min(count, place.small ? 5 : MOST_SQUARES);
    const top = place.y + place.h - (place.small ? 9 : 12);
    const squares = Array.from({ length: shown }, (_, k) => s("rect", { x: place.x + 12 + k * 10, y: top, width: 7, height: 7, rx: 1.5 }));
    const words = count && !place.small ? [s("text", { class: "df-detail", x: place.x + 16 + shown * 10, y: top + 7.5 }, `${plural(count, "update")} behind`)] : [];
    card.squares.replaceChildren(...squares, ...words);
  }

  /** Where on a link a dot is that has come so far, 0 to 1, from card `from`. */
  pointOn(link, from, share) {
    const line = this.links[link].lastChild;
    const length = line.getTotalLength();
    return line.getPointAtLength(length * (this.scene.links[link].a === from ? share : 1 - share));
  }

  /** Dots: {link, from, share, bytes, text, isHeld}; the first ones have labels. */
  paintDots(flying) {
    const points = flying.map((dot) => this.pointOn(dot.link, dot.from, dot.share));
    const dots = flying.map((dot, k) => {
      const size = 4.5 + Math.min(6, Math.log10(1 + dot.bytes) * 0.9);
      return s("g", { class: `df-cv-dot${dot.isHeld ? " df-cv-held" : ""}`, transform: `translate(${points[k].x.toFixed(1)} ${points[k].y.toFixed(1)})` }, s("circle", { r: size.toFixed(1) }));
    });
    // Of several on one way the first is named.
    const ways = flying.map((dot) => `${dot.link} ${dot.from}`);
    const named = [...flying.keys()].filter((k) => ways.indexOf(ways[k]) === k).slice(0, MOST_LABELS);
    const texts = named.map((k) => fit(flying[k].text.replace(/ \([^()]*\)$/, ""), 190) + (flying[k].bytes ? `, ${bytes(flying[k].bytes)}` : ""));
    const spots = labelPlaces(named.map((k) => [points[k].x, points[k].y]), texts.map((text) => text.length * LETTER), [...this.scene.tasks, ...this.barrierBox, ...this.middleBox], this.scene);
    const labels = texts.map((text, i) => spots[i] && s("text", { class: "df-cv-label", x: (points[named[i]].x + spots[i][0]).toFixed(1), y: (points[named[i]].y + spots[i][1]).toFixed(1) }, text));
    this.dots.replaceChildren(...dots, ...labels.filter(Boolean));
  }

  /** States and rates of a running cluster; `traveling`: what a step sends, for the links' words. */
  live(state, traveling) {
    const { scene } = this;
    const byName = new Map(state.tasks.map((task) => [task.task, task]));
    const rateOf = (task) => (task?.receivedPerSecond ?? 0) + (task?.sentPerSecond ?? 0);
    // Tasks that share one process cannot be told apart by what that computes.
    const isAlone = (task) => state.tasks.every((other) => other === task || other.pid !== task.pid);
    const busiest = Math.max(...state.tasks.map((task) => task.busy ?? 0));
    const tasks = scene.tasks.map((card) => byName.get(card.task));
    this.cards.forEach((card, i) => {
      const task = tasks[i];
      if (!task) return;
      const { element } = card;
      element.dataset.state = task.state;
      const rate = rateOf(task);
      const isTight = scene.tasks[i].job === "ps" && task.busy === busiest && busiest > 0.6 && isAlone(task);
      element.classList.toggle("df-cv-bottleneck", isTight);
      element.classList.toggle("df-cv-off", task.isCut);
      const delay = (task.delay ? `, +${task.delay} s a step` : "") + (task.isCut ? ", link cut" : task.linkDelay ? `, link +${task.linkDelay} s` : "");
      const where = task.pid ? `process ${task.pid}` : task.address;
      const rest = `${number(Number((task.stepsPerSecond ?? 0).toPrecision(3)))} steps/s${delay}`;
      // What was done to it says more than where it is.
      const words = task.state !== "running" ? `${task.state}${delay}` : isTight && !delay ? `bottleneck: computes ${Math.round(100 * task.busy)} % of the time` : delay || isNarrow(scene.tasks[i]) ? rest : `${where} · ${rest}`;
      write(card.detail, scene.tasks[i].small ? "" : fit(words, scene.tasks[i].w - 16));
      const version = this.versions[i];
      const figure = version === undefined ? `${bytes(Math.round(rate))}/s` : `version ${version}`;
      write(card.badge, scene.tasks[i].small ? "" : task.state === "running" ? figure : task.state);
      element.setAttribute("aria-label", `${task.name}, ${task.state}, ${words}`);
    });
    this.links.forEach((link, i) => {
      const { a, b } = scene.links[i];
      const ends = [tasks[a], tasks[b]].filter(Boolean);
      const isClient = ends.length < 2; // what it sends is not counted
      const other = ends.find((task) => !task.name.startsWith("ps:")) ?? ends[0];
      const rate = other && !isClient ? rateOf(other) : 0;
      const isCut = ends.some((task) => task.state !== "running") || (!isClient && ends.some((task) => task.isCut));
      link.classList.toggle("df-cv-cut", isCut);
      link.classList.toggle("df-cv-late", !isClient && ends.some((task) => task.linkDelay));
      link.lastChild.style.setProperty("--df-width", `${1.4 + Math.min(7, Math.log10(1 + rate / 1000) * 1.6)}px`);
      const [one, two] = [scene.tasks[a].name, scene.tasks[b].name];
      const values = traveling.filter((t) => [one, two].includes(t.from));
      write(link.firstChild, `${one} and ${two}: ${bytes(Math.round(rate))} a second${values.length ? `\n${values.slice(0, 8).map((t) => `${t.tensor}${t.bytes ? `, ${bytes(t.bytes)}` : ""}`).join("\n")}` : ""}`);
    });
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
