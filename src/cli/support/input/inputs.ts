/** Query, key and value of a command line: three files, one file with three tensors, or (for `explain`) shapes alone. */

import { zeros } from "../../../core/create/construct.ts";
import { type DType, FLOAT_DTYPES } from "../../../core/dtype.ts";
import { UnsupportedError } from "../../../core/errors.ts";
import type { Tensor } from "../../../core/tensor.ts";
import { type Io, UsageError, type Values } from "../line/command.ts";
import { oneOf, optional, shape } from "../line/values.ts";
import type { Container } from "./tensors.ts";
import { MEMORY_HELP, memoryLimit, namedThree, openContainer, splitAddress, tensorAt } from "./tensors.ts";

/** Their help. */
export const INPUT_HELP = {
  query: "NAME  the query in the input file (default query, q or Q)",
  key: "NAME  the key (default key, k or K)",
  value: "NAME  the value (default value, v or V)",
  ...MEMORY_HELP,
} as const;

/** The three operands, and their file if it was a single one. */
export interface Inputs {
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
  readonly file?: Container;
}

/** Reads the operands that the positionals name. */
export async function readInputs(
  values: Values,
  positionals: readonly string[],
  io: Pick<Io, "stdin">,
): Promise<Inputs> {
  const maxBytes = memoryLimit(values);
  if (positionals.length === 3) {
    for (const option of ["query", "key", "value"])
      if (values[option] !== undefined)
        throw new UsageError(
          `--${option} names a tensor of one input file; with three files write FILE#NAME`,
        );
    const three: Tensor[] = [];
    for (const [i, name] of ["query", "key", "value"].entries())
      three.push(
        await tensorAt(name, positionals[i], io, { usual: [name, name[0], name[0].toUpperCase()], maxBytes }),
      );
    const [query, key, value] = three;
    return { query, key, value };
  }
  if (positionals.length !== 1)
    throw new UsageError(
      `expected one file with query, key and value, or three files; got ${positionals.length === 0 ? "none" : positionals.length}`,
    );
  const { path, name } = splitAddress(positionals[0]);
  if (name !== undefined)
    throw new UsageError(
      `${positionals[0]} is one tensor; give the file alone, or three addresses: query, key and value`,
    );
  const file = await openContainer(path, io, maxBytes);
  if (file.kind === "npy") {
    await file.close();
    throw new UsageError(`${file.path} holds one array; give three npy files: query, key and value`);
  }
  try {
    const [query, key, value] = await namedThree(file, values);
    return { query, key, value, file };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Their help. */
export const SHAPE_HELP = {
  shape: "B,H,N,d  shape of query, key and value, in place of files",
  "query-shape": "B,H,N,d  shape of the query where it differs",
  "key-shape": "B,H,N,d  shape of the key, and of the value",
  "value-shape": "B,H,N,d  shape of the value where it differs from the key's",
  dtype: "DTYPE  float32 (default), float64, float16 or bfloat16; with --shape",
} as const;

/** Operands of zeros with the given shapes; undefined if no shape option is given. */
export function shapedInputs(values: Values, positionals: readonly string[]): Inputs | undefined {
  const shapes = Object.keys(SHAPE_HELP).filter((name) => values[name] !== undefined);
  if (shapes.length === 0) return undefined;
  if (positionals.length > 0)
    throw new UsageError(`--${shapes[0]} replaces files; got ${positionals[0]} as well`);
  const read = (name: string) => optional(values, name, shape);
  const every = read("shape");
  const query = read("query-shape") ?? every;
  const key = read("key-shape") ?? every;
  if (query === undefined || key === undefined)
    throw new UsageError("give --shape, or both --query-shape and --key-shape");
  const dtype = dtypeOption(values);
  const value = read("value-shape") ?? key;
  const tensors = new Map<string, Tensor>();
  const empty = (axes: readonly number[]): Tensor => {
    const tensor = tensors.get(axes.join()) ?? emptyTensor(axes, dtype);
    tensors.set(axes.join(), tensor);
    return tensor;
  };
  return { query: empty(query), key: empty(key), value: empty(value) };
}

/** The dtype of data given by its shape. */
export const dtypeOption = (values: Values): DType => oneOf("dtype", values.dtype ?? "float32", FLOAT_DTYPES);

/** A tensor of zeros. Throws an UnsupportedError if it does not fit into memory. */
export function emptyTensor(axes: readonly number[], dtype: DType): Tensor {
  try {
    return zeros(axes, dtype);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UnsupportedError("memory", `[${axes.join(", ")}] ${dtype} is more than this process can hold`, {
      shape: axes,
    });
  }
}
