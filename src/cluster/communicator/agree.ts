/**
 * Checks that all ranks make the same call. Ranks with different versions, plans, options or dtypes would compute wrong
 * results or wait for each other forever. So every collective call first compares a digest of each rank's arguments. If one
 * differs, or a rank's own arguments are invalid, every rank throws before any work.
 */
import { HeedError, OptionError } from "../../core/errors.ts";
import type { Tensor } from "../../core/tensor.ts";
import { type Expression, tablesOf, textOf } from "../../masks/expression/expr.ts";
import type { Communicator } from "./communicator.ts";

/** Errors that every rank throws: caused by this rank, by another rank, or by all. */
const AGREED = new WeakMap<object, "own" | "elsewhere" | "all">();

/** Marks an error that every rank throws, with the same or another message. */
export function agreed<E extends Error>(error: E, where: "own" | "elsewhere" | "all" = "all"): E {
  AGREED.set(error, where);
  return error;
}

/** True for an error that every rank throws, so that ranks may end together; with `where`, only if another rank or all caused it. */
export function isAgreed(error: unknown, where?: "elsewhere"): boolean {
  const cause = typeof error === "object" && error !== null ? AGREED.get(error) : undefined;
  return cause !== undefined && (where === undefined || cause !== "own");
}

/** The values that ranks must agree on, by name. */
export type Terms = Readonly<Record<string, string | number | boolean>>;

/** Maximum bytes of a rank's description, which is sent where ranks differ. */
const TEXT_BYTES = 4096;

/**
 * Throws on every rank where the terms differ between ranks, or where `describe` throws on any: that rank throws its own
 * error, the others one that names the rank.
 */
export async function agree<T>(
  comm: Communicator,
  what: string,
  describe: () => { readonly terms: Terms; readonly value: T },
): Promise<T> {
  let mine: { readonly terms: Terms; readonly value: T } | undefined;
  let failure: unknown;
  try {
    mine = describe();
  } catch (error) {
    failure = error;
    if (comm.size === 1) throw error;
  }
  if (comm.size === 1 && mine) return mine.value;
  const text = mine ? JSON.stringify([what, mine.terms]) : "";
  const digests = Uint32Array.of(mine ? 1 : 0, ...digest(text));
  const all = new Uint32Array(digests.length * comm.size);
  await comm.allGather(digests, all);
  const same = Array.from({ length: comm.size }, (_, r) =>
    digests.every((x, n) => all[r * digests.length + n] === x),
  );
  if (mine && same.every(Boolean)) return mine.value;
  const message = mine ? text : failure instanceof Error ? failure.message : String(failure);
  const texts = await gatherTexts(comm, message);
  if (mine === undefined) throw failure instanceof Error ? agreed(failure, "own") : failure;
  const failed = texts.findIndex((_, r) => all[r * digests.length] === 0);
  if (failed >= 0)
    throw agreed(
      new HeedError("cluster-rank", `${what}: rank ${failed} of ${comm.size} cannot: ${texts[failed]}`, {
        rank: failed,
      }),
      "elsewhere",
    );
  throw agreed(
    new OptionError("cluster-disagreement", `${what}: ${differenceOf(texts)}`, { ranks: comm.size }),
  );
}

/**
 * Runs `work` on every rank, and returns after all have succeeded. A rank that fails throws its own error, and all others throw one that
 * names the rank; where the terms differ, all throw.
 */
export async function together<T>(
  comm: Communicator,
  what: string,
  terms: Terms,
  work: () => T | Promise<T>,
): Promise<T> {
  let ended: { readonly value: T } | { readonly failure: unknown };
  try {
    ended = { value: await work() };
  } catch (failure) {
    ended = { failure };
  }
  return agree(comm, what, () => {
    if ("failure" in ended) throw ended.failure;
    return { terms, value: ended.value };
  });
}

async function gatherTexts(comm: Communicator, text: string): Promise<string[]> {
  const mine = new Uint8Array(TEXT_BYTES);
  const { written } = new TextEncoder().encodeInto(text, mine.subarray(4));
  new DataView(mine.buffer).setUint32(0, written);
  const all = new Uint8Array(TEXT_BYTES * comm.size);
  await comm.allGather(mine, all);
  return Array.from({ length: comm.size }, (_, r) => {
    const from = r * TEXT_BYTES;
    const length = new DataView(all.buffer).getUint32(from);
    return new TextDecoder().decode(all.subarray(from + 4, from + 4 + length));
  });
}

