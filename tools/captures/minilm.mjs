/**
 * Writes models/captures/ and the bundles of tests/golden/evidence/ with the command line from the source:
 *
 *     node tools/captures/minilm.mjs FOLDER          FOLDER: the directory of sentence-transformers/all-MiniLM-L6-v2
 *
 * Each capture has the states of all layers, and results of `heed why` and `heed ablate`, each with the command that made it.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { at } from "../setup.mjs";

const MODEL = "./all-MiniLM-L6-v2";
const flies = (/** @type {string} */ key, /** @type {string} */ other) => [
  ["why", "--layer", "0", "--head", "4", "--query", "flies", "--key", key, "--top", "16"],
  ["ablate", "--word", "flies", "--other", other],
];
const bank = (/** @type {string} */ key, /** @type {string} */ query = "bank") => [
  ["why", "--layer", "0", "--head", "4", "--query", query, "--key", key, "--top", "16"],
];
const cat = [
  ["why", "--layer", "3", "--head", "1", "--query", "it", "--key", "cat", "--top", "16"],
  ["ablate", "--weight", "3.1:it:cat"],
];
const RIVER = "they walked along the bank of the river";
const SAVINGS = "they walked to the savings bank";
const apart = (/** @type {string} */ other) => ["ablate", "--word", "bank", "--other", other];

/** File, text, and the results that it carries. @type {[file: string, text: string, results: string[][]][]} */
const CAPTURES = [
  ["time-flies", "time flies like an arrow", flies("time", "fruit flies like a banana")],
  ["fruit-flies", "fruit flies like a banana", flies("fruit", "time flies like an arrow")],
  ["bank-of-the-river", RIVER, [...bank("river"), apart(SAVINGS)]],
  ["river-bank", "they walked along the river bank", [...bank("river"), apart(SAVINGS)]],
  ["savings-bank", SAVINGS, [...bank("savings"), apart(RIVER)]],
  ["bank-of-the-table", "they sat by the bank of the table", bank("table")],
  ["tired-cat", "The cat sat on the mat because it was tired", cat],
  ["soft-cat", "The cat sat on the mat because it was soft", cat],
];

/** Texts of the tests only: fewer layers and heads. @type {[file: string, texts: string[], options: string[]][]} */
const TESTS = [
  [
    "links",
    ["he flies home all the time", "they walked along the green bank"],
    ["--layers", "0", "--heads", "4"],
  ],
  [
    "words",
    [
      "the hour passes",
      "time runs fast",
      "a small insect",
      "a mosquito bit me",
      "there are bugs",
      "the bird soars",
    ],
    ["--layers", "5", "--heads", "0", "--states"],
  ],
  ["asleep-cat", ["The cat sat on the mat because it was asleep"], ["--layers", "2,3"]],
  ["dirty-cat", ["The cat sat on the mat because it was dirty"], ["--layers", "2,3"]],
];

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("name the folder of all-MiniLM-L6-v2");
const work = mkdtempSync(join(tmpdir(), "heed-captures-"));
symlinkSync(resolve(folder), join(work, MODEL));
/** @param {string[]} args */
const heed = (args) =>
  execFileSync(process.execPath, [at("src/cli/main.ts"), ...args], {
    cwd: work,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });

/** @param {string} text @param {string[][]} results */
function evidence(text, results) {
  return results.flatMap(([name, ...options], n) => {
    writeFileSync(join(work, `${n}.json`), heed([name, MODEL, text, ...options, "--json"]));
    return ["--evidence", `${n}.json`];
  });
}

try {
  for (const [file, text, results] of CAPTURES) {
    const output = at(`models/captures/${file}.safetensors`);
    const more = ["--states", ...evidence(text, results), "--dtype", "float16"];
    process.stdout.write(heed(["capture", MODEL, text, "-o", output, ...more]));
  }
  for (const [file, texts, options] of TESTS) {
    const output = at(`tests/golden/evidence/${file}.safetensors`);
    const results = file.endsWith("cat") ? evidence(texts[0], [cat[1]]) : [];
    process.stdout.write(
      heed(["capture", MODEL, ...texts, "-o", output, ...options, ...results, "--dtype", "float16"]),
    );
  }
} finally {
  rmSync(work, { recursive: true });
}
