/**
 * The benches for the built package: the same files with their types stripped and their imports of src/ changed to dist/,
 * in a temporary folder, so that every version of Node can run them: Node 20 does not run TypeScript.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const DIST = new URL("../dist/", import.meta.url);

/** Relative modules of import and export statements: the quote, the path. */
const RELATIVE = /(\bfrom\s*|\bimport\s*\(?\s*)"(\.\.?\/[^"]+)"/g;

/** Code of one file as JavaScript for that folder. */
export function translate(code: string): string {
  return stripTypeScriptTypes(code).replace(RELATIVE, (_, before: string, path: string) => {
    if (path.startsWith("../src/"))
      return `${before}"${new URL(path.slice("../src/".length).replace(/\.ts$/, ".js"), DIST).href}"`;
    if (path.endsWith(".mjs")) return `${before}"${pathToFileURL(join(HERE, path)).href}"`;
    return `${before}"${path.replace(/\.ts$/, ".mjs")}"`;
  });
}

/** Writes the translated benches and returns their folder, which is removed when the process ends. */
export function translated(): string {
  if (!existsSync(new URL("index.js", DIST)))
    throw new Error("bench: dist/ does not exist; run npm run build");
  const folder = mkdtempSync(join(tmpdir(), "heed-bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  for (const name of readdirSync(HERE).filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts")))
    writeFileSync(
      join(folder, name.replace(/\.ts$/, ".mjs")),
      translate(readFileSync(join(HERE, name), "utf8")),
    );
  return folder;
}
