/**
 * Corrupted files, from a seed: valid ones with bytes flipped, removed, repeated and spliced, and with the numbers, names and
 * structures of their headers replaced by hostile ones. Shared by `mutation.test.ts` (every run) and
 * `tools/faults/mutate.ts` (long runs). A mutant may still be valid; reading and
 * writing it must then give the same tensors.
 */
import { OptionError } from "../../src/core/errors.ts";
import { crc32 } from "../../src/io/archive/deflate.ts";
import {
  openSafetensors,
  readNpy,
  readNpz,
  readSafetensors,
  writeNpy,
  writeNpz,
  writeSafetensors,
} from "../../src/io/index.ts";

/** The formats that are mutated. */
export const FORMATS = ["npy", "npz", "safetensors", "index"] as const;
export type Format = (typeof FORMATS)[number];

/** A seeded source of integers (mulberry32): the same seed, the same mutants. */
export class Dice {
  #state: number;
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }
  /** An integer from 0 to n − 1. */
  below(n: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * n);
  }
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)];
  }
}

const NUMBERS =
  "0 1 2 3 7 8 -1 -0 00 01 1.5 1e3 1e400 255 256 65535 65536 2147483647 2147483648 4294967295 4294967296 9007199254740991 9007199254740992 18446744073709551615 18446744073709551616 340282366920938463463374607431768211456".split(
    " ",
  );
const DTYPES =
  "F64 F32 F16 BF16 I64 I32 I16 I8 U8 U16 U32 U64 BOOL F8_E4M3 F8_E5M2 F4 C64 f32 O __proto__".split(" ");
const DESCRS = "<f4 >f4 <f8 >i2 |b1 |u1 <i8 =f4 |O <c8 <U3 <M8[D] |V4 f4 <f2 |f4 <f16 <i3".split(" ");
const FORTRAN = ["True", "False", "None", "1", "'True'", ""];
const SHAPES =
  "() (1) (1,) (6,) (2,3) (3,2,) (0,) (0,4294967296) (4294967296,4294967296,0) (9007199254740991,) (-1,) (1.5,) (2,3,1,1) (2L,3L) [2,3] (2,(3,)) (6,1) ((((((6,".split(
    " ",
  );
const JUNK = [
  "{",
  "}",
  "[",
  "]",
  '"',
  ",",
  ":",
  "\\",
  "\\u0000",
  "\\ud800",
  "null",
  "true",
  "[[[[[[[[[[[[[[[[[[[[",
  '{"a":{"a":{"a":{',
  '"__proto__":1,',
  '"__metadata__":{},',
  '"__metadata__":{"a":1},',
  " ",
  "\n",
  "\0",
  "\xff",
];
const WORDS = [
  0, 1, 2, 8, 0x41, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xfffffffe,
  0xffffffff,
];

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1");
const bytesOf = (latin1: string) => new Uint8Array(Buffer.from(latin1, "latin1"));

/** One mutant of a valid file. */
export function mutate(format: Format, seed: Uint8Array, dice: Dice): Uint8Array {
  let out: Uint8Array = seed.slice();
  for (let rounds = 1 + dice.below(3); rounds > 0; rounds--)
    out = dice.below(10) < 8 ? STRUCTURE[format](out, dice) : mutateBytes(out, dice);
  return out;
}

function mutateBytes(bytes: Uint8Array, dice: Dice): Uint8Array {
  const at = dice.below(bytes.length + 1);
  const length = 1 + dice.below(dice.below(4) === 0 ? 64 : 8);
  const cut = (insert: Uint8Array, drop: number) =>
    bytesOf(text(bytes.subarray(0, at)) + text(insert) + text(bytes.subarray(at + drop)));
  switch (dice.below(7)) {
    case 0:
      if (at < bytes.length) bytes[at] ^= 1 << dice.below(8);
      return bytes;
    case 1:
      if (at < bytes.length) bytes[at] = dice.pick(WORDS);
      return bytes;
    case 2:
      return bytes.slice(0, at);
    case 3:
      return cut(new Uint8Array(0), length);
    case 4:
      return cut(new Uint8Array(length).fill(dice.below(256)), 0);
    case 5:
      return cut(bytes.slice(at, at + length), 0);
    default:
      return cut(bytes.slice(dice.below(bytes.length + 1)).subarray(0, length), length);
  }
}

