// Small DOM helpers. Everything that comes from a graph (names, values, paths) goes through
// textContent or setAttribute, never through innerHTML: a name is text, whatever it spells.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Sets the text of an element only where it differs: a page lays out anew what was written. */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Makes `parts` the children of `parent`. A child that was there and is of the same kind takes the
 * attributes and children of the new one, so that the page lays out and paints only what differs;
 * those in `kept` (which have listeners, or the focus) stay themselves, behind the others.
 */
export function renew(parent, parts, kept = []) {
  const last = kept.filter(Boolean);
  const old = [...parent.childNodes].filter((child) => !last.includes(child));
  const fresh = parts.filter((part) => !last.includes(part));
  fresh.forEach((part, i) => {
    if (i >= old.length) parent.insertBefore(part, last.find((child) => child.parentNode === parent) ?? null);
    else become(old[i], part);
  });
  for (const gone of old.slice(fresh.length)) gone.remove();
  for (const child of last) {
    if (!parts.includes(child)) child.remove();
    else if (child.parentNode !== parent) parent.append(child);
  }
}

function become(old, next) {
  if (old.nodeName !== next.nodeName) return old.replaceWith(next);
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return undefined;
  }
  for (const { name, value } of next.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const { name } of [...old.attributes]) if (!next.hasAttribute(name)) old.removeAttribute(name);
  return renew(old, [...next.childNodes]);
}

/** Jupyter's own shortcuts (d d deletes the cell) must not fire while an element of ours has focus. */
export const QUIET = { "data-lm-suppress-shortcuts": "true" };

export function button(label, title, onclick, extra = {}) {
  // A label in words is the name already; a symbol needs one.
  const name = typeof label === "string" && /\p{L}/u.test(label) ? null : title;
  return h("button", { type: "button", class: "df-button", title, "aria-label": name, onclick, ...QUIET, ...extra }, label);
}

/** Calls `then` in the frame after the size of an element has changed: what it changes itself is not for this frame. An element that
 *  is hidden by then (for a moment, while JupyterLab changes its theme) keeps its drawing. Returns what ends it. */
export function onResize(element, then) {
  if (typeof ResizeObserver === "undefined") return () => {};
  let frame = 0;
  const observer = new ResizeObserver(() => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      if (element.clientWidth) then();
    });
  });
  observer.observe(element);
  return () => {
    observer.disconnect();
    cancelAnimationFrame(frame);
  };
}

export function download(name, content, type) {
  const url = content instanceof Blob ? URL.createObjectURL(content) : URL.createObjectURL(new Blob([content], { type }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

let nextUnique = 0;
/** An id that no other widget in this page has. */
export const unique = (prefix) => `df-${prefix}-${nextUnique++}`;

export function plural(count, one, many = `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}

/** Puts a text on the clipboard; false where a page may not. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { // a page of plain http has no such clipboard
    const area = h("textarea", { style: "position:fixed;opacity:0" });
    area.value = text;
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    return isCopied;
  }
}
