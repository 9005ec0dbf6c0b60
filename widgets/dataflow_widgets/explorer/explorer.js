// Explorer: controls on one side, pictures that the kernel computes anew on the other.  The page asks
// for one turn at a time, always with the newest values; a kernel that is silent is replaced by the
// states that were recorded in the notebook.
import { QUIET, button, copyText, h, onResize } from "../shared/dom.js";
import { icon } from "../shared/icons.js";
import { keptPicture } from "../shared/saved_picture.js";
import { guarded, shell } from "../shared/shell.js";
import { dropStore, storeOf } from "../shared/store.js";
import { controlOf } from "./controls.js";
import { Driver } from "./driver.js";
import { panelOf } from "./panels.js";

const SAY_AFTER_MS = 700; // a sentence for screen readers, when things have been quiet

function driverOf(model, store) {
  store.driver ??= new Driver(model, store);
  return store.driver;
}

function initialize({ model }) {
  const store = storeOf(model);
  driverOf(model, store);
  return () => {
    store.driver.stop();
    dropStore(model);
  };
}

function render({ model, el }) {
  const store = storeOf(model);
  const form = model.get("form") ?? {};
  const frame = shell("explorer", form.heading || "Explorer", model.get("title") || form.heading);
  frame.element.style.setProperty("--df-height", `${model.get("height")}px`);
  el.append(frame.element);
  store.send({ kind: "opened" });
  const page = new ExplorerPage(model, store, driverOf(model, store), frame, form);
  return () => {
    page.dispose();
    store.send({ kind: "closed" });
  };
}

class ExplorerPage {
  constructor(model, store, driver, frame, form) {
    Object.assign(this, { model, store, driver, frame, form });
    this.panels = [];
    this.controls = new Map();
    this.build();
    this.paint = guarded(frame, this.paint.bind(this));
    this.forget = store.on((event, detail) => {
      if (event === "explorer") this.paintSoon();
      if (event === "error") frame.fail(detail);
    });
    this.failed = () => frame.fail(model.get("failure"));
    model.on("change:failure", this.failed);
    if (model.get("failure")) this.failed();
    this.endSizes = onResize(this.pictures, () => {
      if (this.pictures.clientWidth === this.drawnWidth) return;
      this.drawnWidth = this.pictures.clientWidth;
      this.panels.forEach((panel) => panel.resize());
    });
    this.sight = new IntersectionObserver((entries) => driver.seen(this, entries.some((entry) => entry.isIntersecting)));
    this.sight.observe(frame.element);
    this.themes = new MutationObserver(() => this.panels.forEach((panel) => panel.resize()));
    this.themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
    this.drop = keptPicture(model, store, frame, () => !driver.frame);
    this.paint();
  }

  dispose() {
    this.forget();
    this.drop();
    clearTimeout(this.saying);
    cancelAnimationFrame(this.painting);
    this.driver.seen(this, false);
    this.endSizes();
    this.sight.disconnect();
    this.themes.disconnect();
    this.model.off("change:failure", this.failed);
  }

  build() {
    const { frame, form, driver } = this;
    if (form.plays) {
      this.player = h("button", { type: "button", class: "df-button df-play", onclick: () => driver.play(!driver.playing), ...QUIET });
      frame.toolbar.append(this.player, button(icon("forward"), "One step", () => driver.advance()));
    }
    frame.toolbar.append(button("Reset", "All controls as they were at first", () => driver.reset()));
    this.grapher = button("Show the graph", "The graph that runs here, and one step of it", guarded(frame, () => this.showGraph()), { "aria-expanded": "false" });
    this.coder = button("Show the code", "The same in a few lines", guarded(frame, () => this.showCode()), { "aria-expanded": "false" });
    frame.toolbar.append(this.grapher, this.coder);
    const controls = h("div", { class: "df-explorer-controls", role: "group", "aria-label": "controls" });
    for (const spec of form.controls ?? []) {
      const control = controlOf(spec, (value) => driver.set(spec.name, value));
      this.controls.set(spec.name, control);
      controls.append(control.element);
    }
    this.pictures = h("div", { class: "df-explorer-pictures" });
    this.more = h("div", { class: "df-explorer-more", hidden: true });
    this.codeBox = h("div", { class: "df-explorer-code", hidden: true });
    const side = h("div", { class: "df-explorer-side" }, form.lead && h("p", { class: "df-explorer-lead" }, form.lead), controls, this.challenges());
    frame.body.append(side, this.pictures);
    frame.body.after(this.codeBox, this.more);
  }

