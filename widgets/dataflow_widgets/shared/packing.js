// Parts of a graph without an edge between them, each laid out by itself, then set in rows.
const GAP = 26;

/** The parts of `visible`, as made: what an edge or an open scope joins. `hubs` are drawn without edges. */
export function components(visible, hubs = new Set()) {
  const root = new Map(visible.items.map((item) => [item.id, item.id]));
  const find = (id) => {
    while (root.get(id) !== id) {
      root.set(id, root.get(root.get(id)));
      id = root.get(id);
    }
    return id;
  };
  const join = (a, b) => root.set(find(b), find(a));
  for (const edge of visible.edges) if (!hubs.has(edge.from) && !hubs.has(edge.to)) join(edge.from, edge.to);
  const inScope = new Map();
  for (const item of visible.items) {
    if (!item.cluster) continue;
    const top = item.cluster.split("/")[0];
    if (inScope.has(top)) join(inScope.get(top), item.id);
    else inScope.set(top, item.id);
  }
  const parts = new Map();
  for (const item of visible.items) {
    const id = find(item.id);
    if (!parts.has(id)) parts.set(id, { items: [], edges: [], clusters: [], holder: visible.holder });
    parts.get(id).items.push(item);
  }
  for (const edge of visible.edges) if (find(edge.from) === find(edge.to)) parts.get(find(edge.from)).edges.push(edge);
  const known = new Map(visible.clusters.map((cluster) => [cluster.path, cluster]));
  for (const part of parts.values()) {
    const wanted = new Set();
    for (const item of part.items) for (let path = item.cluster; path; path = known.get(path)?.parent) wanted.add(path);
    part.clusters = visible.clusters.filter((cluster) => wanted.has(cluster.path));
  }
  return [...parts.values()];
}

const moved = (path, dx, dy) =>
  path.replace(/(-?\d+(?:\.\d+)?),(-?\d+(?:\.\d+)?)/g, (_, x, y) => `${(Number(x) + dx).toFixed(1)},${(Number(y) + dy).toFixed(1)}`);

/** One layout of several, set in rows no wider than `width` px (or than the widest of them). */
export function inRows(layouts, width) {
  const limit = Math.max(width, ...layouts.map((one) => one.width));
  const all = { width: 0, height: 0, nodes: new Map(), edges: [], clusters: [] };
  let [x, y, row] = [0, 0, 0];
  for (const one of layouts) {
    if (x > 0 && x + one.width > limit) {
      y += row + GAP;
      [x, row] = [0, 0];
    }
    for (const [id, at] of one.nodes) all.nodes.set(id, { ...at, x: at.x + x, y: at.y + y });
    for (const line of one.edges) {
      const [dx, dy] = [x, y];
      all.edges.push({ ...line, path: moved(line.path, dx, dy), arrow: line.arrow && moved(line.arrow, dx, dy), label: [line.label[0] + dx, line.label[1] + dy] });
    }
    for (const cluster of one.clusters) all.clusters.push({ ...cluster, x: cluster.x + x, y: cluster.y + y });
    all.width = Math.max(all.width, x + one.width);
    all.height = Math.max(all.height, y + one.height);
    row = Math.max(row, one.height);
    x += one.width + GAP;
  }
  return all;
}
