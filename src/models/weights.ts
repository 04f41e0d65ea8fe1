/**
 * Weights of a Hugging Face model in safetensors: names as they are spelt by one version or another brought to those of the
 * plan, every difference between file and plan listed in one error, then read and widened to the dtype the model computes
 * in. Nothing is allocated before the file's header agrees with the plan.
 */
import { type DType, narrow, readerOf, type TypedData } from "../core/dtype.ts";
import { FormatError, OptionError } from "../core/errors.ts";
import { Tensor } from "../core/tensor.ts";
import { type SafetensorsFile, writeSafetensors } from "../io/index.ts";
import type { FloatTensor, Precision } from "../nn/index.ts";
import type { Plan } from "./parameters.ts";

/** Dtypes weights are read from. */
const READ: readonly string[] = ["float32", "float16", "bfloat16", "float64"];

/** The plan's name of a tensor of a GPT-2 file; undefined where it holds nothing the model needs. */
export function gpt2Name(name: string, tied: boolean): string | undefined {
  // Causal masks that early versions stored, and the output map where it is the embedding.
  if (/\.attn\.(bias|masked_bias)$/.test(name) || (tied && name === "lm_head.weight")) return undefined;
  return /^(wte|wpe|ln_f|h)\./.test(name) ? `transformer.${name}` : name;
}

/** The same for BERT. */
export function bertName(name: string): string | undefined {
  const full = /^(embeddings|encoder|pooler)\./.test(name) ? `bert.${name}` : name;
  // The pooler and the next-sentence head take no part here; the decoder is the embedding, its bias `cls.predictions.bias`.
  if (/^(bert\.pooler|cls\.seq_relationship|cls\.predictions\.decoder)\.|\.position_ids$/.test(full))
    return undefined;
  return full.replace(/\.gamma$/, ".weight").replace(/\.beta$/, ".bias");
}

/** Reads the parameters of `plan` out of `file`. Throws a FormatError that lists all that is missing, too much or misshapen. */
export async function readWeights(
  what: string,
  file: SafetensorsFile,
  plan: Plan,
  nameOf: (name: string) => string | undefined,
  dtype: Precision,
): Promise<Map<string, FloatTensor>> {
  const source = new Map<string, string>();
  const [unexpected, wrong]: string[][] = [[], []];
  for (const [name, { shape, dtype: stored }] of file.tensors) {
    const planned = nameOf(name);
    if (planned === undefined) continue;
    const want = plan.get(planned)?.shape;
    if (want === undefined || source.has(planned)) unexpected.push(name);
    else if (shape.join() !== want.join() || !READ.includes(stored))
      wrong.push(`${name} is [${shape.join(", ")}] ${stored}, expected [${want.join(", ")}] of floats`);
    source.set(planned, name);
  }
  const missing = [...plan.keys()].filter((name) => !source.has(name));
  if (missing.length + unexpected.length + wrong.length > 0) {
    const some = (title: string, list: readonly string[]) =>
      list.length === 0
        ? []
        : [`${title} ${list.slice(0, 8).join("; ")}${list.length > 8 ? ` and ${list.length - 8} more` : ""}`];
    const parts = [
      ...some("missing", missing),
      ...some("unexpected", unexpected),
      ...some("of another shape", wrong),
    ];
    throw new FormatError(
      "weights",
      `${what}: the weights are not those of this config: ${parts.join(" | ")}`,
      {
        missing,
        unexpected,
        wrong,
      },
    );
  }
  const read = new Map<string, FloatTensor>();
  for (const [name, { shape }] of plan) {
    const { data, dtype: stored } = await file.read(source.get(name) as string);
    read.set(name, new Tensor(widened(data as TypedData, stored as DType, dtype), shape, dtype));
  }
  return read;
}

/** A copy of the numbers in float32 or float64. */
function widened(data: TypedData, stored: DType, dtype: Precision): Float32Array | Float64Array {
  const out = dtype === "float64" ? new Float64Array(data.length) : new Float32Array(data.length);
  if (stored === "float32" || stored === "float64") out.set(data as Float32Array);
  else {
    const read = readerOf(stored, data);
    for (let i = 0; i < out.length; i++) out[i] = read(i);
  }
  return out;
}

/** The bytes of a safetensors file with these parameters in `dtype`. Throws where float16 cannot hold one. */
export function writeWeights(
  what: string,
  parameters: ReadonlyMap<string, FloatTensor>,
  dtype: "float32" | "float16" | "bfloat16",
): Uint8Array<ArrayBuffer> {
  const tensors = new Map<string, Tensor>();
  for (const [name, tensor] of parameters) {
    const numbers = Float32Array.from(tensor.toFloat64());
    const worst = numbers.findIndex(
      (x) => !Number.isFinite(x) || (dtype === "float16" && Math.abs(x) >= 65_520),
    );
    if (worst >= 0)
      throw new OptionError("dtype", `${what}: ${name} holds ${numbers[worst]}, which ${dtype} cannot keep`, {
        name,
      });
    if (dtype === "float32") tensors.set(name, new Tensor(numbers, tensor.shape, dtype));
    else {
      const bits = new Uint16Array(numbers.length);
      narrow(dtype, numbers, bits);
      tensors.set(name, new Tensor(bits, tensor.shape, dtype));
    }
  }
  // Hugging Face's loader asks for this text.
  return writeSafetensors(tensors, { metadata: { format: "pt" } });
}
