// A learner's page: how to join, and a form that hands in notebooks.
const element = (id) => document.getElementById(id);
const base = new URL("..", import.meta.url);
const MOST_BYTES = 20_000_000;
element("how").textContent = element("how").textContent.replace("ADDRESS", base.origin);

// One request to a base of this browser; null where there is no such base, or storage is forbidden.
function stored(base, store, mode, ask, make = null) {
  return new Promise((resolve) => {
    let opening;
    try { opening = indexedDB.open(base); } catch { return resolve(null); }
    opening.onupgradeneeded = () => (make ? opening.result.createObjectStore(make) : opening.transaction.abort());
    opening.onerror = (event) => { event.preventDefault(); resolve(null); };
    opening.onsuccess = () => {
      const { result } = opening;
      if (!result.objectStoreNames.contains(store)) return resolve(null);
      const request = ask(result.transaction(store, mode).objectStore(store));
      request.onsuccess = () => { result.close(); resolve(request.result ?? null); };
      request.onerror = () => resolve(null);
    };
  });
}

// The same learner as the kernels of this browser: dataflow/course/classroom/identity.py keeps it there, too.
async function myKey(code, name) {
  const place = `${base.origin} ${code.toUpperCase()}`;
  const text = await stored("dataflow class", "kept", "readonly", (kept) => kept.get(place), "kept");
  let known = {};
  try { known = JSON.parse(text ?? "{}"); } catch { /* not ours */ }
  myKey.here ??= [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const key = known.key ?? myKey.here;
  await stored("dataflow class", "kept", "readwrite", (kept) => kept.put(JSON.stringify({ key, name: name || (known.name ?? "") }), place), "kept");
  return key;
}

// Lessons of the site that this server serves: JupyterLite keeps those that were changed.
async function lessonsHere() {
  const files = (await stored("dataflow course", "files", "readonly", (kept) => kept.getAll())) ?? [];
  const notebooks = files.filter((file) => file?.type === "notebook" && file.content);
  element("here").append(...notebooks.map((file) => {
    const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: true });
    box.notebook = file;
    const label = document.createElement("label");
    label.append(box, file.path);
    return label;
  }));
  element("here").hidden = !notebooks.length;
}
lessonsHere();

function chosen() {
  const boxes = [...element("here").querySelectorAll("input:checked")];
  const here = boxes.map(({ notebook }) => new File([JSON.stringify(notebook.content)], notebook.path.split("/").at(-1)));
  return [...here, ...element("files").files];
}

async function send(path, body, token = "") {
  const answer = await fetch(new URL(path, base), { method: "POST", body, headers: token ? { Authorization: `Bearer ${token}` } : {} });
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(told.message ?? answer.statusText);
  return told;
}

function say(text, className = "") {
  const line = document.createElement("p");
  line.textContent = text;
  line.className = className;
  element("said").append(line);
}

element("form").onsubmit = async (event) => {
  event.preventDefault();
  element("said").replaceChildren();
  const button = element("form").querySelector("button");
  button.disabled = true;
  try {
    const files = chosen();
    if (!files.length) throw new Error("Choose a notebook first.");
    const code = [...element("code").value].filter((letter) => /[0-9a-z]/i.test(letter)).join("");
    const key = await myKey(code, element("name").value);
    const { name } = await send("api/join", JSON.stringify({ code, key, name: element("name").value }));
    for (const file of files) {
      try {
        if (file.size > MOST_BYTES) throw new Error("it is larger than 20 MB: clear the outputs of cells with large pictures.");
        const told = await send(`api/notebooks?file=${encodeURIComponent(file.name)}`, file, key);
        say(`Handed in as ${name}: ${file.name}, ${told.right} right of ${told.tasks} questions and exercises.`);
      } catch (error) {
        say(`${file.name} was not taken: ${error.message}`, "problem");
      }
    }
  } catch (error) {
    say(error instanceof TypeError ? "The class's server does not answer; try again." : error.message, "problem");
  }
  button.disabled = false;
};
