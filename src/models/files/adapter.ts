/**
 * LoRA adapters (Hu et al. 2021, arXiv 2106.09685) as PEFT saves them: adapter_config.json and adapter_model.safetensors or .bin.
 * They are merged on loading, W + scaling·B·A, so that the model computes as one without an adapter.
 */
import type { TypedData } from "../../core/dtype.ts";
import { FormatError, UnsupportedError } from "../../core/errors.ts";
import { Tensor } from "../../core/tensor.ts";
import type { FileTensor, SafetensorsFile } from "../../io/index.ts";
import { widen } from "../transformer/parameters.ts";

/** What an adapter's config asks for. */
export interface AdapterConfig {
  /** The model that it belongs to: a folder or ORG/NAME. */
  readonly base: string | undefined;
  readonly rank: number;
  readonly alpha: number;
  readonly ranks: Readonly<Record<string, number>>;
  readonly alphas: Readonly<Record<string, number>>;
  /** Divides by √rank in place of the rank. */
  readonly stable: boolean;
  /** Matrices of the model are stored [in, out]. */
  readonly transposed: boolean;
}

/** Fields that ask for another computation. */
const REFUSED = [
  "use_dora",
  "layer_replication",
  "trainable_token_indices",
  "megatron_config",
  "use_qalora",
  "lora_bias",
  "alora_invocation_tokens",
];

/** Reads adapter_config.json. Throws an UnsupportedError for adapters of another kind, a FormatError for wrong numbers. */
export function readAdapterConfig(fields: Readonly<Record<string, unknown>>): AdapterConfig {
  const what = "adapter_config.json";
  const kind = fields.peft_type;
  if (kind !== "LORA")
    throw new UnsupportedError(
      "adapter",
      `${what}: peft_type is ${JSON.stringify(kind)}; heed merges LORA. Merge it in Python: PeftModel.from_pretrained(model, DIR).merge_and_unload().save_pretrained(NEW)`,
      { got: kind },
    );
  for (const name of REFUSED) {
    const value = fields[name];
    if (value !== undefined && value !== null && value !== false)
      throw new UnsupportedError(
        "adapter",
        `${what}: heed does not merge adapters with ${name}; merge it in Python: PeftModel.from_pretrained(model, DIR).merge_and_unload().save_pretrained(NEW)`,
        { field: name },
      );
  }
  const number = (name: string) => {
    const value = fields[name];
    if (typeof value === "number" && value > 0 && Number.isFinite(value)) return value;
    throw new FormatError(
      "adapter",
      `${what}: ${name} must be a number above 0, got ${JSON.stringify(value)}`,
      { field: name },
    );
  };
  const table = (name: string) => {
    const value = fields[name] ?? {};
    const isTable =
      typeof value === "object" && Object.values(value).every((one) => typeof one === "number" && one > 0);
    if (isTable) return value as Record<string, number>;
    throw new FormatError("adapter", `${what}: ${name} must be an object of numbers above 0`, {
      field: name,
    });
  };
  const base = fields.base_model_name_or_path;
  return {
    base: typeof base === "string" && base !== "" ? base : undefined,
    rank: number("r"),
    alpha: number("lora_alpha"),
    ranks: table("rank_pattern"),
    alphas: table("alpha_pattern"),
    stable: fields.use_rslora === true,
    transposed: fields.fan_in_fan_out === true,
  };
}

/** The two factors of a matrix in the adapter's file, and what multiplies their product. */
interface Factors {
  a?: string;
  b?: string;
  /** The product is [out, in], the matrix [in, out]. */
  transposed: boolean;
  readonly module: string;
}

/**
 * The weights of a model with an adapter merged into them. `canonical` maps a tensor's name, in the file of the model or in the
 * adapter, to the name by which the two are compared.
 */
