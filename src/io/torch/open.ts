/**
 * Checkpoints of PyTorch (`pytorch_model.bin`, `.pt`), read in part: a zip archive of a pickle and one stored member for each
 * storage, or, before PyTorch 1.6, five pickles followed by the storages. Only tensors are read; nothing of the file is run
 * (pickle.ts). https://github.com/pytorch/pytorch, torch/serialization.py.
 */
import { checkCount } from "../../core/errors.ts";
import { readEntries } from "../archive/zip.ts";
import { ELEMENTS, fromBytes } from "../element.ts";
import { BytesEnd, parseStart } from "../growing.ts";
import { checkSize, MAX_BYTES, type SizeLimit, sizeLimit } from "../limit.ts";
import { extent, type Refuse, refuser } from "../refuse.ts";
import type { TensorInfo } from "../safetensors/header.ts";
import { openSource, type Source, type SourceLike } from "../source.ts";
import { type LoadRows, type SafetensorsFile, tensorFile } from "../tensor-file.ts";
import { type Pickled, readPickle, TorchStorage, TorchTensor } from "./pickle.ts";

const WHAT = "openTorch";
/** Largest pickle that is read; the numbers are outside it. */
const MAX_PICKLE = 2 ** 26;
/** Keys of a training checkpoint that hold the weights. */
const WEIGHT_KEYS = ["state_dict", "model_state_dict", "model", "module"];

/** A tensor of the file; a view that is not dense has its strides. */
interface TorchInfo extends TensorInfo {
  readonly strides?: readonly number[];
}

/**
 * Opens a checkpoint of PyTorch: a dictionary of tensors, or a training checkpoint with one under `state_dict`, `model_state_dict`,
 * `model` or `module`. No code of the file is run: what is no tensor, number, text, list or dictionary is refused by name.
 *
 * @throws FormatError for a malformed file or one that calls other functions; UnsupportedError beyond `maxBytes`
 * @example
 * const file = await openTorch("pytorch_model.bin");
 * const { shape } = await file.read([...file.tensors.keys()][0]);
 * await file.close();
 */
export async function openTorch(from: SourceLike, options: SizeLimit = {}): Promise<SafetensorsFile> {
  checkCount("openTorch", arguments, 2);
  const maxBytes = sizeLimit(WHAT, options, MAX_BYTES);
  const source = await openSource(WHAT, from);
  try {
    const refuse = refuser(WHAT);
    const first = await source.read(0, Math.min(4, source.size));
    const isZip = first[0] === 0x50 && first[1] === 0x4b;
    const { value, places } = await (isZip
      ? readZip(source, refuse)
      : parseStart(WHAT, "its pickle", source, MAX_PICKLE, (bytes) => readPickles(source, bytes, refuse)));
    const tensors = new Map<string, TorchInfo>();
    for (const [name, tensor] of tensorsOf(value, refuse)) {
      const { storage, offset, shape, strides } = tensor;
      const width = ELEMENTS[storage.dtype].bytes;
      const place = places.get(storage.key);
      if (place === undefined || place.bytes !== storage.length * width)
        return refuse(
          "torch-storage",
          0,
          `the file has no ${storage.length * width} bytes for storage ${storage.key}`,
          name,
        );
      const bytes = extent(shape, width) ?? refuse("torch-shape", 0, "its size is beyond 2^53", name);
      const start = place.start + offset * width;
      const dense = isDense(shape, strides);
      if (!dense && bytes > storage.length * width)
        refuse("torch-shape", 0, "its view repeats numbers of its storage", name);
      tensors.set(name, {
        dtype: storage.dtype,
        shape,
        start,
        end: dense ? start + bytes : place.start + place.bytes,
        ...(!dense && { strides }),
      });
    }
    const load: LoadRows<TorchInfo> = async (_, info, { shape, row, first, count }, into) => {
      const { dtype, start, end, strides } = info;
      const width = ELEMENTS[dtype].bytes;
      if (!strides)
        return fromBytes(dtype, shape, await source.read(start + first * width, count * width, into));
      // A view that is not dense: the span of its numbers is read, and copied in order.
      const from = start + row * strides[0] * width;
      const numbers = shape.reduce((sum, n, axis) => sum + (n - 1) * strides[axis], 1);
      const span = shape.includes(0) ? 0 : numbers * width;
      checkSize(WHAT, "the span of a tensor that is a view", Math.min(span, end - from), maxBytes);
      return fromBytes(dtype, shape, await source.read(from, span), { strides });
    };
    return tensorFile(WHAT, { tensors }, maxBytes, load, () => source.close());
  } catch (error) {
    await source.close();
    throw error;
  }
}

interface Contents {
  readonly value: Pickled;
  /** The bytes of each storage, by its key. */
  readonly places: ReadonlyMap<string, { readonly start: number; readonly bytes: number }>;
}

