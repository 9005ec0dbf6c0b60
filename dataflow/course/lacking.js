// What a browser may lack for lessons whose Python runs in the page. The course page has it in it, and `make site`
// puts it into JupyterLab's own page, for those who follow a link to a lesson.
const NO_WEBASSEMBLY = "This browser has no WebAssembly, which Python needs here. Take a current Firefox, Chrome, Edge or Safari.";
const NO_STORAGE = "This browser does not let the page keep anything (a private window, or storage that is " +
  "forbidden): lessons run, but your answers are lost when you close them.";

function hasWebAssembly() {
  return typeof WebAssembly === "object";
}

// Whether the browser lets this page keep files; makes nothing.
function mayKeep() {
  return new Promise((resolve) => {
    try {
      const request = indexedDB.open("dataflow course");
      request.onupgradeneeded = () => request.transaction.abort();
      request.onsuccess = () => { request.result.close(); resolve(true); };
      request.onerror = (event) => {
        event.preventDefault();
        resolve(request.error?.name === "AbortError"); // there was nothing yet, and it could have been made
      };
    } catch { resolve(false); }
  });
}

// Says it above the page, until it is closed.
async function sayWhatIsLacking() {
  const said = hasWebAssembly() ? [] : [NO_WEBASSEMBLY];
  if (!(await mayKeep())) said.push(NO_STORAGE);
  if (!said.length) return;
  const note = document.createElement("div");
  note.id = "dataflow-lacking";
  note.setAttribute("role", "alert");
  note.style.cssText = "position:fixed;inset:0 0 auto 0;z-index:100000;display:flex;gap:1rem;align-items:start;" +
    "padding:.6rem 1rem;font:16px/1.4 system-ui,sans-serif;background:#fff4e5;color:#3d2500;border-bottom:3px solid #b26a00";
  const words = document.createElement("div");
  for (const sentence of said) words.append(Object.assign(document.createElement("p"), { textContent: sentence, style: "margin:0 0 .3rem" }));
  const close = Object.assign(document.createElement("button"), { type: "button", textContent: "Close", style: "font:inherit;margin-left:auto" });
  close.onclick = () => note.remove();
  note.append(words, close);
  document.body.append(note);
}
