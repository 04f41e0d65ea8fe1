/**
 * The benches for the built package: the same files with their types stripped and their imports of src/ changed to dist/,
 * in a temporary folder, so that every version of Node can run them: Node 20 does not run TypeScript.
 */
import * as fs from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** Folders with the benches and what they import from the tests. */
const FOLDERS = ["bench", "bench/support", "tests/support/backends"];
const DIST = new URL("../../dist/", import.meta.url);

/** Relative modules of import and export statements: the quote, the path. */
const RELATIVE = /(\bfrom\s*|\bimport\s*\(?\s*)"(\.\.?\/[^"]+)"/g;

/** Code of one file of `folder`, by default bench/, as JavaScript for the same place in that folder. */
export function translate(code: string, folder = join(ROOT, "bench")): string {
  return stripTypeScriptTypes(code).replace(RELATIVE, (_, before: string, path: string) => {
    const [, source] = /^(?:\.\.\/)+src\/(.*)\.ts$/.exec(path) ?? [];
    if (source !== undefined) return `${before}"${new URL(`${source}.js`, DIST).href}"`;
    if (path.endsWith(".mjs")) return `${before}"${pathToFileURL(join(folder, path)).href}"`;
    return `${before}"${path.replace(/\.ts$/, ".mjs")}"`;
  });
}

/** Writes the translated benches and returns their folder, which is removed when the process ends. */
export function translated(): string {
  if (!fs.existsSync(new URL("index.js", DIST)))
    throw new Error("bench: dist/ does not exist; run npm run build");
  const folder = fs.mkdtempSync(join(tmpdir(), "heed-bench-"));
  process.on("exit", () => fs.rmSync(folder, { recursive: true, force: true }));
  for (const part of FOLDERS) {
    fs.mkdirSync(join(folder, part), { recursive: true });
    const names = fs.readdirSync(join(ROOT, part));
    for (const name of names.filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))) {
      const code = fs.readFileSync(join(ROOT, part, name), "utf8");
      fs.writeFileSync(join(folder, part, name.replace(/\.ts$/, ".mjs")), translate(code, join(ROOT, part)));
    }
  }
  return join(folder, "bench");
}
