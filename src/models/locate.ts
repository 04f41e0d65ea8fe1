/** Where the models that heed ships are (Node). Other models: `hub/find.ts`. */
import { formatValue, OptionError } from "../core/errors.ts";
import { shippedFolder } from "../io/shipped.ts";

/**
 * The folder of a model that heed ships, in a clone or in the package heed-models: an encoder of BERT's architecture, a decoder of GPT-2's, each with
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
  return shippedFolder(which);
}
