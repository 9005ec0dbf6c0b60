// The picture of a graph inside a widget: lays out, draws, scrolls and zooms, moves the focus from
// node to node, opens and closes scopes.  GraphView, Stepper and the widgets to come build on it.
import { QUIET, button, h, onResize, plural } from "./dom.js";
import { foldAlike } from "./alike.js";
import { copyShared, oneForAllSteps, wholeOf } from "./copies.js";
import { draw, mark, spoken, stateOf } from "./draw.js";
import { FULL_LIMIT, LAYERS, foldBlocks, foldSeries, isTangle, visibleGraph } from "./graph.js";
import { MOST_BY_GRAPHVIZ, layout } from "./layout.js";
import { LEGIBLE, bestDrawn, betterDirection, chooseOpen } from "./legible.js";
import { Minimap } from "./minimap.js";
import { pieces } from "./rows.js";
import { addVolumes, holdsLayers, wrapsLayers } from "./volumes.js";

const CLOSINGS = 4; // so often what was opened last is closed again because the drawing is too large
const MOST_PLACES = 300; // at which a drawing may begin
const DOUBLE_CLICK_MS = 350;
const RESIZED = 0.15; // of the width
const RESIZED_MS = 250;
const MOST_IN_ROWS = 400; // nodes that are read as rows of text are, rather than as a tangle of folded ones
const DIRECTIONS = ["down", "right", "rows"];
const MOST_REDRAWN = 60; // of more items no drawing is made only to see whether it shows more
const STRETCHED = 1.3; // a pane gets so much higher, where that shows all
const STILL_LIMIT = 300; // above this many nodes, no transitions

export class GraphPane {
  /**
   * @param model   GraphModel
   * @param options host: EngineHost or null; ask(): ask the kernel for the engine;
   *                onselect(item), onactivate(item), onlayout(result);
   *                word(item): what the widget itself says of an item, if anything;
   *                mayOpen(path): whether a scope may be open at first;
   *                layers: true where machinery may be put aside;
   *                room(item): {width, height} to leave for a picture in the node, or null;
   *                copies: true where a source with many readers may be drawn beside each of them;
   *                steps: true where left and right belong to the widget (Shift moves the focus)
   */
  constructor(model, options = {}) {
    this.model = model;
    this.options = options;
    this.open = new Set();
    this.chosen = null; // what was opened by itself; null: to be chosen
    this.knownScopes = new Set(model.allScopes());
    this.layer = options.layers ? null : "everything"; // null: by the graph
    this.added = new Set(); // roles that are shown beside those of the layer
    this.only = options.only ?? null;
    this.unfolded = new Set();
    this.marks = null;
    this.selected = null;
    this.scale = null; // null: all of it if that can be read; "fit": all of it
    this.direction = options.direction ?? "down";
    this.classes = new Map(); // item id -> Set of extra classes
    this.tags = null; // item id -> a word above it
    this.fills = null;
    this.generation = 0;
    this.scroller = h("div", { class: "df-scroller", tabindex: -1, ...QUIET });
    this.busy = h("div", { class: "df-busy", hidden: true }, "Laying out…");
    this.edgeButton = button("All edges", "Draw the edges of items that stand aside, or leave them out", () => {
      this.allEdges = !this.allEdges;
      this.update();
    }, { hidden: true });
    this.zoomBar = h(
      "div",
      { class: "df-zoom", role: "group", "aria-label": "zoom" },
      button("+", "Zoom in", () => this.zoom(1.25)),
      button("−", "Zoom out", () => this.zoom(0.8)),
      this.edgeButton,
      button("Fit", "Show all of the graph", () => this.fit()),
    );
    this.empty = h("p", { class: "df-empty", hidden: true }, options.empty ?? "The graph is empty. Operations appear here as they are made.");
    this.minimap = new Minimap(this.scroller);
    this.element = h("div", { class: "df-pane" }, this.empty, this.scroller, this.minimap.element, this.busy);
    this.scroller.addEventListener("scroll", () => this.showRest(), { passive: true });
    this.scroller.addEventListener("click", (event) => this.click(event));
    this.scroller.addEventListener("dblclick", (event) => this.doubleClick(event));
    this.scroller.addEventListener("keydown", (event) => this.key(event));
    this.scroller.addEventListener("focusin", (event) => this.focusIn(event));
    this.scroller.addEventListener("pointerover", (event) => this.hover(event));
    this.scroller.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.scroller.addEventListener("pointerdown", (event) => this.grab(event));
    this.endSizes = onResize(this.scroller, () => this.resized());
  }

