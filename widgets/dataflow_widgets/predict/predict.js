// Predict: a question, answered in the page, graded by the engine in the kernel.
import { QUIET, button, h, plural } from "../shared/dom.js";
import { keptPicture, pictureKeeper } from "../shared/saved_picture.js";
import { guarded, shell } from "../shared/shell.js";
import { dropStore, storeOf } from "../shared/store.js";
import { forms } from "./forms.js";

function initialize({ model }) {
  storeOf(model);
  return () => dropStore(model);
}

function render({ model, el }) {
  const store = storeOf(model);
  const question = model.get("question");
  const frame = shell("predict", `question: ${question.text}`, model.get("title"));
  // Nothing but the title stands in it: no toolbar for whoever listens, and the question is not said twice.
  frame.toolbar.removeAttribute("role");
  frame.toolbar.removeAttribute("aria-label");
  frame.body.style.setProperty("--df-height", `${model.get("height")}px`);

  // The picture that the notebook keeps, written when things have been quiet for a moment
  let shown = null;
  const keep = pictureKeeper(model, store, () => shown?.drawing?.root);
  const settled = (pane) => {
    shown = pane;
    keep();
  };

  const drop = keptPicture(model, store, frame, () => !store.heard && model.get("picture") && !store.graph.nodes.length);
  const say = (words) => frame.say(words);
  const form = forms[question.form](question, { store, frame, changed: say, settled, submit: () => check() });
  const verdict = h("div", { class: "df-verdict", role: "status", "aria-live": "polite" });
  const ask = async (message, waiting) => {
    say(waiting);
    const answer = await store.question(message);
    if (!answer) say("The kernel has not answered: it is busy or gone. A busy one will answer when it is done.");
    else if (answer.refused) say(answer.refused);
    else if (!answer.error) say("");
  };
  const check = guarded(frame, () => ask({ kind: "answer", given: form.value() }, "Asking the engine…"));
  const checking = button("Check", "Check this answer with the engine", check);
  const showing = button("Show the answer", "Show the answer and why", guarded(frame, () => ask({ kind: "reveal" }, "…")));
  const restart = button("Begin again", "Forget these answers and begin again", guarded(frame, () => ask({ kind: "again" }, "…")));
  const past = h("details", { class: "df-past" });

  let count = 0;
  let revealed = false; // the traits of one answer arrive one by one
  function update(first = false) {
    const answers = model.get("answers") ?? [];
    const explanation = model.get("explanation");
    const last = answers.at(-1);
    const given = answers.filter((answer) => "given" in answer);
    const done = Boolean(explanation);
    const shown = last?.shown ?? false;
    if (given.length && (first || given.length !== count || done)) form.set(given.at(-1).given);
    count = given.length;
    form.lock(done);
    checking.hidden = done;
    showing.hidden = done || !given.length;
    restart.hidden = !answers.length;
    frame.element.dataset.state = !last ? "open" : last.right ? "right" : shown ? "shown" : "wrong";
    verdict.className = `df-verdict df-${frame.element.dataset.state}`;
    const sign = { right: "✓", wrong: "✗", shown: "→", open: "" }[frame.element.dataset.state];
    verdict.replaceChildren(
      ...(last ? [h("p", {}, h("strong", { "aria-hidden": "true" }, `${sign} `), last.words)] : []),
      ...(last?.hint && !done ? [h("p", { class: "df-nudge" }, h("strong", {}, given.length > 1 ? "Second hint: " : "Hint: "), last.hint)] : []),
      ...(explanation ? [h("p", { class: "df-explanation" }, explanation)] : []),
    );
    verdict.hidden = !last;
    past.hidden = answers.length < 2;
    past.replaceChildren(h("summary", QUIET, plural(given.length, "answer")), h("ol", {}, given.map((answer) => h("li", {}, `${answer.right ? "right" : "not yet"}: ${answer.words}`))));
    if (!revealed || !done) form.grade?.(given.at(-1) ?? null);
    const marks = done && Object.keys(model.get("marks") ?? {}).length ? model.get("marks") : null;
    if (!marks || !revealed) form.reveal?.(marks, Boolean(marks) && !first);
    revealed = Boolean(marks);
    if (!last) say("Not answered yet.");
    else if (done && frame.status.textContent.endsWith("…")) say("");
  }

  frame.body.append(
    h("div", { class: "df-question" }, question.text.split("\n").map((line, at) => (at ? h("pre", { class: "df-text" }, line) : h("p", {}, line)))),
    form.element,
    h("div", { class: "df-ask" }, checking, showing, restart),
    verdict,
    past,
  );

  const redraw = form.redraw ? guarded(frame, () => form.redraw()) : null;
  const forget = store.on((event, detail) => {
    if (event === "error") frame.fail(detail);
    else if (event === "graph" && redraw) redraw();
  });
  const onChange = guarded(frame, () => update());
  const events = ["change:answers", "change:explanation", "change:marks"];
  for (const event of events) model.on(event, onChange);
  const onFailure = () => frame.fail(model.get("failure"));
  model.on("change:failure", onFailure);

  el.append(frame.element);
  store.send({ kind: "opened" });
  guarded(frame, () => update(true))();
  if (redraw && store.graph.nodes.length) redraw();

  return () => {
    keep.stop();
    drop();
    forget();
    for (const event of events) model.off(event, onChange);
    model.off("change:failure", onFailure);
    form.dispose?.();
    store.send({ kind: "closed" });
  };
}

export default { initialize, render };
