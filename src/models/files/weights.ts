/**
 * Weights of a Hugging Face model in safetensors: the spellings of different versions are mapped to the names of the plan, one
 * error lists every difference between file and plan, and then the tensors are read. 16-bit numbers stay 16-bit. Nothing is
 * allocated before the file's header agrees with the plan, and never more than the file has.
 */
import type { DType, StoredDType, TypedData } from "../../core/dtype.ts";
import { arrayFor, DTYPES, isFloat, isHalf, narrow, readerOf } from "../../core/dtype.ts";
import { FormatError, OptionError, UnsupportedError } from "../../core/errors.ts";
import { Tensor } from "../../core/tensor.ts";
import { type SafetensorsFile, writeSafetensors } from "../../io/index.ts";
import type { FloatTensor, Precision } from "../../nn/index.ts";
import { type PackedMatrix, packMatrix } from "../../nn/ops/packed.ts";
import type { FileNames } from "../families/family.ts";
import { sinusoid } from "../transformer/angles.ts";
import type { TensorNames, TransformerConfig } from "../transformer/config.ts";
import { type ParameterPlan, type Planned, packedShape, widen } from "../transformer/parameters.ts";

/** A fact about a model that a user should know: ignored tensors, wrong numbers. */
export interface ModelNote {
  /** `note`: for information; `warning`: the model does not compute what it should. */
  readonly severity: "note" | "warning";
  readonly code: "task-head" | "output-matrix" | "not-a-number" | "custom-code" | "tokenizer" | "adapter";
  readonly text: string;
}

/** Where the plan's tensors are in a file. */
export interface Located {
  /** Name in the file by name in the plan. */
  readonly source: ReadonlyMap<string, string>;
  /** Whether the file has the language-modeling head. */
  readonly hasHead: boolean;
  /** Whether the file has the head for spans of answers. */
  readonly hasSpanHead: boolean;
  /** Whether the output matrix is a tensor of its own. */
  readonly ownOutput: boolean;
  readonly notes: readonly ModelNote[];
}

/** Heads for other tasks that any family may have. */
const OTHER_HEADS =
  /^(classifier|qa_outputs|score|summary|sequence_summary|multiple_choice_head|pre_classifier)\b/;

/** Finds the tensors of a model in a file. `tied` is the config's tie_word_embeddings, or undefined. */
export async function locateWeights(
  file: SafetensorsFile,
  names: TensorNames,
  files: FileNames,
  tied: boolean | undefined,
): Promise<Located> {
  const source = new Map<string, string>();
  const doubled: string[] = [];
  const otherHeads: string[] = [];
  const canonical = canonicalName(names, files);
  const [prefix] = names.embedding.split(".", 1);
  const buffers = new RegExp(`^${prefix}\\.pooler\\.|\\.(position_ids|rotary_emb\\.inv_freq)$`);
  // A name of the recipe's takes precedence over the patterns of what is ignored.
  const readNames = Object.values(names).filter((name) => name !== undefined);
  for (const stored of file.tensors.keys()) {
    const name = canonical(stored);
    const isRead = readNames.some((one) => name === one || name.startsWith(`${one}.`));
    if (buffers.test(name) || (files.ignored?.test(name) && !isRead)) continue;
    if ((OTHER_HEADS.test(name) || files.otherHeads?.test(name)) && !isRead) otherHeads.push(stored);
    else if (source.has(name)) doubled.push(stored);
    else source.set(name, stored);
  }
  if (doubled.length > 0)
    throw new FormatError("weights", `weights: two tensors are the same parameter: ${doubled.join("; ")}`, {
      names: doubled,
    });
  const { headMap, headNorm, headBias } = names;
  const hasSpanHead = source.has(`${names.span}.weight`);
  // ModernBERT's map before the output is also that before its heads for other tasks, of which a file has one.
  const forTask =
    headMap !== undefined && headMap === names.spanMap && (hasSpanHead || otherHeads.length > 0);
  if (forTask && !hasSpanHead)
    for (const [name, stored] of source)
      if ([headMap, headNorm].includes(name.replace(/\.(weight|bias)$/, ""))) {
        otherHeads.push(stored);
        source.delete(name);
      }
  const notes: ModelNote[] = [];
  if (otherHeads.length > 0)
    notes.push({
      severity: "note",
      code: "task-head",
      text: `the file has parts for another task, which are ignored: ${listed(otherHeads)}`,
    });
  const [matrix, table] = [`${names.head}.weight`, `${names.embedding}.weight`];
  let ownOutput = source.has(matrix);
  if (ownOutput && tied !== false) {
    ownOutput = !(await sameBytes(file, source, matrix, table));
    if (!ownOutput) source.delete(matrix);
    else if (tied)
      notes.push({
        severity: "note",
        code: "output-matrix",
        text: `${matrix} differs from ${table}, so it is used, although config.json does not say that the two are untied`,
      });
  }
  // The same bias under a second name: that of the output layer takes precedence.
  const secondBias = `${names.head}.bias`;
  if (headBias && headBias !== secondBias && source.has(secondBias)) {
    source.set(headBias, source.get(secondBias)!);
    source.delete(secondBias);
  }
  // Only files with the head have the map before its output; without such a map the output matrix is the head.
  const hasHead =
    headMap === undefined ? ownOutput || tied !== false : !forTask && source.has(`${headMap}.weight`);
  return { source, hasHead, hasSpanHead, ownOutput: ownOutput && hasHead, notes };
}

