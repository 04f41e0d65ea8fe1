/** Locates the models that heed ships (Node). Other models: `hub/find.ts`. */
import { checkCount, refuseGot } from "../../core/errors.ts";
import { shippedFolder } from "../../io/filesystem/shipped.ts";
import type { Bert } from "../families/encoders/bert.ts";
import type { Gpt2 } from "../families/gpt/gpt2.ts";
import type { TransformerModel } from "../transformer/model.ts";

declare const CLASS: unique symbol;

/** The path of a model's folder, whose type carries the class of the model for `readModel`. */
export type ModelFolder<M extends TransformerModel> = string & { readonly [CLASS]: M };

/**
 * The folder of a model that heed ships, in a clone or in the package heed-models: an encoder of BERT's architecture or a decoder
 * of GPT-2's, each with config.json, model.safetensors and tokenizer.json (Node). Throws an UnsupportedError if it is missing.
 *
 * @example
 * const { model } = await readModel(locateShipped("decoder")); // a Gpt2
 */
export function locateShipped(which: "encoder"): ModelFolder<Bert>;
export function locateShipped(which: "decoder"): ModelFolder<Gpt2>;
export function locateShipped(which: "encoder" | "decoder"): ModelFolder<Bert | Gpt2>;
export function locateShipped(which: "encoder" | "decoder"): string {
  checkCount("locateShipped", arguments, 1);
  if (which !== "encoder" && which !== "decoder")
    refuseGot("model", 'locateShipped: there is an "encoder" and a "decoder"', which);
  return shippedFolder(which);
}
