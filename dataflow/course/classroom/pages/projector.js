// The projector's page: one question of a class, live. Whatever learners wrote reaches the page as text.
import { HeatMap } from "./heat.js";

const element = (id) => document.getElementById(id);
const made = (tag, text = "", className = "") => {
  const node = document.createElement(tag);
  node.textContent = text;
  if (className) node.className = className;
  return node;
};
const base = new URL("..", import.meta.url);
const kept = (key, value) => {
  try {
    if (value !== undefined) sessionStorage.setItem(key, value);
    return sessionStorage.getItem(key) ?? "";
  } catch { return value ?? ""; /* storage is forbidden: for this visit */ }
};

let token = "";
let room = null; // code and lessons
const state = { lesson: 0, task: "", which: "first", names: false, reveal: false };
let stream = null; // what stops the events that are read now
const heat = new HeatMap(element("heat"), (path) => ask(path));

function problem(text) {
  element("problem").textContent = text;
  element("problem").hidden = !text;
}

async function ask(path) {
  const answer = await fetch(new URL(path, base), { headers: { Authorization: `Bearer ${token}` }, cache: "no-store" });
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  throw Object.assign(new Error(told.message || answer.statusText), { status: answer.status });
}

function nameOf(task) {
  const [, kind, which] = /\.(q|ex)(\w*)$/.exec(task) ?? [];
  return kind ? (kind === "q" ? "Question " : "Exercise ") + which : task;
}

// ---- choosing --------------------------------------------------------------------------------

function showTasks(counts = {}) {
  const lesson = room.lessons[state.lesson];
  const focused = document.activeElement?.dataset?.task;
  element("tasks").replaceChildren(...(lesson?.tasks ?? []).map((task) => {
    const button = made("button", nameOf(task));
    button.type = "button";
    button.dataset.task = task;
    button.setAttribute("aria-pressed", String(task === state.task));
    if (counts[task]) {
      const count = made("small", String(counts[task]));
      count.setAttribute("aria-label", `${counts[task]} answered`);
      button.append(" ", count);
    }
    button.onclick = () => choose(task);
    return button;
  }));
  if (focused) element("tasks").querySelector(`[data-task="${CSS.escape(focused)}"]`)?.focus();
}

function choose(task) {
  Object.assign(state, { task, reveal: false }); // the answer of the next question is not asked for
  kept("task", task);
  heat.clear();
  press();
  listen();
}

function press() {
  element("first").setAttribute("aria-pressed", String(state.which === "first"));
  element("last").setAttribute("aria-pressed", String(state.which === "last"));
  element("names").setAttribute("aria-pressed", String(state.names));
  element("reveal").setAttribute("aria-pressed", String(state.reveal));
  element("reveal").textContent = state.reveal ? "Hide the answer" : "Show the answer";
}

function change(what) {
  Object.assign(state, what);
  press();
  listen();
}
element("first").onclick = () => change({ which: "first" });
element("last").onclick = () => change({ which: "last" });
element("names").onclick = () => change({ names: !state.names });
element("reveal").onclick = () => change({ reveal: !state.reveal });

// ---- showing ---------------------------------------------------------------------------------

function words(question, prompt) {
  const [first = "", ...rest] = (question?.text ?? "").split("\n");
  const code = rest.join("\n").trim();
  element("title").textContent = state.task ? first || nameOf(state.task) : "Choose a question";
  const parts = code ? [made("pre", code)] : [];
  if (state.task && !question)
    parts.push(prompt ? made("p", prompt, "prompt") : made("p", /\.q/.test(state.task) ? "Its words come with the first answer." : "An exercise: what its check said.", "soft"));
  element("text").replaceChildren(...parts);
}

function bars(seen) {
  const most = Math.max(1, ...seen.bars.map((bar) => bar.count));
  const right = new Set(seen.reveal?.right ?? []);
  for (const name of seen.reveal?.solution ?? []) right.add(name);
  element("bars").replaceChildren(...seen.bars.map((bar) => {
    const line = made("li", "", right.has(bar.text) ? "right" : "");
    const track = made("div", "", "track");
    const room = made("div", "", "fill");
    room.style.width = `calc((100% - 8.5rem) * ${bar.count / most})`;
    const number = made("span", String(bar.count), "number");
    if (seen.answered) number.append(made("span", ` · ${Math.round((100 * bar.count) / seen.answered)} %`));
    track.append(room, number);
    line.append(made("span", bar.text, "text"), track);
    if (right.has(bar.text)) line.querySelector(".text").setAttribute("aria-label", `right: ${bar.text}`);
    if (bar.names.length) line.append(made("div", bar.names.join(", "), "who"));
    return line;
  }));
}