/** A function from a tensor's name in the file to its name in the plan: a base model saved alone omits the prefix. */
export function canonicalName(names: TensorNames, { renames = [] }: FileNames): (stored: string) => string {
  const prefix = names.embedding.slice(0, names.embedding.indexOf(".") + 1);
  const parts = Object.values(names)
    .filter((name) => name?.startsWith(prefix))
    .map((name: string) => name.slice(prefix.length).split(".", 1)[0]);
  const unprefixed = new Set([...parts, "pooler"]);
  return (stored) => {
    // Prefixes of DistributedDataParallel and torch.compile.
    let name = stored.replace(/^(?:module\.)+/, "").replace(/(^|\.)_orig_mod\./g, "$1");
    for (const [pattern, to] of renames) name = name.replace(pattern, to);
    return unprefixed.has(name.split(".", 1)[0]) ? prefix + name : name;
  };
}

async function sameBytes(
  file: SafetensorsFile,
  source: ReadonlyMap<string, string>,
  a: string,
  b: string,
): Promise<boolean> {
  const [one, other] = [source.get(a), source.get(b)].map((name) => name && file.tensors.get(name));
  // Differences of shape are checked against the plan later.
  if (!one || !other || one.shape.join() !== other.shape.join()) return false;
  const [x, y] = [await file.read(source.get(a)!), await file.read(source.get(b)!)];
  if (x.dtype !== y.dtype) return false;
  const bytes = [x, y].map(({ data }) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  return bytes[0].length === bytes[1].length && bytes[0].every((byte, i) => byte === bytes[1][i]);
}

/** Rounding of sines in 16 bits, and of their angles in float32. */
const SINE_TOLERANCE = 5e-3;

/** Throws where a file has other positions than the computed ones of its recipe: transformers reads them from the file. */
export async function checkComputedPositions(
  file: SafetensorsFile,
  { sinusoids, hidden_size: C }: TransformerConfig,
): Promise<void> {
  if (!sinusoids) return;
  for (const [name, { dtype, shape }] of file.tensors) {
    if (!/\bembed_positions\.weights?$/.test(name) || !isFloat(dtype)) continue;
    const at = readerOf(dtype, (await file.read(name)).data as TypedData);
    // The rows of padding are zeros.
    for (let n = sinusoids.first; n < shape[0]; n++)
      for (let i = 0; i < C / 2; i++) {
        const [sin, cos] = sinusoid(n, i, sinusoids.divisor);
        const error = Math.max(Math.abs(at(n * C + i) - sin), Math.abs(at(n * C + C / 2 + i) - cos));
        if (!(error < SINE_TOLERANCE))
          throw new UnsupportedError(
            "positions",
            `${name}: row ${n} is not the sines and cosines of its position, which heed computes`,
            { name, row: n },
          );
      }
  }
}

/** Throws a FormatError that lists all that is missing, unexpected (unless it is `unused`) or of another shape. */
export function checkWeights(
  what: string,
  file: SafetensorsFile,
  { source }: Located,
  plan: ParameterPlan,
  unused?: RegExp,
): void {
  const unexpected: string[] = [];
  const wrong: string[] = [];
  for (const [name, stored] of source) {
    const want = plan.get(name)?.shape;
    const { shape, dtype } = file.tensors.get(stored)!;
    if (want === undefined) {
      if (!unused?.test(name)) unexpected.push(stored);
    } else if (shape.join() !== want.join() || !isFloat(dtype))
      wrong.push(`${stored} is [${shape.join(", ")}] ${dtype}, expected [${want.join(", ")}] of floats`);
  }
  const missing = [...plan.keys()].filter((name) => !source.has(name));
  if (missing.length + unexpected.length + wrong.length === 0) return;
  const some = (title: string, list: readonly string[]) =>
    list.length === 0 ? [] : [`${title} ${listed(list)}`];
  const parts = [
    ...some("missing", missing),
    ...some("unexpected", unexpected),
    ...some("of another shape", wrong),
  ];
  throw new FormatError(
    "weights",
    `${what}: the weights are not those of this config.json: ${parts.join(" | ")}`,
    { missing, unexpected, wrong },
  );
}

/** Tensors that an error or a note lists. */
const LISTED = 4;

function listed(list: readonly string[]): string {
  const rest = list.length - LISTED;
  return `${list.slice(0, LISTED).join("; ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}

/** Bytes of a matrix to read at a time into its packed form. */
const SLICE = 2 ** 20;

/**
 * Reads the parameters of `plan`: 16-bit numbers as they are, others in `dtype`. Where the kernels run, matrices of products,
 * `output` included, are packed slice by slice, so that memory never has a second copy of one. A note reports numbers that are
 * not finite.
 */
export async function readWeights(
  file: SafetensorsFile,
  { source }: Located,
  plan: ParameterPlan,
  dtype: Precision,
  output?: string,
): Promise<{
  readonly parameters: Map<string, Tensor | PackedMatrix>;
  readonly notes: readonly ModelNote[];
}> {
  const parameters = new Map<string, Tensor | PackedMatrix>();
  const broken: string[] = [];
  // All slices share one buffer: a new buffer for each would stay allocated until V8's next garbage collection.
  const slices = new Uint8Array(SLICE);
  for (const [name, planned] of plan) {
    const { shape } = planned;
    const stored = source.get(name) as string;
    const isMatrix = planned.map !== undefined || name === output;
    const packed =
      isMatrix && dtype === "float32" ? await readPacked(file, stored, planned, slices) : undefined;
    if (packed) {
      if (!packed.finite) broken.push(stored);
      parameters.set(name, packed.matrix);
      continue;
    }
    const { data, dtype: storedDType } = await file.read(stored);
    // A view of the caller's bytes is copied: training updates parameters in place.
    const numbers = data.byteLength < data.buffer.byteLength ? data.slice() : data;
    const tensor = new Tensor(numbers as TypedData, shape, storedDType as DType);
    if (firstNotFinite(tensor) >= 0) broken.push(stored);
    parameters.set(name, isHalf(tensor.dtype) || storedDType === dtype ? tensor : widen(tensor, dtype));
  }
  if (broken.length === 0) return { parameters, notes: [] };
  const more = broken.length === 1 ? "" : ` and in ${broken.length - 1} more tensors`;
  const text = `the weights hold NaN or infinite numbers, first in ${broken[0]}${more}; results will be NaN`;
  return { parameters, notes: [{ severity: "warning", code: "not-a-number", text }] };
}

/** A matrix of the file, packed; undefined if the kernels do not run, or their memory is full. */
async function readPacked(
  file: SafetensorsFile,
  stored: string,
  planned: Planned,
  slices: Uint8Array,
): Promise<{ readonly matrix: PackedMatrix; readonly finite: boolean } | undefined> {
  const [rows] = planned.shape;
  const { dtype, start, end } = file.tensors.get(stored)!;
  const packedDType: StoredDType = isHalf(dtype) ? dtype : "float32";
  const matrix = packMatrix(packedShape(planned), packedDType);
  if (!matrix) return undefined;
  let finite = true;
  const step = Math.max(1, Math.floor((SLICE * rows) / (end - start)));
  for (let row = 0; row < rows; row += step) {
    const until = Math.min(rows, row + step);
    const fits = ((end - start) / rows) * (until - row) <= slices.length;
    const slice = await file.read(stored, { rows: [row, until], ...(fits && { into: slices }) });
    const tensor = new Tensor(slice.data as TypedData, slice.shape, slice.dtype as DType);
    if (firstNotFinite(tensor) >= 0) finite = false;
    const numbers = (tensor.dtype === packedDType ? tensor : widen(tensor, "float32")).data;
    if (planned.map === "in-out") matrix.writeColumns(row, numbers as Float32Array);
    else matrix.writeRows(row, numbers as Float32Array);
  }
  return { matrix, finite };
}

/** Index of the first NaN or infinite number, or −1. */
function firstNotFinite({ data, dtype }: Tensor): number {
  const exponent = DTYPES[dtype].bits?.overflow;
  if (exponent !== undefined) {
    // All ones in the exponent.
    return (data as Uint16Array).findIndex((bits) => (bits & exponent) === exponent);
  }
  const numbers = data as Float32Array;
  // 0 times a number is 0 or −0, times NaN or infinity NaN: four sums at a time find out whether there is one.
  let [a, b, c, d] = [0, 0, 0, 0];
  const fours = numbers.length - (numbers.length % 4);
  for (let i = 0; i < fours; i += 4) {
    a += numbers[i] * 0;
    b += numbers[i + 1] * 0;
    c += numbers[i + 2] * 0;
    d += numbers[i + 3] * 0;
  }
  for (let i = fours; i < numbers.length; i++) a += numbers[i] * 0;
  return a + b + c + d === 0 ? -1 : numbers.findIndex((x) => x - x !== 0);
}

/** The bytes of a safetensors file with these parameters in `dtype`. Throws where float16 cannot hold one. */
export function writeWeights(
  what: string,
  parameters: ReadonlyMap<string, FloatTensor>,
  dtype: StoredDType,
): Uint8Array<ArrayBuffer> {
  const tensors = new Map<string, Tensor>();
  for (const [name, tensor] of parameters) {
    const numbers = Float32Array.from(tensor.toFloat64());
    const data = isHalf(dtype) ? arrayFor(dtype, numbers.length) : numbers;
    if (isHalf(dtype)) narrow(dtype, numbers, data);
    const written = new Tensor(data, tensor.shape, dtype);
    const worst = firstNotFinite(written);
    if (worst >= 0)
      throw new OptionError("dtype", `${what}: ${name} holds ${numbers[worst]}, which ${dtype} cannot keep`, {
        name,
      });
    tensors.set(name, written);
  }
  // Hugging Face's loader asks for this text.
  return writeSafetensors(tensors, { metadata: { format: "pt" } });
}