  dispose() {
    this.generation += 1;
    clearTimeout(this.telling);
    clearTimeout(this.resizing);
    this.endSizes();
  }

  /** The page was zoomed, or its side bar moved: rows that were set for another width are set anew. */
  resized() {
    this.applyScale();
    const { clientWidth } = this.scroller;
    if (clientWidth < this.lastWidth) this.reveal(this.selected); // what tells of it must not hide it
    this.lastWidth = clientWidth;
    const width = this.element.closest(".df-widget")?.clientWidth; // not the pane's own: the inspector takes of that
    if (!width || !this.drawnAt || this.direction !== "auto" || Math.abs(width / this.drawnAt - 1) < RESIZED) return;
    clearTimeout(this.resizing);
    this.resizing = setTimeout(() => {
      if (!this.touched) this.chosen = null;
      this.update();
    }, RESIZED_MS);
  }

  /** Another graph in place of this one, everything open unless it is large. */
  setModel(model, only = null) {
    this.model = model;
    this.only = only;
    this.chosen = null;
    this.touched = false;
    this.selected = null;
    this.drawing = null; // nothing of the old graph is compared with the new one
  }

  /** The roles that are drawn; null: every node as itself. */
  get shown() {
    const roles = LAYERS[this.layer ?? this.model.initialLayer()];
    return roles && new Set([...roles, ...this.added]);
  }

  /** Another layer: "model", "gradients" or "everything". */
  setLayer(layer) {
    this.layer = layer;
    this.added.clear();
    return this.rechoose();
  }

  /** Shows a role beside those of the layer, or puts it aside again. */
  toggleRole(role) {
    if (!this.added.delete(role)) this.added.add(role);
    return this.rechoose();
  }

  /** Tensors as boxes to scale, as figures of convolutional networks have them, or as nodes. */
  setVolumes(on) {
    this.volumes = on;
    return this.rechoose();
  }

  rechoose() {
    this.chosen = null;
    this.touched = false;
    this.current = null;
    return this.update().then(() => this.options.ontoggle?.());
  }

  /** The graph has grown: what is open is chosen again, unless somebody has opened or closed a scope. */
  adopt() {
    if (!this.touched) this.chosen = null;
    else for (const path of this.model.allScopes()) if (!this.knownScopes.has(path) && this.model.nodes.length <= FULL_LIMIT) this.open.add(path);
    this.knownScopes = new Set(this.model.allScopes());
  }

  see(open = this.open) {
    const { only, shown } = this;
    let visible = visibleGraph(this.model, { open, only, shown });
    let folded = null;
    if (visible.items.length > FULL_LIMIT) {
      folded = foldSeries(this.model, { only, unfolded: this.unfolded });
      const short = folded.size ? visibleGraph(this.model, { open, only, shown, folded }) : visible;
      if (isTangle(short) && this.direction === "auto" && visible.items.length <= MOST_IN_ROWS && pieces(copyShared(visible, this.model), this.model, this.room.width)) folded = null;
      else visible = short;
    }
    const blocks = foldBlocks(this.model, visible, { unfolded: this.unfolded });
    if (blocks.size) visible = visibleGraph(this.model, { open, only, shown, folded, blocks });
    const alike = this.options.copies ? foldAlike(this.model, visible, { unfolded: this.unfolded }) : new Map();
    if (alike.size) visible = visibleGraph(this.model, { open, only, shown, folded: new Map([...(folded ?? []), ...alike]), blocks });
    if (this.options.copies) visible = copyShared(oneForAllSteps(visible, this.model), this.model);
    if (this.options.room) for (const item of visible.items) item.room = this.options.room(item);
    if (this.volumes) addVolumes(visible, this.model);
    return visible;
  }

  /** The room for the drawing, in px. */
  get room() {
    const width = (this.scroller.clientWidth || 900) - 14;
    return { width, height: this.maxHeight() - 40 };
  }

  /** How high the pane may be, in px, before it is stretched for a drawing that is a little higher. */
  maxHeight() {
    const limit = parseFloat(typeof getComputedStyle === "undefined" ? "" : getComputedStyle(this.scroller).maxHeight);
    return limit > 0 ? limit / (this.stretch ?? 1) : 480;
  }

