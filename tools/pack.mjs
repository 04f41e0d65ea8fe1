/**
 * Checks the package as it would be published: packs it, reads the tarball's list and manifest, runs publint over it,
 * and runs the platform checks and the programs of tests/programs on the unpacked copy, outside of the repository.
 * Needs dist/ (npm run build). The last line has the counts (tally.mjs).
 */
import { spawn, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { rolldown } from "rolldown";
import { Tally } from "./parts/tally.mjs";
import { at, npmPack, pinned, root, say, stop } from "./setup.mjs";

const FIND_MODELS = 'import { locateShipped } from "heed/models"; console.log(locateShipped("encoder"));';
const TSC = at("node_modules/typescript/bin/tsc");
/** A file with PyTorch's query, key, value and output, for the program from-torch.ts. */
const TORCH = "tests/golden/pytorch/sdpa-gradients/causal-lower-right-wide.safetensors";
/** Files of both packages. */
const NOTICES = ["README.md", "LICENSE", "THIRD-PARTY.md"];
const tally = new Tally((line) => process.stdout.write(`${line}\n`));
const folder = mkdtempSync(join(tmpdir(), "heed-pack-"));
try {
  await check();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.stdout.write(`${tally}\n`);
process.exitCode = tally.failed > 0 ? 1 : 0;

/**
 * Checks that Node runs a program; the problem is the end of its output.
 * @param {string} name @param {readonly string[]} argv @param {string} [cwd] @param {string} [node]
 */
function checkRun(name, argv, cwd = folder, node = process.execPath) {
  const done = spawnSync(node, argv, { cwd, encoding: "utf8", timeout: 600_000 });
  tally.check(name, done.status === 0 ? "" : `${done.stdout}${done.stderr}`.slice(-2000));
  return done;
}

/** Runs Node in the folder of the package. @param {...string} argv */
function node(...argv) {
  return spawnSync(process.execPath, argv, { cwd: folder, encoding: "utf8" });
}

/** A check whose problem is what a program wrote. @param {string} name @param {boolean} isRight @param {{ stdout: string, stderr: string }} output */
function checkOutput(name, isRight, { stdout, stderr }) {
  tally.check(name, isRight ? "" : `${stdout}${stderr}`);
}

/** A check that a list is empty. @param {string} name @param {readonly string[]} list */
function checkNone(name, list) {
  tally.check(name, list.join(", "));
}

/** The relative links of the Markdown files in a folder that lead to no file. @param {string} folder */
function deadLinks(folder) {
  const pages = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".md"),
  );
  return pages.flatMap((page) => {
    const prose = readFileSync(join(folder, page), "utf8").replaceAll(/^```[\s\S]*?^```$/gm, "");
    return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target]) => target.replace(/#.*/, ""))
      .filter((target) => target !== "" && !/^[a-z]+:/.test(target))
      .filter((target) => !existsSync(join(folder, dirname(page), target)))
      .map((target) => `${page}: ${target}`);
  });
}

/**
 * Only what users need is packed.
 * @param {{ path: string }[]} files
 */
function checkContents(files) {
  const unexpected = files.filter(
    ({ path }) =>
      !/^(package\.json|README\.md|LICENSE|CHANGELOG\.md|THIRD-PARTY\.md|docs\/.+\.(md|svg|webp)|examples\/.+\.(ts|sh|sbatch|yaml)|examples\/cluster\/Containerfile|dist\/.+\.(js|d\.ts|css|html|json)|dist\/kernels\/strict\.wasm|dist\/page\/(index\.html|page\.css)|dist\/lab\/[a-z-]+\.(html|css))$/.test(
        path,
      ) || path.includes(".test."),
  );
  checkNone(
    "only dist, docs, examples and the notices are packed",
    unexpected.map(({ path }) => path),
  );
  for (const name of ["CHANGELOG.md", "package.json", "docs/README.md", ...NOTICES])
    tally.check(`${name} is packed`, files.some(({ path }) => path === name) ? "" : "it is missing");
}

/** Packs the models, a separate package, and unpacks them where heed finds them: in the same node_modules. Returns their folder. */
function installModels() {
  const { filename } = npmPack(at("models"), ["--pack-destination", folder]);
  const beside = join(folder, "node_modules", "heed-models");
  mkdirSync(beside, { recursive: true });
  spawnSync("tar", ["-xzf", join(folder, filename), "-C", beside, "--strip-components=1"]);
  const search = node("--input-type=module", "-e", FIND_MODELS);
  const isFound = search.stdout.includes(join("node_modules", "heed-models", "encoder"));
  checkOutput("the models are found in heed-models", isFound, search);
  return beside;
}

