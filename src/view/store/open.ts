/**
 * Opening a file of attention, whatever it is: told by its first bytes, not by its name. Bundles are read by byte range;
 * the others whole. What can run code (pickles) is never read; what does not fit is told in the load report.
 */
import { came, FormatError, OptionError, UnsupportedError } from "../../core/errors.ts";
import type { FileTensor } from "../../io/element.ts";
import { readNpy } from "../../io/npy.ts";
import { readNpz } from "../../io/npz.ts";
import { openSafetensors } from "../../io/open.ts";
import { refuser } from "../../io/refuse.ts";
import { type ByteSource, openSource, type Source, type SourceLike } from "../../io/source.ts";
import { listMembers } from "../../io/zip.ts";
import { oneLine } from "../label.ts";
import { Problems, tokenList, VERSION } from "./about.ts";
import { fromArrays, isBundle } from "./arrays.ts";
import { type Bag, fileBag, memoryBag } from "./bag.ts";
import { type ComputeOptions, computeFor } from "./from.ts";
import { fromJson } from "./json.ts";
import { layOut } from "./layout.ts";
import { type Checks, examine, formatBytes, reportOf, sample } from "./report.ts";
import { sourceOf } from "./source.ts";
import { createStore } from "./store.ts";
import type { HeadStore, LoadReport } from "./types.ts";

/** How to open a file. */
export interface OpenStoreOptions extends ComputeOptions {
  /** What it is called; a File's own name, a path's last part. */
  readonly name?: string;
  /** Tokens of a file that has none (npz, npy), or the text of a `tokens.json`. */
  readonly tokens?: readonly string[] | string;
}

/** Bytes of JSON that are read at most, and from which it is said to be slow. */
const JSON_MOST = 256 * 2 ** 20;
const JSON_SLOW = 16 * 2 ** 20;
/** Bytes an npz file may inflate to. */
const NPZ_MOST = 2 ** 31;

type Format = "bundle" | "npz" | "npy" | "json";

/**
 * Opens a bundle (safetensors), an npz or npy file, or JSON.
 *
 * @param from a File or Blob, bytes, a path (Node), a file handle, or `{ size, read }`
 * @throws FormatError, UnsupportedError where nothing in it can be shown; problems with parts are in `report`
 */
export async function openStore(from: SourceLike, options: OpenStoreOptions = {}): Promise<HeadStore> {
  const name = oneLine(options.name ?? nameOf(from)).slice(0, 200);
  const source = await openSource("openStore", from);
  let bag: Bag | undefined;
  try {
    const format = await formatOf(source, name);
    const problems = new Problems();
    bag = await bagOf(source, format, name, options, problems);
    const { blocks, about } = layOut(bag, problems);
    if (blocks.length === 0)
      throw new FormatError(
        "nothing-to-show",
        `openStore: ${name}: nothing in it can be shown${problems.list.length ? `: ${problems.list.map(({ text }) => text).join("; ")}` : ""}. A bundle holds BLOCK.q.0 and BLOCK.k.0, or BLOCK.w.0`,
        { problems: problems.list },
      );
    const heads = sourceOf(bag, blocks);
    const checks: Checks = {};
    for (const ref of sample(blocks)) examine(await heads.head(ref), checks);
    const what: Pick<LoadReport, "name" | "format" | "bytes"> = { name, format, bytes: source.size };
    const report = reportOf(what, bag, blocks, about, problems, checks);
    const close = async () => {
      await heads.close();
      await source.close();
    };
    return createStore({ ...heads, close }, report, computeFor(options));
  } catch (error) {
    await bag?.close();
    await source.close();
    throw error;
  }
}

function nameOf(from: SourceLike): string {
  if (typeof from === "string") return from.split(/[/\\]/).at(-1) || from;
  const { name } = from as { name?: unknown };
  return typeof name === "string" && name !== "" ? name : "the file";
}