  /** The direction for what somebody has opened or closed: another than before only where that shows much more. */
  turn(visible) {
    if (this.direction !== "auto" || !this.chosen || visible.items.length > FULL_LIMIT) return;
    this.chosen.direction = betterDirection(visible, this.model, this.room, DIRECTIONS, this.chosen.direction);
  }

  get shownDirection() {
    return this.direction === "auto" ? this.chosen?.direction ?? "down" : this.direction;
  }

  choose() {
    const mayOpen = this.volumes ? (path) => holdsLayers(this.model, path) : this.options.mayOpen;
    const directions = this.direction === "auto" ? DIRECTIONS : [this.direction];
    const mustOpen = this.volumes ? (path) => mayOpen(path) && wrapsLayers(this.model, path) : undefined;
    this.chosen = chooseOpen(this.model, { see: (open) => this.see(open), room: this.room, directions, mayOpen, mustOpen });
    this.open = this.chosen.open;
  }

  async update() {
    const generation = ++this.generation;
    const { length } = this.model.nodes;
    if (length > MOST_BY_GRAPHVIZ) {
      // The page stands still meanwhile: it says why before that.
      this.busy.textContent = `Drawing ${length} operations takes some seconds…`;
      this.busy.hidden = false;
      await new Promise((painted) => setTimeout(painted, 50));
      if (generation !== this.generation) return;
    }
    if (!this.chosen && !this.touched) this.choose();
    let visible = this.see();
    if (this.touched) this.turn(visible);
    let host = this.options.host ?? null;
    const slow = setTimeout(() => {
      this.busy.hidden = false;
    }, 150);
    try {
      if (host && !host.source) {
        this.options.ask?.();
        // A busy kernel may take long to answer: show our own drawing and let Graphviz replace it.
        const here = await host.ready(this.layout ? 1500 : 2500);
        if (generation !== this.generation) return;
        if (!here) {
          this.show(visible, await layout(visible, this.model, null, { direction: this.shownDirection, width: this.room.width }));
          host.ready(600000).then((late) => late && generation === this.generation && this.update());
          return;
        }
      }
      const draw = (direction = this.shownDirection) => layout(visible, this.model, host, { direction, watchdog: this.options.watchdog, allEdges: this.allEdges, rolesKnown: Boolean(this.options.layers), width: this.room.width });
      let result = await draw();
      for (let i = 0; i < CLOSINGS && !this.touched && this.fitScale(result) < (this.chosen?.least ?? LEGIBLE) && this.chosen?.order.length; i++) {
        for (const path of this.chosen.order.splice(-Math.ceil(this.chosen.order.length / 4))) this.open.delete(path);
        visible = this.see();
        result = await draw();
        if (generation !== this.generation) return;
      }
      if (this.direction === "auto" && this.chosen && !this.touched && visible.items.length <= MOST_REDRAWN) {
        const best = await bestDrawn(result, this.chosen.direction, DIRECTIONS, this.room, draw);
        if (generation !== this.generation) return;
        result = best.result;
        this.chosen.direction = best.direction;
      }
      if (generation === this.generation) this.show(visible, result);
    } finally {
      clearTimeout(slow);
      if (generation === this.generation) this.busy.hidden = true;
    }
  }

  show(visible, result) {
    const before = this.drawing ? new Set(this.visible.items.map((item) => item.id)) : null;
    const focused = this.drawing && this.scroller.contains(document.activeElement) ? this.current : null;
    this.visible = visible;
    this.layout = result;
    this.drawnAt = this.element.closest(".df-widget")?.clientWidth;
    this.drawing = draw(result, visible, this.model, this.shownDirection);
    this.element.classList.toggle("df-still", visible.items.length > STILL_LIMIT);
    this.element.dataset.attempt = result.attempt;
    this.edgeButton.hidden = !result.hubs.size && !this.allEdges;
    this.edgeButton.textContent = this.allEdges ? "Fewer edges" : "All edges";
    this.empty.hidden = visible.items.length > 0;
    this.scroller.hidden = !visible.items.length;
    if (before) for (const [id, element] of this.drawing.elements) if (!before.has(id)) element.classList.add("df-new");
    const { scrollLeft, scrollTop } = this.scroller;
    // Until the drawing is in the page nothing that is read lays out all of it.
    this.scroller.replaceChildren();
    this.setSize();
    this.paint();
    this.scroller.append(this.drawing.root);
    Object.assign(this.scroller, { scrollLeft, scrollTop });
    this.showRest();
    const first = this.layout.nodes.has(this.current) ? this.current : this.readingOrder()[0];
    if (!before) Object.assign(this.scroller, this.fullest());
    this.setCurrent(first ?? null, Boolean(focused));
    this.options.onlayout?.(result, visible);
  }

