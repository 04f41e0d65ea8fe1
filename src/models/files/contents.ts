/** What a folder of a model must have, in any of the formats that heed reads; and what else it may be, for errors. */
import { FormatError, UnsupportedError } from "../../core/errors.ts";
import { TOKENIZER_FILES } from "./tokenizer-files.ts";

/** Files of weights, in the order of preference; each may be an index of shards. */
export const WEIGHT_FILES = [
  "model.safetensors.index.json",
  "model.safetensors",
  "pytorch_model.bin.index.json",
  "pytorch_model.bin",
] as const;

/** The one GGUF file among the names; undefined if there is none. */
export function ggufFile(names: readonly string[]): string | undefined {
  const files = names.filter((name) => /\.gguf$/i.test(name) && !/mmproj/i.test(name));
  if (files.length > 1)
    throw new FormatError(
      "model-files",
      `there are ${files.length} GGUF files, ${files.slice(0, 4).join(", ")}${files.length > 4 ? ", …" : ""}: keep one in the folder`,
      { files },
    );
  return files[0];
}

/** True for the folder of a LoRA adapter that has no model of its own. */
export const isAdapterOnly = (names: readonly string[]): boolean =>
  names.includes("adapter_config.json") && !names.includes("config.json");

/** The files that are missing: config.json, a tokenizer where the model reads text, weights. */
export function missingFiles(names: readonly string[], readsText = true): string[] {
  const has = (name: string) => names.includes(name);
  if (isAdapterOnly(names) || names.some((name) => /\.gguf$/i.test(name))) return [];
  return [
    ...(has("config.json") ? [] : ["config.json"]),
    ...(!readsText || TOKENIZER_FILES.some((list) => list.every(has)) ? [] : ["tokenizer.json"]),
    ...(WEIGHT_FILES.some(has) ? [] : ["model.safetensors"]),
  ];
}

/** Throws a FormatError or an UnsupportedError about a folder that lacks files, with what it is where that is clear. */
export function refuseContents(
  label: string,
  names: readonly string[],
  missing: readonly string[],
  advice = "",
): never {
  const has = (pattern: RegExp) => names.some((name) => pattern.test(name));
  const lacksWeights = missing.includes("model.safetensors");
  if (lacksWeights && has(/^onnx$|\.onnx$/i))
    throw new UnsupportedError(
      "onnx-only",
      `${label} has the weights as ONNX only, which heed does not run: "heed onnx expose" makes such a file give its attention (docs/onnx.md); or use the model with model.safetensors that it was made from`,
      { directory: label },
    );
  const tips: string[] = [];
  if (lacksWeights && has(/^(?:tf_model\.h5|flax_model\.msgpack)$/))
    tips.push(
      "Its weights are those of TensorFlow or Flax; convert them in Python: from transformers import AutoModel; AutoModel.from_pretrained(DIR, from_tf=True).save_pretrained(DIR)",
    );
  if (lacksWeights && has(/^consolidated.*\.pth$|^params\.json$/))
    tips.push(
      "Its weights have the names of the original publication; use the model's repository for transformers",
    );
  const few = names.slice(0, 8).join(", ");
  throw new FormatError(
    "model-files",
    `${label} has no ${missing.join(", no ")}${advice}; a model's folder has config.json, tokenizer.json and model.safetensors, this one has ${few === "" ? "nothing" : few}${names.length > 8 ? ", …" : ""}${tips.map((tip) => `. ${tip}`).join("")}`,
    { directory: label, missing },
  );
}
