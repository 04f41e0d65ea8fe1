/**
 * A trained model as a folder in Hugging Face's layout: config.json, tokenizer.json and model.safetensors, under the names
 * their library has for GPT-2 and BERT. Here they are made as bytes; whoever has a file system writes them.
 */
import { arrayFor, narrow } from "../core/dtype.ts";
import { Tensor } from "../core/tensor.ts";
import { writeSafetensors } from "../io/index.ts";
import { type Tokenizer, writeTokenizer } from "../models/index.ts";
import type { LanguageKind, LanguageModel } from "./language.ts";

/** Ids of special tokens as config.json names them. */
export function specialIds(kind: LanguageKind, tokenizer: Tokenizer): Record<string, number> {
  const names: [string, string][] =
    kind === "decoder"
      ? [["bos_token_id", "<|endoftext|>"], ["eos_token_id", "<|endoftext|>"]] // biome-ignore format: one line
      : [["pad_token_id", "[PAD]"]];
  return Object.fromEntries(
    names.flatMap(([field, token]) => {
      const id = tokenizer.id(token);
      return id === undefined ? [] : [[field, id]];
    }),
  );
}

/** The files of a model's folder by name. `dtype` is that of the weights, rounded once to nearest even; default float32. */
export function modelFiles(
  model: LanguageModel,
  tokenizer: Tokenizer,
  dtype: "float32" | "float16" | "bfloat16" = "float32",
): Map<string, Uint8Array<ArrayBuffer>> {
  const config = { ...model.config, torch_dtype: dtype };
  const tensors = new Map([...model.parameters()].map(([name, tensor]) => [name, rounded(tensor, dtype)]));
  return new Map([
    ["config.json", new TextEncoder().encode(`${JSON.stringify(config, undefined, 2)}\n`)],
    ["tokenizer.json", writeTokenizer(tokenizer)],
    ["model.safetensors", writeSafetensors(tensors, { metadata: { format: "pt" } })],
  ]);
}

function rounded(tensor: Tensor, dtype: "float32" | "float16" | "bfloat16"): Tensor {
  const { shape, size } = tensor;
  const from = Float32Array.from(tensor.toFloat64());
  if (dtype === "float32") return new Tensor(from, shape, dtype);
  const to = arrayFor(dtype, size) as Uint16Array;
  narrow(dtype, from, to);
  return new Tensor(to, shape, dtype);
}