function show(seen) {
  problem("");
  element("joined").textContent = `${seen.joined} joined` + (seen.handed_in ? ` · ${seen.handed_in} notebooks` : "");
  showTasks(seen.counts);
  words(seen.question, seen.prompt);
  element("tools").hidden = !seen.task;
  element("reveal").hidden = !seen.question; // an exercise has no one answer
  element("listed").hidden = !seen.task;
  if (!seen.task) return;
  element("answered").textContent = seen.answered ? `${seen.answered} of ${seen.joined} have answered` : "Nobody has answered yet.";
  bars(seen);
  const told = seen.reveal;
  const count = told && told.num_right ? `${told.num_right} right in the end. ` : "";
  element("explanation").textContent = told ? count + (told.explanation || (told.right.length ? "" : "Nobody who knows it has told it yet.")) : "";
  element("explanation").hidden = !element("explanation").textContent;
  const others = [];
  if (seen.more) others.push(`${seen.more} other answers`);
  if (seen.asked_to_see) others.push(`${seen.asked_to_see} looked at the answer`);
  if (seen.other) others.push(`${seen.other} answered another form of this question`);
  element("others").textContent = others.join(" · ");
  const drawn = heat.show(seen);
  element("listed").querySelector("summary").hidden = !drawn;
  if (drawn !== show.drawn) element("listed").open = !drawn; // a graph says it better
  show.drawn = drawn;
}

// Server-sent events, read by fetch: an EventSource sends no token.
async function listen() {
  stream?.abort();
  const mine = (stream = new AbortController());
  const query = new URLSearchParams({ task: state.task, which: state.which, names: state.names ? 1 : 0, reveal: state.reveal ? 1 : 0 });
  for (let pause = 500; !mine.signal.aborted; pause = Math.min(pause * 2, 8000)) {
    try {
      const answer = await fetch(new URL(`api/live?${query}`, base), { headers: { Authorization: `Bearer ${token}` }, signal: mine.signal, cache: "no-store" });
      if (!answer.ok) {
        problem((await answer.json().catch(() => ({}))).message ?? answer.statusText);
        if (answer.status === 401 || answer.status === 422) return;
        throw new Error();
      }
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let text = ""; ;) {
        const { value, done } = await reader.read();
        if (done || mine.signal.aborted) break;
        text += value;
        const events = text.split("\n\n");
        text = events.pop();
        const last = events.at(-1); // of several that came at once the newest
        if (last?.startsWith("data: ")) show(JSON.parse(last.slice(6)));
        pause = 500;
      }
    } catch { /* told below */ }
    if (mine.signal.aborted) return;
    problem("The server does not answer. What it had acknowledged is kept; this page goes on when it is back.");
    await new Promise((done) => setTimeout(done, pause));
  }
}

// ---- beginning -------------------------------------------------------------------------------

const REPORTS = [
  ["Report", "csv", "A line for each learner and question"],
  ["By question", "tasks", "How many were wrong at first, and what most said"],
  ["nbgrader", "nbgrader", "Scores as nbgrader exports them"],
  ["Moodle", "moodle", "Percentages for Moodle's import of grades"],
  ["Notebooks", "", "All notebooks that were handed in, as a zip file"],
];
async function download(form) {
  try {
    const answer = await ask(form ? `api/report?form=${form}` : "api/notebooks");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await answer.blob());
    link.download = form ? `class_${form}.csv` : "notebooks.zip";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  } catch (error) {
    problem(error.message);
  }
}

function theme(dark) {
  document.documentElement.style.colorScheme = dark ? "dark" : "light";
  document.body.dataset.jpThemeLight = String(!dark); // the widgets' own word for it
  kept("theme", dark ? "dark" : "light");
}
element("theme").onclick = () => theme(document.body.dataset.jpThemeLight ? document.body.dataset.jpThemeLight === "true" : !matchMedia("(prefers-color-scheme: dark)").matches);

async function begin() {
  try {
    room = await (await ask("api/class")).json();
  } catch (error) {
    element("enter").hidden = false;
    if (token || error.status !== 401) problem(error.status ? error.message : "The server does not answer. Is `dataflow class` still running?");
    return;
  }
  problem("");
  element("enter").hidden = true;
  element("room").hidden = false;
  element("code").textContent = room.code;
  element("how").textContent = `from dataflow.course import join; join("${room.address}", "${room.code}", name="...")`;
  element("lesson").replaceChildren(...room.lessons.map((lesson, i) => Object.assign(made("option", lesson.title), { value: i })));
  element("reports").replaceChildren(...REPORTS.map(([word, form, why]) => Object.assign(made("button", word), { type: "button", title: why, onclick: () => download(form) })));
  const task = kept("task");
  state.lesson = Math.max(0, room.lessons.findIndex((lesson) => lesson.tasks.includes(task)));
  state.task = room.lessons[state.lesson]?.tasks.includes(task) ? task : "";
  element("lesson").value = state.lesson;
  element("lesson").onchange = () => {
    state.lesson = Number(element("lesson").value);
    choose(room.lessons[state.lesson].tasks[0] ?? "");
  };
  press();
  showTasks();
  listen();
}

// After "#" no server sees it; and it does not stay in the address that is on the projector.
const given = /[#&]token=(\w+)/.exec(location.hash);
token = kept("token", given ? given[1] : undefined);
if (given) history.replaceState(null, "", location.pathname);
if (kept("theme")) theme(kept("theme") === "dark");
element("enter").onsubmit = (event) => {
  event.preventDefault();
  token = kept("token", element("token").value.trim());
  begin();
};
begin();