/**
 * Nothing is installed with the package, and nothing runs when it is installed.
 * @param {any} manifest its package.json
 */
function checkManifest(manifest) {
  for (const kind of ["dependencies", "optionalDependencies", "bundleDependencies"])
    checkNone(`no ${kind}`, Object.keys(manifest[kind] ?? {}));
  const wanted = Object.keys(manifest.peerDependencies ?? {}).filter(
    (name) => manifest.peerDependenciesMeta?.[name]?.optional !== true,
  );
  checkNone("no peer dependency that is not optional", wanted);
  const lifecycle = /^(pre|post)?(install|prepare|publish|pack|uninstall)$|^prepublishOnly$|^dependencies$/;
  const scripts = Object.keys(manifest.scripts ?? {});
  checkNone(
    "no lifecycle script",
    scripts.filter((name) => lifecycle.test(name)),
  );
}

/**
 * A program without the DOM's types, whose compiler reads every declaration of the package.
 * @param {{ exports: Record<string, { types?: string }> }} manifest
 */
function checkTypes(manifest) {
  const modules = Object.entries(manifest.exports)
    .filter(
      ([name, target]) =>
        target.types && !/react|anywidget/.test(name) && !name.startsWith("./attention-view"),
    )
    .map(([name]) => `heed${name.slice(1)}`);
  writeFileSync(join(folder, "program.mts"), modules.map((name) => `import "${name}";\n`).join(""));
  symlinkSync(at("node_modules/@types"), join(folder, "node_modules", "@types"));
  const strict = ["--noEmit", "--strict", "--lib", "es2022", "--types", "node", "--module", "nodenext"];
  checkRun("the types need no DOM", [TSC, ...strict, "--skipLibCheck", "false", "program.mts"]);
}

async function check() {
  const tarball = npmPack(root, ["--loglevel=error", "--pack-destination", folder]);
  const file = join(folder, tarball.filename);
  say(`${tarball.filename}: ${tarball.files.length} files, ${(tarball.size / 1024).toFixed(0)} KiB`);

  checkContents(tarball.files);
  const unpacked = join(folder, "node_modules", "heed");
  mkdirSync(unpacked, { recursive: true });
  const tar = spawnSync("tar", ["-xzf", file, "-C", unpacked, "--strip-components=1"], { encoding: "utf8" });
  if (tar.status !== 0) stop(`tar could not unpack ${tarball.filename}: ${tar.stderr}`);

  const without = node(join(unpacked, "dist", "cli", "main.js"), "show", "hi");
  checkOutput(
    "without heed-models the command line names the package, and suggests no other name",
    /npm install heed-models/.test(without.stderr) && !/did you mean/.test(without.stderr),
    without,
  );

  const beside = installModels();
  await served(["view", "--json"], "the captured sentences are found in heed-models");
  await served(["lab", "--json"], "the Lab links to the captured sentences", "/explorer/tired-cat.html");
  const files = [
    "heed/worker.js",
    "heed/attention-view.js",
    "heed/package.json",
    "heed-models/encoder/model.safetensors",
    "heed-models/translator/model.safetensors",
    "heed-models/captures/time-flies.safetensors",
  ];
  const addresses = files.map((name) => `import.meta.resolve("${name}")`);
  const resolved = node("--input-type=module", "-e", `console.log(${addresses})`);
  const isThere = (/** @type {string} */ url) => existsSync(new URL(url));
  const reachesAll = resolved.status === 0 && resolved.stdout.trim().split(" ").every(isThere);
  checkOutput("exports reach the worker, the element and the models", reachesAll, resolved);
  for (const packageFolder of [unpacked, beside])
    checkNone(
      `the links of the pages in ${basename(packageFolder)} lead to packed files`,
      deadLinks(packageFolder),
    );
  for (const name of [...NOTICES, "captures/README.md"])
    tally.check(`heed-models has ${name}`, existsSync(join(beside, name)) ? "" : "it is missing");
  // The pictures of the page in docs/ take 0.3 MB of it, the kernels in dist/kernels/ 0.1 MB.
  tally.check("heed takes at most 3 MB", tarball.size <= 3e6 ? "" : `${tarball.size} bytes`);

  const manifest = JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8"));
  checkManifest(manifest);
  const { messages } = await publint({
    pack: { tarball: /** @type {ArrayBuffer} */ (Uint8Array.from(readFileSync(file)).buffer) },
    strict: true,
  });
  const reported = messages.filter((message) => message.type !== "suggestion");
  checkNone(
    "publint",
    reported.flatMap((message) => formatMessage(message, manifest, { color: false }) ?? []),
  );

  checkTypes(manifest);
  // Two folders deep, as in the repository, so that the scripts' relative imports resolve.
  const platforms = join(folder, "tests", "platforms");
  cpSync(at("tests/platforms"), platforms, { recursive: true });
  cpSync(at("tools/parts/tally.mjs"), join(folder, "tools", "parts", "tally.mjs"));
  checkRun("the unpacked copy computes", [join(platforms, "smoke.mjs")]);
  programs();
  await copiedExamples(unpacked);
  await bundled();
}