  /** Where a drawing that is larger than the pane begins to be seen: how far to the right its upper part, or how far down the
   *  left part of one that lies, shows most nodes whole; of several places the first. */
  fullest() {
    const k = this.shownScale();
    const { clientWidth: w, clientHeight: hgt } = this.scroller;
    const lies = this.shownDirection === "right";
    const boxes = [...this.layout.nodes.values()].map((at) => {
      const [x, y] = [{ from: (at.x - at.width / 2) * k, to: (at.x + at.width / 2) * k }, { from: (at.y - at.height / 2) * k, to: (at.y + at.height / 2) * k }];
      return lies ? { across: y, along: x } : { across: x, along: y };
    });
    const [wide, long] = lies ? [hgt - 40, w] : [w, hgt];
    boxes.sort((a, b) => a.along.from - b.along.from);
    const upTo = Math.max(long, boxes[0]?.along.to ?? 0); // at least the first node
    const seen = boxes.filter(({ along }) => along.to <= upTo).map(({ across }) => across);
    const seenFrom = (at) => seen.filter(({ from, to }) => from >= at && to <= at + wide).length;
    let best = { at: 0, seen: seenFrom(0) };
    for (const { from } of seen.sort((a, b) => a.from - b.from).slice(0, MOST_PLACES)) {
      const at = Math.max(0, from - 12);
      const count = seenFrom(at);
      if (count > best.seen) best = { at, seen: count };
    }
    return lies ? { scrollLeft: 0, scrollTop: best.at } : { scrollLeft: best.at };
  }

  /** Shows a layout that was made earlier (a notebook reopened without a kernel). */
  restore(result) {
    const visible = this.see();
    if (visible.items.some((item) => !result.nodes.has(item.id))) return false;
    this.show(visible, result);
    return true;
  }

  paint() {
    if (!this.drawing) return;
    this.states = mark(this.drawing, this.visible, this.model, this.marks, this.tags);
    this.element.classList.toggle("df-marked", Boolean(this.marks));
    for (const [id, element] of this.drawing.elements) {
      for (const name of element.dataset.extra?.split(" ") ?? []) if (name) element.classList.remove(name);
      const extra = [...(this.classes.get(wholeOf(id)) ?? [])];
      if (wholeOf(id) === wholeOf(this.selected)) extra.push("df-selected");
      element.dataset.extra = extra.join(" ");
      element.classList.add(...extra);
      const word = this.options.word?.(this.itemById(id));
      if (word) {
        const tag = element.querySelector(".df-tag");
        tag.textContent = [word, tag.textContent].filter(Boolean).join(", ");
        element.setAttribute("aria-label", `${element.getAttribute("aria-label")}, ${word}`);
      }
      const color = this.fills?.get(wholeOf(id));
      if (color) element.style.setProperty("--df-own-fill", color);
      else element.style.removeProperty("--df-own-fill");
      element.classList.toggle("df-colored", Boolean(color));
    }
    for (const element of this.drawing.elements.values()) element.classList.remove("df-neighbor");
    for (const edge of this.visible.edges) {
      const element = this.drawing.edgeElements.get(edge.id);
      const near = this.selected && (edge.from === this.selected || edge.to === this.selected);
      // A hub's edges are not drawn: what it touches is lit instead.
      if (near && !element) this.drawing.elements.get(edge.from === this.selected ? edge.to : edge.from)?.classList.add("df-neighbor");
      element?.classList.toggle("df-near", Boolean(near));
      const width = this.widths?.get(edge.id);
      if (width) element?.style.setProperty("--df-width", `${width}px`);
      else element?.style.removeProperty("--df-width");
      element?.classList.toggle("df-on-path", Boolean(this.path && this.path.has(wholeOf(edge.from)) && this.path.has(edge.to)));
    }
  }

