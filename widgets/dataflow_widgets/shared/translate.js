// Widgets are written in English. In another language their words are replaced where they stand in the page,
// looked up by their templates in dataflow/course/languages/*.toml: base.py puts the table of the learner's
// language in place of "__LANGUAGES__" when it sends the library. What the table lacks stays English. The rules are those of dataflow/course/translations.py.
const MAX_DEPTH = 6;
const MAX_KNOWN = 5000;
const FEW_LETTERS = 9;
const QUOTED = /^“[^”]*”$/; // an answer, as it was given
const SENTENCE_END = /(?<=[.!?]) (?=\S)/;
const SPOKEN = ["title", "aria-label", "placeholder", "aria-roledescription"];
// A single word may be a name of the learner's own, so it is replaced in these places only.
const FURNITURE = "button, label, legend, summary, caption, option, figcaption, h4, .df-predict strong, th[scope=col], .df-axis, .df-chart-note, .df-tag, .df-key, .df-edge-label, .df-keys, .df-run-bar, .df-run-status, .df-cluster-state, .df-cv-lane-name, .df-cv-badge";
// What the author of a question wrote: said as a whole or not at all, never half.
const AUTHORED = ".df-raw";
// A widget without names of the learner's: its words are its own.
const LABELS = ".df-explorer";
const NOT_WORDS = "pre, code, input, textarea, script, style";

const translators = new Map();

/** Says a text by `table`, a template -> its translation; whole, else line by line and sentence by sentence. */
export function translator(table) {
  const hole = /\{(\d+)\}/g;
  const patterns = Object.entries(table)
    .filter(([english]) => english.search(hole) >= 0)
    .map(([english, said]) => {
      const own = english.replace(hole, "");
      return { pattern: patternOf(english), said, letters: (own.match(/\p{L}/gu) ?? []).length, length: own.length, isHeaded: /^\s*\p{L}{4,}/u.test(english) };
    })
    .sort((a, b) => b.letters - a.letters || b.length - a.length);
  const known = new Map();
  // "{0} is {1}" fits nearly all that is said: it is meant where little was filled in. "Hint: {0}" is not like that.
  const fits = (parts, { letters, isHeaded }, strictly) =>
    letters < FEW_LETTERS && !isHeaded ? parts.every((part) => part.split(" ").length <= (letters > 3 ? 3 : 1)) : !strictly || !parts.some((part) => SENTENCE_END.test(part));
  const filled = (text, depth, strictly) => {
    for (const each of patterns) {
      const parts = each.pattern.exec(text)?.slice(1);
      if (!parts || !fits(parts, each, strictly)) continue;
      const told = parts.map((part) => say(part, depth + 1));
      return each.said.replace(hole, (_, number) => told[number]);
    }
    return null;
  };
  const inParts = (text, depth) => {
    if (text.includes("\n")) return text.split("\n").map((line) => say(line, depth + 1)).join("\n");
    const inner = text.replace(/^ +| +$/g, "");
    if (inner !== text) return text.replace(inner, () => say(inner, depth + 1));
    const sentences = text.split(SENTENCE_END);
    for (let num = sentences.length - 1; num > 0; num -= 1) {
      const first = sentences.slice(0, num).join(" ");
      const one = Object.hasOwn(table, first) ? table[first] : filled(first, depth + 1, num === 1);
      if (one !== null && one !== first) return `${one} ${say(sentences.slice(num).join(" "), depth + 1)}`;
    }
    if (sentences.length > 1) return `${sentences[0]} ${say(sentences.slice(1).join(" "), depth + 1)}`;
    const head = text.split(": ", 1)[0];
    if (head !== text && (Object.hasOwn(table, head) || /^\d[\d,.]* \S+$/.test(head))) return `${say(head, depth + 1)}: ${say(text.slice(head.length + 2), depth + 1)}`;
    const [first, ...others] = text.split(", "); // a list, or what was added to a line
    if (!others.length) return text;
    return say(first, depth + 1) + others.map((each) => filled(`, ${each}`, depth + 1, true) ?? `, ${say(each, depth + 1)}`).join("");
  };
  function say(text, depth = 0) {
    if (Object.hasOwn(table, text)) return table[text];
    if (QUOTED.test(text)) return text;
    if (depth > MAX_DEPTH || !/\p{L}/u.test(text)) return text;
    const [, number, what] = /^(\d[\d,.]*) (.+)$/.exec(text) ?? [];
    if (number && Object.hasOwn(table, what)) return `${number} ${table[what]}`;
    if (depth === 0 && known.has(text)) return known.get(text);
    let result = filled(text, depth, true) ?? inParts(text, depth);
    if (result === text) result = filled(text, depth, false) ?? text;
    if (depth === 0) {
      if (known.size > MAX_KNOWN) known.clear();
      known.set(text, result);
    }
    return result;
  }
  // What stands beside a control: one word, which as a part of a sentence may be a node's name.
  say.one = (text) => table["label:" + text] ?? say(text);
  say.all = (text) => (text.includes(" ") && table[text]) || text;
  return say;
}

