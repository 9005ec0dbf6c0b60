// ClusterPanel: clusters started, watched and disturbed.  The kernel sends what there is; every
// request is answered at once and done in a thread there.
import { QUIET, button, h, write } from "../shared/dom.js";
import { keptPicture } from "../shared/saved_picture.js";
import { guarded, shell } from "../shared/shell.js";
import { dropStore, storeOf } from "../shared/store.js";
import { PictureBox } from "./picture_box.js";
import { History, heard, summary } from "./state.js";
import { TaskRow } from "./task_row.js";
import { TrainingBox } from "./training_box.js";

function initialize({ model }) {
  const store = storeOf(model);
  store.on((event, detail) => {
    if (event === "state") store.panelState = detail;
    if (event === "scene") store.clusterScene = detail;
  });
  return () => dropStore(model);
}

function render({ model, el }) {
  const store = storeOf(model);
  const title = model.get("title");
  const frame = shell("cluster-panel", title || "cluster panel", title);
  el.append(frame.element);
  const view = new PanelView(model, store, frame);
  return () => view.dispose();
}

const COLUMNS = ["task", "state and device", "steps/s", "staleness", "bytes", "variables", "actions"];

class PanelView {
  constructor(model, store, frame) {
    Object.assign(this, { model, store, frame });
    this.rows = new Map();
    this.boxes = new Map();
    this.history = new History();
    this.opened = "";
    this.build();
    this.forget = store.on((event, detail) => {
      if (event === "state") this.take(detail);
      if (event === "scene") guarded(frame, () => this.picture.take(detail))();
      if (event === "messages") this.picture.view.travel(detail);
      if (event === "error") frame.fail(detail);
    });
    this.failed = () => frame.fail(model.get("failure"));
    model.on("change:failure", this.failed);
    if (model.get("failure")) this.failed();
    this.drop = keptPicture(model, store, frame, () => !this.state);
    // The kernel looks at the tasks only while somebody can see them.
    this.seen = new IntersectionObserver((entries) => this.show(entries.at(-1).isIntersecting));
    this.seen.observe(frame.element);
    this.hidden = () => this.show(this.inSight);
    document.addEventListener("visibilitychange", this.hidden);
    if (store.clusterScene) this.picture.take(store.clusterScene);
    if (store.panelState) this.take(store.panelState);
    else this.frame.note(summary(null));
  }

  show(inSight) {
    this.inSight = inSight;
    const now = inSight && document.visibilityState !== "hidden";
    if (now === Boolean(this.watching)) return;
    this.watching = now;
    this.store.send({ kind: now ? "opened" : "closed" });
  }

  dispose() {
    this.show(false);
    this.seen.disconnect();
    document.removeEventListener("visibilitychange", this.hidden);
    this.forget();
    this.drop();
    this.picture.dispose();
    this.model.off("change:failure", this.failed);
  }

  build() {
    const { frame } = this;
    this.picker = h("select", { class: "df-select", "aria-label": "cluster that is shown", hidden: true, onchange: () => this.ask({ kind: "choose", cluster: this.picker.value }), ...QUIET });
    this.opener = button("New cluster…", "Show or hide the form that launches a cluster", () => this.showForm(this.form.hidden), { "aria-expanded": "false" });
    this.stopper = button("Stop cluster", "Stop all tasks of this cluster", () => this.act({ do: "stop" }), { hidden: true });
    this.trainer = button("Train a demo", "Softmax regression on 1,797 handwritten digits, on all workers", () => this.act({ do: "train" }), { hidden: true });
    this.sizes = h("form", { class: "df-cluster-sizes", "aria-label": "size of the cluster", hidden: true, onsubmit: (event) => {
      event.preventDefault();
      this.act({ do: "resize", jobs: Object.fromEntries([...this.sizes.querySelectorAll("input")].map((input) => [input.dataset.job, input.value])) });
    } });
    frame.toolbar.append(this.picker, this.opener, this.stopper, this.trainer, this.sizes);
    this.form = this.buildForm();
    this.doing = h("span");
    this.canceler = button("Cancel", "End the launch; nothing of it is left running", () => this.act({ do: "cancel" }), { class: "df-button df-small" });
    this.busy = h("div", { class: "df-cluster-pending", hidden: true }, this.doing, this.canceler);
    this.notices = h("ul", { class: "df-cluster-notices", "aria-label": "what needs attention", hidden: true });
    this.body = h("tbody");
    this.table = h("div", { class: "df-cluster-tablebox", hidden: true }, h("table", { class: "df-cluster-table" }, h("caption", {}, "Tasks of the cluster"), h("thead", {}, h("tr", {}, COLUMNS.map((text) => h("th", { scope: "col" }, text)))), this.body));
    this.trainings = h("div");
    this.picture = new PictureBox((act) => guarded(frame, () => this.act(act))(), this.model.get("height"));
    this.events = h("ol", { class: "df-cluster-events" });
    this.eventBox = h("details", { class: "df-cluster-eventbox", hidden: true }, h("summary", { ...QUIET }, "What has happened"), this.events);
    frame.body.append(h("div", { class: "df-cluster" }, this.form, this.busy, this.notices, this.picture.element, this.table, this.trainings, this.eventBox));
  }

