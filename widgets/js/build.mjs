// Bundles the JavaScript of dataflow_widgets into its built/ folder, which is committed (Binder has
// no npm step).  `node build.mjs --check` compares instead of writing; both refuse more than 1 MB.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { deflateRawSync } from "node:zlib";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const source = join(here, "..", "dataflow_widgets");
const target = join(source, "built");
const LIMIT = 1_000_000;
const common = { bundle: true, write: false, minify: true, charset: "utf8", logLevel: "warning", legalComments: "none", absWorkingDir: source, nodePaths: [join(here, "node_modules")] };

async function bundle(entry, options) {
  const result = await build({ ...common, entryPoints: [entry], ...options });
  return result.outputFiles[0].text;
}
const note = (what) => `/* Built by widgets/js/build.mjs from ${what}; do not edit. */\n`;
const hash = (text) => createHash("sha256").update(text).digest("hex").slice(0, 12);

const engine =
  note("engine/engine.js. Contains Graphviz (EPL-2.0) as packed by @hpcc-js/wasm-graphviz (Apache-2.0)") +
  (await bundle("engine/engine.js", { format: "iife", platform: "browser", define: { "import.meta.url": '""' } }));
const css = await bundle("shared/library.css", {});
const plain = (define) => bundle("shared/library.js", { format: "esm", target: "es2022", define: { __ENGINE__: JSON.stringify(hash(engine)), __CSS__: JSON.stringify(css), __LANGUAGES__: '"__LANGUAGES__"', ...define } });
const version = hash((await plain({ __VERSION__: '""' })) + engine);
const library = note("shared/library.js") + (await plain({ __VERSION__: JSON.stringify(version) }));
const loader = note("engine/loader.js") + (await bundle("engine/loader.js", { format: "esm", target: "es2022", define: { __VERSION__: JSON.stringify(version) } }));

// Hashes of the sources, so that a test without npm can tell that a source was edited after the build.
const sources = {};
for (const folder of readdirSync(source, { withFileTypes: true })) {
  if (!folder.isDirectory() || folder.name === "built") continue;
  for (const name of readdirSync(join(source, folder.name))) {
    if (/\.(js|css)$/.test(name)) sources[`${folder.name}/${name}`] = hash(readFileSync(join(source, folder.name, name), "utf8"));
  }
}
const ordered = Object.fromEntries(Object.keys(sources).sort().map((key) => [key, sources[key]]));

const files = { "graphviz.js": engine, "library.js": library, "loader.js": loader, "sources.json": `${JSON.stringify(ordered, null, 1)}\n` };
const stale = [];
let total = 0;
for (const [name, content] of Object.entries(files)) {
  const size = Buffer.byteLength(content);
  // Library and engine are sent deflated (see base.py); the loader is stored as it is.
  const sent = name === "loader.js" ? size : deflateRawSync(content, { level: 9 }).length;
  if (name.endsWith(".js")) total += sent;
  const path = join(target, name);
  if (process.argv.includes("--check")) {
    if (!existsSync(path) || readFileSync(path, "utf8") !== content) stale.push(name);
  } else {
    mkdirSync(target, { recursive: true });
    writeFileSync(path, content);
  }
  console.log(`${name}  ${(size / 1000).toFixed(1)} kB, sent as ${(sent / 1000).toFixed(1)} kB`);
}
console.log(`JavaScript sent in all: ${(total / 1000).toFixed(0)} kB of ${LIMIT / 1000} kB`);
if (total > LIMIT) throw new Error("more JavaScript than a page should get");
if (stale.length) throw new Error(`not what the sources build to: ${stale.join(", ")}; run npm run build`);
