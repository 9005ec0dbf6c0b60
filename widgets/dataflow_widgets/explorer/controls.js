// The controls of an explorer: native inputs, so that mouse, touch and keyboard work as everywhere.
import { QUIET, h, unique, write } from "../shared/dom.js";
import { short } from "../shared/numbers.js";

const STEPS = 400; // positions of a logarithmic slider

/** Position of a slider (whole steps) for a value, and back. */
export function scaleOf(spec) {
  if (spec.log) {
    const [a, b] = [Math.log(spec.min), Math.log(spec.max)];
    return { least: 0, most: STEPS, step: 1, to: (v) => Math.round(((Math.log(v) - a) / (b - a)) * STEPS), from: (p) => (p === STEPS ? spec.max : Math.exp(a + (p / STEPS) * (b - a))) };
  }
  return { least: spec.min, most: spec.max, step: spec.step || "any", to: (v) => v, from: (p) => p };
}

function slider(spec, changed) {
  const scale = scaleOf(spec);
  const id = unique("control");
  const shown = h("output", { for: id, class: "df-counter" });
  const input = h("input", { type: "range", id, class: "df-slider", min: scale.least, max: scale.most, step: scale.step, title: spec.help, oninput: () => {
    const value = scale.from(Number(input.value));
    say(value);
    changed(spec.whole ? Math.round(value) : value);
  }, ...QUIET });
  let told; // the value that is shown
  const say = (value) => {
    told = value;
    write(shown, short(value));
    input.setAttribute("aria-valuetext", `${spec.label} ${short(value)}`);
  };
  return {
    element: h("div", { class: "df-control" }, h("label", { for: id }, spec.label), shown, input),
    show(value) {
      if (value === undefined) return;
      if (input.matches(":active")) return; // the hand on it knows better
      if (told === value) return;
      input.value = scale.to(value);
      say(value);
    },
  };
}

function choice(spec, changed) {
  const id = unique("control");
  const select = h("select", { class: "df-select", id, title: spec.help, onchange: () => changed(select.value), ...QUIET }, spec.options.map((option) => h("option", { value: option }, option)));
  return {
    element: h("div", { class: "df-control" }, h("label", { for: id }, spec.label), select),
    show(value) {
      if (value !== undefined && select.value !== value) select.value = value;
    },
  };
}

function toggles(spec, changed) {
  const name = unique("control");
  const inputs = spec.options.map((option) => h("input", { type: "radio", name, value: option, onchange: () => changed(option), ...QUIET }));
  return {
    element: h("fieldset", { class: "df-control df-toggles", title: spec.help }, h("legend", {}, spec.label), inputs.map((input) => h("label", {}, input, h("span", {}, input.value)))),
    show(value) {
      for (const input of inputs) input.checked = input.value === value;
    },
  };
}

function check(spec, changed) {
  const input = h("input", { type: "checkbox", onchange: () => changed(input.checked), ...QUIET });
  return {
    element: h("div", { class: "df-control df-check" }, h("label", { title: spec.help }, input, " ", spec.label)),
    show(value) {
      input.checked = Boolean(value);
    },
  };
}

const FORMS = { slider, choice, toggles, check };

/** {element, show(value)}: the control of `spec`, which calls `changed(value)` when it is moved. */
export function controlOf(spec, changed) {
  return FORMS[spec.form](spec, changed);
}
