// "All lessons" in JupyterLab's top bar: saves what is open, and goes to the course page.
//
// A prebuilt extension of JupyterLab 4 as its page loads it (a container of module federation), written by hand:
// one plugin needs no build. Of JupyterLab it takes Lumino's `Widget`, the shell's top bar and a command.
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
