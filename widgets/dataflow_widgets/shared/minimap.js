// The whole drawing, small, in a corner of a pane that shows a part of it; a press goes there. It takes the corner in which it
// lies over the fewest nodes.
import { h, s } from "./dom.js";

const SIZE = { width: 150, height: 110 };
const CORNERS = ["bottom-right", "top-right", "bottom-left", "top-left"];
const MOST_OF_HEIGHT = 0.34; // of the pane's
const GAP = 26; // px between a corner of the pane and the drawing in the map, at most
const TAG = 18; // px of the word below a node
const LEAST_ROOM = 520; // px: in a narrower pane it would cover what it is to help to find

export class Minimap {
  /** @param scroller the element that scrolls the drawing */
  constructor(scroller) {
    this.scroller = scroller;
    this.seen = s("rect", { class: "df-minimap-view" });
    this.picture = s("svg", { class: "df-minimap-picture" });
    // For the pointer only: the keyboard has the arrows, Home and End, which bring into sight what they reach.
    this.element = h("div", { class: "df-minimap", "aria-hidden": "true", hidden: true }, this.picture);
    const go = (event) => {
      const box = this.picture.getBoundingClientRect();
      const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
      this.scroller.scrollLeft = x * this.scroller.scrollWidth - this.scroller.clientWidth / 2;
      this.scroller.scrollTop = y * this.scroller.scrollHeight - this.scroller.clientHeight / 2;
    };
    this.element.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      event.stopPropagation();
      this.element.setPointerCapture(event.pointerId);
      go(event);
    });
    // It does not move away under the pointer.
    this.element.addEventListener("pointerenter", () => (this.held = true));
    this.element.addEventListener("pointerleave", () => (this.held = false));
    this.element.addEventListener("pointermove", (event) => {
      if (event.buttons) go(event);
    });
  }

  /** Draws `layout` when it is new, and where the scroller is at scale `k`; hidden unless `isNeeded`. */
  show(layout, k, isNeeded) {
    this.element.hidden = !isNeeded || this.scroller.clientWidth < LEAST_ROOM;
    if (this.element.hidden || !layout) return;
    const [width, height] = [layout.width + 12, layout.height + 28];
    const high = Math.min(SIZE.height, MOST_OF_HEIGHT * this.scroller.clientHeight);
    if (this.layout !== layout || this.high !== high) {
      Object.assign(this, { layout, high });
      const scale = Math.min(SIZE.width / width, high / height);
      this.size = { width: width * scale, height: height * scale };
      this.picture.setAttribute("viewBox", `-4 -12 ${width} ${height}`);
      this.picture.setAttribute("width", (width * scale).toFixed(0));
      this.picture.setAttribute("height", (height * scale).toFixed(0));
      const boxes = [...layout.nodes.values()].map((at) => s("rect", { x: at.x - at.width / 2, y: at.y - at.height / 2, width: at.width, height: at.height, rx: 4 }));
      this.picture.replaceChildren(...boxes, this.seen);
    }
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = this.scroller;
    const at = { x: scrollLeft / k - 4, y: scrollTop / k - 12, width: clientWidth / k, height: clientHeight / k };
    for (const [name, value] of Object.entries(at)) this.seen.setAttribute(name, value.toFixed(0));
    if (!this.held) this.element.dataset.corner = this.corner(at, k);
  }

  /** The corner with the fewest nodes of what is seen (`at`, in the drawing's px); the present one where others are no better. */
  corner(at, k) {
    const size = { width: (this.size.width + GAP) / k, height: (this.size.height + GAP) / k };
    const boxes = [...this.layout.nodes.values()].map((node) => ({ left: node.x - node.width / 2, right: node.x + node.width / 2, top: node.y - node.height / 2, bottom: node.y + node.height / 2 + TAG }));
    const covered = (name) => {
      const [left, top] = [name.endsWith("left") ? at.x : at.x + at.width - size.width, name.startsWith("top") ? at.y : at.y + at.height - size.height];
      const box = { left, right: left + size.width, top, bottom: top + size.height };
      return boxes.filter((node) => node.left < box.right && box.left < node.right && node.top < box.bottom && box.top < node.bottom).length;
    };
    const now = this.element.dataset.corner ?? CORNERS[0];
    return [now, ...CORNERS].reduce((best, name) => (covered(name) < covered(best) ? name : best));
  }
}