/** The first difference between descriptions, as text. */
function differenceOf(texts: readonly string[]): string {
  const rule = "every rank must make the same calls with the same options";
  let calls: [string, Terms][];
  try {
    calls = texts.map((text) => JSON.parse(text));
  } catch {
    return `ranks disagree in their options; ${rule}`;
  }
  const split = (name: string, values: readonly unknown[]) => {
    const other = values.findIndex((value) => value !== values[0]);
    return `ranks disagree: ${name} is ${values[0]} on rank 0, but ${values[other]} on rank ${other}; ${rule}`;
  };
  const names = calls.map(([what]) => what);
  if (new Set(names).size > 1) return split("the call", names);
  for (const name of new Set(calls.flatMap(([, terms]) => Object.keys(terms)))) {
    const values = calls.map(([, terms]) => terms[name]);
    if (new Set(values).size > 1) return split(name, values);
  }
  return `ranks disagree in their options; ${rule}`;
}

/** 128 bits of a text: four 32-bit hashes (FNV-1a with other starts, finished as MurmurHash3 does). */
export function digest(text: string): Uint32Array {
  const bytes = new TextEncoder().encode(text);
  return digestBytes(bytes);
}

/** 128 bits of bytes. */
export function digestBytes(bytes: Uint8Array): Uint32Array {
  return Uint32Array.from([0x811c9dc5, 0x9e3779b1, 0x85ebca77, 0xc2b2ae3d], (start) => {
    let h = start | 0;
    for (const byte of bytes) h = Math.imul(h ^ byte, 0x01000193);
    h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
    return (h ^ (h >>> 16)) >>> 0;
  });
}

const hex = (words: Uint32Array): string => [...words].map((x) => x.toString(16).padStart(8, "0")).join("");

/** Terms of expressions, which do not change. */
const TERMS = new WeakMap<Expression, string>();

const TENSOR_SUMS = new WeakMap<object, Map<string, string>>();

/**
 * A tensor as a text that is equal for equal tensors: its shape, its dtype and a digest of its elements. The digest is computed
 * once for each array.
 */
export function termOfTensor(t: Tensor): string {
  const place = [t.shape, t.strides, t.offset].join("; ");
  const sums = TENSOR_SUMS.get(t.data) ?? new Map<string, string>();
  TENSOR_SUMS.set(t.data, sums);
  let sum = sums.get(place);
  if (sum === undefined) {
    const { data, offset, size } = t.dense();
    const elements = (data as Float32Array).subarray(offset, offset + size);
    sum = hex(digestElements(new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength)));
    sums.set(place, sum);
  }
  return `[${t.shape.join(", ")}] ${t.dtype} ${sum}`;
}

/** 128 bits of many bytes: four hashes, each of every fourth word, and one of the rest. */
export function digestElements(bytes: Uint8Array): Uint32Array {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  const words = new Uint32Array(aligned.buffer, aligned.byteOffset, 4 * Math.floor(bytes.length / 16));
  let [a, b, c, d] = [0x811c9dc5, 0x9e3779b1, 0x85ebca6b, 0xc2b2ae3d];
  for (let i = 0; i < words.length; i += 4) {
    a = Math.imul(a ^ words[i], 0x01000193) ^ (a >>> 15);
    b = Math.imul(b ^ words[i + 1], 0x01000193) ^ (b >>> 15);
    c = Math.imul(c ^ words[i + 2], 0x01000193) ^ (c >>> 15);
    d = Math.imul(d ^ words[i + 3], 0x01000193) ^ (d >>> 15);
  }
  const lanes = [a, b, c, d].flatMap((x) => [x, x >>> 8, x >>> 16, x >>> 24]);
  return digestBytes(Uint8Array.of(...lanes, ...aligned.subarray(4 * words.length)));
}

/** A mask or score expression as a text that is equal for equal expressions: its formula, and a digest of its tables. */
export function termOf(expr: Expression | undefined): string {
  if (expr === undefined) return "none";
  const cached = TERMS.get(expr);
  if (cached !== undefined) return cached;
  const tables = tablesOf(expr).map(({ data }) =>
    hex(digestBytes(new Uint8Array(data.buffer, data.byteOffset, data.byteLength))),
  );
  const text = textOf(expr);
  const short = text.length > 300 ? `${text.slice(0, 200)}… ${hex(digest(text))}` : text;
  const term = [short, ...tables].join(" ");
  TERMS.set(expr, term);
  return term;
}

/** Numbers as a short text that is equal for equal numbers. */
export function termOfNumbers(numbers: ArrayLike<number> | undefined): string {
  if (numbers === undefined) return "none";
  const list = Float64Array.from(numbers);
  return list.length <= 4
    ? list.join()
    : `${list.length} numbers ${hex(digestBytes(new Uint8Array(list.buffer)))}`;
}
