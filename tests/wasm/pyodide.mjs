// Runs a Python file in Pyodide, under Node: node pyodide.mjs SETTINGS.json
// {"pyodide": folder of npm's package, "wheels": [...], "mounts": {inside: outside}, "script": file}
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const settings = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const entry = pathToFileURL(path.join(settings.pyodide, "pyodide.mjs"));
const { loadPyodide } = await import(entry.href);
const python = await loadPyodide();
for (const wheel of settings.wheels) {
  python.unpackArchive(new Uint8Array(fs.readFileSync(wheel)).buffer, "wheel");
}
for (const [inside, outside] of Object.entries(settings.mounts)) {
  python.FS.mkdirTree(inside);
  python.mountNodeFS(inside, outside);
}
// As JupyterLite's kernel has them: modules of these names with nothing in them.
python.runPython(`
import sys, types
for empty in ("fcntl", "resource", "termios", "pexpect", "tornado"):
    sys.modules[empty] = types.ModuleType(empty)
`);
await python.runPythonAsync(fs.readFileSync(settings.script, "utf8"));