async function readZip(source: Source, refuse: Refuse): Promise<Contents> {
  const entries = await readEntries(source, refuse);
  const pickle = entries.find(({ name }) => /^[^/]+\/data\.pkl$/.test(name));
  if (pickle === undefined)
    return refuse("torch-zip", 0, "a zip file without data.pkl: not a checkpoint of PyTorch");
  const folder = pickle.name.slice(0, -"data.pkl".length);
  const places = new Map<string, { start: number; bytes: number }>();
  for (const { name, start, end, deflated } of entries) {
    if (!name.startsWith(folder)) continue;
    if (deflated) refuse("torch-zip", start, "a compressed member", name);
    if (name.startsWith(`${folder}data/`))
      places.set(name.slice(folder.length + 5), { start, bytes: end - start });
    if (name === `${folder}byteorder`) {
      const order = String.fromCharCode(...(await source.read(start, Math.min(16, end - start))));
      if (order !== "little") refuse("torch-order", start, "numbers with the high byte first");
    }
  }
  checkSize(WHAT, "the pickle", pickle.end - pickle.start, MAX_PICKLE);
  const bytes = await source.read(pickle.start, pickle.end - pickle.start);
  try {
    return { value: readPickle(bytes, 0, refuser(WHAT, pickle.start)).value, places };
  } catch (error) {
    if (!(error instanceof BytesEnd)) throw error;
    return refuse("file-truncated", pickle.end, "data.pkl ends inside its pickle");
  }
}

const MAGIC = 0x1950a86a20f9469cfc6cn;

/** The format before PyTorch 1.6: pickles of a magic number, a version, sizes, the tensors and the keys of the storages. */
async function readPickles(source: Source, bytes: Uint8Array, refuse: Refuse): Promise<Contents> {
  if (bytes[0] !== 0x80)
    refuse("torch-file", 0, "neither a zip file nor a pickle: not a checkpoint of PyTorch");
  let at = 0;
  const next = (): Pickled => {
    const { value, end } = readPickle(bytes, at, refuse);
    at = end;
    return value;
  };
  const magic = next();
  if (magic !== MAGIC)
    return refuse(
      "torch-file",
      0,
      "a pickle without the magic number of PyTorch: not a checkpoint of PyTorch",
    );
  next();
  const sizes = next();
  if (sizes instanceof Map && sizes.get("little_endian") === false)
    refuse("torch-order", at, "numbers with the high byte first");
  const value = next();
  const keys = next();
  if (!Array.isArray(keys)) return refuse("torch-storage", at, "the keys of the storages are no list");
  const widths = new Map<string, number>();
  collect(value, (one) => {
    if (one instanceof TorchTensor) widths.set(one.storage.key, ELEMENTS[one.storage.dtype].bytes);
    if (one instanceof TorchStorage) widths.set(one.key, ELEMENTS[one.dtype].bytes);
  });
  const places = new Map<string, { start: number; bytes: number }>();
  for (const key of keys) {
    const width = typeof key === "string" ? widths.get(key) : undefined;
    if (width === undefined) return refuse("torch-storage", at, "a storage that no tensor uses");
    const count = await source.read(at, 8);
    const view = new DataView(count.buffer, count.byteOffset, 8);
    const length = view.getUint32(0, true) + view.getUint32(4, true) * 2 ** 32;
    const place = { start: at + 8, bytes: length * width };
    if (place.start + place.bytes > source.size)
      refuse("torch-storage", at, `storage ${key} of ${length} numbers reaches beyond the file`);
    places.set(key as string, place);
    at = place.start + place.bytes;
  }
  return { value, places };
}

/** Calls `visit` with every value inside one; a value that contains itself is visited once. */
function collect(value: Pickled, visit: (value: Pickled) => void): void {
  const visited = new Set<Pickled>();
  const waiting = [value];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    visit(next);
    if (!(Array.isArray(next) || next instanceof Map) || visited.has(next)) continue;
    visited.add(next);
    for (const one of next.values()) waiting.push(one);
  }
}

/** Name and view of each tensor. */
function tensorsOf(value: Pickled, refuse: Refuse): [string, TorchTensor][] {
  const entries = (of: Pickled | undefined): [string, TorchTensor][] =>
    of instanceof Map
      ? [...of].filter(
          (entry): entry is [string, TorchTensor] =>
            typeof entry[0] === "string" && entry[1] instanceof TorchTensor,
        )
      : [];
  const direct = entries(value);
  if (direct.length > 0) return direct;
  for (const key of WEIGHT_KEYS) {
    const inside = value instanceof Map ? entries(value.get(key)) : [];
    if (inside.length > 0) return inside;
  }
  return refuse("torch-file", 0, "there is no dictionary of tensors in it");
}

function isDense(shape: readonly number[], strides: readonly number[]): boolean {
  let step = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    if (shape[axis] !== 1 && strides[axis] !== step) return shape.includes(0);
    step *= shape[axis];
  }
  return true;
}