/**
 * Starts a server of the unpacked copy, and requests one of its pages.
 * @param {string[]} args @param {string} name the name of the check @param {string} [path] the page; default: the printed address
 */
async function served(args, name, path) {
  const main = join(folder, "node_modules", "heed", "dist", "cli", "main.js");
  const child = spawn(process.execPath, [main, ...args, "--no-open"], { cwd: folder });
  let [out, err] = ["", ""];
  child.stderr.on("data", (piece) => (err += piece));
  await new Promise((resolve) => {
    child.stdout.on("data", (piece) => {
      out += piece;
      if (out.includes("\n}") || /^\{.*\}\n/.test(out)) resolve(undefined);
    });
    child.on("exit", resolve);
  });
  try {
    const { url } = JSON.parse(out);
    const { status } = await fetch(path === undefined ? url : new URL(path, url));
    tally.check(name, status === 200 ? "" : `${path} answers ${status}`);
  } catch (error) {
    tally.check(name, `${error}: ${out}${err}`);
  } finally {
    child.kill();
  }
}

/**
 * A new project (`npm init`, "type": "module") with the examples that docs/README.md says to copy out of node_modules, each run by the
 * development's Node, which erases types.
 * @param {string} unpacked
 */
async function copiedExamples(unpacked) {
  const project = join(folder, "copied");
  mkdirSync(project);
  symlinkSync(join(folder, "node_modules"), join(project, "node_modules"));
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  for (const argv of [
    ["init", "-y"],
    ["pkg", "set", "type=module"],
  ])
    spawnSync(npm, argv, { cwd: project, shell: process.platform === "win32" });
  cpSync(join(unpacked, "examples"), join(project, "examples"), { recursive: true });
  const names = readdirSync(join(project, "examples"), { recursive: true, encoding: "utf8" })
    // Those of a cluster need several processes (tests/cluster).
    .filter((name) => name.endsWith(".ts") && !name.startsWith("cluster"))
    .sort();
  tally.check("there are examples to copy", names.length > 15 ? "" : names.join(", "));
  for (const name of names) {
    const run = `the example ${name} runs in a new project`;
    const { stdout } = checkRun(run, [join("examples", name)], project, pinned());
    tally.check(`the example ${name} prints`, stdout === "" ? "it printed nothing" : "");
  }
}

/** The programs of tests/programs in a fresh project: compiled with the strictest types, then run. */
function programs() {
  const project = join(folder, "programs");
  mkdirSync(project);
  symlinkSync(join(folder, "node_modules"), join(project, "node_modules"));
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const names = readdirSync(at("tests/programs")).filter((name) => name.endsWith(".ts"));
  for (const name of names) cpSync(at(`tests/programs/${name}`), join(project, name));
  const argv = [
    ...["--outDir", "out", "--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes"],
    ...["--verbatimModuleSyntax", "--lib", "es2022", "--target", "es2022", "--types", "node"],
    ...["--module", "nodenext", "--skipLibCheck", "false"],
  ];
  if (checkRun(`${names.length} programs: types`, [TSC, ...argv, ...names], project).status !== 0) return;
  cpSync(at(TORCH), join(project, "torch.safetensors"));
  for (const name of names) {
    const script = join("out", name.replace(/ts$/, "js"));
    checkRun(`program ${name}`, [script, "torch.safetensors"], project);
  }
}

/** A program in one file, as bundlers for Node write it: it has no worker.js, and still starts its threads. */
async function bundled() {
  const entry = join(folder, "threads.mjs");
  writeFileSync(
    entry,
    'import { configure, prepare } from "heed"; configure({ threads: 2 }); prepare().then(console.log);',
  );
  for (const [format, name] of /** @type {const} */ ([
    ["esm", "threads.mjs"],
    ["cjs", "threads.cjs"],
  ])) {
    const bundle = await rolldown({ input: entry, platform: "node", logLevel: "silent" });
    await bundle.write({ file: join(folder, "bundle", name), format, codeSplitting: false });
    const done = node(join(folder, "bundle", name));
    checkOutput(`a bundle for Node has threads: ${format}`, done.stdout.trim() === "2", done);
  }
}
