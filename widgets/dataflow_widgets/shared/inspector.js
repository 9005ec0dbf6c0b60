// What is known of one op or scope, as a panel beside the graph.
import { controlWords } from "./control.js";
import { QUIET, button, h, plural } from "./dom.js";
import { FORMULAS, forwardOf, gradientsOf, why } from "./explain.js";
import { parseInput, tensorLabel } from "./graph.js";

const row = (name, ...content) => [h("dt", {}, name), h("dd", {}, ...content)];

export class Inspector {
  /** actions: goto(index), light(indices, text), isolate(indices), ask(question) -> Promise */
  constructor(model, actions) {
    this.model = model;
    this.actions = actions;
    this.element = h("section", { class: "df-inspector", "aria-label": "selected node", hidden: true });
  }

  link(index, text) {
    return h("button", { type: "button", class: "df-link", onclick: () => this.actions.goto(index), ...QUIET }, text);
  }

  show(item, marks) {
    this.element.hidden = !item;
    if (!item) return;
    this.element.replaceChildren(
      button("×", "Close the inspector", () => this.actions.close(), { class: "df-button df-close" }),
      ...(item.group ? this.scope(item) : this.node(item.index, marks)),
    );
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
      button(item.fold ? "Unfold" : "Open scope", "Open it", () => this.actions.toggle(item)),
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
    const source = node.source;
    const place = source && (source.cell ? `cell ${source.cell}, line ${source.line}` : source.file ? `${source.file.split(/[\\/]/).pop()}, line ${source.line}` : "");
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
        ...(place ? row("made at", place) : []),
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