export async function mergeAdapter(
  model: SafetensorsFile,
  adapter: SafetensorsFile,
  config: AdapterConfig,
  canonical: (stored: string) => string,
): Promise<SafetensorsFile> {
  const names = new Map([...model.tensors.keys()].map((name) => [canonical(name), name]));
  const factors = new Map<string, Factors>();
  const replaced = new Map<string, string>();
  const unmatched: string[] = [];
  for (const stored of adapter.tensors.keys()) {
    const name = stored
      .replace(/^base_model\.model\./, "")
      .replace(/\.(?:base_layer|modules_to_save(?:\.default)?)(?=\.)/, "");
    const [, module, part] = /^(.*)\.(lora_(?:embedding_)?[AB])(?:\.default)?(?:\.weight)?$/.exec(name) ?? [];
    const target = names.get(canonical(module === undefined ? name : `${module}.weight`));
    if (target === undefined) unmatched.push(stored);
    else if (module === undefined) replaced.set(target, stored);
    else {
      const isTable = part.startsWith("lora_embedding");
      const entry = factors.get(target) ?? { module, transposed: isTable || config.transposed };
      entry[part.endsWith("A") ? "a" : "b"] = stored;
      factors.set(target, entry);
    }
  }
  if (unmatched.length > 0)
    throw new FormatError(
      "adapter",
      `the adapter has tensors for parts that the model has not: ${unmatched.slice(0, 4).join("; ")}${unmatched.length > 4 ? ` and ${unmatched.length - 4} more` : ""}`,
      { names: unmatched },
    );
  if (factors.size + replaced.size === 0) throw new FormatError("adapter", "the adapter has no tensor");
  const tensors = new Map(model.tensors);
  const deltas = new Map<string, Tensor>();
  for (const [name, { a, b, module, transposed }] of factors) {
    const info = model.tensors.get(name)!;
    const [shapeA, shapeB] = [a, b].map((one) =>
      one === undefined ? undefined : adapter.tensors.get(one)?.shape,
    );
    const [rows, columns] = transposed ? [info.shape[1], info.shape[0]] : info.shape;
    const rank = shapeA?.[0];
    if (
      !a ||
      !b ||
      !shapeA ||
      !shapeB ||
      info.shape.length !== 2 ||
      [rank, columns].join() !== [...shapeA].join() ||
      [rows, rank].join() !== [...shapeB].join()
    )
      throw new FormatError(
        "adapter",
        `the adapter's matrices of ${module} are [${shapeA?.join(", ")}] and [${shapeB?.join(", ")}], the model's is [${info.shape.join(", ")}]`,
        { name },
      );
    const [left, right] = [await floats(adapter, b), await floats(adapter, a)];
    deltas.set(name, product(left, right, scalingOf(config, module, rank as number), transposed));
    tensors.set(name, { dtype: "float32", shape: info.shape, start: 0, end: 4 * rows * columns });
  }
  for (const [name, stored] of replaced) {
    const info = adapter.tensors.get(stored)!;
    if (info.shape.join() !== model.tensors.get(name)!.shape.join())
      throw new FormatError(
        "adapter",
        `${stored} of the adapter is [${info.shape.join(", ")}], the model's is [${model.tensors.get(name)!.shape.join(", ")}]`,
        { name },
      );
    tensors.set(name, info);
  }
  return {
    metadata: model.metadata,
    tensors,
    async read(name, options) {
      const stored = replaced.get(name);
      if (stored !== undefined) return adapter.read(stored, options);
      const delta = deltas.get(name);
      const weights = await model.read(name, options);
      if (delta === undefined) return weights;
      const [from] = options?.rows ?? [0];
      const wide = widen(
        new Tensor(weights.data as TypedData, weights.shape, weights.dtype as never),
        "float32",
      );
      const out = Float32Array.from(wide.data as Float32Array);
      const shift = from * weights.shape[1];
      const add = delta.data as Float64Array;
      for (let i = 0; i < out.length; i++) out[i] += add[shift + i];
      return new Tensor(out, weights.shape, "float32") as FileTensor;
    },
    async close() {
      await adapter.close();
      await model.close();
    },
  };
}

async function floats(file: SafetensorsFile, name: string): Promise<Tensor> {
  const { data, shape, dtype } = await file.read(name);
  return widen(new Tensor(data as TypedData, shape, dtype as never), "float64");
}

/** alpha / r, or alpha / √r; a pattern's key is the end of a module's name. */
function scalingOf(
  { rank, alpha, ranks, alphas, stable }: AdapterConfig,
  module: string,
  stored: number,
): number {
  const of = (table: Readonly<Record<string, number>>, usual: number) => {
    const key = Object.keys(table).find((key) => module === key || module.endsWith(`.${key}`));
    return key === undefined ? usual : table[key];
  };
  const r = of(ranks, rank);
  if (r !== stored)
    throw new FormatError(
      "adapter",
      `adapter_config.json: the rank of ${module} is ${r}, its matrices have ${stored}`,
      { name: module },
    );
  return of(alphas, alpha) / (stable ? Math.sqrt(r) : r);
}

/** scaling · B·A, [out, in], or its transpose. */
function product(b: Tensor, a: Tensor, scaling: number, transposed: boolean): Tensor {
  const [rows, rank] = b.shape;
  const columns = a.shape[1];
  const [x, y] = [b.data as Float64Array, a.data as Float64Array];
  const out = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++)
    for (let k = 0; k < rank; k++) {
      const factor = scaling * x[i * rank + k];
      for (let j = 0; j < columns; j++)
        out[transposed ? j * rows + i : i * columns + j] += factor * y[k * columns + j];
    }
  return new Tensor(out, transposed ? [columns, rows] : [rows, columns], "float64");
}
