// The site's kernel begins with the memory of a Python that has imported all that a first cell needs.
//
// `make site` runs Python once (memory.mjs, in Node) and stores its memory and its files; here they are put back, which
// takes a second where starting Python and importing takes ten. The parts, in `settings`:
//   pyodide: address of Pyodide's pyodide.js;  memory, files: names of the two archives beside this script;
//   lock: the lock file's name.
// Where anything is not as it was when the memory was stored (another release, a browser with other abilities), Python
// starts as it does without this file. Runs in a worker (`loadPyodide`, `start`) and in Node (`unpack`, `install`).
(() => {
  if (globalThis.dataflowKernel) return; // the kernel loads it again in a worker that was started early
  const settings = null; // `make site` writes an object here
  // What C reads of the environment before anything of ours runs takes memory: it must be the same everywhere.
  const ENVIRONMENT = { LANG: "en_US.UTF-8", _: "python" };
  const PACKAGES = "/lib/python3.13/site-packages/";

  /** The parts of an archive: a header of JSON, padded to 16 bytes, and bytes. */
  function unpack(archive) {
    const [size] = new Uint32Array(archive.buffer, archive.byteOffset, 1);
    return [JSON.parse(new TextDecoder().decode(archive.subarray(16, 16 + size))), archive.subarray(16 + size)];
  }

  /** Puts the files of an archive into Pyodide's file system, and loads the libraries among them, always in one order. */
  function install(module, archive) {
    const [{ files, libraries }, bytes] = unpack(archive);
    const made = new Set();
    let at = 0;
    for (const [name, size] of files) {
      const folder = PACKAGES + name.slice(0, name.lastIndexOf("/") + 1);
      if (!made.has(folder)) module.FS.mkdirTree(folder);
      made.add(folder);
      module.FS.writeFile(PACKAGES + name, bytes.subarray(at, at + size), { canOwn: true });
      at += size;
    }
    const flags = { global: false, nodelete: true, loadAsync: false, allowUndefined: false };
    // Pointers into their functions and data are in the stored memory: both must begin where they began then.
    return libraries.map((name) => {
      module.loadDynamicLibrary(PACKAGES + name, flags, {});
      return [module.wasmTable.length, module.getMemory(16)]; // what is taken here tells where the data ended
    });
  }

  /** Runs `prepare(module)` in the next Pyodide that is made, before Python begins. */
  function before(prepare) {
    const create = globalThis._createPyodideModule;
    globalThis._createPyodideModule = async (options) => {
      globalThis._createPyodideModule = create;
      let wrong;
      options.onRuntimeInitialized = () => {
        try {
          prepare(options);
        } catch (error) {
          wrong = error; // would be lost there
        }
      };
      const made = await create(options);
      if (wrong) throw wrong;
      return made;
    };
  }

  async function fetched(address) {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
    const bytes = new Uint8Array(await answer.arrayBuffer());
    // A server that says `Content-Encoding: gzip` has had it unpacked already.
    if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  let usual = null; // Pyodide's own `loadPyodide`

  /** Loads Pyodide's script; the address of its folder. */
  function itself(base) {
    const address = new URL(settings.pyodide, base).href; // (a worker's own address may be another folder's)
    if (!usual) importScripts(address);
    usual ??= globalThis.loadPyodide;
    globalThis.loadPyodide = loadPyodide;
    return new URL("./", address).href;
  }

  async function restored(base) {
    const archives = [settings.memory, settings.files].map((name) => fetched(base + name));
    archives.forEach((archive) => archive.catch(() => {})); // reported where it is awaited
    const index = itself(base);
    importScripts(`${index}pyodide.asm.js`);
    const [memory, files] = await Promise.all(archives);
    const [state, heap] = unpack(memory);
    let module;
    before((made) => {
      module = made;
      const first = made.wasmTable.length;
      const found = first === state.first_function ? install(made, files) : [];
      if (JSON.stringify(found) !== JSON.stringify(state.libraries)) throw new Error(`memory is laid out in another way (${JSON.stringify([first, found])})`);
    });
    const pyodide = await usual({
      indexURL: index,
      lockFileURL: base + settings.lock,
      env: { ...ENVIRONMENT },
      _loadSnapshot: heap,
      _snapshotDeserializer: ([root, key]) => {
        const owner = { pyodide: module.API.public_api, api: module.API }[root];
        return key === undefined ? owner : owner[key];
      },
    });
    Object.assign(pyodide.loadedPackages, state.loaded);
    pyodide.runPython(state.afterwards);
    return pyodide;
  }

  let early = null;

  /** Begins before the page asks for a kernel. */
  function start(base) {
    early ??= restored(base);
    early.catch(() => {}); // reported by `loadPyodide`
  }

  async function loadPyodide(options) {
    start(options.indexURL);
    try {
      const pyodide = await early;
      pyodide.setStdout({ batched: options.stdout });
      pyodide.setStderr({ batched: options.stderr });
      return pyodide;
    } catch (error) {
      console.warn(`Python starts from its beginning: ${error}`);
      return usual({ ...options, indexURL: itself(options.indexURL) });
    }
  }

  globalThis.dataflowKernel = { ENVIRONMENT, unpack, install, before, start };
  if (settings) globalThis.loadPyodide = loadPyodide;
})();
