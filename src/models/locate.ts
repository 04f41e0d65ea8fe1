/** Where the models that this package ships are (Node). Other models: `hub/find.ts`. */
import { formatValue, OptionError, UnsupportedError } from "../core/errors.ts";

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
