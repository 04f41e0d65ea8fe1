/**
 * Tensors on the command line. An address is a file, or `FILE#NAME` for one tensor of a file. The first bytes of a file determine
 * its format (npy, npz, else safetensors); a folder or an index is a safetensors model. Of safetensors only the header is read
 * until a tensor is requested.
 */
import { existsSync, statSync } from "node:fs";
import { basename } from "node:path";
import { FormatError, HeedError, OptionError, UnsupportedError } from "../../../core/errors.ts";
import { asTensor, type Tensor } from "../../../core/tensor.ts";
import { ELEMENTS } from "../../../io/element.ts";
import { type FileDType, type FileTensor, openSafetensors, readNpy } from "../../../io/index.ts";
import { checkSize, MAX_BYTES } from "../../../io/limit.ts";
import { openNpzParts } from "../../../io/numpy/npz-parts.ts";
import { openSource, type Source } from "../../../io/source.ts";
import { type Io, UsageError, type Values } from "../line/command.ts";
import { didYouMean } from "../line/suggest.ts";
import { readStdin, STDIN, STDIN_NAME } from "./stdin.ts";

/** Its help. */
export const MEMORY_HELP = {
  "max-bytes": "SIZE  maximum bytes of a file to read into memory, such as 500M or 16G (default 4G)",
} as const;

const UNITS = ["", "K", "M", "G", "T"];

/** The limit in bytes; undefined if none is given. */
export function memoryLimit(values: Values): number | undefined {
  const text = values["max-bytes"] as string | undefined;
  if (text === undefined) return undefined;
  const [, digits, unit] = /^(\d+(?:\.\d+)?)([KMGT]?)i?B?$/i.exec(text) ?? [];
  const bytes = Math.round(Number(digits) * 1024 ** UNITS.indexOf(unit?.toUpperCase()));
  if (Number.isSafeInteger(bytes)) return bytes;
  throw new UsageError(
    `--max-bytes must be a size such as 500M or 16G (units of 1024), got ${JSON.stringify(text)}`,
  );
}

/** Kinds of files. */
export type FileKind = "npy" | "npz" | "safetensors";

/** A tensor in a file, and its byte range if known. */
export interface TensorFacts {
  readonly dtype: FileDType;
  readonly shape: readonly number[];
  readonly bytes: number;
  /** First byte and one past the last, in its own shard; safetensors only. */
  readonly span?: readonly [number, number];
}

/** An opened file. */
export interface Container {
  readonly path: string;
  readonly kind: FileKind;
  /** Facts by name. The one tensor of an npy file has the file's name without `.npy`. */
  readonly tensors: ReadonlyMap<string, TensorFacts>;
  readonly metadata: ReadonlyMap<string, string>;
  /** Reads a tensor; of a safetensors file, optionally only rows [from, to) of its first axis. */
  read(name: string, rows?: readonly [number, number]): Promise<FileTensor>;
  close(): Promise<void>;
}

/**
 * Opens a file (or model folder) of tensors; `-` is standard input. `maxBytes` limits an npy or npz file, and each tensor of a
 * safetensors file.
 */
export async function openContainer(
  address: string,
  io: Pick<Io, "stdin">,
  maxBytes = MAX_BYTES,
): Promise<Container> {
  const folder = address !== STDIN && existsSync(address) && statSync(address).isDirectory();
  if (folder || address.endsWith(".json")) return openLazily(address, address, maxBytes);
  const path = address === STDIN ? STDIN_NAME : address;
  const from = address === STDIN ? await readStdin(io) : address;
  const source = await naming(path, () => openSource("open", from));
  let isKept = false;
  try {
    const start = await source.read(0, Math.min(6, source.size));
    const magic = String.fromCharCode(...start);
    const npy = magic.startsWith("\x93NUMPY");
    const zip = magic.startsWith("PK\x03\x04") || magic.startsWith("PK\x05\x06");
    if (!npy && !zip && !/\.np[yz]$/i.test(path)) {
      // A safetensors file begins with the length of its header, then "{".
      const head = await source.read(0, Math.min(9, source.size));
      if (!/\.safetensors$/i.test(path) && head[8] !== 0x7b)
        throw new FormatError("file-kind", `${path}: neither npy, npz nor safetensors by its first bytes`, {
          path,
          offset: 0,
        });
      return await openLazily(path, from, maxBytes);
    }
    await naming(path, () => checkSize("open", "the file", source.size, maxBytes));
    if (zip || (!npy && /z$/i.test(path))) {
      const container = await naming(path, () => npzContainer(path, source, maxBytes));
      isKept = true;
      return container;
    }
    const bytes = await naming(path, () => source.read(0, source.size));
    const array = await naming(path, async () => readNpy(bytes, { maxBytes }));
    return containerOf(path, "npy", new Map([[basename(path).replace(/\.npy$/i, ""), array]]));
  } finally {
    if (!isKept) await source.close();
  }
}

function containerOf(path: string, kind: FileKind, tensors: Map<string, FileTensor>): Container {
  return {
    path,
    kind,
    metadata: new Map(),
    tensors: new Map([...tensors].map(([name, { dtype, shape }]) => [name, factsOf(dtype, shape)])),
    read: async (name) => tensorNamed(path, name, tensors),
    close: async () => {},
  };
}

