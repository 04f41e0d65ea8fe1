/**
 * Lazy reading of safetensors: the header immediately, a tensor or some of its rows on request. One file, or the
 * shards of a `model.safetensors.index.json`, whose file names must stay inside their folder.
 */
import { checkCount, OptionError } from "../../core/errors.ts";
import { ELEMENTS, fromBytes } from "../element.ts";
import { builtin, fileError, fileSystem } from "../filesystem/node.ts";
import { scanObject } from "../json.ts";
import { checkSize, MAX_BYTES, type SizeLimit, sizeLimit } from "../limit.ts";
import { quote, type Refuse, refuser } from "../refuse.ts";
import { openSource, type Source, type SourceLike } from "../source.ts";
import { type LoadRows, type SafetensorsFile, tensorFile } from "../tensor-file.ts";
import { headerLength, MAX_HEADER, readHeader, type TensorInfo } from "./header.ts";

/** Options of `openSafetensors`: `maxBytes` limits one read, and the index. */
export interface OpenOptions extends SizeLimit {
  /** The source of each shard, by its file name; needed where the index is not a path. */
  readonly shard?: (name: string) => SourceLike | Promise<SourceLike>;
  /** The folder that must contain the shards after links are resolved; by default that of the index. For a Hugging Face cache, pass its model folder. */
  readonly within?: string;
}

const WHAT = "openSafetensors";
const INDEX = "model.safetensors.index.json";

/**
 * Opens a safetensors file, or a model in shards: a path to either, to an index or to a folder that holds
 * `model.safetensors.index.json` or `model.safetensors`; a file handle; a Blob; bytes; or `{ size, read }`.
 *
 * @example
 * const file = await openSafetensors("qkv.safetensors");
 * const { shape } = await file.read("q", { rows: [0, 1] }); // this row and nothing else
 * await file.close();
 */
export async function openSafetensors(from: SourceLike, options: OpenOptions = {}): Promise<SafetensorsFile> {
  checkCount("openSafetensors", arguments, 2);
  const maxBytes = sizeLimit(WHAT, options, MAX_BYTES, ["shard", "within"]);
  if (typeof from === "string") {
    const path = await modelPath(from);
    if (path.endsWith(".json"))
      return openIndex(path, options.shard ?? shardsBeside(path, options.within), maxBytes);
    return openFiles([[await openSource(WHAT, path), WHAT]], maxBytes);
  }
  if (options.shard) return openIndex(from, options.shard, maxBytes);
  return openFiles([[await openSource(WHAT, from), WHAT]], maxBytes);
}

/** The file of a path: itself, or the index or model file in a folder. */
async function modelPath(path: string): Promise<string> {
  const fs = fileSystem(WHAT);
  const { join } = builtin<typeof import("node:path")>("node:path")!;
  const stat = await fs.stat(path).catch((error) => {
    throw fileError(WHAT, "open", path, error);
  });
  if (!stat.isDirectory()) return path;
  const names = await fs.readdir(path);
  const name = [INDEX, "model.safetensors"].find((name) => names.includes(name));
  if (name !== undefined) return join(path, name);
  throw new OptionError("file", `${WHAT}: ${path} holds neither ${INDEX} nor model.safetensors`, { path });
}

/** Finds shards beside their index, and refuses links to other folders. */
export function shardsBeside(index: string, within?: string): (name: string) => Promise<string> {
  const fs = fileSystem(WHAT);
  const { dirname, join, relative, isAbsolute, sep } = builtin<typeof import("node:path")>("node:path")!;
  return async (name) => {
    const folder = dirname(index);
    const path = join(folder, name);
    try {
      const root = await fs.realpath(within ?? folder);
      const real = await fs.realpath(path);
      // Compares path components: "models-private" starts with "models" but is another folder.
      const way = relative(root, real);
      if (way === "" || isAbsolute(way) || way.split(sep)[0] === "..")
        refuser(WHAT)(
          "index-escape",
          0,
          `shard ${quote(name)} is at ${real}, outside ${root}; name a folder with \`within\` to allow it`,
        );
      return real;
    } catch (error) {
      throw fileError(WHAT, "open", path, error);
    }
  };
}

/** Opens a sharded model by its index. */
async function openIndex(
  from: SourceLike,
  shard: (name: string) => SourceLike | Promise<SourceLike>,
  maxBytes: number,
): Promise<SafetensorsFile> {
  const refuse = refuser(WHAT);
  const index = await openSource(WHAT, from);
  let shardOf: Map<string, string>;
  try {
    checkSize(WHAT, "the index", index.size, Math.min(MAX_HEADER, maxBytes));
    shardOf = readIndex(await index.read(0, index.size), refuse);
  } finally {
    await index.close();
  }
  const opened: [Source, string][] = [];
  const names = [...new Set(shardOf.values())];
  try {
    for (const name of names) opened.push([await openSource(WHAT, await shard(name)), `${WHAT}, ${name}`]);
  } catch (error) {
    for (const [source] of opened) await source.close();
    throw error;
  }
  return openFiles(opened, maxBytes, (tensor) => names.indexOf(shardOf.get(tensor) ?? ""), shardOf.keys());
}

/** Tensor → shard, from the JSON of an index. */
export function readIndex(json: Uint8Array, refuse: Refuse): Map<string, string> {
  const shardOf = new Map<string, string>();
  let hasWeightMap = false;
  scanObject(
    json,
    refuse,
    (key, map, at) => {
      if (key !== "weight_map") return;
      hasWeightMap = true;
      if (!(map instanceof Map)) return refuse("index-map", at, "weight_map must be an object");
      for (const [tensor, file] of map) {
        if (typeof file !== "string") return refuse("index-map", at, "its shard is not a text", tensor);
        if (!/^[^/\\:\0]+$/.test(file) || file === "." || file === "..")
          refuse("index-path", at, `its shard ${quote(file)} is not a plain file name`, tensor);
        shardOf.set(tensor, file);
      }
    },
    { numbers: "finite" },
  );
  if (!hasWeightMap) refuse("index-map", json.length, "the index has no weight_map");
  return shardOf;
}

/** Reads the headers of opened files; `owner` says in which of them a tensor is looked for, `wanted` which must be there. */
async function openFiles(
  files: readonly [Source, string][],
  maxBytes: number,
  owner: (tensor: string) => number = () => 0,
  wanted: Iterable<string> = [],
): Promise<SafetensorsFile> {
  const metadata = new Map<string, string>();
  const tensors = new Map<string, TensorInfo>();
  const close = async () => {
    for (const [source] of files) await source.close();
  };
  try {
    for (const [number, [source, label]] of files.entries()) {
      const refuse = refuser(label);
      const first = await source.read(0, Math.min(8, source.size));
      const length = headerLength(first, source.size, refuse);
      const header = readHeader(await source.read(8, length), source.size, refuse);
      for (const [key, text] of header.metadata) if (!metadata.has(key)) metadata.set(key, text);
      for (const [name, info] of header.tensors) if (owner(name) === number) tensors.set(name, info);
    }
    for (const name of wanted)
      if (!tensors.has(name))
        refuser(WHAT)("index-missing", 0, "the index names it, its shard does not hold it", name);
  } catch (error) {
    await close();
    throw error;
  }
  const load: LoadRows<TensorInfo> = async (name, { dtype, start }, { shape, first, count }, into) => {
    const width = ELEMENTS[dtype].bytes;
    const bytes = await files[owner(name)][0].read(start + first * width, count * width, into);
    return fromBytes(dtype, shape, bytes);
  };
  return tensorFile(WHAT, { metadata, tensors }, maxBytes, load, close);
}
