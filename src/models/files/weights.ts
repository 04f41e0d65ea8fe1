/**
 * Weights of a Hugging Face model in safetensors: the spellings of different versions are mapped to the names of the plan, one
 * error lists every difference between file and plan, and then the tensors are read. 16-bit numbers stay 16-bit. Nothing is
 * allocated before the file's header agrees with the plan, and never more than the file has.
 */
import { type DType, narrow, type TypedData } from "../../core/dtype.ts";
import { FormatError, OptionError } from "../../core/errors.ts";
import { Tensor } from "../../core/tensor.ts";
import { type SafetensorsFile, writeSafetensors } from "../../io/index.ts";
import type { FloatTensor, Precision } from "../../nn/index.ts";
import { type PackedDType, type PackedMatrix, packMatrix } from "../../nn/ops/packed.ts";
import { isHalf, type Plan, type Planned, packedShape, widen } from "./parameters.ts";
import type { Naming } from "./registry.ts";

/** Dtypes weights are read from. */
const READ: readonly string[] = ["float32", "float16", "bfloat16", "float64"];

/** A fact about a model that a user should know: ignored tensors, wrong numbers. */
export interface ModelNote {
  /** `note`: for information; `warning`: the model does not compute what it should. */
  readonly severity: "note" | "warning";
  readonly code: "task-head" | "output-matrix" | "not-a-number";
  readonly text: string;
}

/** Where the plan's tensors are in a file. */
export interface Located {
  /** Name in the file by name in the plan. */
  readonly source: ReadonlyMap<string, string>;
  /** Whether the file has the language-modeling head. */
  readonly hasHead: boolean;
  /** Whether the output matrix is a tensor of its own. */
  readonly ownOutput: boolean;
  readonly notes: readonly ModelNote[];
}

/** Finds the tensors of a family in a file. `tied` is the config's tie_word_embeddings, or undefined. */
export async function locateWeights(
  file: SafetensorsFile,
  naming: Naming,
  tied: boolean | undefined,
): Promise<Located> {
  const source = new Map<string, string>();
  const doubled: string[] = [];
  const tasks: string[] = [];
  for (const stored of file.tensors.keys()) {
    const name = canonical(stored, naming);
    if (naming.passed.test(name)) continue;
    if (naming.tasks.test(name)) tasks.push(stored);
    else if (source.has(name)) doubled.push(stored);
    else source.set(name, stored);
  }
  if (doubled.length > 0)
    throw new FormatError("weights", `weights: two tensors are the same parameter: ${doubled.join("; ")}`, {
      names: doubled,
    });
  const notes: ModelNote[] = [];
  if (tasks.length > 0)
    notes.push({
      severity: "note",
      code: "task-head",
      text: `the file has parts for another task, which are passed over: ${listed(tasks)}`,
    });
  const { matrix, table, bias } = naming.output;
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
  if (bias && source.has(bias[0])) {
    source.set(bias[1], source.get(bias[0])!);
    source.delete(bias[0]);
  }
  const hasHead = naming.head !== undefined ? source.has(naming.head) : ownOutput || tied !== false;
  return { source, hasHead, ownOutput: ownOutput && hasHead, notes };
}

/** A tensor's name in the plan. */
function canonical(stored: string, { prefix, bare, renames = [] }: Naming): string {
  let name = stored;
  for (const [pattern, to] of renames) name = name.replace(pattern, to);
  return bare.test(name) ? prefix + name : name;
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

/** Throws a FormatError that lists all that is missing, unexpected or of another shape. */
export function checkWeights(what: string, file: SafetensorsFile, { source }: Located, plan: Plan): void {
  const unexpected: string[] = [];
  const wrong: string[] = [];
  for (const [name, stored] of source) {
    const want = plan.get(name)?.shape;
    const { shape, dtype } = file.tensors.get(stored)!;
    if (want === undefined) unexpected.push(stored);
    else if (shape.join() !== want.join() || !READ.includes(dtype))
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
    {
      missing,
      unexpected,
      wrong,
    },
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
  plan: Plan,
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
    const { data, dtype: given } = await file.read(stored);
    // A view of the caller's bytes is copied: training updates parameters in place.
    const own = data.byteLength < data.buffer.byteLength ? data.slice() : data;
    const tensor = new Tensor(own as TypedData, shape, given as DType);
    if (firstNotFinite(tensor) >= 0) broken.push(stored);
    parameters.set(name, isHalf(tensor) || given === dtype ? tensor : widen(tensor, dtype));
  }
  if (broken.length === 0) return { parameters, notes: [] };
  const more = broken.length === 1 ? "" : ` and in ${broken.length - 1} more tensors`;
  const text = `the weights hold NaN or infinite numbers, first in ${broken[0]}${more}; what is computed from them is not a number either`;
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
  const { dtype: given, start, end } = file.tensors.get(stored)!;
  const kept: PackedDType = given === "float16" || given === "bfloat16" ? given : "float32";
  const matrix = packMatrix(packedShape(planned), kept);
  if (!matrix) return undefined;
  let finite = true;
  const step = Math.max(1, Math.floor((SLICE * rows) / (end - start)));
  for (let row = 0; row < rows; row += step) {
    const slice = await file.read(stored, { rows: [row, Math.min(rows, row + step)], into: slices });
    const tensor = new Tensor(slice.data as TypedData, slice.shape, slice.dtype as DType);
    if (firstNotFinite(tensor) >= 0) finite = false;
    const numbers = (tensor.dtype === kept ? tensor : widen(tensor, "float32")).data;
    if (planned.map === "in-out") matrix.writeColumns(row, numbers as Float32Array);
    else matrix.writeRows(row, numbers as Float32Array);
  }
  return { matrix, finite };
}

/** Index of the first NaN or infinite number, or −1. */
function firstNotFinite({ data, dtype }: Tensor): number {
  if (isHalf({ dtype })) {
    // All ones in the exponent.
    const exponent = dtype === "float16" ? 0x7c00 : 0x7f80;
    return (data as Uint16Array).findIndex((bits) => (bits & exponent) === exponent);
  }
  const numbers = data as Float32Array;
  for (let i = 0; i < numbers.length; i++) if (numbers[i] - numbers[i] !== 0) return i;
  return -1;
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
