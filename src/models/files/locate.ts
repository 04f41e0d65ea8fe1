/** Locates the models that heed ships (Node). Other models: `hub/find.ts`. */
import { checkCount, refuseGot } from "../../core/errors.ts";
import { shippedFolder } from "../../io/filesystem/shipped.ts";
import type { EncoderDecoder } from "../encoder-decoder/encoder-decoder.ts";
import type { Bert } from "../families/encoders/bert.ts";
import type { Gpt2 } from "../families/gpt/gpt2.ts";
import type { TransformerModel } from "../transformer/model.ts";

/** The models of this package by name. */
export const SHIPPED = ["encoder", "decoder", "translator"] as const;

declare const CLASS: unique symbol;

/** The path of a model's folder, whose type carries the class of the model for `readModel`. */
export type ModelFolder<M extends TransformerModel> = string & { readonly [CLASS]: M };

/**
 * The folder of a model that heed ships, in a clone or in the package heed-models: an encoder of BERT's architecture, a decoder
 * of GPT-2's, or a translator of BART's, from English to German, each with config.json, model.safetensors and tokenizer.json (Node). Throws
 * an UnsupportedError if it is missing.
 *
 * @example
 * const { model } = await readModel(locateShipped("decoder")); // a Gpt2
 */
export function locateShipped(which: "encoder"): ModelFolder<Bert>;
export function locateShipped(which: "decoder"): ModelFolder<Gpt2>;
export function locateShipped(which: "translator"): ModelFolder<EncoderDecoder>;
export function locateShipped(which: "encoder" | "decoder"): ModelFolder<Bert | Gpt2>;
export function locateShipped(
  which: "encoder" | "decoder" | "translator",
): ModelFolder<Bert | Gpt2 | EncoderDecoder>;
export function locateShipped(which: (typeof SHIPPED)[number]): string {
  checkCount("locateShipped", arguments, 1);
  if (!SHIPPED.includes(which))
    refuseGot("model", 'locateShipped: there is an "encoder", a "decoder" and a "translator"', which);
  return shippedFolder(which);
}
