/**
 * The header of a safetensors file: 8 bytes of length N (little-endian), N bytes of JSON, then the data.
 * Every rule of the format and of its Rust reader: N at most 100,000,000; no duplicate names; each tensor's
 * bytes equal its shape's; the tensors cover the data without hole or overlap and end where the file ends.
 * https://github.com/huggingface/safetensors (README, "Format").
 */
import { dtypeNamed, ELEMENTS, type FileDType } from "../element.ts";
import { type Json, scanObject } from "../json.ts";
import { extent, MAX_RANK, quote, type Refuse } from "../refuse.ts";

/** The byte range, dtype and shape of a tensor in a file. */
export interface TensorInfo {
  readonly dtype: FileDType;
  readonly shape: readonly number[];
  /** First byte in the file. */
  readonly start: number;
  /** One past the last. */
  readonly end: number;
}

/** The contents of a safetensors header. */
export interface SafetensorsHeader {
  readonly metadata: Map<string, string>;
  /** In the order of their bytes. */
  readonly tensors: Map<string, TensorInfo>;
}

/** Maximum bytes of a header: the limit of the Rust reader. */
export const MAX_HEADER = 100_000_000;

/** True for a file of a repository cloned without its large files: "version https://git-lfs.github.com/spec/v1". */
export function isGitLfsPointer(first: Uint8Array): boolean {
  return String.fromCharCode(...first.subarray(0, 8)) === "version ";
}

export const GIT_LFS_ADVICE =
  'a Git LFS pointer instead of the file; "git lfs pull" in its folder downloads it, or "heed pull ORG/NAME"';

/** Length of the header's JSON, from the first 8 bytes of a file of `size` bytes. */
export function headerLength(first: Uint8Array, size: number, refuse: Refuse): number {
  if (size < 8) refuse("safetensors-truncated", size, `${size} bytes; a header needs 8 for its length`);
  if (isGitLfsPointer(first)) refuse("git-lfs", 0, GIT_LFS_ADVICE);
  const view = new DataView(first.buffer, first.byteOffset, 8);
  const length = view.getUint32(0, true) + view.getUint32(4, true) * 2 ** 32;
  if (length > MAX_HEADER)
    refuse(
      "safetensors-header-size",
      0,
      `not a safetensors file, or damaged: its first 8 bytes say a header of ${length} bytes; at most ${MAX_HEADER} are read`,
    );
  if (length > size - 8)
    refuse("safetensors-truncated", size, `a header of ${length} bytes in a file of ${size}`);
  return length;
}

/** Reads the header's JSON, which begins at byte 8 of a file of `size` bytes. `refuse` counts from byte 0. */
export function readHeader(json: Uint8Array, size: number, refuse: Refuse): SafetensorsHeader {
  const data = 8 + json.length;
  if (json[0] !== 0x7b) refuse("json", 8, 'the header must begin with "{"');
  let metadata = new Map<string, string>();
  const entries: [string, TensorInfo][] = [];
  scanObject(
    json,
    (code, at, what, tensor, fields) => refuse(code, 8 + at, what, tensor, fields),
    (name, value, at) => {
      if (name === "__metadata__") metadata = readMetadata(value, 8 + at, refuse);
      else entries.push([name, readEntry(name, value, 8 + at, data, refuse)]);
    },
    { maxDepth: 3, maxItems: MAX_RANK, rootKeys: "tensors" },
  );
  entries.sort(([, a], [, b]) => a.start - b.start || a.end - b.end);
  let covered = data;
  for (const [name, { start, end }] of entries) {
    if (start !== covered)
      refuse(
        start < covered ? "safetensors-overlap" : "safetensors-hole",
        start,
        `begins at data byte ${start - data}, the tensors before it end at ${covered - data}`,
        name,
      );
    covered = end;
    if (end > size) refuse("safetensors-truncated", size, `ends at byte ${end} of a file of ${size}`, name);
  }
  if (covered !== size)
    refuse(
      "safetensors-trailing",
      covered,
      `the tensors end here, the file has ${size - covered} bytes more`,
    );
  return { metadata, tensors: new Map(entries) };
}

function readMetadata(value: Json, at: number, refuse: Refuse): Map<string, string> {
  if (!(value instanceof Map)) refuse("safetensors-metadata", at, "__metadata__ must be an object");
  for (const [key, text] of value)
    if (typeof text !== "string")
      refuse("safetensors-metadata", at, `__metadata__ holds texts only, ${quote(key)} is not one`);
  return value as Map<string, string>;
}

function readEntry(name: string, value: Json, at: number, data: number, refuse: Refuse): TensorInfo {
  const bad = (what: string): never => refuse("safetensors-entry", at, what, name);
  if (!(value instanceof Map)) return bad("expected { dtype, shape, data_offsets }");
  for (const key of value.keys())
    if (key !== "dtype" && key !== "shape" && key !== "data_offsets")
      bad(`the key ${quote(key)}; expected dtype, shape, data_offsets`);
  const label = value.get("dtype");
  const shape = value.get("shape");
  const offsets = value.get("data_offsets");
  if (typeof label !== "string") return bad("dtype must be a text");
  if (!isSizes(shape)) return bad("shape must be a list of integers ≥ 0");
  if (!isSizes(offsets) || offsets.length !== 2) return bad("data_offsets must be two integers ≥ 0");
  const dtype = dtypeNamed("safetensors", label);
  if (dtype === undefined)
    return refuse("safetensors-dtype", at, `dtype ${quote(label)} is not one heed reads`, name, {
      dtype: label,
    });
  const [begin, end] = offsets;
  const bytes = extent(shape, ELEMENTS[dtype].bytes);
  if (bytes === undefined || !Number.isSafeInteger(data + end))
    return refuse("safetensors-size", at, `${label} [${shape.join(", ")}] is more than 2^53 bytes`, name);
  if (begin > end || end - begin !== bytes)
    return refuse(
      "safetensors-size",
      at,
      `${label} [${shape.join(", ")}] takes ${bytes} bytes, its data_offsets are ${begin}, ${end}`,
      name,
    );
  return { dtype, shape, start: data + begin, end: data + end };
}

function isSizes(value: Json | undefined): value is number[] {
  return Array.isArray(value) && value.every((n) => typeof n === "number" && n >= 0);
}
