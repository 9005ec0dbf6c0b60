// What is known of one op or scope, as a panel beside the graph.
import { controlWords } from "./control.js";
import { QUIET, button, copyText, h, plural } from "./dom.js";
import { FORMULAS, forwardOf, gradientsOf, why } from "./explain.js";
import { parseInput, tensorLabel } from "./graph.js";
import { SourceLight } from "./source_light.js";

const row = (name, ...content) => [h("dt", {}, name), h("dd", {}, ...content)];

export class Inspector {
  /** actions: goto(index), light(indices, text), isolate(indices), ask(question) -> Promise */
  constructor(model, actions) {
    this.model = model;
    this.actions = actions;
    this.element = h("section", { class: "df-inspector", "aria-label": "selected node", hidden: true });
    this.source = new SourceLight(this.element);
  }

  link(index, text) {
    return button(text, null, () => this.actions.goto(index), { class: "df-link" });
  }

  show(item, marks) {
    this.source.clear();
    this.element.hidden = !item;
    if (!item) return;
    const parts = item.group ? this.scope(item) : this.node(item.index, marks);
    this.element.replaceChildren(
      button("×", "Close the inspector", () => this.actions.close(), { class: "df-button df-close" }),
      ...parts.filter(Boolean),
    );
  }

  /** A button that puts a name where it can be pasted: `graph.get_operation_by_name("...")`. */
  copying(name) {
    const copy = button("Copy name", `Copy ${name}`, async () => {
      copy.textContent = (await copyText(name)) ? "Copied" : "Cannot copy here";
    });
    return copy;
  }

  /** Where a node was made: a press shows the line in its cell, where the page lets it be found. */
  place(source) {
    if (!source?.cell) return source?.file ? `${source.file.split(/[\\/]/).pop()}, line ${source.line}` : "";
    const place = `cell ${source.cell}, line ${source.line}`;
    const where = h("button", { type: "button", class: "df-link", title: "Show the line that made it", ...QUIET }, place);
    where.addEventListener("click", () => {
      if (!this.source.show(source, { scroll: true })) where.replaceWith(`${place} (not in this page, or changed since)`);
    });
    return where;
  }

  scope(item) {
    const types = new Map();
    for (const i of item.members.slice(0, item.numDrawn)) types.set(this.model.nodes[i].op, (types.get(this.model.nodes[i].op) ?? 0) + 1);
    const common = [...types].sort((a, b) => b[1] - a[1]).slice(0, 8);
    // Of a closed scope also what belongs to its nodes (reads and first values of variables) and what was put aside.
    const more = (item.path ? this.model.scopes.get(item.path).count : item.members.length) - item.numDrawn;
    return [
      h("h4", {}, item.path ?? item.fold.base),
      h("p", {}, item.fold?.paths ? `${item.fold.paths.length} scopes with the same operations: ${item.fold.paths.join(", ")}.` : `${plural(item.numDrawn, "operation")}, closed.`),
      more > 0 && h("p", { class: "df-hint" }, `${more} more belong to them or are put aside; Everything shows all.`),
      h("div", { class: "df-actions" }, button(item.fold ? "Unfold" : "Open scope", "Open it", () => this.actions.toggle(item)), item.path && this.copying(item.path)),
      h("dl", {}, ...common.flatMap(([type, count]) => row(type, String(count)))),
    ];
  }

  node(index, marks) {
    const node = this.model.nodes[index];
    const data = [];
    const control = [];
    for (const text of node.inputs) {
      const [name, slot] = parseInput(text);
      const from = this.model.indexOf.get(name);
      const label = slot < 0 ? name : text;
      const line = h("div", {}, from === undefined ? label : this.link(from, label), slot < 0 ? null : ` ${from === undefined ? "" : tensorLabel(this.model.nodes[from], slot)}`);
      (slot < 0 ? control : data).push(line);
    }
    const outputs = (node.outputs ?? []).map((_, slot) => {
      const users = this.model.consumers[index].filter((edge) => edge.slot === slot);
      return h("div", {}, h("b", {}, `:${slot}`), ` ${tensorLabel(node, slot)}`, users.length ? " → " : "", ...users.slice(0, 12).flatMap((edge, i) => [i ? ", " : "", this.link(edge.to, this.model.nodes[edge.to].name)]), users.length > 12 ? ` and ${users.length - 12} more` : "");
    });
    const place = this.place(node.source);
    const attributes = Object.entries(node.attrs ?? {});
    const forward = forwardOf(this.model, index);
    const backward = gradientsOf(this.model, index);
    const formulaOp = forward !== null ? this.model.nodes[forward].op : node.op;
    const [, does] = controlWords(this.model, index);
    const answer = h("p", { class: "df-answer", role: "status" });
    const more = h("div", { class: "df-more" });
    return [
      h("h4", {}, node.name),
      does && h("p", { class: "df-hint" }, does),
      h(
        "dl",
        {},
        ...row("type", node.op),
        ...(node.value ? row("value", h("code", {}, node.value)) : []),
        ...(data.length ? row("inputs", ...data) : []),
        ...(control.length ? row("waits for", ...control) : []),
        ...(outputs.length ? row("outputs", ...outputs) : []),
        ...row("device", node.device || "not pinned"),
        ...(place ? row("made at", place, node.source.text && h("div", {}, h("code", {}, node.source.text))) : []),
        ...(forward !== null ? row("gradient of", this.link(forward, this.model.nodes[forward].name)) : []),
        ...(backward.length ? row("gradient ops", ...backward.slice(0, 6).map((i) => h("div", {}, this.link(i, this.model.nodes[i].name)))) : []),
        ...((backward.length || forward !== null) && FORMULAS[formulaOp] ? row("formula", FORMULAS[formulaOp]) : []),
        ...attributes.flatMap(([key, value]) => row(key, h("code", {}, value))),
      ),
      h(
        "div",
        { class: "df-actions" },
        marks && button(marks.needed.has(index) || marks.fetched.has(index) ? "Why did this run?" : "Why not run?", "Explain with the last run", () => {
          const { text, path } = why(this.model, index, marks);
          answer.textContent = text;
          this.actions.light(path, text);
        }),
        button("Isolate", "Show only this op, what it needs and what uses it directly", () => {
          const near = this.model.ancestors([index]);
          for (const { to } of this.model.consumers[index]) near.add(to);
          this.actions.isolate(near);
        }),
        this.copying(node.name),
        button("About", `What ${node.op} does, its shape rule, kernel and gradient`, async () => {
          more.textContent = "Asking the kernel…";
          const about = await this.actions.ask({ kind: "about", op: node.op });
          if (!about) more.textContent = "The kernel did not answer (busy or gone).";
          else if (about.error) more.textContent = about.error;
          else {
            more.replaceChildren(
              ...(about.sections ?? []).map(([title, text, code]) => h("details", { open: !code }, h("summary", { tabindex: 0, ...QUIET }, title), h(code ? "pre" : "p", {}, text))),
            );
          }
        }),
      ),
      answer,
      more,
    ];
  }
}
