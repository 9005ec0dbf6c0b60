// Timeline: the ops of a recorded run on a lane for each device, as a flame chart.
import { QUIET, button, download, h, onResize, plural, s } from "../shared/dom.js";
import { png, standaloneHtml, standaloneSvg } from "../shared/exports.js";
import { showElsewhere } from "../shared/finding.js";
import { BAND, BAR, axis, byType, neighbor, panned, readRun, stack, ticks, zoomed } from "../shared/flame.js";
import { pictureKeeper } from "../shared/saved_picture.js";
import { openWhenSent } from "../shared/opening.js";
import { HUES } from "../shared/palette.js";
import { menu } from "../shared/shell.js";
import { dropStore, storeOf } from "../shared/store.js";
import { bytes, seconds } from "../shared/values.js";

const AXIS = 22;
const MOST_ROWS = 300; // of the table
const FEW_LANES_PX = 170;
const time = (us) => seconds(us / 1e6);
const f = (n) => Number(n.toFixed(1));

function initialize({ model }) {
  storeOf(model);
  return () => dropStore(model);
}

const render = openWhenSent({
  kind: "timeline",
  name: "timeline",
  field: "ops",
  make: (...args) => new TimelineView(...args),
  late: "No run has arrived",
});

class TimelineView {
  constructor(model, store, frame) {
    Object.assign(this, { model, store, frame });
    const isWhole = () => this.view[0] === 0 && this.view[1] === this.axis.length;
    this.keep = pictureKeeper(model, store, () => (isWhole() ? this.root : null)); // of the whole run
    this.run = readRun({ ...store.extra, nodes: store.graph.nodes });
    this.stack = stack(this.run);
    this.types = byType(this.run);
    this.hue = new Map(this.types.map(([type], i) => [type, HUES[i % HUES.length]]));
    const short = axis(this.run);
    this.canCut = short.pieces.some((piece) => piece.cut);
    this.cutting = this.canCut && short.length < this.run.duration / 2;
    this.axis = axis(this.run, this.cutting);
    this.view = [0, this.axis.length];
    this.current = this.run.ops[0];
    this.selected = null;
    this.matches = new Set();
    this.path = false;
    this.build();
    const endSizes = onResize(this.chart, () => this.draw());
    this.dispose = () => {
      endSizes();
      this.keep.stop();
      cancelAnimationFrame(this.pending);
    };
    this.show(null);
    this.draw();
    frame.say(this.sentence());
    frame.element.dataset.drawn = String(this.run.ops.length);
  }

