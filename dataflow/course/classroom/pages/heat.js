// Marks of a class on a graph, drawn by the product's own GraphView: the more learners marked a node, the warmer.

export class HeatMap {
  /**
   * @param host where the graph is drawn
   * @param ask  fetches an address of the server with the teacher's token
   */
  constructor(host, ask) {
    Object.assign(this, { host, ask });
    this.clear();
  }

  clear() {
    this.stop?.();
    this.stop = this.model = this.digest = null;
    this.host.replaceChildren();
    this.host.hidden = true;
  }

  /** Shows what a projector's event says; false where it is about no graph. */
  show(seen) {
    if (!seen.marks || !seen.digest) {
      if (this.digest) this.clear();
      return false;
    }
    this.seen = seen;
    if (this.digest !== `${seen.task} ${seen.digest}`) {
      this.clear();
      this.digest = `${seen.task} ${seen.digest}`;
      this.draw(this.digest, seen.task);
    } else this.paint();
    this.host.hidden = false;
    return true;
  }

  async draw(digest, task) {
    const loaded = (this.loaded ??= Promise.all([import("../widgets/loader.js"), fetch("widgets/bundle").then((got) => {
      if (!got.ok) throw new Error("The widgets are not installed on the server, so the graph is not drawn; the list says the same.");
      return got.arrayBuffer();
    })]));
    let nodes, loader, bundle;
    try {
      [{ nodes }, [{ default: loader }, bundle]] = await Promise.all([this.ask(`api/graph?task=${encodeURIComponent(task)}`).then((got) => got.json()), loaded]);
    } catch (error) {
      this.loaded = null;
      if (digest === this.digest) this.host.textContent = error.message;
      return;
    }
    if (digest !== this.digest || !nodes.length) return;
    const handlers = new Map();
    const state = {
      kind: "graph_view", token: "", title: "Who marked what", height: Math.max(420, innerHeight - 360), payload: { version: nodes.length, nodes },
      picture: "", words: "", marks: {}, failure: "", direction: "auto", only: [], standalone: true, bundle: new DataView(bundle.slice(0)),
    };
    this.indexOf = new Map(nodes.map((node, index) => [node.name, index]));
    this.model = {
      get: (key) => state[key],
      set: (key, value) => { state[key] = value; },
      tell(key, value) {
        state[key] = value;
        for (const heard of handlers.get(`change:${key}`) ?? []) heard();
      },
      save_changes() {}, send() {},
      on: (event, heard) => handlers.set(event, [...(handlers.get(event) ?? []), heard]),
      off: (event, heard) => handlers.set(event, (handlers.get(event) ?? []).filter((each) => each !== heard)),
    };
    state.profile_data = this.profile();
    await loader.initialize({ model: this.model });
    this.stop = await loader.render({ model: this.model, el: this.host });
    if (digest === this.digest) this.paint();
  }

  profile() {
    const { marks, answered, reveal } = this.seen;
    const at = (name) => this.indexOf.get(name);
    const marked = Object.fromEntries(Object.entries(marks).filter(([name]) => this.indexOf.has(name)).map(([name, count]) => [at(name), count]));
    return { marked, of: answered, right: (reveal?.solution ?? []).map(at).filter((index) => index !== undefined) };
  }

  paint() {
    this.model?.tell("profile_data", this.profile());
  }
}
