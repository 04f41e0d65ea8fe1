/**
 * The size table: how large a program is that imports one thing, bundled and minified by Rolldown, then gzipped.
 * `node tools/size.mjs` prints it; tests/package.test.ts checks it against LIMITS, and docs/runtimes.md has the same numbers.
 * Needs dist/ (npm run build).
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { entryPoints } from "./build/entry-points.mjs";
import { at } from "./setup.mjs";

/** What is measured: a name, and the program. */
const PROGRAMS = {
  "one call": 'import { scaledDotProductAttention } from "heed"; globalThis.x = scaledDotProductAttention;',
  "one call and one mask":
    'import { causal, scaledDotProductAttention } from "heed"; globalThis.x = [causal, scaledDotProductAttention];',
  heed: 'import * as heed from "heed"; globalThis.x = heed;',
  "heed/reference": 'import * as heed from "heed/reference"; globalThis.x = heed;',
  "heed/io: npy": 'import { readNpy, writeNpy } from "heed/io"; globalThis.x = [readNpy, writeNpy];',
  "heed/io": 'import * as heed from "heed/io"; globalThis.x = heed;',
  "heed/nn: one layer": 'import { Linear } from "heed/nn"; globalThis.x = Linear;',
  "heed/nn/history": 'import * as heed from "heed/nn/history"; globalThis.x = heed;',
  "heed/nn": 'import * as heed from "heed/nn"; globalThis.x = heed;',
  "heed/backend": 'import * as heed from "heed/backend"; globalThis.x = heed;',
  "heed/models: tokenizer.json": 'import { readTokenizer } from "heed/models"; globalThis.x = readTokenizer;',
  "heed/models": 'import * as heed from "heed/models"; globalThis.x = heed;',
  "heed/view": 'import * as heed from "heed/view"; globalThis.x = heed;',
  "heed/train": 'import * as heed from "heed/train"; globalThis.x = heed;',
  "heed/cluster": 'import * as heed from "heed/cluster"; globalThis.x = heed;',
  "heed/kernels":
    'import { scaledDotProductAttention } from "heed"; import { useKernels } from "heed/kernels"; globalThis.x = [scaledDotProductAttention, useKernels];',
  "heed/webgpu": 'import * as heed from "heed/webgpu"; globalThis.x = heed;',
};

/**
 * How far a size may grow over the ones below before a change has to raise them, with the reason in its commit: so that no text is
 * written for a byte limit.
 */
const SLACK = 1.03;

/** Bytes after gzip, rounded up; `docs/runtimes.md` has the same. @type {Record<string, number>} */
export const LIMITS = {
  "one call": 51_500,
  "one call and one mask": 51_700,
  heed: 83_300,
  "heed/reference": 23_800,
  "heed/io: npy": 11_400,
  "heed/io": 31_300,
  "heed/nn: one layer": 29_900,
  "heed/nn/history": 77_800,
  "heed/nn": 101_700,
  "heed/backend": 7_700,
  "heed/models: tokenizer.json": 19_200,
  "heed/models": 200_100,
  "heed/view": 111_800,
  "heed/train": 146_300,
  "heed/cluster": 90_000,
  "heed/kernels": 52_100,
  "heed/webgpu": 58_100,
  "heed/webgpu: matrices": 1_400,
  "the explorer's page: to the first paint": 42_900,
  "attention-view: the element, lit and its worker": 55_950,
  "attention-view: to the first picture of a bundle": 131_600,
  "attention-view: everything, in one file": 229_700,
};

/** Bytes after gzip of a page of the Lab up to its first picture, which is in its markup. */
const LAB_FIRST = 48_300;

/** Bytes after gzip of each page of the Lab with the worker that computes its first state, without slack. */
export const LAB_WITH_WORKER = 130_000;