  build() {
    const { frame, model, store } = this;
    this.chart = h("div", { class: "df-flame", tabindex: -1, ...QUIET });
    this.chart.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.chart.addEventListener("pointerdown", (event) => this.grab(event));
    this.chart.addEventListener("click", (event) => this.click(event));
    this.chart.addEventListener("dblclick", (event) => this.focusOn(this.opAt(event)));
    this.chart.addEventListener("keydown", (event) => this.key(event));
    this.chart.addEventListener("focusin", (event) => {
      const op = this.opAt(event);
      if (op) this.setCurrent(op, false);
    });
    this.critical = button("Critical path", "Mark the chain of ops that the run cannot be shorter than", () => this.togglePath(), { "aria-pressed": "false" });
    this.cut = button("Idle time cut", "Cut short the times in which no lane runs anything, or draw them to scale", () => this.toggleCut(), { "aria-pressed": String(this.cutting), hidden: !this.canCut });
    this.find = h("input", { class: "df-search", type: "search", placeholder: "Search (/)", "aria-label": "search ops by name or type", ...QUIET });
    this.find.addEventListener("input", () => this.search());
    this.find.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.nextMatch();
      else if (event.key === "Escape") {
        this.find.value = "";
        this.search();
      } else return;
      event.preventDefault();
    });
    const svg = () => standaloneSvg(this.root);
    const state = () => ({ title: model.get("title"), height: model.get("height"), payload: { ...store.extra, nodes: store.graph.nodes }, standalone: true });
    const saving = menu("Save ▾", "Save as SVG, PNG or HTML", [
      ["Picture (SVG)", () => download("timeline.svg", svg(), "image/svg+xml")],
      ["Picture (PNG)", () => png(svg()).then((blob) => download("timeline.png", blob)).catch((e) => frame.fail(e.message))],
      ["Web page (HTML)", () => standaloneHtml(model, state(), "timeline").then((page) => download("timeline.html", page, "text/html"))],
    ]);
    frame.toolbar.append(
      button("−", "Zoom out", () => this.zoom(0.5)),
      button("+", "Zoom in", () => this.zoom(2)),
      button("Fit", "Show the whole run", () => this.setView([0, this.axis.length])),
      button("◂", "Earlier", () => this.pan(-0.25)),
      button("▸", "Later", () => this.pan(0.25)),
      this.critical,
      this.cut,
      this.find,
      saving,
    );
    this.details = h("section", { class: "df-op", "aria-label": "selected op" });
    const types = this.types.slice(0, 12).map(([type, total, count]) => h("tr", {}, h("td", {}, h("div", { class: "df-type" }, h("i", { class: "df-swatch", style: `background:${this.hue.get(type)}` }), h("span", {}, type))), h("td", {}, time(total)), h("td", {}, String(count))));
    this.side = h("div", { class: "df-side", tabindex: -1, ...QUIET }, this.details, h("div", {}, h("h4", {}, "Time by op type"), h("table", { class: "df-types" }, h("thead", {}, h("tr", {}, ...["type", "time", "ops"].map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, types))));
    frame.body.append(this.chart, this.side);
    // Few lanes leave most of a pane empty: they get its whole width instead, and what is told of them stands below.
    if (this.stack.height + AXIS < FEW_LANES_PX) frame.body.dataset.arrange = "below";
    frame.element.append(this.table());
  }

  sentence() {
    const { run } = this;
    const chain = run.critical.reduce((sum, index) => sum + run.ops[index].duration, 0);
    const waits = run.criticalWaits.filter(Boolean);
    const travel = waits.length ? ` and ${plural(waits.length, "message")} between lanes, ${time(waits.reduce((a, b) => a + b))}` : "";
    const copied = run.copies.length ? ` ${plural(run.copies.length, "copy", "copies")} between lanes.` : "";
    return `${plural(run.ops.length, "op")} on ${plural(run.lanes.length, "lane")} in ${time(run.duration)}. Critical path: ${plural(run.critical.length, "op")}, ${time(chain)}${travel}.${copied}`;
  }

  // The view

  x(t) {
    return ((this.axis.u(t) - this.view[0]) / (this.view[1] - this.view[0])) * this.width;
  }

  toggleCut() {
    this.cutting = !this.cutting;
    this.cut.setAttribute("aria-pressed", String(this.cutting));
    this.axis = axis(this.run, this.cutting);
    this.setView([0, this.axis.length]);
  }

  setView(view) {
    this.view = view;
    cancelAnimationFrame(this.pending);
    this.pending = requestAnimationFrame(() => this.draw());
  }

  zoom(factor, center) {
    const { view } = this;
    const [start, end] = [this.axis.u(this.current.start), this.axis.u(this.current.end)];
    const inside = start <= view[1] && end >= view[0];
    const middle = center ?? (inside ? Math.min(view[1], Math.max(view[0], (start + end) / 2)) : (view[0] + view[1]) / 2);
    this.setView(zoomed(view, factor, middle, this.axis.length));
  }

  pan(share) {
    this.setView(panned(this.view, share * (this.view[1] - this.view[0]), this.axis.length));
  }

  wheel(event) {
    if (event.ctrlKey || event.metaKey) {
      const box = this.root.getBoundingClientRect();
      const at = this.view[0] + ((event.clientX - box.left) / box.width) * (this.view[1] - this.view[0]);
      this.zoom(event.deltaY < 0 ? 1.25 : 0.8, at);
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan((event.deltaX || event.deltaY) / this.width);
    else return; // a plain wheel scrolls the notebook
    event.preventDefault();
  }

  grab(event) {
    if (event.button !== 0) return;
    const from = event.clientX;
    const start = this.view;
    this.dragged = false;
    const move = (e) => {
      if (Math.abs(e.clientX - from) > 4) this.dragged = true;
      if (this.dragged) this.setView(panned(start, ((from - e.clientX) / this.width) * (start[1] - start[0]), this.axis.length));
    };
    const stop = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", stop);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", stop);
  }

  opAt(event) {
    const bar = event.target.closest?.(".df-bar");
    return bar ? this.run.ops[Number(bar.dataset.op)] : null;
  }

  click(event) {
    if (this.dragged) return;
    const op = this.opAt(event);
    if (op) this.setCurrent(op, true);
    this.select(op);
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { run } = this;
    const lane = run.ops.filter((op) => op.lane === this.current.lane);
    const actions = {
      "+": () => this.zoom(2), "=": () => this.zoom(2), "-": () => this.zoom(0.5), 0: () => this.setView([0, this.axis.length]),
      "/": () => this.find.focus(), c: () => this.togglePath(), f: () => this.focusOn(this.current),
      Enter: () => this.select(this.current), " ": () => this.select(this.current), Escape: () => this.select(null),
      Home: () => this.setCurrent(lane[0], true), End: () => this.setCurrent(lane.at(-1), true),
    };
    if (event.shiftKey && /Arrow(Left|Right)/.test(event.key)) this.pan(event.key === "ArrowLeft" ? -0.25 : 0.25);
    else if (event.key.startsWith("Arrow")) this.setCurrent(neighbor(run, this.current, event.key), true);
    else if (actions[event.key]) actions[event.key]();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  setCurrent(op, focus) {
    this.current = op;
    const at = this.axis.u(op.start);
    const outside = this.axis.u(op.end) < this.view[0] || at > this.view[1];
    if (outside) this.view = panned([at, at + this.view[1] - this.view[0]], -(this.view[1] - this.view[0]) / 3, this.axis.length);
    if (outside || !this.bars.has(op.index)) this.draw();
    for (const [index, bar] of this.bars) bar.setAttribute("tabindex", index === op.index ? "0" : "-1");
    if (focus) this.bars.get(op.index)?.focus({ preventScroll: !outside });
  }

  focusOn(op) {
    if (op) this.setView(panned([this.axis.u(op.start) - op.duration, this.axis.u(op.end) + op.duration], 0, this.axis.length));
  }

  togglePath() {
    this.path = !this.path;
    this.critical.setAttribute("aria-pressed", String(this.path));
    this.draw();
    const { critical, ops } = this.run;
    if (this.path) this.frame.say(`Critical path: ${critical.slice(0, 8).map((index) => ops[index].name).join(", ")}${critical.length > 8 ? ` and ${critical.length - 8} more` : ""}.`);
    else this.frame.say(this.sentence());
  }

  search() {
    const text = this.find.value.trim().toLowerCase();
    this.matches = new Set(text ? this.run.ops.filter((op) => `${op.name} ${op.type}`.toLowerCase().includes(text)).map((op) => op.index) : []);
    this.at = -1;
    this.frame.say(text ? `${plural(this.matches.size, "match", "matches")} for ${text}.` : this.sentence());
    this.draw();
  }

  nextMatch() {
    const found = [...this.matches];
    if (!found.length) return;
    this.at = (this.at + 1) % found.length;
    const op = this.run.ops[found[this.at]];
    this.setCurrent(op, false);
    this.select(op);
  }

  // Showing

  spoken(op) {
    return [`${op.type} ${op.name}`, `from ${time(op.start) || "0 µs"} for ${time(op.duration)}`, op.bytes && bytes(op.bytes), op.critical && "on the critical path"].filter(Boolean).join(", ");
  }

  draw() {
    const { run } = this;
    const focused = this.chart.contains(document.activeElement) && document.activeElement.classList.contains("df-bar");
    this.width = Math.max(120, this.chart.clientWidth - 14);
    const height = this.stack.height + AXIS;
    const root = s("svg", { class: "df-svg df-flame-svg", viewBox: `0 0 ${this.width} ${height}`, width: this.width, height, role: "group", "aria-label": "ops by time, a lane for each device" });
    this.bars = new Map();
    this.drawAxis(root, height);
    for (const copy of run.copies) this.drawCopy(root, copy);
    for (const wait of run.waits) this.drawWait(root, wait);
    for (const lane of this.stack.lanes) root.append(this.drawLane(lane));
    this.root = root;
    this.chart.replaceChildren(root);
    if (focused) this.bars.get(this.current.index)?.focus({ preventScroll: true });
    this.keep();
  }

  /** Ticks at round times of each piece; a cut is a band that says how long it is. */
  drawAxis(root, height) {
    let free = -60;
    for (const piece of this.axis.pieces) {
      const at = this.clip(piece.from, piece.to);
      if (!at || at[1] - at[0] < 1) continue;
      if (piece.cut) {
        const words = `nothing ran for ${time(piece.to - piece.from)}`;
        const middle = (at[0] + at[1]) / 2;
        root.append(
          s("g", { class: "df-cut" }, s("title", {}, words), s("rect", { x: f(at[0]), y: AXIS, width: f(at[1] - at[0]), height: height - AXIS }),
            s("path", { d: `M${f(at[0])},${AXIS}V${height}M${f(at[1])},${AXIS}V${height}` }),
            at[1] - at[0] > 24 ? s("text", { class: "df-detail", x: f(middle), y: 12, "text-anchor": "middle" }, `// ${time(piece.to - piece.from)}`) : null),
        );
        free = Math.max(at[1], middle + 40) - 4;
        continue;
      }
      const [from, to] = [Math.max(piece.from, this.axis.t(this.view[0])), Math.min(piece.to, this.axis.t(this.view[1]))];
      const next = this.axis.pieces[this.axis.pieces.indexOf(piece) + 1];
      const limit = next?.cut ? at[1] - 45 : this.width + 1;
      for (const t of ticks(from, to, Math.max(1, at[1] - at[0]))) {
        const x = this.x(t);
        if (x < free || x > limit) continue;
        free = x + 60;
        const side = x > this.width - 50 ? { x: f(x - 2), "text-anchor": "end" } : { x: f(x + 2) }; // not cut off at the edge
        root.append(s("path", { class: "df-tick", d: `M${f(x)},${AXIS - 4}V${height}` }), s("text", { class: "df-detail", ...side, y: 12 }, (time(t) || "0").replace(".00 ", " ")));
      }
    }
  }

  clip(start, end) {
    const [x0, x1] = [this.x(start), this.x(end)];
    return x1 < 0 || x0 > this.width ? null : [Math.max(0, x0), Math.min(this.width, x1)];
  }

  label(x0, x1, y, text, name) {
    const room = Math.floor((x1 - x0 - 6) / 6.6);
    if (room < 3) return null;
    return s("text", { class: name, x: f(x0 + 4), y }, text.length > room ? `${text.slice(0, room - 1)}…` : text);
  }

  drawLane(lane) {
    const group = s("g", { class: "df-lane", transform: `translate(0,${AXIS})`, role: "group", "aria-label": `lane ${lane.name}, ${plural(lane.ops.length, "op")}` });
    group.append(s("text", { class: "df-lane-name", x: 2, y: lane.top + 13 }, s("title", {}, this.run.devices[this.run.lanes.indexOf(lane.name)]), lane.name));
    lane.bands.forEach((bands, level) => {
      for (const band of bands) {
        const at = this.clip(band.start, band.end);
        if (!at || at[1] - at[0] < 1) continue;
        const y = lane.y(0) - (lane.bands.length - level) * BAND;
        group.append(s("g", { class: "df-band" }, s("title", {}, `scope ${band.path}: ${plural(band.count, "op")}, ${time(band.end - band.start)}`), s("rect", { x: f(at[0]), y, width: f(at[1] - at[0]), height: BAND - 2 }), this.label(...at, y + 9.5, band.path.split("/").at(-1), "df-detail")));
      }
    });
    const thin = new Map(); // pixels already covered by bars too narrow to see alone
    for (const op of lane.ops) {
      const at = this.clip(op.start, op.end);
      if (!at) continue;
      const must = op === this.current || op === this.selected || (this.path && op.critical) || this.matches.has(op.index);
      if (at[1] - at[0] < 1 && !must) {
        const pixel = `${op.row}:${Math.floor(at[0])}`;
        if (thin.has(pixel)) continue;
        thin.set(pixel, true);
      }
      group.append(this.drawBar(lane, op, at));
    }
    return group;
  }

  drawBar(lane, op, [x0, x1]) {
    const y = lane.y(op.row);
    const width = Math.max(1.2, x1 - x0);
    const classes = ["df-bar", this.path && op.critical && "df-critical", op === this.selected && "df-picked", this.matches.has(op.index) && "df-match"].filter(Boolean).join(" ");
    const bar = s(
      "g",
      { class: classes, "data-op": op.index, tabindex: op === this.current ? 0 : -1, role: "button", "aria-label": this.spoken(op), ...QUIET },
      s("title", {}, this.spoken(op)),
      s("rect", { x: f(x0), y, width: f(width), height: BAR - 4, fill: this.hue.get(op.type) }),
      this.path && op.critical ? s("path", { class: "df-under", d: `M${f(x0)},${y + BAR - 2.5}h${f(width)}` }) : null,
      this.label(x0, x1, y + 11.5, op.name.split("/").at(-1), "df-bar-text"),
    );
    this.bars.set(op.index, bar);
    return bar;
  }

  drawWait(root, wait) {
    const at = this.clip(wait.start, wait.end);
    if (!at || at[1] - at[0] < 2) return;
    const lane = this.stack.lanes[wait.lane];
    const { ops } = this.run;
    const words = `${wait.source === null ? "idle" : `waits for ${ops[wait.source].name}`}, ${time(wait.end - wait.start)}`;
    const y = AXIS + lane.y(0);
    root.append(s("g", { class: "df-wait" }, s("title", {}, words), s("rect", { x: f(at[0] + 1), y, width: f(Math.max(1, at[1] - at[0] - 2)), height: BAR - 4 }), this.label(...at, y + 11.5, words, "df-detail")));
  }

  drawCopy(root, copy) {
    const { ops } = this.run;
    const [source, target] = [ops[copy.source], ops[copy.target]];
    const at = this.clip(copy.start, copy.end);
    if (!at) return;
    const point = (op, t) => [f(this.x(t)), f(AXIS + this.stack.lanes[op.lane].y(op.row) + (BAR - 4) / 2)];
    const [[x1, y1], [x2, y2]] = [point(source, copy.start), point(target, copy.end)];
    const words = `Send ${source.name} from ${this.run.lanes[source.lane]}, Recv on ${this.run.lanes[target.lane]}: ${bytes(copy.bytes)}, at most ${time(copy.end - copy.start) || "0 µs"}`;
    const place = this.path ? this.run.critical.indexOf(copy.target) : -1;
    const critical = place > 0 && this.run.critical[place - 1] === copy.source;
    root.append(s("g", { class: critical ? "df-copy df-critical" : "df-copy" }, s("title", {}, words), s("path", { d: `M${x1},${y1}C${f((x1 + x2) / 2)},${y1} ${f((x1 + x2) / 2)},${y2} ${x2},${y2}` }), s("circle", { cx: x1, cy: y1, r: 2.5 }), s("circle", { cx: x2, cy: y2, r: 2.5 })));
  }

  select(op) {
    this.selected = op;
    this.show(op);
    this.draw();
    const found = op ? showElsewhere(op.name, this.names) : 0;
    this.frame.say(op ? `${this.spoken(op)}.${found ? " Shown in the graph." : ""}` : this.sentence());
  }

  /** The names that the graph of this run has, too. */
  get names() {
    return [...new Set(this.run.ops.filter((op) => !/Recv|Send|Copy/.test(op.type)).map((op) => op.name))];
  }

  /** Brings the graph into sight in which the node was found. */
  goToGraph(op) {
    if (!showElsewhere(op.name, this.names, true)) this.frame.say("No GraphView of this graph is open in this page: GraphView(graph) opens one.");
  }

  show(op) {
    if (!op) {
      const keys = h("p", { class: "df-hint" }, "Select an op to see its times. Drag to pan, Ctrl and wheel or + and − to zoom, arrows to move, c for the critical path.");
      const first = h("p", { class: "df-hint" }, "In its first run an op also loads and compiles its kernel: trace a later run to see what it costs.");
      return void this.details.replaceChildren(keys, first);
    }
    const { run } = this;
    const links = (indices) => indices.slice(0, 8).map((index) => h("div", {}, button(run.ops[index].name, null, () => { this.setCurrent(run.ops[index], false); this.select(run.ops[index]); }, { class: "df-link" })));
    const row = (name, ...content) => (content.length ? [h("dt", {}, name), h("dd", {}, ...content)] : []);
    const waited = run.waits.find((wait) => wait.op === op.index);
    const copied = run.copies.filter((copy) => copy.source === op.index || copy.target === op.index);
    const inputsReady = Math.max(0, ...op.inputs.map((index) => run.ops[index].end));
    this.details.replaceChildren(
      h("h4", {}, op.name),
      h(
        "dl",
        {},
        ...row("type", op.type), ...row("lane", run.lanes[op.lane]), ...row("start", time(op.start) || "0 µs"), ...row("duration", `${time(op.duration)}, ${(op.duration / run.duration * 100).toFixed(1)} % of the run`),
        ...row("output", op.bytes ? bytes(op.bytes) : "no bytes"),
        ...(op.inputs.length ? row("inputs ready", `${time(Math.max(0, op.start - inputsReady)) || "0 µs"} before it began`) : []),
        ...(waited ? row("lane idle", `${time(waited.end - waited.start)} before it${waited.source === null ? "" : `, for ${run.ops[waited.source].name}`}`) : []),
        ...row("critical path", op.critical ? `on it${this.waitOf(op)}` : "not on it"),
        ...(copied.length ? row("copies", ...copied.map((copy) => h("div", {}, copy.source === op.index ? `Send to ${run.lanes[run.ops[copy.target].lane]}` : `Recv ${run.ops[copy.source].name}`, `, ${bytes(copy.bytes)}`))) : []),
        ...row("needs", ...links(op.inputs)), ...row("needed by", ...links(op.outputs)),
      ),
      button("Show in the graph", "Bring the GraphView of this graph into sight, at this node", () => this.goToGraph(op)),
    );
  }

  waitOf(op) {
    const { critical, criticalWaits, ops } = this.run;
    const at = critical.indexOf(op.index);
    return criticalWaits[at] ? `, ${time(criticalWaits[at])} after ${ops[critical[at - 1]].name} was done on ${this.run.lanes[ops[critical[at - 1]].lane]}` : "";
  }

  table() {
    const { ops, lanes } = this.run;
    const head = h("tr", {}, ...["op", "type", "lane", "start", "duration", "bytes", "critical"].map((text) => h("th", { scope: "col" }, text)));
    const rows = () => ops.slice(0, MOST_ROWS).map((op) => h("tr", {}, h("th", { scope: "row" }, op.name), h("td", {}, op.type), h("td", {}, lanes[op.lane]), h("td", {}, time(op.start) || "0"), h("td", {}, time(op.duration)), h("td", {}, op.bytes ? bytes(op.bytes) : ""), h("td", {}, op.critical ? "yes" : "")));
    const body = h("tbody");
    const more = ops.length > MOST_ROWS ? h("p", {}, `The first ${MOST_ROWS} of ${ops.length} ops; describe() and to_chrome_trace() have all.`) : null;
    return h("details", { class: "df-as-table", ontoggle: () => { if (!body.children.length) body.append(...rows()); } }, h("summary", { tabindex: 0, ...QUIET }, "As a table"), h("div", { class: "df-table-box", tabindex: 0, role: "region", "aria-label": "ops as a table", ...QUIET }, h("table", {}, h("thead", {}, head), body), more));
  }
}

export default { initialize, render };