  buildForm() {
    const number = (name, value) => h("input", { class: "df-search df-cluster-count", type: "number", min: 0, max: 64, name, value, ...QUIET });
    this.fields = {
      ps: number("ps", 1),
      workers: number("workers", 2),
      address: h("input", { class: "df-search", name: "address", placeholder: "this machine", title: "A running Ray: auto, or host:port. Empty: one is started here, on loopback.", ...QUIET }),
      restart: h("input", { type: "checkbox", name: "restart", checked: true, ...QUIET }),
    };
    const { ps, workers, address, restart } = this.fields;
    this.launcher = h("button", { type: "submit", class: "df-button df-cluster-launch", ...QUIET }, "Launch");
    return h(
      "form",
      { class: "df-cluster-form", "aria-label": "launch a cluster", hidden: true, onsubmit: (event) => {
        event.preventDefault();
        this.act({ do: "launch", ps: ps.value, workers: workers.value, address: address.value, restart: restart.checked });
      } },
      h("label", {}, "parameter servers ", ps),
      h("label", {}, "workers ", workers),
      h("label", {}, "Ray address ", address),
      h("label", {}, restart, " restart tasks that die"),
      this.launcher,
    );
  }

  showForm(show) {
    this.wanted = show;
    this.form.hidden = !show;
    this.opener.setAttribute("aria-expanded", String(show));
    if (show) this.fields.ps.focus();
  }

  async ask(message) {
    const answer = await this.store.question(message);
    if (!answer) this.frame.fail("The kernel has not answered: a cell keeps it busy, or it is gone. What was asked for happens when it is free.");
    return answer;
  }

  /** Says at once what is being done; how it ended comes with the state. */
  async act(act) {
    this.frame.fail("");
    this.frame.note("Asking the kernel…");
    const answer = await this.ask({ kind: "act", act: { cluster: act.do === "launch" ? undefined : this.state?.chosen ?? undefined, ...act } });
    if (answer?.words) {
      this.frame.say(answer.words);
      this.frame.note("");
      if (act.do === "launch") this.wanted = false;
    } else this.frame.note("");
  }

  take(state) {
    const before = this.state;
    this.state = state;
    guarded(this.frame, () => this.draw(before, state))();
  }

  draw(before, state) {
    const chosen = state.clusters.find((c) => c.id === state.chosen) ?? null;
    const live = chosen && chosen.state !== "stopped";
    if (state.problem.text && state.problem.id !== (before?.problem.id ?? 0)) {
      this.frame.fail(state.problem.text);
      this.frame.say(""); // what it said to be doing has ended
    }
    const said = heard(before, state);
    if (said) this.frame.say(said);
    this.frame.note(state.pending.length ? "" : summary(state)); // what is being done stands above, with a clock
    this.drawPicker(state);
    const launching = state.pending.some((text) => text.startsWith("launching"));
    this.form.hidden = !(this.wanted || (!live && !launching));
    this.opener.hidden = !live && !this.wanted;
    this.opener.setAttribute("aria-expanded", String(!this.form.hidden));
    this.stopper.hidden = !live;
    this.trainer.hidden = !live || !chosen.launched || state.trainings.some((t) => t.cluster === chosen.id);
    this.busy.hidden = !state.pending.length;
    this.canceler.hidden = !launching;
    write(this.doing, [...state.pending, state.progress].join("\n").trim());
    this.table.hidden = !live;
    this.drawNotices(chosen);
    this.drawTasks(chosen, state);
    this.drawSizes(live && chosen.launched ? chosen : null);
    this.drawTrainings(state, chosen);
    this.picture.live(live ? chosen : null, state);
    this.drawEvents(chosen);
    Object.assign(this.frame.element.dataset, { state: chosen?.state ?? "none", clusters: state.clusters.length, pending: state.pending.length });
  }

