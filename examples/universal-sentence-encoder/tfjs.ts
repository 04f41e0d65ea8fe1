/**
 * Weights of a TensorFlow.js graph model: `model.json` contains a manifest of tensors (name, shape, dtype), and the
 * shards that it names contain their bytes, little-endian, one tensor after the other, in the order of the manifest.
 * Format: tensorflow/tfjs, tfjs-core/src/io/types.ts (WeightsManifestConfig).
 *
 * Only the weights are read. The graph itself is not run: a model is a page of TypeScript that uses them.
 */
import { type DType, FormatError, Tensor, UnsupportedError } from "heed";

/** One tensor of the manifest, with its position in the joined shards. */
export interface WeightEntry {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: DType;
  /** First byte, and the number of bytes. */
  readonly offset: number;
  readonly bytes: number;
}

/** A manifest: the shard files in order, the tensors, and their total number of bytes. */
export interface WeightsManifest {
  readonly paths: readonly string[];
  readonly weights: readonly WeightEntry[];
  readonly bytes: number;
}

const DTYPES: Readonly<Record<string, DType>> = { float32: "float32", int32: "int32", bool: "bool" };

/** Reads the manifest from the text of a `model.json`. Every field is checked; nothing is allocated for the tensors. */
export function parseManifest(json: string): WeightsManifest {
  let model: unknown;
  try {
    model = JSON.parse(json);
  } catch (cause) {
    throw new FormatError("json", `model.json: not JSON: ${(cause as Error).message}`);
  }
  const groups = (model as { weightsManifest?: unknown } | null)?.weightsManifest;
  if (!Array.isArray(groups))
    throw new FormatError(
      "manifest",
      `model.json: expected a list weightsManifest, got ${show(groups)}; is it a TensorFlow.js model?`,
      { got: groups },
    );
  const paths: string[] = [];
  const weights: WeightEntry[] = [];
  const names = new Set<string>();
  let offset = 0;
  for (const group of groups) {
    if (!Array.isArray(group?.paths) || !Array.isArray(group?.weights))
      throw new FormatError("manifest", "model.json: each manifest group must have lists paths and weights");
    for (const path of group.paths) paths.push(checkPath(path));
    for (const entry of group.weights) {
      const weight = checkEntry(entry, offset);
      if (names.has(weight.name))
        throw new FormatError("duplicate", `model.json: tensor ${show(weight.name)} is listed twice`, {
          got: weight.name,
        });
      names.add(weight.name);
      weights.push(weight);
      offset += weight.bytes;
    }
  }
  if (!Number.isSafeInteger(offset))
    throw new FormatError("size", "model.json: the tensors have more than 2^53 bytes together");
  return { paths, weights, bytes: offset };
}

function checkPath(path: unknown): string {
  // Shards are in the folder of model.json: a path to another folder is rejected.
  if (
    typeof path !== "string" ||
    path === "" ||
    /^[/\\]|^[A-Za-z]:|\0/.test(path) ||
    /(^|[/\\])\.\.([/\\]|$)/.test(path)
  )
    throw new FormatError("path", `model.json: a shard must be a file beside model.json, got ${show(path)}`, {
      got: path,
    });
  return path;
}

function checkEntry(entry: { [key: string]: unknown }, offset: number): WeightEntry {
  const { name, shape, dtype, quantization } = entry ?? {};
  if (typeof name !== "string" || name === "")
    throw new FormatError("name", `model.json: a tensor without a name at byte ${offset}`, { offset });
  const what = `model.json: tensor ${show(name)} at byte ${offset}`;
  if (!Array.isArray(shape) || !shape.every((n) => Number.isSafeInteger(n) && n >= 0))
    throw new FormatError("shape", `${what}: shape must be a list of integers ≥ 0, got ${show(shape)}`, {
      name,
      offset,
    });
  const known = typeof dtype === "string" && Object.hasOwn(DTYPES, dtype) ? DTYPES[dtype] : undefined;
  if (known === undefined || quantization !== undefined)
    throw new UnsupportedError(
      "tfjs-dtype",
      `${what}: ${known ? "quantised weights" : `dtype ${show(dtype)}`} cannot be read; float32, int32 and bool can`,
      { name, offset, dtype },
    );
  const bytes = shape.reduce((n: number, x: number) => n * x, 1) * (known === "bool" ? 1 : 4);
  if (!Number.isSafeInteger(bytes))
    throw new FormatError("size", `${what}: more than 2^53 bytes`, { name, offset });
  return { name, shape: [...shape], dtype: known, offset, bytes };
}

