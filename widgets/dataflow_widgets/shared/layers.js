// The layers of a graph: the model, with its gradients, with all that trains and saves it.
import { QUIET, button, h } from "./dom.js";
import { guarded } from "./shell.js";

const ROLE_NAMES = { gradient: "gradients", optimizer: "optimizer", initializer: "initializers", saver: "saver", summary: "summaries", assertion: "assertions" };

export const roleName = (role) => ROLE_NAMES[role];

/** What the last run made of each role's nodes: role -> "fetched", "needed" or "pruned"; empty before the first run. */
export function roleStates(model, marks, only = null) {
  const states = new Map();
  if (!marks) return states;
  model.nodes.forEach(({ role }, index) => {
    if (!role || (only && !only.has(index))) return;
    const state = marks.fetched.has(index) ? "fetched" : marks.needed.has(index) ? "needed" : "pruned";
    if (state === "fetched" || !states.has(role) || (state === "needed" && states.get(role) === "pruned")) states.set(role, state);
  });
  return states;
}

/**
 * What switches the layers of `pane`: `select` for the bar, `roles` for a line below it with what is put
 * aside and what the last run made of it, and `show()`, to be called after each layout and run. Both are hidden where a graph has one layer only.
 */
export function layerControls(pane, frame) {
  const select = h(
    "select",
    { class: "df-select", "aria-label": "layer of the graph that is shown", title: "Show the model alone, or what trains it too", onchange: () => guarded(frame, () => pane.setLayer(select.value))(), ...QUIET },
    h("option", { value: "model" }, "Model"),
    h("option", { value: "gradients" }, "Model + gradients"),
    h("option", { value: "everything" }, "Everything"),
  );
  const roles = h("div", { class: "df-roles", role: "group", "aria-label": "put aside", hidden: true });
  const show = () => {
    const counts = pane.model.roleCounts(pane.only);
    select.hidden = !counts.length;
    select.value = pane.layer ?? pane.model.initialLayer();
    const { shown } = pane;
    roles.hidden = !shown || !counts.length;
    if (roles.hidden) return;
    const focused = roles.contains(document.activeElement) ? document.activeElement.dataset.role : null;
    const states = roleStates(pane.model, pane.marks, pane.only);
    roles.replaceChildren(
      "Put aside: ",
      ...counts.map(([role, count]) => {
        const state = states.get(role);
        const one = button(`${roleName(role)} ${count}`, `Show ${roleName(role)} in the graph, or put them aside`, () => guarded(frame, () => pane.toggleRole(role))(), {
          "data-role": role,
          "aria-pressed": String(shown.has(role)),
          class: `df-button df-small${state ? ` df-role-${state}` : ""}`,
        });
        if (state && state !== "needed") one.append(h("small", {}, state));
        return one;
      }),
    );
    if (focused) roles.querySelector(`[data-role="${focused}"]`)?.focus();
  };
  return { select, roles, show };
}
