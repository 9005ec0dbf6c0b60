// GraphView: the graph of a session, live, with what a run needs and what it prunes.
import { QUIET, button, h, plural } from "../shared/dom.js";
import { countWords, dashedWords, forwardOf, gradientsOf, FORMULAS, search } from "../shared/explain.js";
import { isCrowded } from "../shared/draw.js";
import { exporters } from "../shared/exports.js";
import { answerSearches } from "../shared/finding.js";
import { Inspector } from "../shared/inspector.js";
import { pictureKeeper } from "../shared/saved_picture.js";
import { layerControls } from "../shared/layers.js";
import { GraphPane, layoutNote } from "../shared/graph_canvas.js";
import { coloring, edgeWidths, firstColoring } from "../shared/palette.js";
import { guarded, menu, shell } from "../shared/shell.js";
import { openSnapshot } from "../shared/snapshot.js";
import { hasConvolutions } from "../shared/volumes.js";
import { dropStore, pack, scene, storeOf } from "../shared/store.js";

const MOST_OPEN = 600;

function initialize({ model }) {
  storeOf(model); // registers the listeners; never waits for the engine
  return () => dropStore(model);
}

function render({ model, el }) {
  const store = storeOf(model);
  const frame = shell("graph-view", model.get("title") || "graph", model.get("title"));
  const onlyList = model.get("only");
  const only = onlyList?.length ? new Set(onlyList) : null;
  const keep = pictureKeeper(model, store, () => pane.drawing?.root, () => ({ ...scene(pane), nodes: store.graph.nodes }));
  const pane = new GraphPane(store.graph, {
    host: store.host,
    only,
    layers: true,
    copies: true,
    direction: model.get("direction"),
    ask: () => store.host.ask({ send: (message) => store.send(message) }),
    onselect: (item) => inspector.show(item, pane.marks),
    onhover: (item) => pair(item),
    onlayout: (result) => {
      frame.note(layoutNote(result) || (model.get("hint") ?? ""));
      layers.show();
      volumes.hidden = !hasConvolutions(store.graph);
      volumes.setAttribute("aria-pressed", String(Boolean(pane.volumes)));
      frame.element.dataset.drawn = String(result.nodes.size);
      if (pane.marks && !box.value.trim()) words();
      keep();
    },
    onkey: (event) => {
      if (event.key !== "/") return false;
      box.focus();
      return true;
    },
  });
  frame.body.style.setProperty("--df-height", `${model.get("height")}px`);
  let lit = null;
  let matches = [];
  const inspector = new Inspector(store.graph, {
    goto: (index) => guarded(frame, () => pane.expose(index, { focus: true }))(),
    close: () => pane.select(null),
    toggle: (item) => pane.toggle(item),
    light: (indices) => {
      lit = new Set(indices);
      decorate();
    },
    isolate: (indices) => {
      back.hidden = false;
      pane.isolate(indices);
    },
    ask: (message) => store.question(message),
  });

  // Search
  const results = h("div", { class: "df-results", role: "listbox", id: null, hidden: true });
  const box = h("input", { class: "df-search", type: "search", placeholder: "Search (/)", "aria-label": "search operations by name, type:… or device:…", ...QUIET });
  let at = -1;
  const find = () => {
    matches = search(store.graph, box.value);
    at = -1;
    results.hidden = !matches.length;
    results.replaceChildren(
      ...matches.slice(0, 12).map((index, i) => {
        const node = store.graph.nodes[index];
        return h("div", { class: "df-result", role: "option", "data-at": i, onpointerdown: (event) => { event.preventDefault(); go(i); } }, node.name, h("small", {}, ` ${node.op}`));
      }),
    );
    if (box.value.trim()) frame.say(`${plural(matches.length, "match", "matches")} for ${box.value.trim()}`);
    else words();
    decorate();
  };
  const go = (i) => {
    if (!matches.length) return;
    at = (i + matches.length) % matches.length;
    results.hidden = true;
    guarded(frame, () => pane.expose(matches[at]))();
    frame.say(`match ${at + 1} of ${matches.length}: ${store.graph.nodes[matches[at]].name}`);
  };
  box.addEventListener("input", find);
  box.addEventListener("blur", () => { results.hidden = true; });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter") go(event.shiftKey ? at - 1 : at + 1);
    else if (event.key === "Escape") {
      box.value = "";
      find();
    } else return;
    event.preventDefault();
  });

  const back = button("Whole graph", "Show the whole graph again", () => {
    back.hidden = true;
    pane.isolate(only);
  }, { hidden: true });
  const color = h(
    "select",
    { class: "df-select", "aria-label": "color by", title: "Color by", onchange: () => {
      isChosen = true;
      paintColors();
    }, ...QUIET },
    ...["kind", "type", "device", "time", "memory"].map((value) => h("option", { value }, `Color: ${value}`)),
  );
  const legend = h("div", { class: "df-legend", hidden: true });
  let isChosen = false;
  const paintColors = () => {
    if (!isChosen && color.value !== "marks") color.value = firstColoring(store.graph.nodes);
    if (model.get("profile_data")?.marked && color.value !== "marks" && !color.querySelector("[value=marks]")) {
      color.append(h("option", { value: "marks" }, "Color: marks")); // of a class, on the projector
      color.value = "marks";
    }
    const { fills, entries, missing, tags = null } = coloring(color.value, pane, model.get("profile_data"));
    pane.fills = fills;
    pane.tags = tags;
    pane.widths = color.value === "memory" ? edgeWidths(pane, model.get("profile_data"), 3, 8) : edgeWidths(pane, model.get("profile_data"));
    legend.hidden = !entries.length && !missing;
    legend.replaceChildren(...(missing ? [missing] : entries.map(([name, value]) => h("span", { class: "df-key" }, h("i", { style: `background:${value}` }), name))));
    pane.paint();
    keep();
  };

  const reopen = async () => ({
    ...Object.fromEntries(["marks", "title", "height", "direction", "only", "profile_data"].map((key) => [key, model.get(key)])),
    payload: { nodes: store.graph.nodes, version: store.graph.nodes.length },
    snapshot: await pack(scene(pane)),
    standalone: true,
  });
  const saving = menu("Save ▾", "Save as SVG, PNG, DOT or HTML", exporters(pane, "graph", frame, reopen, model));

  const layers = layerControls(pane, frame);
  const volumes = button("Volumes", "Draw tensors as boxes to scale: height, width and channels", () => {
    guarded(frame, () => pane.setVolumes(!pane.volumes))();
    volumes.setAttribute("aria-pressed", String(Boolean(pane.volumes)));
  }, { hidden: true, "aria-pressed": "false" });

  // Only what was added since a cell
  const since = h("select", { class: "df-select", "aria-label": "show what was added since a cell", title: "Show only what was added since a cell", onchange: () => guarded(frame, () => showSince())(), ...QUIET });
  const showSince = () => {
    const cell = Number(since.value);
    const added = store.graph.nodes.flatMap((node, i) => (node.source?.cell >= cell ? [i] : []));
    return pane.isolate(cell ? new Set(added) : only);
  };
  const listCells = () => {
    const cells = [...new Set(store.graph.nodes.map((node) => node.source?.cell).filter(Boolean))].sort((a, b) => a - b);
    since.hidden = cells.length < 2;
    const chosen = since.value;
    since.replaceChildren(h("option", { value: "" }, "All cells"), ...cells.slice(1).map((cell) => h("option", { value: cell }, `Since cell ${cell}`)));
    since.value = chosen && cells.includes(Number(chosen)) ? chosen : "";
  };
  listCells();

  frame.toolbar.append(
    layers.select,
    since,
    volumes,
    button("Open all", "Open every scope", () => openAll()),
    button("Close all", "Close every scope", () => pane.closeAll()),
    back,
    h("span", { class: "df-search-box" }, box, results),
    color,
    saving,
    pane.zoomBar,
  );
  // Hundreds of boxes are no picture: ask first.
  let asked = false;
  const openAll = () => {
    const count = pane.countOpen();
    if (count > MOST_OPEN && !asked) {
      asked = true;
      frame.note(`Everything open is ${count} items, which takes long and shows little: open one scope instead, or press Open all again.`);
      return;
    }
    asked = false;
    guarded(frame, () => pane.openAll())();
  };
  frame.body.before(layers.roles);
  frame.body.append(pane.element, inspector.element);
  frame.element.append(legend);

  // What is lit: search matches, the path of an explanation, a gradient pair
  function decorate(extra = null) {
    const classes = new Map();
    const put = (index, name) => {
      const item = pane.itemOf(index);
      if (!item) return;
      if (!classes.has(item.id)) classes.set(item.id, new Set());
      classes.get(item.id).add(name);
    };
    if (box.value.trim()) for (const index of matches) put(index, "df-match");
    for (const index of lit ?? []) put(index, "df-path");
    for (const [index, name] of extra ?? []) put(index, name);
    pane.path = lit ? new Set([...lit].map((index) => pane.visible?.holder[index])) : null;
    pane.setClasses(classes);
  }
  function pair(item) {
    if (!item || item.group) {
      if (paired) decorate();
      paired = false;
      return;
    }
    const forward = forwardOf(store.graph, item.index);
    const others = forward !== null ? [forward, ...gradientsOf(store.graph, forward)] : gradientsOf(store.graph, item.index);
    if (!others.length) {
      if (paired) decorate();
      paired = false;
      return;
    }
    paired = true;
    decorate([item.index, ...others].map((index) => [index, "df-pair"]));
    const op = store.graph.nodes[forward ?? item.index];
    frame.note(FORMULAS[op.op] ? `Gradient of ${op.op}: ${FORMULAS[op.op]}` : "");
  }
  let paired = false;

  function words() {
    const marks = model.get("marks");
    const said = marks?.words || countWords(pane.only ? pane.only.size : store.graph.nodes.length, pane.marks);
    frame.say(isCrowded(pane.states ?? new Map()) ? dashedWords(said) : said);
  }
  function applyMarks() {
    const marks = model.get("marks");
    lit = null;
    pane.path = null;
    pane.setMarks(marks && marks.needed ? marks : null);
    if (pane.layout) layers.show();
    if (pane.selected) inspector.show(pane.itemById(pane.selected), pane.marks);
    words();
    keep();
  }

  const redraw = guarded(frame, async () => {
    listCells();
    pane.adopt();
    await pane.update();
    paintColors();
    applyMarks();
  });
  const forget = store.on((event, detail) => {
    if (event === "graph") {
      if (pane.model !== store.graph) {
        pane.model = store.graph;
        inspector.model = store.graph;
        pane.chosen = null;
        pane.touched = false;
      }
      if (detail.added) {
        if (pane.only && detail.fresh) for (const index of detail.fresh) pane.only.add(index);
        redraw();
      }
    } else if (event === "error") frame.fail(detail);
  });
  const changes = {
    "change:marks": applyMarks,
    "change:profile_data": paintColors,
    "change:failure": () => frame.fail(model.get("failure")),
    "change:direction": () => {
      pane.direction = model.get("direction");
      redraw();
    },
  };
  for (const [event, handler] of Object.entries(changes)) model.on(event, handler);

  el.append(frame.element);
  store.send({ kind: "opened" });
  if (model.get("failure")) frame.fail(model.get("failure"));
  guarded(frame, () => openSnapshot({ model, store, pane, frame, redraw, applyMarks }))();

  const stopAnswering = answerSearches(store, (index, scroll) => {
    if (scroll) frame.element.scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    guarded(frame, () => pane.expose(index))();
  });

  return () => {
    stopAnswering();
    keep.stop();
    forget();
    for (const [event, handler] of Object.entries(changes)) model.off(event, handler);
    pane.dispose();
    store.send({ kind: "closed" });
  };
}

export default { initialize, render };
