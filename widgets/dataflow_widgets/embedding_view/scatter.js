// The drawing: points on a canvas that pans and zooms, labels where there is room.
import { QUIET, h } from "../shared/dom.js";
import { NUM_COLORS, marker, runClass } from "../training_monitor/chart.js";
import { beside, follow, hit, place } from "./points.js";

const EDGE = 28;
const MAX_GLIDING = 6000;
const [MAX_LABELS, MAX_TRIED] = [60, 1500];

export class Scatter {
  /** `owner`: {data, selected, near, picked, hiddenGroups, choose(i), hovered(i), leave(key)}. */
  constructor(owner, height) {
    Object.assign(this, { owner, height, zoom: 1, x: 0, y: 0, hover: -1 });
    this.canvas = h("canvas", { class: "df-points", "aria-hidden": "true" });
    // Colors of the theme, as a canvas needs them: computed.
    this.probes = ["df-probe-ink", "df-probe-paper", "df-probe-accent", ...Array.from({ length: NUM_COLORS }, (_, i) => `df-probe-hue ${runClass(i)}`)].map((name) => h("i", { class: `df-probe ${name}` }));
    this.element = h("div", { class: "df-scatter", tabindex: 0, role: "application", "aria-roledescription": "scatter plot", style: `height:${height}px`, ...QUIET }, this.canvas, ...this.probes);
    this.shapes = Array.from({ length: 50 }, (_, i) => (typeof Path2D === "undefined" ? null : new Path2D(marker(i))));
    this.listen();
  }