/** An npz file: the header of each array is read now, its numbers on request. Closing it closes its source. */
async function npzContainer(path: string, source: Source, maxBytes: number): Promise<Container> {
  const file = await openNpzParts(source, { maxBytes });
  const tensors = new Map<string, TensorFacts>();
  for (const name of file.members.keys()) {
    const { dtype, shape } = await file.header(name);
    tensors.set(name, factsOf(dtype, shape));
  }
  return {
    path,
    kind: "npz",
    metadata: new Map(),
    tensors,
    read: async (name) => {
      tensorNamed(path, name, tensors);
      return naming(path, () => file.read(name));
    },
    close: () => source.close(),
  };
}

async function openLazily(path: string, from: string | Uint8Array, maxBytes: number): Promise<Container> {
  const file = await naming(path, () => openSafetensors(from, { maxBytes }));
  const tensors = new Map<string, TensorFacts>();
  for (const [name, { dtype, shape, start, end }] of file.tensors)
    tensors.set(name, { dtype, shape, bytes: end - start, span: [start, end] });
  return {
    path,
    kind: "safetensors",
    metadata: file.metadata,
    tensors,
    read: async (name, rows) => {
      tensorNamed(path, name, tensors);
      return naming(path, () => file.read(name, rows ? { rows } : {}));
    },
    close: () => file.close(),
  };
}

function factsOf(dtype: FileDType, shape: readonly number[]): TensorFacts {
  return { dtype, shape, bytes: shape.reduce((n, x) => n * x, ELEMENTS[dtype].bytes) };
}

/** A message without the name of the reader at its start. */
export function withoutReader(message: string): string {
  return message.replace(
    /^(open|openStore|readNpy|readNpz|readSafetensors|openSafetensors|readTokenizer): /,
    "",
  );
}

/** Runs a reader; its errors then start with the path of the file instead of the name of the reader. */
export async function naming<T>(path: string, read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof HeedError)) throw error;
    const text = withoutReader(error.message);
    if (error instanceof FormatError)
      throw new FormatError(error.code, `${path}: ${text}`, { ...error.fields, path });
    if (error.code === "file") throw new OptionError("file", text, error.fields);
    if (error.code !== "max-bytes") throw error;
    const limited = text.replace(/\(maxBytes\).*$/s, "(--max-bytes)");
    throw new UnsupportedError("max-bytes", `${path}: ${limited}`, { ...error.fields, path });
  }
}

function tensorNamed<T>(path: string, name: string, tensors: ReadonlyMap<string, T>): T {
  const tensor = tensors.get(name);
  if (tensor !== undefined) return tensor;
  const names = [...tensors.keys()];
  const guess = didYouMean(name, names);
  const listed = names.slice(0, 8).join(", ") + (names.length > 8 ? `, … (${names.length} in all)` : "");
  throw new OptionError(
    "tensor-name",
    `${path} has no tensor ${JSON.stringify(name)}${guess || `; it has ${listed || "none"}`}`,
    { path, tensor: name },
  );
}

/** Splits `FILE#NAME`. An existing file with a # in its name takes precedence. */
export function splitAddress(address: string): { path: string; name?: string } {
  const at = address.lastIndexOf("#");
  if (at <= 0 || existsSync(address)) return { path: address };
  return { path: address.slice(0, at), name: address.slice(at + 1) };
}

/** Options of `tensorAt`. */
export interface TensorAtOptions {
  /** Default names of the tensor in a file of several. */
  readonly usual?: readonly string[];
  /** A file whose tensors an address may name directly. */
  readonly inside?: Container;
  readonly maxBytes?: number;
}

/**
 * The tensor at an address. Without a name the file must hold one tensor, or one of the names in `usual`.
 *
 * @param option what the tensor is for, as the command line calls it
 */
export async function tensorAt(
  option: string,
  address: string,
  io: Pick<Io, "stdin">,
  { usual = [], inside, maxBytes }: TensorAtOptions = {},
): Promise<Tensor> {
  if (inside !== undefined && !existsSync(address) && inside.tensors.has(address))
    return readTensor(inside, address);
  const { path, name } = splitAddress(address);
  const file = await openContainer(path, io, maxBytes);
  try {
    const names = [...file.tensors.keys()];
    const chosen = name ?? (names.length === 1 ? names[0] : usual.find((one) => file.tensors.has(one)));
    if (chosen === undefined)
      throw new UsageError(
        `${option}: ${path} holds ${names.length} tensors (${names.slice(0, 6).join(", ")}${names.length > 6 ? ", …" : ""}); name one as ${path}#NAME`,
      );
    return await readTensor(file, chosen);
  } finally {
    await file.close();
  }
}

/** A tensor of an opened file as a Tensor. */
async function readTensor(file: Container, name: string): Promise<Tensor> {
  const label = file.kind === "npy" ? file.path : `${file.path}#${name}`;
  return asTensor(label, await file.read(name));
}

/** Query, key and value of one file, by the given names or the default ones. */
export async function namedThree(
  file: Container,
  names: Readonly<Record<string, unknown>>,
): Promise<Tensor[]> {
  // All three names are found before a tensor is read: one may be large.
  const three = ["query", "key", "value"].map((option) => {
    const usual = [option, option[0], option[0].toUpperCase()];
    const nameOption = names[option] as string | undefined;
    const name = nameOption ?? usual.find((one) => file.tensors.has(one));
    if (name === undefined)
      throw new OptionError(
        "tensor-name",
        `${file.path} has no tensor "${usual[0]}" or "${usual[1]}"; say which one is the ${option} with --${option} NAME; it has ${[...file.tensors.keys()].slice(0, 8).join(", ") || "none"}`,
        { path: file.path },
      );
    return name;
  });
  const tensors: Tensor[] = [];
  for (const name of three) tensors.push(await readTensor(file, name));
  return tensors;
}
