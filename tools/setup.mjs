/**
 * Shared by `npm start` and `npm test`: installs, builds, and finds other versions of Node. Plain JavaScript that runs on
 * Node 20.19 with nothing installed, so it imports only Node's own modules.
 *
 * heed is developed on the exact Node that package.json pins (`node_modules/.bin/node`), and tested on the four
 * Nodes of `NODES`, binaries from npm in `.toolchain/`. build.mjs builds; start.mjs and test.mjs decide what runs.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the repository. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The Nodes the built package is tested on: major version to the exact one. */
export const NODES = new Map([
  [20, "20.20.2"],
  [22, "22.23.3"],
  [24, "24.21.0"],
  [26, "26.10.0"],
]);

const windows = process.platform === "win32";
const exe = windows ? ".exe" : "";

/**
 * Prints one line of progress to stderr: stdout is for the main job.
 * @param {string} line
 */
export const say = (line) => process.stderr.write(`${line}\n`);

/** @param {string} path inside the repository */
export const at = (path) => join(root, path);

/**
 * Runs a program until it ends, with its output on the terminal, and returns its exit status (1 if a signal ended it).
 * @param {string} command
 * @param {string[]} args
 * @param {{ env?: Record<string, string>, quiet?: boolean, timeout?: number, cwd?: string }} [options] quiet: output is shown only on failure; timeout in milliseconds
 */
export function run(command, args, options = {}) {
  const done = spawnSync(command, args, {
    cwd: options.cwd ?? root,
    env: { ...process.env, ...options.env },
    stdio: options.quiet ? ["ignore", "pipe", "pipe"] : ["ignore", "inherit", "inherit"],
    shell: windows && /^np[mx]$/.test(command),
    timeout: options.timeout,
    killSignal: "SIGKILL",
    maxBuffer: 1 << 28,
    encoding: "utf8",
  });
  if (done.error !== undefined && done.status === null) {
    const isLate = /** @type {NodeJS.ErrnoException} */ (done.error).code === "ETIMEDOUT";
    const after = `had not ended after ${(options.timeout ?? 0) / 1000} s and was ended`;
    say(`${command}: ${isLate ? after : done.error.message}`);
  }
  if (options.quiet && done.status !== 0) process.stderr.write(`${done.stdout ?? ""}${done.stderr ?? ""}`);
  return done.status ?? 1;
}

/**
 * Runs a program in the foreground: signals reach it. Resolves to the exit status.
 * @param {string} command
 * @param {string[]} args
 * @param {Record<string, string>} [env]
 * @returns {Promise<number>}
 */
export function foreground(command, args, env = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      stdio: ["ignore", "inherit", "inherit"],
      env: { ...process.env, ...env },
    });
    // In a terminal the child gets Ctrl-C too and handles it; this process only waits for the child.
    const interrupt = () => process.stdin.isTTY || child.kill("SIGINT");
    const pass = () => child.kill("SIGTERM");
    process.on("SIGINT", interrupt).on("SIGTERM", pass);
    // A signal to npm ends the shell between it and this process, but not this process.
    const parent = process.ppid;
    const watch = setInterval(() => process.ppid === parent || pass(), 1000);
    child.on("error", (error) => {
      say(`${command}: ${error.message}`);
      resolve(1);
    });
    child.on("close", (code, signal) => {
      clearInterval(watch);
      resolve(code ?? (signal === "SIGINT" ? 130 : 143));
    });
  });
}

/**
 * Packs a folder with npm. Returns the name of the tarball, its files and its size; throws where npm does.
 * @param {string} folder @param {readonly string[]} options of `npm pack`
 * @returns {{ filename: string, files: { path: string }[], size: number }}
 */
export function npmPack(folder, options) {
  const { status, stdout, stderr } = spawnSync("npm", ["pack", "--json", "--ignore-scripts", ...options], {
    cwd: folder,
    encoding: "utf8",
    shell: windows,
    maxBuffer: 1 << 26,
  });
  if (status !== 0) throw new Error(`npm pack failed: ${stderr}`);
  const list = JSON.parse(stdout);
  return Array.isArray(list) ? list[0] : Object.values(list)[0];
}

/** @param {string} path */
const mtime = (path) => (existsSync(path) ? statSync(path).mtimeMs : 0);

/**
 * Time of the newest change in a folder. It includes the folders themselves, so that removed files count too.
 * @param {string} folder
 * @returns {number}
 */