  /** marks: {fetched, fed, needed, pruned} as arrays of op indices, or null. */
  setMarks(marks) {
    this.marks = marks && Object.fromEntries(["fetched", "fed", "needed", "failed", ...(marks.first ? ["first", "second"] : [])].map((key) => [key, new Set(marks[key] ?? [])]));
    this.paint();
  }

  setClasses(classes) {
    this.classes = classes;
    this.paint();
  }

  itemById(id) {
    return this.visible?.items.find((item) => item.id === id) ?? null;
  }

  /** The visible item that shows op `index` (itself or the closed scope around it). */
  itemOf(index) {
    const id = this.visible?.holder[index];
    return id ? this.itemById(id) : null;
  }

  /** `later`: what is told of it beside the graph waits, so that nothing moves under the second click of a double click. */
  select(id, { focus = false, reveal = false, later = false } = {}) {
    clearTimeout(this.telling);
    this.selected = id;
    if (id) this.setCurrent(id, focus, !later);
    if (reveal && id) this.reveal(id);
    this.paint();
    const tell = () => {
      if (later) this.reveal(id);
      this.options.onselect?.(id ? this.itemById(id) : null);
    };
    if (later) this.telling = setTimeout(tell, DOUBLE_CLICK_MS);
    else tell();
  }

  reveal(id) {
    const at = this.layout?.nodes.get(id);
    if (!at) return;
    const k = this.shownScale();
    const { clientWidth: w, clientHeight: hgt, scrollLeft: x, scrollTop: y } = this.scroller;
    const [px, py] = [at.x * k, at.y * k];
    const [dx, dy] = [(at.width * k) / 2 + 10, (at.height * k) / 2 + 26]; // all of the node, and clear of the faded sides
    if (px - dx < x || px + dx > x + w) this.scroller.scrollLeft = px - w / 2;
    if (py - dy < y || py + dy > y + hgt) this.scroller.scrollTop = py - hgt / 2;
  }

  /** Scrolls to where an open scope begins: its title and what stands first in it. */
  revealScope(path) {
    const frame = this.layout?.clusters.find((one) => one.path === path);
    if (!frame) return;
    const k = this.shownScale();
    const { clientWidth: w, clientHeight: hgt, scrollLeft: x, scrollTop: y } = this.scroller;
    const near = (from, size, at, room) => (from >= at && from + size <= at + room ? at : from - Math.max(0, room - size) / 2);
    this.scroller.scrollLeft = near(frame.x * k, frame.width * k, x, w);
    this.scroller.scrollTop = near(frame.y * k, frame.height * k, y, hgt);
    const inside = this.visible.items.filter(({ id, cluster }) => `${cluster ?? ""}/`.startsWith(`${path}/`) && this.layout.nodes.has(id)).map(({ id }) => this.layout.nodes.get(id));
    const [at] = inside.sort((a, b) => a.x + a.y - b.x - b.y);
    // In a frame wider than the pane the first node may stand far from the title.
    if (at && (at.x + at.width / 2) * k > this.scroller.scrollLeft + w) this.scroller.scrollLeft = at.x * k - w / 2;
  }

  // Opening and closing

  toggle(item) {
    if (this.selected === item.id) this.select(null); // it is no longer there
    if (item.fold) this.unfolded.add(item.fold.key);
    else this.open.add(item.path);
    this.touched = true;
    this.current = null;
    return this.update().then(() => {
      this.revealScope(item.path);
      this.options.ontoggle?.();
    });
  }

  close(path) {
    this.open.delete(path); // scopes inside keep their state for when it is opened again
    this.touched = true;
    this.current = `s:${path}`;
    return this.update().then(() => this.options.ontoggle?.());
  }

  /** How many items there are when every scope is open. */
  countOpen() {
    return visibleGraph(this.model, { open: new Set(this.model.allScopes()), only: this.only, shown: this.shown }).items.length;
  }

  openAll() {
    this.open = new Set(this.model.allScopes());
    this.touched = true;
    return this.update().then(() => this.options.ontoggle?.());
  }

  closeAll() {
    this.open = new Set();
    this.unfolded = new Set();
    this.touched = true;
    return this.update().then(() => this.options.ontoggle?.());
  }

