/**
 * The package's public doors, read from package.json, and which tests go through nothing else: those run a second time
 * on the built package (`TEST_BUILT=1`), where each door is the file in dist/ that is published.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { at, root } from "./setup.mjs";

const manifest = JSON.parse(readFileSync(at("package.json"), "utf8"));

/**
 * Every door: what a user imports ("heed", "heed/io"), its source and its built file. `src/attention.ts` is the file
 * of the main entry point with tests of behavior beside it, so it counts as one.
 * @type {{ name: string | undefined, source: string, built: string }[]}
 */
export const doors = [
  ...Object.entries(manifest.exports)
    .filter(([, target]) => typeof target === "object")
    .map(([name, target]) => ({
      name: manifest.name + name.slice(1),
      source: at(sourceOf(name, target.default)),
      built: at(target.default),
    })),
  { name: undefined, source: at("src/attention.ts"), built: at("dist/attention.js") },
];

/**
 * The source of a door: the explorer's element and what wraps it are bundles of explorer/, the others one file to one.
 * @param {string} name
 * @param {string} built
 */
function sourceOf(name, built) {
  const part = /^\.\/attention-view(?:\/(.+))?$/.exec(name);
  return part
    ? `explorer/entries/${part[1] ?? "index"}.ts`
    : built.replace("./dist/", "src/").replace(/\.js$/, ".ts");
}

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s(?!type\s)[^;'"()=]*?\bfrom\s*["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']/g;

/**
 * The modules a file imports when it runs, as written. Type-only imports are erased and do not count.
 * @param {string} text
 */
export function importsOf(text) {
  const bare = [...text.matchAll(/(?:^|\n)import\s*["']([^"']+)["']/g)].map((match) => match[1]);
  return [...bare, ...[...text.matchAll(IMPORT)].map((match) => match[1] ?? match[2])];
}

/**
 * What a test reaches in src/, its helpers included: whether a door, and whether anything past the doors.
 * @param {string} file
 * @param {{ door: boolean, inside: boolean }} reached
 * @param {Set<string>} seen
 */
function reach(file, reached = { door: false, inside: false }, seen = new Set()) {
  if (seen.has(file)) return reached;
  seen.add(file);
  for (const name of importsOf(readFileSync(file, "utf8"))) {
    const path = name.startsWith(".") ? resolve(dirname(file), name) : name;
    if (doors.some((door) => door.source === path || door.name === path)) reached.door = true;
    else if (path.startsWith(at("src/"))) reached.inside = true;
    else if (name.startsWith(".") && existsSync(path)) reach(path, reached, seen);
  }
  return reached;
}

/**
 * Whether a test starts the pinned Node, which runs TypeScript: its child process imports the source on either run.
 * @param {string} file
 */
const startsSource = (file) => readFileSync(file, "utf8").includes('resolve("node/bin/node")');

/** The tests of behavior, which reach src/ through doors only, as paths inside the repository. */
export function behaviorTests() {
  return ["src", "tests"]
    .flatMap((folder) =>
      readdirSync(at(folder), { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".test.ts"))
        .map((name) => join(at(folder), name)),
    )
    .filter((file) => {
      const { door, inside } = reach(file);
      return door && !inside && !startsSource(file);
    })
    .map((file) => relative(root, file));
}