/** What the first bytes say. */
async function formatOf(source: Source, name: string): Promise<Format> {
  const first = await source.read(0, Math.min(64, source.size));
  const ascii = String.fromCharCode(...first);
  if (first.length === 0) throw new FormatError("empty", `openStore: ${name} is empty`);
  if (ascii.startsWith("\x93NUMPY")) return "npy";
  if (ascii.startsWith("PK\x03\x04") || ascii.startsWith("PK\x05\x06")) return "npz";
  // A pickle of protocol 2 to 5 begins with PROTO and its number; torch's old files with a magic number so pickled.
  if (first[0] === 0x80 && first[1] >= 2 && first[1] <= 5) throw pickle(name);
  const length = first.length >= 9 ? new DataView(first.buffer, first.byteOffset).getUint32(0, true) : 0;
  if (first[8] === 0x7b && first.subarray(4, 8).every((x) => x === 0) && length <= source.size - 8)
    return "bundle";
  if (/^(?:\xef\xbb\xbf)?[ \t\r\n]*[[{]/.test(ascii)) return "json";
  if (/\.safetensors$/i.test(name)) return "bundle";
  throw new FormatError(
    "unknown-format",
    `openStore: ${name} begins with ${came(ascii.slice(0, 8))}: no safetensors, npz, npy or JSON file. ${
      ascii.startsWith("GGUF")
        ? "GGUF holds a model's weights, not its attention; run the model and save q and k"
        : "Save q and k (or the weights) as safetensors"
    }`,
    { name },
  );
}

/** A pickle can run code when it is opened. It never is. */
function pickle(name: string): UnsupportedError {
  const path = JSON.stringify(name);
  const out = JSON.stringify(`${name.replace(/\.(?:pt|pth|bin|pkl|pickle|ckpt)$/i, "")}.safetensors`);
  return new UnsupportedError(
    "pickle",
    [
      `openStore: ${name} is a Python pickle, which can run code when it is opened, so it is not read. Save it as safetensors with these two lines:`,
      "import torch; from safetensors.torch import save_file",
      `save_file({k: v.contiguous() for k, v in torch.load(${path}, weights_only=True).items()}, ${out})`,
    ].join("\n"),
    { name },
  );
}

async function bagOf(
  source: Source,
  format: Format,
  name: string,
  options: OpenStoreOptions,
  problems: Problems,
): Promise<Bag> {
  if (format === "bundle") return bundleBag(source, options, problems);
  if (format === "json") {
    if (source.size > JSON_MOST)
      throw new UnsupportedError(
        "json-size",
        `openStore: ${name} is JSON of ${formatBytes(source.size)}; at most ${formatBytes(JSON_MOST)} are read. Save q and k (or the weights) as safetensors: a tenth of the size, and read in parts`,
        { bytes: source.size },
      );
    if (source.size > JSON_SLOW)
      problems.add(
        "warning",
        "json-size",
        `JSON of ${formatBytes(source.size)} is slow to read; save it as a bundle, which takes a fraction and opens at once`,
      );
    const { tensors, metadata } = fromJson(await source.read(0, source.size), name, problems);
    return memoryBag(tensors, metadata);
  }
  const bytes = await source.read(0, source.size);
  const arrays = format === "npy" ? new Map([["attn", readNpy(bytes)]]) : await unzip(bytes, name);
  return arrayBag(arrays, options, problems);
}

/** The source as one of a caller's own, so that whoever reads it does not close it. */
function ranged(source: Source): ByteSource {
  return { size: source.size, read: (offset, length) => source.read(offset, length) };
}

/** A bundle, or a safetensors file whose tensors are called as people call them. */
async function bundleBag(source: Source, options: OpenStoreOptions, problems: Problems): Promise<Bag> {
  const file = await openSafetensors(ranged(source));
  if (isBundle(file.tensors.keys())) {
    if (options.tokens === undefined || [...file.metadata.keys()].some((key) => key.startsWith("tokens.")))
      return fileBag(file);
    const metadata = new Map([
      ...file.metadata,
      ["tokens.text", JSON.stringify(givenTokens(options.tokens))] as const,
    ]);
    return { ...fileBag(file), metadata };
  }
  const arrays = new Map<string, FileTensor>();
  for (const tensor of file.tensors.keys()) arrays.set(tensor, await file.read(tensor));
  await file.close();
  const bag = arrayBag(arrays, options, problems);
  return { ...bag, metadata: new Map([...file.metadata, ...bag.metadata]) };
}

function arrayBag(
  arrays: ReadonlyMap<string, FileTensor>,
  options: OpenStoreOptions,
  problems: Problems,
): Bag {
  const tensors = isBundle(arrays.keys()) ? arrays : fromArrays(arrays, problems);
  const metadata = new Map([["heed", VERSION]]);
  if (options.tokens !== undefined) metadata.set("tokens.text", JSON.stringify(givenTokens(options.tokens)));
  return memoryBag(tensors, metadata);
}

/** Tokens that came beside the file: a list, or the text of a JSON file with one, bare or under `tokens`. */
function givenTokens(tokens: readonly string[] | string): readonly string[] {
  if (typeof tokens !== "string") return tokenList(tokens, "openStore: tokens");
  let value: unknown;
  try {
    value = JSON.parse(tokens);
  } catch (error) {
    throw new OptionError(
      "tokens",
      `openStore: tokens must be a list of texts or JSON with one; ${(error as Error).message}`,
    );
  }
  const list =
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? (value as { tokens?: unknown }).tokens
      : value;
  return tokenList(list, "openStore: tokens");
}

/** The arrays of an npz file, once it is known how much they come to. */
async function unzip(bytes: Uint8Array, name: string): Promise<Map<string, FileTensor>> {
  const members = listMembers(bytes, refuser("openStore"));
  if (members.some((member) => /(?:^|\/)data\.pkl$/.test(member.name))) throw pickle(name);
  const total = members.reduce((sum, { size }) => sum + size, 0);
  if (total > NPZ_MOST)
    throw new UnsupportedError(
      "npz-size",
      `openStore: ${name} inflates to ${formatBytes(total)}; at most ${formatBytes(NPZ_MOST)} are read. Save it as safetensors, which is read in parts`,
      { bytes: total },
    );
  return readNpz(bytes);
}