  /** Opens what hides op `index`, then selects it. */
  async expose(index, options = {}) {
    const { role } = this.model.nodes[index];
    if (!this.model.draws(index, this.shown)) {
      const owner = this.model.standIn(index, this.shown);
      if (owner >= 0) return this.expose(owner, options);
      this.added.add(role);
      this.touched = true;
      await this.update();
      this.options.ontoggle?.();
    }
    const hidden = this.model.scopeChain(index).filter((path) => !this.open.has(path));
    const fold = this.itemOf(index)?.fold;
    if (hidden.length || fold || !this.visible?.holder[index]) {
      for (const path of hidden) this.open.add(path);
      if (fold && !fold.paths) this.unfolded.add(fold.key); // out of a block only this scope comes
      if (this.only && !this.only.has(index)) this.only = null;
      this.touched = true;
      await this.update();
    }
    this.select(this.visible.holder[index] ?? `n:${index}`, { reveal: true, ...options });
  }

  isolate(indices) {
    this.only = indices;
    return this.update();
  }

  // Size

  /** The scale at which all of a drawing is seen. */
  fitScale(result = this.layout) {
    const { width, height } = this.room;
    return Math.min(1, width / ((result?.width ?? 0) + 14), height / ((result?.height ?? 0) + 4));
  }

  shownScale() {
    if (typeof this.scale === "number") return this.scale;
    return this.scale === "fit" ? this.fitScale() : Math.max(LEGIBLE, this.fitScale());
  }

  applyScale() {
    if (!this.drawing) return;
    this.setSize();
    this.showRest();
  }

  setSize() {
    const k = this.shownScale();
    this.drawing.root.setAttribute("width", Math.max(1, (this.layout.width + 12) * k).toFixed(0));
    this.drawing.root.setAttribute("height", Math.max(1, (this.layout.height + 28) * k).toFixed(0));
    const part = ((this.layout.height + 28) * k + 16) / this.maxHeight();
    const stretch = this.scale === null && part > 1 && part <= STRETCHED ? part : 1;
    if (stretch === this.stretch) return; // all of the drawing inherits it
    this.stretch = stretch;
    this.scroller.style.setProperty("--df-stretch", stretch);
  }

  /** Fades the sides at which there is more, and shows where one is. */
  showRest() {
    const { scrollLeft: x, scrollTop: y, clientWidth: w, clientHeight: hgt, scrollWidth, scrollHeight } = this.scroller;
    const more = { left: x > 4, top: y > 4, right: x + w < scrollWidth - 4, bottom: y + hgt < scrollHeight - 4 };
    for (const [side, is] of Object.entries(more)) this.element.classList.toggle(`df-more-${side}`, is);
    this.minimap.show(this.layout, this.shownScale(), Object.values(more).some(Boolean));
  }

  zoom(factor) {
    const before = this.shownScale();
    this.scale = Math.min(4, Math.max(0.05, before * factor));
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = this.scroller;
    this.applyScale();
    const ratio = this.scale / before;
    this.scroller.scrollLeft = (scrollLeft + clientWidth / 2) * ratio - clientWidth / 2;
    this.scroller.scrollTop = (scrollTop + clientHeight / 2) * ratio - clientHeight / 2;
  }

