// Starts Python in Node, imports what a notebook's kernel needs, and writes its memory: `make site` runs it.
//
//   node memory.mjs PYODIDE_FOLDER FILES_ARCHIVE OUTPUT < settings
//
// `settings` on standard input, as JSON: `trial`, Python that runs in a first interpreter, which is thrown away; it returns
// the names of modules, as JSON. `first`, Python that imports them in a second one; `names` is the list. `afterwards`,
// Python that runs in the page; `loaded`, what Pyodide takes for loaded packages; `info`, the lock file's heading.
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import "./start.js";

const [folder, archive, output] = process.argv.slice(2);
const settings = JSON.parse(readFileSync(0, "utf8"));
const files = new Uint8Array(readFileSync(archive));
const kernel = globalThis.dataflowKernel;
process.on("uncaughtException", (error) => {
  console.error(String(error.message || error.type || error).slice(-1000)); // Node's own report has the whole of pyodide.asm.js
  process.exit(1);
});

const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`));
await import(pathToFileURL(`${folder}/pyodide.asm.js`));
// Modules that look for it at import find it in the page.
globalThis.XMLHttpRequest ??= class {};

// Python asks how many arguments a function of C takes, by a function that browsers can make, and Node only since version
// 22. It stands in the table of functions before those of NumPy; here another one stands there, which knows it from Node.
const [Module, Instance] = [WebAssembly.Module, WebAssembly.Instance];
// (module (import "e" "c" (func (param i32) (result i32))) (export "f" (func 0)))
const COUNTS = [0, 97, 115, 109, 1, 0, 0, 0, 1, 6, 1, 96, 1, 127, 1, 127, 2, 7, 1, 1, 101, 1, 99, 0, 0, 7, 5, 1, 1, 102, 0, 0];
const counting = new Module(new Uint8Array(COUNTS));
const isQuestion = (code) => code.length === 129 && code[code.length - 3] === 65 && code[code.length - 2] === 127;
WebAssembly.Module = function (code) {
  return isQuestion(code) && !WebAssembly.validate(code) ? counting : new Module(code);
};
WebAssembly.Module.prototype = Module.prototype;
for (const name of ["customSections", "exports", "imports"]) WebAssembly.Module[name] = Module[name];
WebAssembly.Instance = function (code, imports) {
  if (code !== counting) return new Instance(code, imports);
  const { t } = imports.e;
  return new Instance(code, { e: { c: (index) => t.get(index)?.length ?? -1 } });
};
WebAssembly.Instance.prototype = Instance.prototype;

async function started(more) {
  let module, state;
  kernel.before((made) => {
    module = made;
    state = { first_function: made.wasmTable.length };
    state.libraries = kernel.install(made, files);
  });
  const lock = { info: settings.info, packages: {} };
  const quiet = () => {};
  const env = { ...kernel.ENVIRONMENT };
  const address = `${folder}/`;
  const options = { indexURL: address, lockFileContents: lock, packageBaseUrl: address, env, stdout: quiet, stderr: quiet };
  const pyodide = await loadPyodide({ ...options, ...more });
  return [pyodide, module, state];
}

const [trial] = await started({});
const names = trial.runPython(settings.trial);
const [pyodide, module, state] = await started({ _makeSnapshot: true });
const functions = module.wasmTable.length;
const failed = pyodide.runPython(`names = ${names}\n${settings.first}`);
if (failed) throw new Error(failed);
if (module.wasmTable.length !== functions) throw new Error("an import made functions: they would be lost");
for (const name of Object.keys(pyodide.loadedPackages)) delete pyodide.loadedPackages[name];

function place(object) {
  for (const [name, root] of [["pyodide", pyodide], ["api", pyodide._api]]) {
    if (object === root) return [name];
    for (const key of Object.getOwnPropertyNames(root)) {
      const value = Object.getOwnPropertyDescriptor(root, key).value;
      if (value === object) return [name, key];
    }
  }
  throw new Error(`Python holds an object of JavaScript that the page cannot find: ${String(object).slice(0, 200)}`);
}

const heap = pyodide.makeMemorySnapshot({ serializer: place });
const { afterwards, loaded } = settings;
let header = Buffer.from(JSON.stringify({ ...state, afterwards, loaded }));
header = Buffer.concat([header, Buffer.alloc((16 - (header.length % 16)) % 16, " ")]);
const size = Buffer.alloc(16);
size.writeUInt32LE(header.length);
writeFileSync(output, Buffer.concat([size, header, heap]));
console.log(`${JSON.parse(names).length} modules, ${heap.length} bytes`);
process.exit(0);
