/**
 * `npm run build`: compiles src/ to dist/ with the TypeScript compiler, file by file, without bundling; then bundles the
 * explorer's element (element.mjs), its page and wrappers (page.mjs) and the Lab (lab.mjs), and writes the kernels (kernels.mjs).
 * setup.mjs decides whether a build is necessary.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildElement } from "./build/element.mjs";
import { buildLab } from "./build/lab.mjs";
import { buildPage } from "./build/page.mjs";
import { at } from "./setup.mjs";

/** Removes the declarations that no export of the package reaches: nobody can import them. */
function removeUnreachableTypes() {
  /** @type {Record<string, string | { types: string }>} */
  const exported = JSON.parse(readFileSync(at("package.json"), "utf8")).exports;
  // The types of a script are beside it: TypeScript finds them there.
  const waiting = Object.values(exported)
    .map((target) => at(typeof target === "string" ? target.replace(/\.js$/, ".d.ts") : target.types))
    .filter((file) => file.endsWith(".d.ts"));
  const reached = new Set(waiting);
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop())
    for (const [, path] of readFileSync(file, "utf8").matchAll(
      /(?:\bfrom|\bimport\(?)\s*["'](\.[^"']+)["']/g,
    )) {
      const next = join(dirname(file), path.replace(/(?:\.d)?\.[jt]s$/, ".d.ts"));
      if (reached.has(next)) continue;
      reached.add(next);
      waiting.push(next);
    }
  for (const name of readdirSync(at("dist"), { recursive: true, encoding: "utf8" }))
    if (name.endsWith(".d.ts") && !reached.has(at(join("dist", name)))) rmSync(at(join("dist", name)));
}

/**
 * Removes the doc comments of scripts: the declarations beside them have those of what programs import. A twentieth of the tarball. Also the
 * indentation of heed/webgpu, which the texts of kernels do not need.
 */
function removeDocComments() {
  for (const name of readdirSync(at("dist"), { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".js")) continue;
    const path = at(join("dist", name));
    const text = readFileSync(path, "utf8");
    const code = text.replace(/^[ \t]*\/\*\*(?:[^*]|\*(?!\/))*\*\/\n/gm, "");
    const shorter = name.startsWith("webgpu") ? code.replace(/^ +/gm, "") : code;
    if (shorter !== text) writeFileSync(path, shorter);
  }
}

/** @param {string[]} args of TypeScript's compiler */
function compile(args) {
  const tsc = spawnSync(process.execPath, [at("node_modules/typescript/bin/tsc"), ...args], {
    stdio: "inherit",
    cwd: at("."),
  });
  if (tsc.status !== 0) process.exit(tsc.status ?? 1);
}

/** Writes examples/ as JavaScript: Node 20 reads no TypeScript, and no Node reads it inside node_modules. */
function compileExamples() {
  const names = readdirSync(at("examples"), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".ts"),
  );
  const options = "--noCheck --noResolve --ignoreConfig --target es2023 --module nodenext".split(" ");
  compile([
    ...names.map((name) => join("examples", name)),
    "--rootDir",
    "examples",
    "--outDir",
    "dist/examples",
    ...options,
  ]);
  for (const name of names) {
    const file = at(join("dist/examples", name.replace(/ts$/, "js")));
    const code = readFileSync(file, "utf8")
      .replace(/ \(Node ≥ 22\.18,[^)]*\)/, "")
      .replace(/(`(?:mpirun -n \d )?node )examples\/(\S+)\.ts/, "$1node_modules/heed/dist/examples/$2.js");
    writeFileSync(file, code);
  }
}

const started = new Date();
rmSync(at("dist"), { recursive: true, force: true });
compile(["-p", at("tsconfig.build.json")]);
const kernels = spawnSync(process.execPath, [at("tools/build/kernels.mjs")], { stdio: "inherit" });
if (kernels.status !== 0) process.exit(kernels.status ?? 1);
await buildElement();
await buildPage();
await buildLab(at("dist/lab"), { explorer: "explorer/", model: false });
removeUnreachableTypes();
removeDocComments();
compileExamples();

const main = at("dist/cli/main.js");
if (existsSync(main)) {
  chmodSync(main, 0o755);
  // A source file saved while the compiler ran must be newer than the build.
  utimesSync(main, started, started);
}