  fit() {
    this.scale = "fit";
    this.applyScale();
  }

  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return; // plain wheel scrolls the notebook
    event.preventDefault();
    this.zoom(event.deltaY < 0 ? 1.12 : 0.89);
  }

  grab(event) {
    if (event.button !== 0 || event.target.closest(".df-node, .df-cluster-label, .df-toggle")) return;
    const start = { x: event.clientX, y: event.clientY, left: this.scroller.scrollLeft, top: this.scroller.scrollTop };
    const move = (e) => {
      this.scroller.scrollLeft = start.left - (e.clientX - start.x);
      this.scroller.scrollTop = start.top - (e.clientY - start.y);
    };
    const stop = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", stop);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", stop);
  }

  // Pointer

  click(event) {
    const node = event.target.closest(".df-node");
    if (node) {
      const item = this.itemById(node.dataset.id);
      if (item.group && event.target.closest(".df-toggle")) return void this.toggle(item);
      this.select(item.id, { focus: true, later: item.group });
      this.options.onactivate?.(item);
      return;
    }
    const cluster = event.target.closest(".df-cluster");
    if (cluster) return void this.close(cluster.dataset.scope);
    this.select(null);
  }

  doubleClick(event) {
    const node = event.target.closest(".df-node");
    const item = node && this.itemById(node.dataset.id);
    if (item?.group) this.toggle(item);
    const cluster = !node && event.target.closest(".df-cluster, .df-frame");
    if (cluster) this.close(cluster.dataset.scope);
  }

  hover(event) {
    const node = event.target.closest?.(".df-node");
    const id = node?.dataset.id ?? null;
    if (id === this.hovered) return;
    this.hovered = id;
    this.options.onhover?.(id ? this.itemById(id) : null);
  }

  // Keyboard: one node is in the tab order, arrows move to its neighbors

  readingOrder() {
    if (!this.layout) return [];
    return [...this.layout.nodes].sort(([, a], [, b]) => a.y - b.y || a.x - b.x).map(([id]) => id);
  }

  setCurrent(id, focus = false, reveal = focus) {
    const old = this.drawing?.elements.get(this.current);
    old?.setAttribute("tabindex", "-1");
    this.current = id;
    const element = this.drawing?.elements.get(id);
    element?.setAttribute("tabindex", "0");
    if (focus && element) {
      element.focus({ preventScroll: true });
      if (reveal) this.reveal(id);
    }
  }

  focusIn(event) {
    const node = event.target.closest(".df-node");
    if (!node) return;
    if (node.dataset.id !== this.current) this.setCurrent(node.dataset.id);
    this.hover(event); // what hovering shows, focus shows too
  }

  /** The nearest node in a direction; along an edge if one leads there. */
  neighbor(dx, dy) {
    const here = this.layout.nodes.get(this.current);
    if (!here) return null;
    const linked = new Set();
    for (const edge of this.visible.edges) {
      if (edge.from === this.current) linked.add(edge.to);
      if (edge.to === this.current) linked.add(edge.from);
    }
    let best = null;
    for (const [id, at] of this.layout.nodes) {
      if (id === this.current) continue;
      const along = (at.x - here.x) * dx + (at.y - here.y) * dy;
      if (along <= 4) continue;
      const across = Math.abs((at.x - here.x) * dy) + Math.abs((at.y - here.y) * dx);
      const cost = along + across * 2 - (linked.has(id) ? 10000 : 0);
      if (!best || cost < best.cost) best = { id, cost };
    }
    return best?.id ?? null;
  }

  key(event) {
    const moves = { ArrowDown: [0, 1], ArrowUp: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
    if (event.altKey || event.ctrlKey || event.metaKey || !this.layout) return;
    if (this.options.steps && !event.shiftKey && (event.key === "ArrowLeft" || event.key === "ArrowRight")) return;
    const item = this.itemById(this.current);
    let used = true;
    if (moves[event.key]) {
      const id = this.neighbor(...moves[event.key]);
      if (id) this.setCurrent(id, true);
    } else if (event.key === "Home" || event.key === "End") {
      const order = this.readingOrder();
      this.setCurrent(event.key === "Home" ? order[0] : order[order.length - 1], true);
    } else if (event.key === "Enter" || event.key === " ") {
      if (item?.group) this.toggle(item);
      else if (item) {
        this.select(item.id);
        this.options.onactivate?.(item);
      }
    } else if (event.key === "Backspace" || event.key === "c") {
      if (item?.cluster) this.close(item.cluster);
    } else if (event.key === "Escape") this.select(null);
    else if (event.key === "+" || event.key === "=") this.zoom(1.25);
    else if (event.key === "-") this.zoom(0.8);
    else if (event.key === "0") this.fit();
    else used = this.options.onkey?.(event) ?? false;
    if (used) {
      event.preventDefault();
      event.stopPropagation();
    }
  }
}

/** The sentence under the graph when the layout had to give something up. */
export function layoutNote(result) {
  if (result.attempt === "layered") return "Drawn without Graphviz, in plain layers.";
  const parts = [];
  if (result.attempt === "limits") parts.push("Large graph: drawn with straight edges to stay quick.");
  const { size } = result.hubs;
  if (size) parts.push(`${plural(size, "item")} with many neighbors ${size === 1 ? "stands" : "stand"} aside without edges: select ${size === 1 ? "it" : "one"} to see what it touches.`);
  return parts.join(" ");
}

export { spoken, stateOf };
