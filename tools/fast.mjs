/**
 * `npm run fast`: the editor loop. Types, lint of what changed, and the tests of what changed and of its importers, side by side.
 *
 *   npm run fast                 what differs from HEAD, with new files
 *   npm run fast -- main         what differs from a commit
 *   npm run fast -- src/masks    the tests of a folder or file, and of its importers
 *
 * A test counts when it imports a changed file at most `DEPTH` imports away, nearest first; the ones above `LIMIT` are left to
 * `npm test`, and the last line says how many. Slow tests (tests/cluster, tests/failure …) run only when they changed themselves.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { entryPoints, importsOf } from "./build/entry-points.mjs";
import { Parts } from "./parts/parts.mjs";
import { at, pinned, root } from "./setup.mjs";

/** How far a test may be from what changed, and how many test files run. */
const [DEPTH, LIMIT] = [2, 10];

/** Tests that start processes or sweep over many calls: minutes in all. */
const SLOW =
  /^tests\/(?:cluster|failure|platforms|properties|conformance|golden|runtimes)\/|^tests\/docs\.test/;

/** @param {string[]} args */
const git = (...args) => {
  const { status, stdout, stderr } = spawnSync("git", args, { cwd: root, encoding: "utf8" });
  if (status !== 0) throw new Error(`npm run fast needs git: ${stderr.trim()}`);
  return stdout.split("\n").filter((line) => line !== "");
};

const files = [...new Set([...git("ls-files"), ...git("ls-files", "--others", "--exclude-standard")])].filter(
  (name) => existsSync(at(name)),
);
const code = files.filter((name) => /\.(?:ts|mts|mjs|js)$/.test(name));

/** Files that import a file: their names by its name. @type {Map<string, string[]>} */
const importers = new Map();
for (const name of code)
  for (const from of importsOf(readFileSync(at(name), "utf8"))) {
    const entry = entryPoints.find((one) => one.name === from);
    const target = entry
      ? relative(root, resolve(root, entry.source))
      : from.startsWith(".")
        ? join(dirname(name), from)
        : undefined;
    if (target !== undefined) importers.set(target, [...(importers.get(target) ?? []), name]);
  }

const [argument] = process.argv.slice(2);
const isPath = argument !== undefined && existsSync(at(argument));
const changed = isPath
  ? files.filter((name) => name === argument || name.startsWith(`${argument.replace(/\/$/, "")}/`))
  : [
      ...git("diff", "--name-only", "--diff-filter=d", argument ?? "HEAD"),
      ...git("ls-files", "--others", "--exclude-standard"),
    ].filter((name) => existsSync(at(name)));

/** Distance of each file from what changed, in imports. */
const distance = new Map(changed.map((name) => [name, 0]));
const queue = [...changed];
for (let name = queue.shift(); name !== undefined; name = queue.shift())
  for (const importer of importers.get(name) ?? [])
    if (!distance.has(importer) && /** @type {number} */ (distance.get(name)) < DEPTH) {
      distance.set(importer, /** @type {number} */ (distance.get(name)) + 1);
      queue.push(importer);
    }
const tests = [...distance]
  .filter(([name, steps]) => /\.test\.ts$/.test(name) && (steps === 0 || !SLOW.test(name)))
  .sort((a, b) => a[1] - b[1])
  .map(([name]) => name);
const chosen = tests.slice(0, LIMIT);

const parts = new Parts(root, (text) => process.stderr.write(text));
const node = pinned();
const lintable = changed.filter((name) => /\.(?:ts|mts|mjs|js|json|css)$/.test(name));
const run = [
  parts.add("types", async (part) => {
    await part.check("types", node, [
      at("node_modules/typescript/bin/tsc"),
      "--noEmit",
      "-p",
      at("tsconfig.json"),
    ]);
  }),
  parts.add(`lint of ${lintable.length} files`, async (part) => {
    const biome = at("node_modules/@biomejs/biome/bin/biome");
    if (lintable.length > 0)
      await part.check("lint", node, [
        biome,
        "check",
        "--error-on-warnings",
        "--no-errors-on-unmatched",
        ...lintable,
      ]);
  }),
  parts.add(`${chosen.length} test files`, async (part) => {
    const vitest = [
      at("node_modules/vitest/vitest.mjs"),
      "run",
      "--reporter=dot",
      "--silent=passed-only",
      ...chosen,
    ];
    if (chosen.length > 0) await part.check("tests", node, vitest);
  }),
];
await Promise.all(run.map((begin) => begin()));
const failed = parts.all.some(({ tally }) => tally.failed > 0);
const rest = tests.length - chosen.length;
process.stderr.write(
  `\n${failed ? "failed" : "passed"} in ${parts.seconds()} s: ${changed.length} changed files, ${chosen.length} test files` +
    `${rest > 0 ? ` (${rest} test files further away are left to npm test)` : ""}\n`,
);
process.exitCode = failed ? 1 : 0;
