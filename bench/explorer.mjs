// @ts-check
/**
 * The explorer's bench: times and memory of the built <attention-view> in a headless Chromium without a GPU, beside the goals:
 * opening, panning, zooming, pointing, lines, memory, and one layer of 12 heads and 256 tokens in the formats of other viewers.
 * Every run has a new page. Slow results do not fail. A run that fails is tried once more, then named under the table, and the others go on.
 *
 *     node bench/explorer.mjs [--only P3,P8] [--runs 3] [--json]
 *
 * Needs dist/ (npm run build). support/explorer-page.mjs runs in the page; the tests' site.mjs serves and opens it.
 */
import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { writeBundle } from "heed/view";
import { makeInput as makeHeads } from "../tests/explorer/support/heads.mjs";
import { files, serve, visit } from "../tests/explorer/support/site.mjs";
import { launchChromium, NO_CHROMIUM } from "../tests/platforms/chromium.mjs";

const MIB = 2 ** 20;

/**
 * Each situation with its rows: the name of a figure, its unit, and its goal as a maximum.
 * @type {Record<string, { what: string, rows: readonly (readonly [what: string, unit: string, target?: number])[] }>}
 */
const SITUATIONS = {
  P1: { what: "12 × 12 heads, 512 tokens, a bundle of float16 weights", rows: [
    ["first thumbnail, after the bytes", "ms", 300], ["all 144", "ms", 1500],
  ] },
  P2: { what: "12 × 12 heads, 512 tokens, queries and keys of 64", rows: [
    ["first thumbnail", "ms", 300], ["all 144", "ms", 3000],
  ] },
  P3: { what: "all heads panned and zoomed, 150 frames", rows: [
    ["gap between frames, p95", "ms", 17.5], ["longest gap", "ms", 34],
  ] },
  P4: { what: "one head, 4096 tokens, queries and keys of 64", rows: [
    ["something of it on screen", "ms", 500], ["complete", "ms", 3000],
  ] },
  P5: { what: "4096 tokens, panned and zoomed", rows: [
    ["panning: gap between frames, p95", "ms", 17.5], ["panning: longest gap", "ms"],
    ["zooming: gap between frames, p95", "ms", 17.5], ["zooming: longest gap", "ms"],
    ["sharp after a stop, worst of 4", "ms", 150], ["sharp after a jump, median of 4", "ms", 150],
    ["sharp after a jump, worst of 4", "ms"],
  ] },
  P6: { what: "a cell of 4096 × 4096 is pointed at", rows: [
    ["read-out on screen, median of 40", "ms"], ["worst of 40", "ms"], ["frames that took, worst of 40", "", 1],
  ] },
  P7: { what: "the next head, 512 tokens", rows: [
    ["its overview on screen, median of 20", "ms"], ["sharp on screen, median of 20", "ms", 50], ["worst of 20", "ms"],
  ] },
  P8: { what: "lines of 512 tokens", rows: [
    ["hovering: gap between frames, p95", "ms", 17.5], ["hovering: longest gap", "ms"],
    ["from the matrix to lines on screen", "ms", 250],
  ] },
  P9: { what: "memory of the page at 4096 tokens, after zooming", rows: [["beyond queries, keys and values", "MiB", 40]] },
  heads: { what: "1 layer × 12 heads × 256 tokens: all heads", rows: [
    ["everything on screen, from arrays", "ms"], ["elements of the page", ""],
  ] },
  json: { what: "the same from the JSON other viewers are given", rows: [["everything on screen", "ms"]] },
  lines: { what: "the same as lines, all 12 heads one after another", rows: [
    ["everything has been on screen", "ms"], ["elements of the page, most", ""],
  ] },
}; // biome-ignore format: a table

