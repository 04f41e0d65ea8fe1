// @ts-check
/**
 * heed in every bundler and runtime of fixtures.mjs: packs the built package, installs it into a fresh project with the
 * bundler, builds, runs (pages in Chromium, cross-origin isolated), and checks result and threads. Needs the npm registry.
 *
 *     node tests/runtimes/run.mjs [WORD …]      only fixtures whose name contains one of the words
 *     node tests/runtimes/run.mjs --write       writes the table of docs/runtimes.md
 *
 * The last line is: N passed, N failed, N skipped.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { delimiter, dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Tally } from "../../tools/parts/tally.mjs";
import { launchChromium, NO_CHROMIUM } from "../platforms/chromium.mjs";
import { FIXTURES } from "./fixtures.mjs";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const words = process.argv.slice(2).filter((arg) => !arg.startsWith("--"));
const tally = new Tally((line) => process.stdout.write(`${line}\n`));
const work = mkdtempSync(join(tmpdir(), "heed-runtimes-"));
const HEADERS = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
};
const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".css": "text/css",
};

/** @typedef {{ right: boolean, threads?: number, plan?: string, warnings?: string[], error?: string }} Result */

/**
 * @param {string[]} command
 * @param {string} cwd
 */
function run(command, cwd) {
  const [name, ...args] = command;
  const env = {
    ...process.env,
    PATH: `${join(cwd, "node_modules/.bin")}${delimiter}${process.env.PATH}`,
    CI: "1",
  };
  const done = spawnSync(name === "node" ? process.execPath : name, args, {
    cwd,
    env,
    encoding: "utf8",
    timeout: 240_000,
    shell: process.platform === "win32",
  });
  if (done.status !== 0)
    throw new Error(
      `${command.join(" ")}: ${`${done.stdout}${done.stderr}${done.error ?? ""}`.trim().slice(-1500)}`,
    );
  return done.stdout;
}

/** @param {string} folder @param {string} [policy] */
function serve(folder, policy) {
  const headers = { ...HEADERS, ...(policy && { "Content-Security-Policy": policy }) };
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://localhost").pathname;
    const file = join(folder, path.endsWith("/") ? `${path}index.html` : path);
    try {
      const body = readFileSync(file);
      const type = TYPES[/** @type {keyof typeof TYPES} */ (extname(file))] ?? "application/octet-stream";
      response.writeHead(200, { ...headers, "Content-Type": type }).end(body);
    } catch {
      response.writeHead(404, headers).end();
    }
  });
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => {
      const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
      resolve({ url: `http://127.0.0.1:${port}/`, stop: () => server.close() });
    }),
  );
}

/**
 * @param {string[]} command
 * @param {string} cwd
 * @param {number} port
 */
async function develop(command, cwd, port) {
  const [name, ...args] = command.map((arg) => arg.replace("PORT", String(port)));
  const child = spawn(join(cwd, "node_modules/.bin", name), args, { cwd, stdio: "ignore" });
  const url = `http://localhost:${port}/`;
  for (let n = 0; n < 100; n++) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    const up = await fetch(url).then(
      () => true,
      () => false,
    );
    if (up) break;
  }
  return { url, stop: () => child.kill() };
}

const browser = await launchChromium();

/** @param {string} url @returns {Promise<Result>} */
async function inPage(url) {
  if (!browser) throw new Error(NO_CHROMIUM);
  const tab = await browser.newPage();
  try {
    /** @type {string[]} */
    const errors = [];
    tab.on("pageerror", (error) => errors.push(error.message));
    await tab.goto(url);
    // A development server may reload the page once, after it has found the packages.
    await tab.waitForSelector("body[data-result]", { timeout: 30_000, state: "attached" }).catch(() => {
      throw new Error(`the page gave no result; ${errors.join("; ")}`);
    });
    return JSON.parse((await tab.getAttribute("body", "data-result")) ?? "{}");
  } finally {
    await tab.close();
  }
}

