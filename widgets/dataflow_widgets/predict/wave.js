// The pruning wave of a run: pure data, tested under node.

/**
 * The nodes that a run needs, by how many edges they lie before what it fetches: a list of lists of
 * indices, the fetched ones first.  A fed node is reached, and nothing behind it.
 */
export function waveLevels(graph, { fetched, fed, needed }) {
  const run = new Set([...fetched, ...fed, ...needed]);
  const given = new Set(fed);
  const seen = new Set(fetched);
  const levels = [];
  for (let front = [...seen]; front.length; ) {
    levels.push(front);
    const next = new Set();
    for (const index of front) {
      if (given.has(index)) continue;
      for (const { from } of graph.inputs[index]) if (run.has(from) && !seen.has(from)) next.add(from);
    }
    for (const index of next) seen.add(index);
    front = [...next];
  }
  return levels;
}
