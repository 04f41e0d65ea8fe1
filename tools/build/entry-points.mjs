/**
 * The package's entry points, read from package.json, and which tests import nothing else from src/: those run on the built
 * package (`TEST_BUILT=1`), where each entry point is the published file in dist/.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { at, root } from "../setup.mjs";

const manifest = JSON.parse(readFileSync(at("package.json"), "utf8"));

/**
 * Every entry point: what a user imports ("heed", "heed/io"), its source and its built file. `src/api/attention.ts` counts as one,
 * because tests of behavior import it directly.
 * @type {{ name: string | undefined, source: string, built: string }[]}
 */
export const entryPoints = [
  ...Object.entries(manifest.exports)
    .filter(([, target]) => typeof target === "object" && target.default.endsWith(".js"))
    .map(([name, target]) => ({
      name: manifest.name + name.slice(1),
      source: at(sourceOf(name, target.default)),
      built: at(target.default),
    })),
  { name: undefined, source: at("src/api/attention.ts"), built: at("dist/api/attention.js") },
];

/**
 * The source of an entry point: the explorer's element and its wrappers are bundles of explorer/, the others are compiled file by file.
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
 * What a test imports from src/, its helpers included: whether entry points, and whether internal files.
 * @param {string} file
 * @param {{ entryPoint: boolean, internal: boolean }} reached
 * @param {Set<string>} visited
 */
function reach(file, reached = { entryPoint: false, internal: false }, visited = new Set()) {
  if (visited.has(file)) return reached;
  visited.add(file);
  for (const name of importsOf(readFileSync(file, "utf8"))) {
    const path = name.startsWith(".") ? resolve(dirname(file), name) : name;
    if (entryPoints.some(({ name, source }) => source === path || name === path)) reached.entryPoint = true;
    else if (path.startsWith(at("src/"))) reached.internal = true;
    else if (name.startsWith(".") && existsSync(path)) reach(path, reached, visited);
  }
  return reached;
}

/**
 * Whether a test starts the pinned Node, which runs TypeScript: its child process imports the source on either run.
 * @param {string} file
 */
const startsSource = (file) => readFileSync(file, "utf8").includes('resolve("node/bin/node")');

/** The tests of behavior, which import only entry points from src/, as paths inside the repository. */
export function behaviorTests() {
  return ["src", "tests"]
    .flatMap((folder) =>
      readdirSync(at(folder), { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".test.ts"))
        .map((name) => join(at(folder), name)),
    )
    .filter((file) => {
      const { entryPoint, internal } = reach(file);
      return entryPoint && !internal && !startsSource(file);
    })
    .map((file) => relative(root, file));
}