  listen() {
    const { element } = this;
    let drag = null;
    const spot = (event) => {
      const box = element.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      drag = { from: spot(event), x: this.x, y: this.y, moved: false };
      element.setPointerCapture(event.pointerId);
    });
    element.addEventListener("pointermove", (event) => {
      const [x, y] = spot(event);
      if (drag) {
        drag.moved ||= Math.hypot(x - drag.from[0], y - drag.from[1]) > 4;
        if (drag.moved) {
          this.x = drag.x + x - drag.from[0];
          this.y = drag.y + y - drag.from[1];
          this.draw();
        }
        return;
      }
      this.point(hit(this.at, x, y, 12, this.isShown));
    });
    element.addEventListener("pointerup", (event) => {
      const was = drag;
      drag = null;
      if (was && !was.moved) {
        const found = hit(this.at, ...spot(event), 14, this.isShown);
        if (found >= 0) this.owner.choose(found);
      }
    });
    element.addEventListener("pointerleave", () => this.point(-1));
    element.addEventListener("dblclick", () => this.fit());
    // With Ctrl or ⌘ only: the page's own scrolling stays.
    element.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoomBy(event.deltaY < 0 ? 1.2 : 1 / 1.2, spot(event));
    }, { passive: false });
    element.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (arrow && event.shiftKey) {
      this.x -= arrow[0] * 60;
      this.y -= arrow[1] * 60;
      this.draw();
    } else if (arrow) {
      const from = this.hover >= 0 ? this.hover : this.owner.selected;
      const next = from >= 0 ? beside(this.at, from, ...arrow, this.isShown) : hit(this.at, this.width / 2, this.height / 2, Infinity, this.isShown);
      if (next >= 0) {
        this.reveal(next);
        this.point(next);
      }
    } else if ((event.key === "Enter" || event.key === " ") && this.hover >= 0) this.owner.choose(this.hover);
    else if (event.key === "+" || event.key === "=") this.zoomBy(1.4);
    else if (event.key === "-") this.zoomBy(1 / 1.4);
    else if (event.key === "0") this.fit();
    else if (!this.owner.leave(event.key)) return;
    event.preventDefault();
  }

  isShown = (i) => !this.owner.hiddenGroups.size || !this.owner.hiddenGroups.has(this.owner.data.groups?.[i] ?? 0);

  point(i) {
    if (i === this.hover) return;
    this.hover = i;
    this.owner.hovered(i);
    this.draw();
  }

  zoomBy(factor, [cx, cy] = [this.width / 2, this.height / 2]) {
    const zoom = Math.min(200, Math.max(0.5, this.zoom * factor));
    const k = zoom / this.zoom;
    this.x = cx - (cx - this.x) * k;
    this.y = cy - (cy - this.y) * k;
    this.zoom = zoom;
    this.draw();
  }

  fit() {
    [this.zoom, this.x, this.y] = [1, 0, 0];
    this.draw();
  }

  /** Moves the view so that point `i` is in it. */
  reveal(i) {
    const [x, y] = [this.at[2 * i], this.at[2 * i + 1]];
    if (x >= 20 && y >= 20 && x <= this.width - 20 && y <= this.height - 20) return;
    this.x += this.width / 2 - x;
    this.y += this.height / 2 - y;
    this.draw();
  }

  /** New places: points move there smoothly, unless they are many or motion is unwelcome. */
  move(places) {
    const before = this.places;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!before || before.length !== places.length || calm || places.length > 2 * MAX_GLIDING) {
      cancelAnimationFrame(this.frame);
      this.frame = null;
      this.places = places;
      return this.draw();
    }
    this.target = places;
    if (this.frame) return; // on the way already: the springs go to the new target
    this.places = Float32Array.from(before);
    this.speeds = new Float32Array(before.length);
    let last = performance.now();
    const tick = (now) => {
      const moves = follow(this.places, this.speeds, this.target, Math.max(0, now - last) / 1000);
      last = now;
      if (!moves) this.places = this.target;
      this.draw();
      this.frame = moves ? requestAnimationFrame(tick) : null;
    };
    this.frame = requestAnimationFrame(tick);
  }

  measure() {
    const { places } = this;
    let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0; i < places.length; i += 2) {
      x0 = Math.min(x0, places[i]);
      x1 = Math.max(x1, places[i]);
      y0 = Math.min(y0, places[i + 1]);
      y1 = Math.max(y1, places[i + 1]);
    }
    const scale = Math.min((this.width - 2 * EDGE) / (x1 - x0 || 1), (this.height - 2 * EDGE) / (y1 - y0 || 1));
    const [mx, my] = [(x0 + x1) / 2, (y0 + y1) / 2];
    this.at = new Float32Array(places.length);
    for (let i = 0; i < places.length; i += 2) {
      this.at[i] = (this.width / 2 + (places[i] - mx) * scale) * this.zoom + this.x;
      this.at[i + 1] = (this.height / 2 - (places[i + 1] - my) * scale) * this.zoom + this.y;
    }
  }

  draw() {
    if (!this.places || this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.paint();
    });
  }

  paint() {
    const { canvas, owner } = this;
    this.width = this.element.clientWidth || 600;
    this.measure();
    const context = canvas.getContext?.("2d");
    if (!context) return;
    const ratio = globalThis.devicePixelRatio || 1;
    if (canvas.width !== Math.round(this.width * ratio) || canvas.height !== Math.round(this.height * ratio)) {
      canvas.width = Math.round(this.width * ratio);
      canvas.height = Math.round(this.height * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const [ink, paper, accent, ...hues] = this.probes.map((probe) => getComputedStyle(probe).color);
    context.clearRect(0, 0, this.width, this.height);
    const { groups, labels } = owner.data;
    const { at } = this;
    const n = at.length / 2;
    const lit = new Set([owner.selected, this.hover, ...owner.near, ...owner.picked].filter((i) => i >= 0));
    const size = (n > 4000 ? 0.55 : n > 800 ? 0.75 : 1) * Math.min(2, Math.max(1, Math.sqrt(this.zoom) * 0.9));
    const dim = owner.near.length || owner.picked.length ? 0.22 : 0.78;
    const dot = (i, k, alpha) => {
      const group = groups?.[i] ?? 0;
      context.globalAlpha = alpha;
      context.fillStyle = hues[group % NUM_COLORS];
      context.setTransform(ratio * k, 0, 0, ratio * k, at[2 * i] * ratio, at[2 * i + 1] * ratio);
      context.fill(this.shapes[group]);
    };
    const inside = (i) => at[2 * i] > -9 && at[2 * i + 1] > -9 && at[2 * i] < this.width + 9 && at[2 * i + 1] < this.height + 9;
    for (let i = 0; i < n; i++) if (inside(i) && !lit.has(i) && this.isShown(i)) dot(i, size, dim);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    // Lines from the chosen point to its neighbors, then an arrow for each pair of an analogy.
    context.lineWidth = 1.2;
    context.strokeStyle = accent;
    context.globalAlpha = 0.55;
    const line = (i, j) => {
      context.beginPath();
      context.moveTo(at[2 * i], at[2 * i + 1]);
      context.lineTo(at[2 * j], at[2 * j + 1]);
      context.stroke();
    };
    if (owner.picked.length) {
      const [a, b, c] = owner.picked;
      context.lineWidth = 2;
      if (c === undefined && b !== undefined) line(a, b);
      if (c !== undefined) this.parallelogram(context, owner.picked, owner.near[0], accent);
      else delete this.element.dataset.parallelogram;
    } else {
      delete this.element.dataset.parallelogram;
      if (owner.selected >= 0) for (const j of owner.near) line(owner.selected, j);
    }
    for (const i of lit) dot(i, Math.max(1.25, size * 1.4), 1);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.globalAlpha = 1;
    for (const i of [owner.selected, ...owner.picked, this.hover]) {
      if (i < 0) continue;
      context.lineWidth = 2;
      context.strokeStyle = i === this.hover ? ink : accent;
      context.beginPath();
      context.arc(at[2 * i], at[2 * i + 1], 8.5, 0, 7);
      context.stroke();
    }
    this.write(context, lit, ink, paper, labels, n);
    this.element.dataset.drawn = String(n);
  }

  /** What is to c as b is to a lies at b - a + c; a dotted line leads from there to the point that is nearest. */
  parallelogram(context, [a, b, c], found, accent) {
    const { at } = this;
    const corner = (i) => [at[2 * i], at[2 * i + 1]];
    const [from, to, start] = [a, b, c].map(corner);
    const end = [to[0] - from[0] + start[0], to[1] - from[1] + start[1]];
    const path = (dashes, ...points) => {
      context.setLineDash(dashes);
      context.beginPath();
      points.forEach((point, k) => context[k ? "lineTo" : "moveTo"](...point));
      context.stroke();
    };
    const arrow = (p, q) => {
      path([], p, q);
      const angle = Math.atan2(q[1] - p[1], q[0] - p[0]);
      const wing = (turn) => [q[0] - 11 * Math.cos(angle + turn), q[1] - 11 * Math.sin(angle + turn)];
      path([], wing(0.4), q, wing(-0.4));
    };
    context.globalAlpha = 0.12;
    context.fillStyle = accent;
    context.beginPath();
    [from, to, end, start].forEach((point, k) => context[k ? "lineTo" : "moveTo"](...point));
    context.fill();
    context.globalAlpha = 0.8;
    arrow(from, to);
    arrow(start, end);
    path([6, 4], from, start);
    path([6, 4], to, end);
    if (found !== undefined) path([2, 3], end, corner(found));
    context.setLineDash([]);
    this.element.dataset.parallelogram = JSON.stringify([from, to, end, start].map((point) => point.map(Math.round)));
  }

  write(context, lit, ink, paper, labels, n) {
    const { at, owner } = this;
    const first = [this.hover, owner.selected, ...owner.picked, ...owner.near].filter((i, k, all) => i >= 0 && all.indexOf(i) === k);
    const rest = [];
    for (let i = 0; i < n && rest.length < MAX_TRIED; i++) {
      const [x, y] = [at[2 * i], at[2 * i + 1]];
      if (!lit.has(i) && x > 0 && y > 0 && x < this.width && y < this.height && this.isShown(i)) rest.push(i);
    }
    const short = (i) => (labels[i].length > 28 ? `${labels[i].slice(0, 27)}…` : labels[i]);
    context.textBaseline = "middle";
    context.lineJoin = "round";
    const font = (bold) => `${bold ? "600 " : ""}12px -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif`;
    context.font = font(true);
    const found = place(at, [...first, ...rest], (i) => context.measureText(short(i)).width, { width: this.width, height: this.height, limit: MAX_LABELS, gap: 9 });
    const quiet = owner.near.length || owner.picked.length;
    for (const { i, x, y } of found) {
      const strong = lit.has(i);
      context.font = font(strong);
      context.globalAlpha = strong || !quiet ? 1 : 0.45;
      context.lineWidth = 3.5;
      context.strokeStyle = paper;
      context.strokeText(short(i), x, y);
      context.fillStyle = ink;
      context.fillText(short(i), x, y);
    }
    context.globalAlpha = 1;
    this.element.dataset.labels = String(found.length);
  }
}
