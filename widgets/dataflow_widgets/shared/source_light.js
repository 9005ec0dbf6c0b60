// Lights a line of code in the notebook that a widget stands in, where the front end lets its outputs
// see the cells (JupyterLab, Notebook 7); elsewhere (VS Code, a saved page) nothing is found.
import { h } from "./dom.js";

/** The line's element in the cell with execution count `cell`, if it still says `text`. */
function lineIn(notebook, { cell, line, text }) {
  for (const one of notebook.querySelectorAll(".jp-CodeCell")) {
    if (one.querySelector(".jp-InputPrompt")?.textContent.trim() !== `[${cell}]:`) continue;
    const found = one.querySelectorAll(".jp-Cell-inputArea .cm-line")[line - 1];
    if (found && (!text || found.textContent.trim() === text)) return found;
  }
  return null;
}

export class SourceLight {
  constructor(element) {
    this.element = element;
    this.mark = null;
  }

  /** Lights where `source` = {cell, line, text} was written, and brings it into sight if asked to; true if it could be found. */
  show(source, { scroll = false } = {}) {
    this.clear();
    const notebook = this.element.closest?.(".jp-Notebook");
    const line = source?.cell && notebook ? lineIn(notebook, source) : null;
    const area = line?.closest(".jp-InputArea-editor");
    if (!area) return false;
    // Laid over the editor: it keeps its own elements as it wants them.
    const [at, around] = [line.getBoundingClientRect(), area.getBoundingClientRect()];
    this.mark = h("div", { class: "df-source-light", "aria-hidden": "true", style: `top:${at.top - around.top}px;height:${at.height}px` });
    if (getComputedStyle(area).position === "static") area.style.position = "relative";
    area.append(this.mark);
    if (scroll) line.scrollIntoView({ block: "center" });
    return true;
  }

  clear() {
    this.mark?.remove();
    this.mark = null;
  }
}