/** `header` with one number, name, word or structure replaced. */
function mutateHeader(
  header: string,
  dice: Dice,
  lists: readonly (readonly [RegExp, readonly string[]])[],
): string {
  const [pattern, values] = dice.pick(lists);
  const places = [...header.matchAll(pattern)];
  if (places.length === 0) return header;
  const place = dice.pick(places);
  return header.slice(0, place.index) + dice.pick(values) + header.slice(place.index + place[0].length);
}

function mutateSafetensors(bytes: Uint8Array, dice: Dice): Uint8Array {
  if (bytes.length < 8) return bytes;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (dice.below(6) === 0) {
    view.setUint32(4 * dice.below(2), dice.pick(WORDS), true);
    return bytes;
  }
  const length = Math.min(view.getUint32(0, true), bytes.length - 8);
  const header = text(bytes.subarray(8, 8 + length));
  const entries = [...header.matchAll(/"[^"]*":\{[^}]*\}/g)].map((m) => m[0]);
  let changed = mutateHeader(header, dice, [
    [/\d+/g, NUMBERS],
    [/\d+/g, NUMBERS],
    [/(?<="dtype":")[^"]*/g, DTYPES],
    [
      /"(dtype|shape|data_offsets|a|b|c)"/g,
      ['"dtype"', '"shape"', '"a"', '"__proto__"', '"__metadata__"', '""'],
    ],
    [/(?<=[{,[])/g, entries.length > 0 ? [...JUNK, `${dice.pick(entries)},`] : JUNK],
    [/[{}[\],:"]/g, JUNK],
  ]);
  if (dice.below(8) === 0) {
    // A tensor moved as a whole: a hole, an overlap, or another's place.
    const shift = dice.below(17) - 8;
    const spans = [...header.matchAll(/(?<=data_offsets":\[)(\d+),(\d+)/g)];
    if (spans.length > 0) {
      const { index, 0: all, 1: from, 2: to } = dice.pick(spans);
      const moved = `${Math.max(0, Number(from) + shift)},${Math.max(0, Number(to) + shift)}`;
      changed = header.slice(0, index) + moved + header.slice(index + all.length);
    }
  }
  // Mostly the length follows, so that the mutation is what is seen.
  if (dice.below(4) > 0)
    changed = changed.trimEnd().padEnd(dice.below(2) ? Math.ceil(changed.length / 8) * 8 : 0);
  const out = bytesOf(text(bytes.subarray(0, 8)) + changed + text(bytes.subarray(8 + length)));
  if (dice.below(8) > 0) new DataView(out.buffer).setUint32(0, changed.length, true);
  return out;
}

function mutateNpy(bytes: Uint8Array, dice: Dice): Uint8Array {
  if (bytes.length < 12) return bytes;
  if (dice.below(6) === 0) {
    bytes[6 + dice.below(6)] = dice.pick(WORDS);
    return bytes;
  }
  const start = bytes[6] === 1 ? 10 : 12;
  const length = Math.min(bytes[8] + 256 * bytes[9], bytes.length - start);
  const header = text(bytes.subarray(start, start + length));
  let changed = mutateHeader(header, dice, [
    [/(?<=descr'\s*:\s*')[^']*/g, DESCRS],
    [/\b(True|False)\b/g, FORTRAN],
    [/\([^)]*\)/g, SHAPES],
    [/\d+/g, NUMBERS],
    [/'[a-z_]*'/g, ["'descr'", "'shape'", "'fortran_order'", "'x'", "''", "shape"]],
    [/(?<=[{,:])/g, [...JUNK, "'descr': '<f4', ", "'shape': (6,), ", "__import__('os')"]],
  ]);
  if (dice.below(4) > 0)
    changed = `${changed
      .trimEnd()
      .padEnd(length - 1)
      .slice(0, 65_000)}\n`;
  const out = bytesOf(text(bytes.subarray(0, start)) + changed + text(bytes.subarray(start + length)));
  if (dice.below(8) > 0) [out[8], out[9]] = [changed.length & 255, changed.length >> 8];
  return out;
}

function mutateNpz(bytes: Uint8Array, dice: Dice): Uint8Array {
  const all = text(bytes);
  const marks = ["\x01\x02", "\x03\x04", "\x05\x06", "\x06\x06", "\x06\x07"];
  const records = [...all.matchAll(/PK/g)]
    .map((m) => m.index)
    .filter((i) => marks.includes(all.slice(i + 2, i + 4)));
  if (records.length === 0) return bytes;
  const at = dice.pick(records);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (dice.below(8)) {
    case 0:
    case 1: {
      // A 32-bit field, to something extreme or to something near.
      const field = at + dice.below(60);
      if (field + 4 > bytes.length) return bytes;
      view.setUint32(
        field,
        dice.below(2) ? dice.pick(WORDS) : view.getUint32(field, true) + dice.below(9) - 4,
        true,
      );
      return bytes;
    }
    case 2:
    case 3: {
      const field = at + 4 + dice.below(46);
      if (field + 2 <= bytes.length) view.setUint16(field, dice.pick(WORDS), true);
      return bytes;
    }
    case 4: {
      // One record over another.
      const other = dice.pick(records);
      bytes.copyWithin(at, other, other + 4 + dice.below(50));
      return bytes;
    }
    case 5: {
      // A name.
      const names = [...all.matchAll(/[a-z]+\.npy/g)];
      if (names.length === 0) return bytes;
      const name = dice.pick(names);
      const fresh = dice.pick(["a.npy", "b.npy", "../.npy", "/.npy", "\0.npy", "\xff.npy", "a.txt", ".npy"]);
      return bytesOf(all.slice(0, name.index) + fresh + all.slice(name.index + name[0].length));
    }
    case 6: {
      // The npy inside, in place, its CRC made right so that the reader gets as far as the npy.
      const local = dice.pick(records);
      if (all.slice(local + 2, local + 4) !== marks[1] || local + 30 > bytes.length)
        return mutateBytes(bytes, dice);
      const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
      const end = records.find((next) => next > local) ?? bytes.length;
      if (start > end) return bytes;
      bytes.set(mutateNpy(bytes.slice(start, end), dice).subarray(0, end - start), start);
      const crc = crc32(bytes.subarray(start, end));
      const before = view.getUint32(local + 14, true);
      for (const record of records) {
        const field = record + (all.slice(record + 2, record + 4) === marks[0] ? 16 : 14);
        if (field + 4 <= bytes.length && view.getUint32(field, true) === before)
          view.setUint32(field, crc, true);
      }
      return bytes;
    }
    default:
      // A record's bytes doubled.
      return bytesOf(all.slice(0, at) + all.slice(at, at + 46 + dice.below(20)) + all.slice(at));
  }
}

function mutateIndex(bytes: Uint8Array, dice: Dice): Uint8Array {
  const members = ['"a":"x.safetensors",', '"c":"z.safetensors",', '"weight_map":{},', '"metadata":null,'];
  const changed = mutateHeader(text(bytes), dice, [
    [/[\d.]+(?=[,}])/g, NUMBERS],
    [
      /(?<=:")[^"]*(?=")/g,
      ["../x", "/x", "..", ".", "", "a\\\\b", "c:d", "x.safetensors", "none", "\\u0000"],
    ],
    [/(?<=[{,])/g, [...JUNK, ...members]],
    [/"(a|b|weight_map|metadata)"/g, ['"a"', '"c"', '"__proto__"', '"weight_map"', '""', "1"]],
    [/[{}[\],:"]/g, JUNK],
  ]);
  return bytesOf(changed);
}

const STRUCTURE: Record<Format, (bytes: Uint8Array, dice: Dice) => Uint8Array> = {
  npy: mutateNpy,
  npz: mutateNpz,
  safetensors: mutateSafetensors,
  index: mutateIndex,
};

/** Small valid files to start from. */
async function seedsOf(format: Format): Promise<Uint8Array[]> {
  const f32 = { data: new Float32Array([0, 1, -2, 3.5, Number.NaN, 5]), shape: [2, 3] };
  const i64 = { data: new BigInt64Array([1n, -2n]), shape: [2] };
  const bool = { data: new Uint8Array([1, 0, 1]), shape: [3, 1], dtype: "bool" };
  const scalar = { data: new Float64Array([1]), shape: [] };
  const empty = { data: new Float32Array(0), shape: [2, 0] };
  if (format === "npy") {
    const big = bytesOf(text(writeNpy(i64)).replace("<i8", ">i8"));
    const fortran = bytesOf(text(writeNpy(f32)).replace("False", "True "));
    const second = bytesOf(text(writeNpy(f32)).replace("\x01\x00v\x00", "\x02\x00v\x00\x00\x00"));
    return [...[f32, i64, bool, scalar, empty].map((t) => writeNpy(t)), big, fortran, second];
  }
  if (format === "safetensors")
    return [
      writeSafetensors({ a: f32, b: i64, c: bool }, { metadata: { format: "np" } }),
      writeSafetensors({ a: scalar, b: empty }),
      writeSafetensors({ c: bool }),
      writeSafetensors({}),
    ];
  if (format === "index")
    return [
      '{"metadata":{"total_size":24.5},"weight_map":{"a":"x.safetensors","b":"y.safetensors"}}',
      '{"weight_map":{}}',
    ].map(bytesOf);
  return Promise.all([
    writeNpz({ a: bool }),
    writeNpz({ a: f32, b: scalar }),
    writeNpz({ a: f32, b: i64 }, { compress: true }),
    writeNpz({ a: empty }),
  ]);
}

/** What the shards of an index hold. */
const SHARDS: ReadonlyMap<string, Uint8Array> = new Map(
  [
    ["x.safetensors", ["a"]],
    ["y.safetensors", ["b", "c"]],
    ["none", []],
  ].map(([file, names]) => [
    file as string,
    writeSafetensors(
      Object.fromEntries(
        (names as string[]).map((name) => [name, { data: new Float32Array(1), shape: [1] }]),
      ),
    ),
  ]),
);

/** Reads a file of a format, writes what was read, reads that, and throws where the two readings differ. */
async function readAndReturn(format: Format, file: Uint8Array): Promise<void> {
  if (format === "npy") {
    const t = readNpy(file);
    compare("", t, readNpy(writeNpy(t)));
  } else if (format === "safetensors") {
    const { tensors, metadata } = readSafetensors(file);
    const again = readSafetensors(writeSafetensors(tensors, { metadata }));
    compareAll(tensors, again.tensors);
    if (JSON.stringify([...metadata].sort()) !== JSON.stringify([...again.metadata].sort()))
      throw new Error("the metadata changed on the way out and in");
  } else if (format === "index") {
    const model = await openSafetensors(file, { shard: (name) => SHARDS.get(name) ?? SHARDS.get("none")! });
    for (const name of model.tensors.keys()) await model.read(name);
  } else {
    const tensors = await readNpz(file);
    // A name that leads out of a folder is read, and not written.
    const written = await writeNpz(tensors).catch((error: unknown) => {
      if (!(error instanceof OptionError && error.code === "name")) throw error;
    });
    if (written !== undefined) compareAll(tensors, await readNpz(written));
  }
}

type Found = { data: ArrayBufferView; shape: readonly number[]; dtype: string };

function compareAll(a: ReadonlyMap<string, Found>, b: ReadonlyMap<string, Found>): void {
  if (a.size !== b.size) throw new Error(`${a.size} tensors became ${b.size}`);
  for (const [name, t] of a) {
    const other = b.get(name);
    if (other === undefined) throw new Error(`tensor ${JSON.stringify(name)} was lost`);
    compare(name, t, other);
  }
}

function compare(name: string, a: Found, b: Found): void {
  const bits = ({ data }: Found) => Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (a.dtype !== b.dtype || a.shape.join() !== b.shape.join() || !bits(a).equals(bits(b)))
    throw new Error(`tensor ${JSON.stringify(name)} changed on the way out and in`);
}

/** The outcomes of many mutants. */
export interface Tally {
  mutants: number;
  /** Still valid, and written back to the same tensors. */
  accepted: number;
  /** Refused, by error code. */
  refused: Record<string, number>;
  /** Longest time one of them took, in milliseconds. */
  slowest: number;
}

/** Reads `count` mutants of a format; throws at the first that does anything but read or raise a FormatError with an offset. */
export async function readMutants(format: Format, count: number, seed: number): Promise<Tally> {
  const dice = new Dice(seed);
  const seeds = await seedsOf(format);
  const tally: Tally = { mutants: 0, accepted: 0, refused: {}, slowest: 0 };
  for (; tally.mutants < count; tally.mutants++) {
    const file = mutate(format, dice.pick(seeds), dice);
    const began = performance.now();
    try {
      await readAndReturn(format, file);
      tally.accepted++;
    } catch (error) {
      const { name, code, fields } = error as { name?: string; code?: string; fields?: { offset?: unknown } };
      const typed = name === "FormatError" && typeof code === "string";
      if (!typed || !Number.isSafeInteger(fields?.offset))
        throw new Error(
          `${format} mutant ${tally.mutants} of seed ${seed}: ${(error as Error)?.stack}\n${Buffer.from(file).toString("base64")}`,
          { cause: error },
        );
      tally.refused[code] = (tally.refused[code] ?? 0) + 1;
    }
    tally.slowest = Math.max(tally.slowest, performance.now() - began);
  }
  return tally;
}