  drawPicker(state) {
    this.picker.hidden = state.clusters.length < 2;
    const key = JSON.stringify(state.clusters.map((c) => [c.id, c.words]));
    if (key !== this.pickerKey) {
      this.pickerKey = key;
      this.picker.replaceChildren(...state.clusters.map((c) => h("option", { value: c.id }, `${c.id}: ${c.words}${c.launched ? "" : " (plain servers)"}`)));
    }
    this.picker.value = state.chosen ?? "";
  }

  drawNotices(chosen) {
    const notices = chosen?.notices ?? [];
    const key = JSON.stringify(notices);
    if (key === this.noticeKey) return;
    this.noticeKey = key;
    this.notices.hidden = !notices.length;
    this.notices.replaceChildren(...notices.map((notice) => h("li", { "data-level": notice.level }, h("span", {}, h("b", {}, notice.level === "alarm" ? "Alarm: " : "Note: "), notice.text), notice.actions.map(({ label, act }) => button(label, label, () => this.act(act), { class: "df-button df-small" })))));
  }

  drawTasks(chosen, state) {
    const tasks = chosen?.tasks ?? [];
    const keys = new Set(tasks.map((task) => `${chosen.id} ${task.name}`));
    for (const [key, row] of this.rows) {
      if (keys.has(key)) continue;
      row.row.remove();
      row.more.remove();
      this.rows.delete(key);
    }
    for (const cluster of state.clusters) {
      for (const task of cluster.tasks) this.history.add(`${cluster.id} ${task.name}`, task.stepsPerSecond);
    }
    for (const task of tasks) {
      const key = `${chosen.id} ${task.name}`;
      let row = this.rows.get(key);
      if (!row) {
        row = new TaskRow(task, { act: (request) => guarded(this.frame, () => this.act(request))(), open: (name) => this.openTask(name), say: (text) => this.frame.say(text) });
        this.rows.set(key, row);
      }
      if (row.row.parentNode !== this.body) this.body.append(row.row, row.more);
      row.update(task, chosen.launched, this.history.series.get(key));
      row.setOpen(this.opened === task.name, state.log?.task === task.name ? state.log.lines : null, chosen.launched);
    }
  }

  openTask(name) {
    this.opened = name;
    this.ask({ kind: "log", task: name });
    if (this.state) this.draw(this.state, this.state);
  }

  drawSizes(chosen) {
    this.sizes.hidden = !chosen;
    if (!chosen) return;
    const key = JSON.stringify([chosen.id, chosen.jobs]);
    if (key === this.sizeKey) return;
    this.sizeKey = key;
    const fields = Object.entries(chosen.jobs).map(([job, count]) => h("label", {}, `${job} `, h("input", { class: "df-search df-cluster-count", type: "number", min: 0, max: 64, value: count, "data-job": job, "aria-label": `number of ${job} tasks`, ...QUIET })));
    this.sizes.replaceChildren(h("label", {}, "Size:"), ...fields, h("button", { type: "submit", class: "df-button df-small", title: "Add tasks, or stop the last ones; sessions made from now on see them", ...QUIET }, "Resize"));
  }

  drawTrainings(state, chosen) {
    const shown = state.trainings.filter((t) => t.cluster === chosen?.id);
    const keys = new Set(shown.map((t) => `${t.cluster} ${t.id} ${t.name}`));
    for (const [key, box] of this.boxes) {
      if (keys.has(key)) continue;
      box.element.remove();
      this.boxes.delete(key);
    }
    for (const training of shown) {
      const key = `${training.cluster} ${training.id} ${training.name}`;
      let box = this.boxes.get(key);
      if (!box) {
        box = new TrainingBox(training, (request) => guarded(this.frame, () => this.act(request))());
        this.boxes.set(key, box);
        this.trainings.append(box.element);
      }
      box.update(training, state.pending.some((text) => text.startsWith("switching")), chosen.state === "stopped");
    }
  }

  drawEvents(chosen) {
    const events = chosen?.events ?? [];
    const key = `${chosen?.id} ${events.length} ${events.at(-1)?.seconds}`;
    if (key === this.eventKey) return;
    this.eventKey = key;
    this.eventBox.hidden = !events.length;
    this.events.replaceChildren(...events.toReversed().map((event) => h("li", {}, `after ${event.seconds} s `, h("b", {}, `${event.task} ${event.kind}`), event.why ? `: ${event.why}` : "")));
  }
}

export default { initialize, render };