/** Files of the element that a page loads: first with its worker, then up to the first picture; or as one file. */
const ELEMENT = {
  "the explorer's page: to the first paint": [
    "element.js",
    "../page/index.html",
    "../page/page.css",
    "../page/page.js",
  ],
  "attention-view: the element, lit and its worker": ["element.js", "worker.js"],
  "attention-view: to the first picture of a bundle": [
    "element.js",
    "worker.js",
    "parts/app.js",
    "parts/open.js",
    "parts/read-bundle.js",
  ],
  "attention-view: everything, in one file": ["../attention-view.js"],
};

/**
 * The files and the files that they import statically.
 * @param {string[]} names @param {Map<string, Buffer>} [loaded] @param {string} [folder]
 */
function loads(names, loaded = new Map(), folder = "dist/attention-view") {
  for (const name of names) {
    const path = at(join(folder, name));
    if (loaded.has(path)) continue;
    const code = readFileSync(path);
    loaded.set(path, code);
    const imported = [...code.toString().matchAll(/(?:from|import)\s*"(\.[^"]+)"/g)].map((match) => match[1]);
    loads(
      imported.map((one) => join(dirname(name), one)),
      loaded,
      folder,
    );
  }
  return loaded;
}

/**
 * What a page of the Lab loads: up to its first picture, which is in its markup, with the script that handles input; and with the
 * worker and the code that computes the page, which are loaded after that.
 */
function labLoads() {
  const folder = "dist/lab";
  const names = readdirSync(at(folder)).flatMap((file) => /^(?!index)([a-z-]+)\.html$/.exec(file)?.[1] ?? []);
  return names.map((name) => {
    const first = loads([`${name}.html`, "lab.css", "lab.js", `parts/${name}-page.js`], new Map(), folder);
    const all = loads(["lab-worker.js", `parts/${name}-compute.js`], new Map(first), folder);
    return { name, first: [...first.values()], all: [...all.values()] };
  });
}

/** Bytes of files, before and after gzip. @param {readonly Buffer[]} codes */
function sums(codes) {
  const sum = (/** @type {(code: Buffer) => number} */ of) =>
    codes.reduce((total, code) => total + of(code), 0);
  return { minified: sum((code) => code.length), gzip: sum((code) => gzipSync(code, { level: 9 }).length) };
}

/** Each row with its limit. @returns {Promise<{ name: string, minified: number, gzip: number, limit: number }[]>} */
export async function sizes() {
  const folder = mkdtempSync(join(tmpdir(), "heed-size-"));
  const toBuilt = {
    name: "heed-entry-points",
    /** @param {string} id */
    resolveId: (id) => entryPoints.find(({ name }) => name === id)?.built,
  };
  const table = [];
  try {
    for (const [name, program] of Object.entries(PROGRAMS)) {
      const input = join(folder, "program.mjs");
      writeFileSync(input, program);
      const bundle = await rolldown({ input, plugins: [toBuilt], platform: "browser", logLevel: "silent" });
      const { output } = await bundle.generate({ format: "esm", minify: true });
      await bundle.close();
      // The experimental level of heed/webgpu is loaded where it is requested.
      const codeOf = (/** @type {boolean} */ later) =>
        output.map((c) => (c.type === "chunk" && (c.name === "matrices") === later ? c.code : "")).join("");
      for (const [row, code] of [[name, codeOf(false)], [`${name}: matrices`, codeOf(true)]]) // biome-ignore format: a row
        if (code !== "") table.push({ name: row, ...sums([Buffer.from(code)]), limit: LIMITS[row] * SLACK });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  for (const [name, files] of Object.entries(ELEMENT))
    table.push({ name, ...sums([...loads(files).values()]), limit: LIMITS[name] * SLACK });
  for (const { name, first, all } of labLoads()) {
    table.push({
      name: `the Lab, ${name}: to its first picture`,
      ...sums(first),
      limit: LAB_FIRST * SLACK,
    });
    table.push({ name: `the Lab, ${name}: with its worker`, ...sums(all), limit: LAB_WITH_WORKER });
  }
  return table;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href)
  for (const { name, minified, gzip, limit } of await sizes())
    console.log(
      `${name.padEnd(24)} ${String(minified).padStart(8)} bytes minified ${String(gzip).padStart(8)} gzip, limit ${Math.round(limit)}`,
    );