/**
 * The tensors of a manifest over the bytes of its shards, joined. A tensor is a view, without a copy, if its position
 * is aligned (on a little-endian machine, as all machines that run JavaScript today).
 */
export function readWeights(manifest: WeightsManifest, bytes: Uint8Array): Map<string, Tensor> {
  if (bytes.length !== manifest.bytes)
    throw new FormatError(
      "size",
      `weights: the manifest describes ${manifest.bytes} bytes, the shards have ${bytes.length}`,
      { expected: manifest.bytes, got: bytes.length },
    );
  const tensors = new Map<string, Tensor>();
  for (const { name, shape, dtype, offset, bytes: length } of manifest.weights) {
    const aligned = (bytes.byteOffset + offset) % 4 === 0 ? bytes : bytes.slice(offset, offset + length);
    const start = aligned === bytes ? bytes.byteOffset + offset : 0;
    const { buffer } = aligned;
    const data =
      dtype === "bool"
        ? new Uint8Array(buffer, start, length)
        : dtype === "float32"
          ? new Float32Array(buffer, start, length / 4)
          : new Int32Array(buffer, start, length / 4);
    tensors.set(name, new Tensor(data, shape, dtype));
  }
  return tensors;
}

/** Reads the weights of a TensorFlow.js model from its folder (Node). Sizes on disk are compared before anything is allocated. */
export function openGraphModel(directory: string): Map<string, Tensor> {
  const { closeSync, fstatSync, openSync, readFileSync, readSync } = process.getBuiltinModule("node:fs");
  const { join } = process.getBuiltinModule("node:path");
  const reading = <T>(path: string, read: (path: string) => T): T => {
    try {
      return read(join(directory, path));
    } catch (cause) {
      if ((cause as { code?: string }).code === undefined || cause instanceof FormatError) throw cause;
      throw new FormatError("file", `${join(directory, path)}: ${(cause as Error).message}`, {
        path,
        directory,
      });
    }
  };
  const manifest = parseManifest(reading("model.json", (path) => readFileSync(path, "utf8")));
  const files: number[] = [];
  try {
    const sizes = manifest.paths.map((path) =>
      reading(path, (full) => {
        const file = openSync(full, "r");
        files.push(file);
        return fstatSync(file).size;
      }),
    );
    const total = sizes.reduce((sum, n) => sum + n, 0);
    if (total !== manifest.bytes)
      throw new FormatError(
        "size",
        `${directory}: model.json describes ${manifest.bytes} bytes of weights, its ${files.length} shards have ${total}`,
        { expected: manifest.bytes, got: total },
      );
    const bytes = new Uint8Array(total);
    let at = 0;
    files.forEach((file, i) => {
      for (const end = at + sizes[i]; at < end; ) {
        const got = readSync(file, bytes, at, end - at, null);
        if (got === 0)
          throw new FormatError(
            "size",
            `${join(directory, manifest.paths[i])}: ended ${end - at} bytes early`,
          );
        at += got;
      }
    });
    return readWeights(manifest, bytes);
  } finally {
    for (const file of files) closeSync(file);
  }
}

/** A value in an error. */
const show = (value: unknown): string => JSON.stringify(value) ?? String(value);