const PAGE = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>heed</title>
<link rel="stylesheet" href="style.css"><link rel="icon" href="data:,"><script type="module" src="bench.mjs"></script></head>
<body><main><h1>heed</h1><attention-view address></attention-view></main></body></html>`;

const START = `import { drawer, makeInput } from "./heads.mjs";
await import("./attention-view/element.js");
const view = document.querySelector("attention-view");
await view.updateComplete;
Object.assign(globalThis, { drawer, makeInput, view });
Object.assign(globalThis, await import("./explorer-page.mjs"));
globalThis.opened = true;`;

/** What only some situations need: made once, when the first asks. @param {string[]} names */
async function provide(names) {
  files.set("/bench.html", ["text/html; charset=utf-8", PAGE]);
  files.set("/bench.mjs", ["text/javascript", START]);
  const inPage = readFileSync(new URL("support/explorer-page.mjs", import.meta.url));
  files.set("/explorer-page.mjs", ["text/javascript", inPage]);
  if (!names.includes("P1")) return;
  const heads = makeHeads({ layers: 12, heads: 12, Nq: 512, asWeights: true });
  const bytes = await writeBundle(heads, { dtype: "float16" });
  files.set("/weights.safetensors", ["application/octet-stream", Buffer.from(bytes.buffer)]);
}

/** MiB the page's own thread holds, arrays included, less what it was given. @param {import("@playwright/test").Page} page */
async function memoryOf(page) {
  const session = await page.context().newCDPSession(page);
  for (let n = 0; n < 3; n++) await session.send("HeapProfiler.collectGarbage");
  const { usedSize, backingStorageSize = 0 } = /** @type {any} */ (
    await session.send("Runtime.getHeapUsage")
  );
  return (usedSize + backingStorageSize - 3 * 4 * 4096 * 64) / MIB;
}

/**
 * One run of a situation: its figures, and the slower of a fixed loop before it and after it.
 * @param {import("@playwright/test").Browser} browser @param {string} base @param {string} name
 */
async function run(browser, base, name) {
  /** @type {number[]} */
  let figures = [];
  let slowest = 0;
  const pace = async (/** @type {import("@playwright/test").Page} */ page) => {
    const loop = await page.evaluate(() => {
      const { pace: once } = /** @type {any} */ (globalThis);
      return Math.min(once(), once(), once());
    });
    slowest = Math.max(slowest, loop);
  };
  const problem = await visit(browser, base, { path: "/bench.html", still: false }, async (page) => {
    await pace(page);
    figures = await page.evaluate((which) => /** @type {any} */ (globalThis).situations[which](), name);
    if (name === "P9") figures = [await memoryOf(page)];
    await pace(page);
  });
  return { figures, slowest, problem: problem.trim() || (figures.length > 0 ? "" : "no figures") };
}

/** @param {number} value @param {string} unit */
const written = (value, unit) =>
  `${unit === "" || value >= 100 ? Math.round(value) : value.toFixed(1)} ${unit}`.trim();

/** @param {Map<string, number[][]>} figuresOf */
function table(figuresOf) {
  const lines = [["", "situation", "figure", "target", "best", "median"]];
  for (const [name, runs] of figuresOf)
    SITUATIONS[name].rows.forEach(([what, unit, target], row) => {
      if (runs.length === 0) return;
      const sorted = runs.map((figures) => figures[row]).sort((a, b) => a - b);
      const title = row === 0 ? [name, SITUATIONS[name].what] : ["", ""];
      const goal = target === undefined ? "" : `≤ ${target} ${unit}`.trim();
      const best = [sorted[0], sorted[(sorted.length - 1) >> 1]].map((value) => written(value, unit));
      lines.push([...title, what, goal, ...best]);
    });
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  const row = (/** @type {string[]} */ line) =>
    `| ${line.map((text, column) => (column > 2 ? text.padStart(widths[column]) : text.padEnd(widths[column]))).join(" | ")} |`;
  const rule = `|${widths.map((width, column) => (column > 2 ? `${"-".repeat(width + 1)}:` : "-".repeat(width + 2))).join("|")}|`;
  return [row(lines[0]), rule, ...lines.slice(1).map(row)].join("\n");
}

const { values: options } = parseArgs({
  options: {
    only: { type: "string" },
    runs: { type: "string", default: "3" },
    json: { type: "boolean", default: false },
  },
});
const names = options.only?.split(",") ?? Object.keys(SITUATIONS);
for (const name of names)
  if (!(name in SITUATIONS)) throw new Error(`no ${name}: there are ${Object.keys(SITUATIONS).join(", ")}`);

const FLAGS = ["--disable-gpu", "--enable-precise-memory-info"];
let browser = await launchChromium(FLAGS);
if (browser === undefined) process.stderr.write(`${NO_CHROMIUM}\n`);
else {
  const { base, close } = await serve();
  try {
    await provide(names);
    /** @type {Map<string, number[][]>} */
    const figuresOf = new Map(names.map((name) => [name, []]));
    const [loops, failures] = [/** @type {number[]} */ ([]), /** @type {string[]} */ ([])];
    /** One run; a browser that has ended is started again. @param {string} name */
    const attempt = async (name) => {
      if (!browser?.isConnected()) browser = await launchChromium(FLAGS);
      if (browser === undefined) throw new Error(NO_CHROMIUM);
      return run(browser, base, name).catch((error) => ({ figures: [], slowest: 0, problem: `${error}` }));
    };
    // Interleaved, so that a slow phase of the machine does not affect all runs of one situation.
    for (let n = 0; n < Number(options.runs); n++)
      for (const name of names) {
        let { figures, slowest, problem } = await attempt(name);
        if (problem !== "") ({ figures, slowest, problem } = await attempt(name));
        const text = problem.split("\n")[0] || figures.map((value) => value.toFixed(1)).join(", ");
        if (problem !== "") failures.push(`${name}, run ${n + 1}: ${text}`);
        else figuresOf.get(name)?.push(figures);
        loops.push(slowest);
        process.stderr.write(`  ${n + 1} ${name}: ${text} (loop ${slowest.toFixed(0)} ms)\n`);
      }
    const machine = `Chromium ${browser.version()} without a GPU, ${cpus().length} cores of ${cpus()[0]?.model}, ${options.runs} runs; beside them a fixed loop took ${Math.min(...loops).toFixed(0)} to ${Math.max(...loops).toFixed(0)} ms`;
    const report = [`${machine}\n`, table(figuresOf), ...failures].join("\n");
    const json = () => JSON.stringify({ machine, figures: [...figuresOf], failures });
    process.stdout.write(`${options.json ? json() : report}\n`);
    if (failures.length > 0) process.exitCode = 1;
  } finally {
    await browser.close();
    close();
  }
}
