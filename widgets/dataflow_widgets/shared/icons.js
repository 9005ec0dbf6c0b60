// Player symbols as drawings: the characters for them are missing from many fonts.
import { s } from "./dom.js";

const PATHS = {
  first: "M3 3h2v10H3zM13 3v10L6 8z",
  back: "M11 3v10L4 8z",
  play: "M5 3v10l7-5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  forward: "M4 3v10l6-5zM11 3h2v10h-2z",
  end: "M3 3v10l5-5zM8 3v10l4-5zM12 3h2v10h-2z",
};

export function icon(name) {
  return s("svg", { class: "df-icon", viewBox: "0 0 16 16", width: 14, height: 14, "aria-hidden": "true" }, s("path", { d: PATHS[name] }));
}
