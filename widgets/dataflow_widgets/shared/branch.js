// The form under a value: change it, and run again as a branch of the recorded run.
import { QUIET, button, h } from "./dom.js";

/** The numbers of a small value as text that can be edited; "" when only a summary is here. */
export function editable(summary) {
  if (!summary?.data || summary.more) return "";
  const { data, shape } = summary;
  if (!shape.length) return JSON.stringify(data[0]);
  const build = (depth, from, size) => {
    if (depth === shape.length) return data[from];
    const step = size / shape[depth];
    return Array.from({ length: shape[depth] }, (_, i) => build(depth + 1, from + i * step, step));
  };
  return JSON.stringify(build(0, 0, data.length));
}

/** `run(slot, text)` asks the kernel; resolves to "" or to what went wrong. */
export function branchForm(name, value, run) {
  const box = h("textarea", { class: "df-edit", rows: 2, spellcheck: "false", "aria-label": `new value of ${name}`, ...QUIET });
  box.value = editable(value?.[0]);
  if (!box.value) box.placeholder = "[[1, 2], [3, 4]]";
  const answer = h("p", { class: "df-answer", role: "status" });
  const go = button("Run with this value", `Run again with this value of ${name}, beside the first run`, async () => {
    go.disabled = true;
    answer.textContent = "Running…";
    answer.textContent = await run(0, box.value);
    go.disabled = false;
  });
  return h("details", { class: "df-branch" }, h("summary", { tabindex: 0, ...QUIET }, "What if it were…"), box, h("div", { class: "df-actions" }, go), answer);
}