function patternOf(template) {
  const parts = template.split(/\{\d+\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join("(.*?)")}$`, "s");
}

let known = null;
let cameAlong = []; // languages whose table is in the library itself
/** language -> its table: the one that came with the library, if its kernel spoke another than English, and later ones. */
function tables() {
  if (known) return known;
  const sent = __LANGUAGES__;
  cameAlong = typeof sent === "string" ? [] : Object.keys(sent);
  return (known = typeof sent === "string" ? {} : sent);
}
/** The table of a language, for a page that is saved with the library: null where that has it, and for English. */
export function tableFor(language) {
  const table = tables()[language] ?? null;
  return cameAlong.includes(language) ? null : table;
}
const waiting = new Map(); // language -> what is to be done once its table is there

/** Takes a table that came after the library: its kernel spoke English when it sent that. */
export function learn(language, table) {
  tables()[language] ??= table;
  for (const start of waiting.get(language) ?? []) start();
  waiting.delete(language);
}

/**
 * Keeps the words of `element` and of all in it in `language`, also those that come later; returns what ends it.
 * A table that this page lacks is asked for by `ask()`, and `learn` takes it.
 */
export function speak(element, language, ask = () => {}) {
  if (!element || language === "en") return () => {};
  if (!Object.hasOwn(tables(), language)) {
    let ended = false;
    let end = () => {};
    const starts = waiting.get(language) ?? new Set();
    waiting.set(language, starts.add(() => { if (!ended) end = speak(element, language); }));
    ask();
    return () => {
      ended = true;
      end();
    };
  }
  if (!translators.has(language)) translators.set(language, translator(tables()[language]));
  const say = translators.get(language);
  element.lang = language;
  const observer = new MutationObserver((changes) => {
    for (const { type, target, addedNodes } of changes) {
      if (type === "childList") addedNodes.forEach((node) => every(node, say));
      else every(target, say, false);
    }
    observer.takeRecords(); // our own
  });
  every(element, say);
  observer.observe(element, { childList: true, subtree: true, characterData: true, attributes: true, attributeFilter: SPOKEN });
  return () => observer.disconnect();
}

function every(node, say, deep = true) {
  if (node.nodeType === Node.TEXT_NODE) {
    const { data } = node;
    const place = node.parentElement;
    if (!place || place.closest(NOT_WORDS) || !(data.trim().includes(" ") || place.closest(FURNITURE))) return;
    const said = (place.closest(AUTHORED) ? say.all : place.closest(LABELS) ? say.one : say)(data);
    if (said !== data) node.data = said;
  } else if (node.nodeType === Node.ELEMENT_NODE) {
    for (const name of SPOKEN) {
      const words = node.getAttribute(name);
      const said = words && say(words);
      if (words && said !== words) node.setAttribute(name, said);
    }
    if (deep) for (const child of node.childNodes) every(child, say);
  }
}
