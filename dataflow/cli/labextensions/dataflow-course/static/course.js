// "All lessons" in JupyterLab's top bar: saves what is open, and goes to the course page. And in a narrow window
// (a phone, or 200 %) the side panels close when a lesson is opened: beside them it would have 60 pixels. Figures of
// Markdown have dark colors of their own, and are told of the dark theme: to a picture JupyterLab says nothing of it.
//
// A prebuilt extension of JupyterLab 4 as its page loads it (a container of module federation), written by hand:
// one plugin needs no build. Of JupyterLab it takes Lumino's `Widget`, the shell's top bar and side panels, and a command.
(() => {
  "use strict";

  function courseAddress() {
    const config = document.getElementById("jupyter-config-data");
    const root = config?.dataset.jupyterLiteRoot;
    if (root !== undefined) return new URL(`${root}/index.html`, location.href).href;
    const base = JSON.parse(config?.textContent || "{}").baseUrl ?? "/";
    return new URL(`${base}dataflow/course`, location.href).href;
  }

  let shared = {};
  async function modulesOf(name) {
    const versions = Object.values(shared[name] ?? {});
    if (!versions.length) throw new Error(`JupyterLab shares no ${name}`);
    return (await versions[0].get())();
  }

  /** Gives the open document the whole of a narrow window, and the panel back when the window is wide again. */
  function makeRoom(shell) {
    const narrow = matchMedia("(max-width: 800px)");
    let closed = false;
    const fit = () => {
      if (narrow.matches && shell.currentWidget && !shell.leftCollapsed) {
        shell.collapseLeft();
        closed = true;
      } else if (!narrow.matches && closed) {
        closed = false;
        shell.expandLeft();
      }
    };
    narrow.addEventListener("change", fit);
    shell.currentChanged.connect(fit);
    // JupyterLab opens the file browser by itself after the document of the address; a reader who opens it wants it.
    let touched = -Infinity;
    for (const kind of ["pointerdown", "keydown"])
      addEventListener(kind, () => (touched = performance.now()), { capture: true, passive: true });
    shell.layoutModified.connect(() => {
      if (performance.now() - touched > 2000) fit();
    });
    fit();
  }

  const plugin = {
    id: "dataflow-course:plugin",
    autoStart: true,
    activate: async (app) => {
      const { Widget } = await modulesOf("@lumino/widgets");
      const link = document.createElement("a");
      link.href = courseAddress();
      link.textContent = "All lessons";
      link.title = "Save, and go to the course page";
      link.style.cssText =
        "padding: 0 10px; line-height: 28px; white-space: nowrap; color: var(--jp-content-link-color, #1a66c2)";
      link.onclick = async (event) => {
        if (event.button || event.ctrlKey || event.metaKey || event.shiftKey) return; // another tab: nothing is left
        event.preventDefault();
        try {
          await app.commands.execute("docmanager:save-all");
        } finally {
          location.href = link.href; // where saving failed, the browser asks whether to leave
        }
      };
      const node = document.createElement("div");
      node.append(link);
      const widget = new Widget({ node });
      widget.id = "dataflow-all-lessons";
      app.shell.add(widget, "top", { rank: 900 });
      const style = document.createElement("style");
      style.textContent = '[data-jp-theme-light="false"] .jp-RenderedMarkdown img { color-scheme: dark }';
      document.head.append(style);
      void app.restored.then(() => makeRoom(app.shell));
    },
  };

  const container = {
    init: (scope) => void (shared = scope),
    get: async (name) => {
      if (name !== "./extension") throw new Error(`dataflow-course has no ${name}`);
      return () => ({ __esModule: true, default: plugin });
    },
  };
  (window._JUPYTERLAB ??= {})["dataflow-course"] = container;
})();