function newest(folder) {
  let time = mtime(folder);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name.includes(".test.")) continue;
    const path = join(folder, entry.name);
    time = Math.max(time, entry.isDirectory() ? newest(path) : mtime(path));
  }
  return time;
}

/** Options of each npm that installs: a registry that answers late or not at all is asked again. */
const NPM = ["--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=5"];
/** Milliseconds until an installation is ended. */
const INSTALL_TIMEOUT = 900_000;

/** Installs the development dependencies exactly as locked, if they are missing or older than the lock file. */
export function install() {
  // npm ci would empty the folder that a link leads to, which is not this repository's.
  if (lstatSync(at("node_modules"), { throwIfNoEntry: false })?.isSymbolicLink()) return;
  const installed = mtime(at("node_modules/.package-lock.json"));
  if (installed > 0 && installed >= mtime(at("package-lock.json"))) return;
  say(`heed: installing ${installed === 0 ? "" : "again (package-lock.json has changed) "}with npm ci …`);
  if (run("npm", ["ci", ...NPM], { quiet: true, timeout: INSTALL_TIMEOUT }) !== 0)
    stop("npm ci failed (see above); is the npm registry reachable?");
}

/** Builds dist/ if it is missing or older than the sources. */
export function build() {
  const built = mtime(at("dist/cli/main.js"));
  const sources = ["tsconfig.json", "tsconfig.build.json", "package.json"].map((name) => mtime(at(name)));
  const folders = ["src", "ui", "explorer", "lab"].map((name) => newest(at(name)));
  if (built >= Math.max(...folders, ...sources)) return;
  say(`heed: building ${built === 0 ? "" : "again (the sources have changed) "}…`);
  if (run(pinned(), [at("tools/build.mjs")]) !== 0) stop("the build failed (see above)");
}

/**
 * Ends with a message and status 1.
 * @param {string} message
 * @returns {never}
 */
export function stop(message) {
  say(`heed: ${message}`);
  process.exit(1);
}

/**
 * The version that a Node binary reports, as "24.21.0", or "" if it does not run.
 * @param {string} path
 */
export function versionOf(path) {
  if (path === process.execPath) return process.versions.node;
  if (!existsSync(path)) return "";
  const done = spawnSync(path, ["--version"], { encoding: "utf8" });
  return done.status === 0 ? done.stdout.trim().replace(/^v/, "") : "";
}

/** @type {string | undefined} */
let pinnedPath;

/**
 * The Node that heed is developed on: the one package.json pins, else the same version from `.toolchain/` (where
 * install scripts are switched off, npm leaves the pinned one without its binary), else the running one.
 */
export function pinned() {
  if (pinnedPath === undefined) {
    const installed = at(`node_modules/node/bin/node${exe}`);
    const want = JSON.parse(readFileSync(at("package.json"), "utf8")).devDependencies.node;
    const path = versionOf(installed) === want ? installed : toolchain(24);
    if (path === undefined)
      say(`heed: Node ${want} could not be installed from npm; continuing with ${process.version}`);
    pinnedPath = path ?? process.execPath;
  }
  return pinnedPath;
}

/**
 * A Node of the major version: the running one, the pinned one, or one that npm installs into `.toolchain/MAJOR`.
 * Undefined if none is available.
 * @param {number} major one of NODES
 * @returns {string | undefined}
 */
export function toolchain(major) {
  const exact = NODES.get(major);
  for (const path of [process.execPath, at(`node_modules/node/bin/node${exe}`)])
    if (versionOf(path) === exact) return path;
  const platform = windows ? "win" : process.platform;
  const name = `${platform === "darwin" && process.arch === "arm64" ? "node-bin" : "node"}-${platform}-${process.arch}`;
  const folder = at(`.toolchain/${major}`);
  const path = join(folder, "node_modules", name, "bin", `node${exe}`);
  if (versionOf(path) === exact) return path;
  say(`heed: fetching Node ${exact} (${name}) from npm …`);
  const args = ["install", "--prefix", folder, "--no-save", "--no-package-lock", "--ignore-scripts"];
  run("npm", [...args, ...NPM, `${name}@${exact}`], { quiet: true, timeout: INSTALL_TIMEOUT });
  if (versionOf(path) === exact) return path;
  return process.versions.node.split(".")[0] === String(major) ? process.execPath : undefined;
}
