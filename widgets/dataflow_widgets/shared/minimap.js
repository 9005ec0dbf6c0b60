// The whole drawing, small, in a corner of a pane that shows a part of it; a press goes there.
import { h, s } from "./dom.js";

const SIZE = { width: 150, height: 110 };
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
    this.element.addEventListener("pointermove", (event) => {
      if (event.buttons) go(event);
    });
  }

  /** Draws `layout` when it is new, and where the scroller is at scale `k`; hidden unless `isNeeded`. */
  show(layout, k, isNeeded) {
    this.element.hidden = !isNeeded || this.scroller.clientWidth < LEAST_ROOM;
    if (this.element.hidden || !layout) return;
    const [width, height] = [layout.width + 12, layout.height + 28];
    if (this.layout !== layout) {
      this.layout = layout;
      const scale = Math.min(SIZE.width / width, SIZE.height / height);
      this.picture.setAttribute("viewBox", `-4 -12 ${width} ${height}`);
      this.picture.setAttribute("width", (width * scale).toFixed(0));
      this.picture.setAttribute("height", (height * scale).toFixed(0));
      const boxes = [...layout.nodes.values()].map((at) => s("rect", { x: at.x - at.width / 2, y: at.y - at.height / 2, width: at.width, height: at.height, rx: 4 }));
      this.picture.replaceChildren(...boxes, this.seen);
    }
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = this.scroller;
    const at = { x: scrollLeft / k - 4, y: scrollTop / k - 12, width: clientWidth / k, height: clientHeight / k };
    for (const [name, value] of Object.entries(at)) this.seen.setAttribute(name, value.toFixed(0));
  }
}
