// A node named in one widget, shown in the others of the page that draw the same graph.
const EVENT = "dataflow:show-node";
const MOST = 0.8; // so much of a run's ops must be in a graph for it to be that run's

/** Asks the page's graphs to show node `name` of a run of the ops `names`; how many did. */
export function showElsewhere(name, names, scroll = false) {
  const detail = { name, names, scroll, found: 0 };
  document.dispatchEvent(new CustomEvent(EVENT, { detail }));
  return detail.found;
}

/** Has `show(index, scroll)` called when a node of this graph is asked for; returns how to end that. */
export function answerSearches(store, show) {
  const answer = ({ detail }) => {
    const { indexOf } = store.graph;
    if (!indexOf.has(detail.name) || detail.names.filter((name) => indexOf.has(name)).length < MOST * detail.names.length) return;
    detail.found += 1;
    show(indexOf.get(detail.name), detail.scroll);
  };
  document.addEventListener(EVENT, answer);
  return () => document.removeEventListener(EVENT, answer);
}
