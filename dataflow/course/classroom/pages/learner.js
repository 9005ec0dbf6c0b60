// A learner's page: how to join, and a form that hands in notebooks.
const element = (id) => document.getElementById(id);
const base = new URL("..", import.meta.url);
const MOST_BYTES = 20_000_000;
element("how").textContent = element("how").textContent.replace("ADDRESS", base.origin);

function myKey() {
  const made = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  try {
    const known = localStorage.getItem("dataflow class key") ?? made;
    localStorage.setItem("dataflow class key", known);
    return known;
  } catch { return (myKey.here ??= made); /* storage is forbidden: for this visit */ }
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
  const key = myKey();
  const button = element("form").querySelector("button");
  button.disabled = true;
  try {
    const { name } = await send("api/join", JSON.stringify({ code: element("code").value, key, name: element("name").value }));
    for (const file of element("files").files) {
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
