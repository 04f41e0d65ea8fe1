/**
 * The budget of lines: how much code each folder may hold, without its tests. Growth is a decision: a change that needs more raises
 * the number here and says why in its commit. `npm run budget` prints the table; tests/structure.test.ts holds it.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { at, root } from "./setup.mjs";

/** Folders and their largest number of lines. */
export const BUDGET = new Map([
  ["src/api", 1_470],
  ["src/backend", 2_850],
  ["src/cli", 8_430],
  ["src/cluster", 4_310],
  ["src/core", 3_420],
  ["src/io", 4_960],
  ["src/masks", 1_940],
  ["src/models", 20_580],
  ["src/nn", 6_070],
  ["src/reference", 1_810],
  ["src/rows", 610],
  ["src/server", 890],
  ["src/store", 9_960],
  ["src/train", 4_920],
  ["src/view", 5_960],
  ["src/wasm", 11_050],
  ["src/webgpu", 5_030],
  ["ui", 510],
  ["explorer", 19_540],
  ["lab", 16_830],
  ["bench", 4_850],
  ["tools", 7_170],
  ["examples", 1_280],
  ["python", 290],
]);

/** Files that count: code, style sheets and pages, without tests. @param {string} name */
const counts = (name) =>
  /\.(?:ts|mts|mjs|js|css|html|py)$/.test(name) && !/\.(?:test|spec)\.|(?:^|\/)node_modules\//.test(name);

/**
 * The code in a folder, as paths inside the repository.
 * @param {string} folder
 * @returns {string[]}
 */
export const codeIn = (folder) =>
  readdirSync(at(folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll("\\", "/"))
    .filter(counts);

/** @param {string} name a file inside the repository */
export const linesOf = (name) => readFileSync(at(name), "utf8").split("\n").length - 1;

/** A row for each folder of the budget. */
export const budgetTable = () =>
  [...BUDGET].map(([folder, budget]) => ({
    folder,
    lines: codeIn(folder).reduce((sum, name) => sum + linesOf(name), 0),
    budget,
  }));

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const table = budgetTable();
  const sum = (/** @type {"lines" | "budget"} */ key) => table.reduce((n, row) => n + row[key], 0);
  for (const { folder, lines, budget } of [
    ...table,
    { folder: "total", lines: sum("lines"), budget: sum("budget") },
  ])
    console.log(`${folder.padEnd(16)} ${`${lines}`.padStart(8)} of ${`${budget}`.padStart(8)}`);
}