  challenges() {
    const texts = this.form.challenges ?? [];
    if (!texts.length) return null;
    this.answers = texts.map((text, index) => {
      const words = h("p", { class: "df-hint", role: "status", "aria-live": "polite" });
      const sign = h("span", { class: "df-explorer-sign", "aria-hidden": "true" }, "○");
      const check = button("Check", `Check: ${text}`, guarded(this.frame, async () => {
        words.textContent = "Asking the engine…";
        const answer = await this.store.question({ kind: "challenge", index }, 60000);
        if (!answer) words.textContent = "The kernel has not answered: it is busy or gone.";
        else if (answer.error) words.textContent = answer.error;
        else this.answered(index, answer.right, answer.words);
      }), { class: "df-button df-small" });
      check.setAttribute("aria-label", `Check: ${text}`);
      return { text, words, sign, element: h("li", {}, sign, h("span", {}, text, " ", check, words)) };
    });
    const solved = this.model.get("solved") ?? {};
    this.answers.forEach(({ text }, index) => text in solved && this.answered(index, true, solved[text]));
    return h("section", { class: "df-explorer-challenges", "aria-label": "to find" }, h("h4", {}, "Can you find…"), h("ol", {}, this.answers.map((answer) => answer.element)));
  }

  answered(index, right, words) {
    const answer = this.answers[index];
    answer.words.textContent = `${right ? "Found. " : "Not yet. "}${words}`;
    if (right) answer.sign.textContent = "✓";
    answer.element.dataset.state = right ? "right" : "wrong";
  }

  /** Paints before the page does, once for all that has changed since. */
  paintSoon() {
    this.painting ??= requestAnimationFrame(() => {
      this.painting = null;
      this.paint();
    });
  }

  paint() {
    const { driver, frame } = this;
    if (this.player && this.player.dataset.playing !== String(driver.playing)) {
      this.player.dataset.playing = driver.playing;
      this.player.replaceChildren(icon(driver.playing ? "pause" : "play"), driver.playing ? " Pause" : " Play");
    }
    for (const [name, control] of this.controls) control.show(driver.values[name]);
    frame.element.dataset.waits = driver.waits; // for the kernel
    const shown = driver.frame;
    if (!shown) return;
    frame.note(driver.note());
    if (shown === this.shown) return;
    this.shown = shown;
    this.arrange(shown.panels);
    shown.panels.forEach((spec, i) => this.panels[i].take(spec));
    this.count = (this.count ?? 0) + 1;
    frame.element.dataset.frames = this.count;
    frame.element.dataset.tick = shown.tick;
    clearTimeout(this.saying);
    this.saying = setTimeout(() => frame.say(shown.sentence), driver.playing ? 4 * SAY_AFTER_MS : SAY_AFTER_MS);
  }

  /** Puts a panel for each of `specs` in its place before the first is drawn: each is drawn as wide as it is. */
  arrange(specs) {
    const plan = specs.map((spec) => `${spec.kind}${spec.wide ? " wide" : ""}`).join(",");
    if (plan === this.plan) return;
    this.plan = plan;
    specs.forEach((spec, i) => {
      if (this.panels[i]?.kind !== spec.kind) {
        const panel = panelOf(spec.kind, (name, value) => this.driver.set(name, value));
        if (this.panels[i]) this.panels[i].element.replaceWith(panel.element);
        else this.pictures.append(panel.element);
        this.panels[i] = panel;
      }
      this.panels[i].element.classList.toggle("df-wide", Boolean(spec.wide));
    });
    for (const gone of this.panels.splice(specs.length)) gone.element.remove();
    for (const panel of this.panels) panel.width = 0; // to be measured
  }

  toggle(opener, box) {
    box.hidden = !box.hidden;
    opener.setAttribute("aria-expanded", String(!box.hidden));
    return !box.hidden;
  }

  async showGraph() {
    if (!this.toggle(this.grapher, this.more)) return this.more.replaceChildren();
    this.more.replaceChildren(h("p", { class: "df-hint" }, "Asking the kernel…"));
    const answer = await this.store.question({ kind: "graph" }, 20000);
    const manager = this.model.widget_manager;
    if (!answer || answer.error || !answer.models?.length || !manager) {
      this.more.replaceChildren(h("p", { class: "df-hint" }, answer?.error ?? (answer ? "There is no graph to show here." : "The kernel has not answered: it is busy or gone.")));
      return;
    }
    this.more.replaceChildren();
    for (const id of answer.models) {
      const child = await manager.get_model(id);
      const view = await manager.create_view(child);
      this.more.append(view.el);
      view.trigger?.("displayed");
    }
  }

  async showCode() {
    if (!this.toggle(this.coder, this.codeBox)) return;
    const answer = await this.store.question({ kind: "code" });
    const text = answer?.code ?? "";
    if (!text) return this.codeBox.replaceChildren(h("p", { class: "df-hint" }, answer?.error ?? "The kernel has not answered: it is busy or gone."));
    const copied = h("span", { role: "status", class: "df-hint" });
    const copy = button("Copy", "Copy the code", async () => {
      copied.textContent = (await copyText(text)) ? "copied" : "select it and copy: this page may not write to the clipboard";
    });
    this.codeBox.replaceChildren(h("pre", { class: "df-text", tabindex: 0, "aria-label": "code", ...QUIET }, text), copy, copied);
  }
}

export default { initialize, render };