/** Packs the package in `folder` of the repository. @param {string} folder @returns {string} the tarball's path */
function pack(folder) {
  const argv = ["pack", "--ignore-scripts", "--loglevel=error", "--pack-destination", work];
  const { status, stdout, stderr } = spawnSync("npm", argv, {
    cwd: join(root, folder),
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  if (status !== 0) throw new Error(`npm pack: ${stderr}`);
  return join(work, stdout.trim().split("\n").at(-1) ?? "");
}

/** @param {import("./fixtures.mjs").Fixture} fixture @param {{ heed: string, models: string }} tarballs @param {number} n */
async function attempt(fixture, { heed, models }, n) {
  const folder = join(work, `project-${n}`);
  const manifest = {
    name: "project",
    private: true,
    type: "module",
    dependencies: Object.fromEntries([
      ["heed", `file:${heed}`],
      ...Object.entries(fixture.packages).map(([name, version]) => [
        name,
        version === "MODELS" ? `file:${models}` : version,
      ]),
    ]),
    ...fixture.manifest,
  };
  mkdirSync(folder);
  for (const [name, text] of Object.entries({ ...fixture.files, "package.json": JSON.stringify(manifest) })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"], folder);
  if (fixture.build) run(fixture.build, folder);
  if ("command" in fixture.run) {
    const line = run(fixture.run.command, folder)
      .split("\n")
      .findLast((text) => text.trim().startsWith("{"));
    return /** @type {Result} */ (JSON.parse(line ?? "{}"));
  }
  const host =
    "serve" in fixture.run
      ? await serve(join(folder, fixture.run.serve), fixture.run.policy)
      : await develop(fixture.run.dev, folder, 20_000 + (process.pid % 20_000) + n);
  try {
    return await inPage(host.url);
  } finally {
    host.stop();
  }
}

const rows = [];
try {
  const tarballs = { heed: pack("."), models: pack("models") };
  for (const [n, fixture] of FIXTURES.entries()) {
    if (words.length > 0 && !words.some((word) => fixture.name.toLowerCase().includes(word.toLowerCase())))
      continue;
    /** @type {Result} */
    let result;
    try {
      result = await attempt(fixture, tarballs, n);
    } catch (error) {
      result = { right: false, error: error instanceof Error ? error.message : String(error) };
    }
    const { right, threads = 0, plan = "", warnings = [], error } = result;
    const problem = error ?? (right ? "" : "the numbers are wrong");
    const few =
      threads < fixture.threads
        ? `${threads} threads, expected ${fixture.threads}: ${warnings.join("; ")}`
        : "";
    const other = plan.startsWith(fixture.plan ?? "backend wasm") ? "" : `the plan is: ${plan}`;
    const many = warnings.length > 1 ? `${warnings.length} warnings: ${warnings.join("; ")}` : "";
    tally.check(fixture.name, problem || few || other || many);
    rows.push(`| ${fixture.name} | ${right ? "yes" : "no"} | ${threads} | ${fixture.setup ?? ""} |`);
    process.stderr.write(
      `${fixture.name}: ${problem || few || other || many || `${threads} threads, ${plan}`} ${warnings.join("; ")}\n`,
    );
  }
  if (process.argv.includes("--write") && (tally.failed > 0 || words.length > 0))
    process.stderr.write(
      "docs/runtimes.md is left as it is: only a run of all projects that pass writes it\n",
    );
  else if (process.argv.includes("--write")) {
    const file = join(root, "docs/runtimes.md");
    const [before, after] = readFileSync(file, "utf8").split(/<!-- table -->[\s\S]*<!-- \/table -->/);
    const table = [
      "| runtime or bundler | correct | threads | to configure |",
      "|---|---|---|---|",
      ...rows,
    ].join("\n");
    writeFileSync(file, `${before}<!-- table -->\n\n${table}\n\n<!-- /table -->${after}`);
  }
} finally {
  await browser?.close();
  rmSync(work, { recursive: true, force: true });
}
process.stdout.write(`${tally}\n`);
process.exitCode = tally.failed > 0 ? 1 : 0;
