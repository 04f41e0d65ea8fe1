/** Every kind of malformed file that heed detects, each with the code of the error it raises, its tensor and its byte offset. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { FormatError } from "../core/errors.ts";
import { openSafetensors, readNpy, readNpz, readSafetensors, writeNpy, writeNpz } from "./index.ts";

const latin1 = (text: string) => new Uint8Array(Buffer.from(text, "latin1"));
const u16 = (n: number) => String.fromCharCode(n & 255, n >> 8);
const u32 = (n: number) => u16(n % 65536) + u16(Math.floor(n / 65536));
const u64 = (n: number) => u32(n % 2 ** 32) + u32(Math.floor(n / 2 ** 32));

/** A safetensors file from its JSON, followed by `data` zero bytes. */
const st = (json: string, data = 0, length = Buffer.byteLength(json, "latin1")) =>
  latin1(u64(length) + json + "\0".repeat(data));
const entry = (from: number, to: number, shape = `[${to - from}]`, dtype = "U8") =>
  `{"dtype":"${dtype}","shape":${shape},"data_offsets":[${from},${to}]}`;

/** An npy file from its header dict, followed by `data` zero bytes. */
const npy = (dict: string, data = 0, version = "\x01\0") =>
  latin1(
    `\x93NUMPY${version}${version[0] === "\x01" ? u16(dict.length) : u32(dict.length)}${dict}${"\0".repeat(data)}`,
  );
const dict = (shape: string, descr = "'<f4'", fortran = "False") =>
  `{'descr': ${descr}, 'fortran_order': ${fortran}, 'shape': ${shape}, }\n`;

type Hostile = [name: string, code: string, file: Uint8Array, offset?: number, tensor?: string];

const SAFETENSORS: Hostile[] = [
  ["an empty file", "safetensors-truncated", latin1(""), 0],
  ["a file of 7 bytes", "safetensors-truncated", latin1("1234567"), 7],
  ["a header longer than the file", "safetensors-truncated", st("{}", 0, 100), 10],
  ["a header one byte longer than the file", "safetensors-truncated", st("{}", 0, 3), 10],
  ["a header of 2^63 bytes", "safetensors-header-size", latin1(`${"\0".repeat(7)}\x80{}`), 0],
  ["a header of 100,000,001 bytes", "safetensors-header-size", st("{}", 0, 100_000_001), 0],
  ["a header of length 0", "json", st(""), 8],
  ["a header that begins with a space", "json", st(" {}"), 8],
  ["a header that begins with a byte order mark", "json", st("\xef\xbb\xbf{}"), 8],
  ["a header that is a list", "json", st("[]"), 8],
  ["bytes after the JSON", "json", st("{} x"), 11],
  ["an unclosed object", "json", st('{"a":'), 13],
  ["an unclosed string", "json", st('{"a'), 9],
  ["a trailing comma", "json", st(`{"a":${entry(0, 1)},}`, 1)],
  ["a key without quotes", "json", st("{a:1}"), 9],
  ["a word that JSON does not know", "json", st('{"a":NaN}'), 13],
  ["a duplicate tensor", "json-duplicate", st(`{"a":${entry(0, 1)},"a":${entry(0, 1)}}`, 1), undefined, "a"],
  [
    "a duplicate tensor under an escape",
    "json-duplicate",
    st(`{"a":${entry(0, 1)},"\\u0061":${entry(0, 1)}}`, 1),
    undefined,
    "a",
  ],
  [
    "a duplicate field",
    "json-duplicate",
    st('{"a":{"dtype":"U8","dtype":"F32","shape":[1],"data_offsets":[0,1]}}', 1),
  ],
  ["two __metadata__", "json-duplicate", st('{"__metadata__":{},"__metadata__":{}}')],
  ["a tensor named __proto__", "json-key", st(`{"__proto__":${entry(0, 1)}}`, 1), 9],
  ["__proto__ in the metadata", "json-key", st('{"__metadata__":{"__proto__":"x"}}')],
  ["nesting of 100,000 levels", "json-depth", st(`{"a":${"[".repeat(100_000)}`)],
  ["objects in objects", "json-depth", st('{"a":{"b":{"c":{"d":{}}}}}')],
  ["a shape of 1.5", "json-number", st(`{"a":${entry(0, 1, "[1.5]")}}`, 1)],
  ["a shape of 1e0", "json-number", st(`{"a":${entry(0, 1, "[1e0]")}}`, 1)],
  ["a shape of 1e400", "json-number", st(`{"a":${entry(0, 1, "[1e400]")}}`, 1)],
  ["a shape of −0", "json-number", st(`{"a":${entry(0, 0, "[-0]")}}`)],
  ["a shape of 007", "json-number", st(`{"a":${entry(0, 7, "[007]")}}`, 7)],
  ["a shape of 2^53", "json-number", st(`{"a":${entry(0, 1, "[9007199254740992]")}}`, 1)],
  ["a lone minus", "json-number", st(`{"a":${entry(0, 1, "[-]")}}`, 1)],
  ["a number of a million digits", "json-number", st(`{"a":${entry(0, 1, `[${"1".repeat(1e6)}]`)}}`, 1)],
  ["a shape of 100,000 axes", "json-items", st(`{"a":${entry(0, 1, `[${"1,".repeat(99_999)}1]`)}}`, 1)],
  ["a name that is not UTF-8", "json-utf8", st(`{"\xff":${entry(0, 1)}}`, 1), 10],
  ["an overlong UTF-8 sequence", "json-utf8", st(`{"\xc0\x80":${entry(0, 1)}}`, 1)],
  ["a newline in a name", "json-string", st(`{"a\nb":${entry(0, 1)}}`, 1), 11],
  ["half a surrogate pair", "json-string", st(`{"\\ud800":${entry(0, 1)}}`, 1)],
  ["an unknown escape", "json-string", st(`{"\\x":${entry(0, 1)}}`, 1)],
  ["a broken \\u escape", "json-string", st(`{"\\u00g0":${entry(0, 1)}}`, 1)],
  ["metadata that is a list", "safetensors-metadata", st('{"__metadata__":[]}'), 24],
  ["metadata that holds a number", "safetensors-metadata", st('{"__metadata__":{"a":1}}')],
  ["an entry that is null", "safetensors-entry", st('{"a":null}'), 13, "a"],
  [
    "an entry without a dtype",
    "safetensors-entry",
    st('{"a":{"shape":[1],"data_offsets":[0,1]}}', 1),
    13,
    "a",
  ],
  [
    "an entry with one more field",
    "safetensors-entry",
    st('{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}}', 1),
  ],
  ["a negative axis", "safetensors-entry", st(`{"a":${entry(0, 1, "[-1]")}}`, 1)],
  ["a text as shape", "safetensors-entry", st(`{"a":${entry(0, 1, '"1"')}}`, 1)],
  ["an axis that is true", "safetensors-entry", st(`{"a":${entry(0, 1, "[true]")}}`, 1)],
  ["three offsets", "safetensors-entry", st('{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}}', 1)],
  ["an unknown dtype", "safetensors-dtype", st(`{"a":${entry(0, 1, "[1]", "U4")}}`, 1), 13, "a"],
  ["a complex dtype", "safetensors-dtype", st(`{"a":${entry(0, 8, "[1]", "C64")}}`, 8)],
  [
    "a dtype named as an object's method",
    "safetensors-dtype",
    st(`{"a":${entry(0, 1, "[1]", "toString")}}`, 1),
  ],
  [
    "a shape whose product wraps at 2^64",
    "safetensors-size",
    st(`{"a":${entry(0, 0, "[4294967296,4294967296]")}}`),
  ],
  [
    "a shape whose product wraps, and an empty axis",
    "safetensors-size",
    st(`{"a":${entry(0, 0, "[4294967296,4294967296,0]")}}`),
  ],
  [
    "an empty axis, and a shape whose product wraps",
    "safetensors-size",
    st(`{"a":${entry(0, 0, "[0,4294967296,4294967296]")}}`),
  ],
  ["offsets that do not match the shape", "safetensors-size", st(`{"a":${entry(0, 2, "[1]")}}`, 2), 13, "a"],
  ["offsets that go backwards", "safetensors-size", st(`{"a":${entry(1, 0, "[1]")}}`, 1)],
  ["a tensor beyond the file", "safetensors-truncated", st(`{"a":${entry(0, 4)}}`, 3), undefined, "a"],
  ["a tensor of 2^52 bytes in a tiny file", "safetensors-truncated", st(`{"a":${entry(0, 2 ** 52)}}`, 3)],
  ["a hole at the start", "safetensors-hole", st(`{"a":${entry(1, 2)}}`, 2), undefined, "a"],
  [
    "a hole between tensors",
    "safetensors-hole",
    st(`{"a":${entry(0, 1)},"b":${entry(2, 3)}}`, 3),
    undefined,
    "b",
  ],
  [
    "overlapping tensors",
    "safetensors-overlap",
    st(`{"a":${entry(0, 2)},"b":${entry(1, 3)}}`, 3),
    undefined,
    "b",
  ],
  [
    "two tensors in one place",
    "safetensors-overlap",
    st(`{"a":${entry(0, 2)},"b":${entry(0, 2)}}`, 2),
    undefined,
    "b",
  ],
  ["bytes after the last tensor", "safetensors-trailing", st(`{"a":${entry(0, 1)}}`, 2)],
  ["bytes after an empty header", "safetensors-trailing", st("{}", 1), 10],
];

const NPY: Hostile[] = [
  ["an empty file", "npy-truncated", latin1(""), 0],
  ["another kind of file", "npy-magic", latin1("PK\x03\x04aaaaaaaaaaaa"), 0],
  ["version 4", "npy-version", npy(dict("(1,)"), 4, "\x04\0"), 6],
  ["version 0", "npy-version", npy(dict("(1,)"), 4, "\0\0"), 6],
  ["version 1.1", "npy-version", npy(dict("(1,)"), 4, "\x01\x01"), 6],
  ["12 bytes that claim a header of 4 GiB", "npy-header-size", latin1("\x93NUMPY\x02\0\xff\xff\xff\xff"), 8],
  ["a header that is cut", "npy-truncated", npy(dict("(1,)")).subarray(0, 30), 30],
  ["an object array", "npy-object", npy(dict("(1,)", "'|O'"), 8)],
  ["a complex array", "npy-dtype", npy(dict("(1,)", "'<c8'"), 8)],
  ["a structured array", "npy-dtype", npy(dict("(1,)", "[('a', '<f4')]"), 4)],
  ["native byte order", "npy-dtype", npy(dict("(1,)", "'=f4'"), 4)],
  ["no byte order", "npy-dtype", npy(dict("(1,)", "'|f4'"), 4)],
  ["a float of 16 bytes", "npy-dtype", npy(dict("(1,)", "'<f16'"), 16)],
  ["a shape of 2^53", "npy-header", npy(dict("(9007199254740992,)"))],
  ["a shape of 400 digits", "npy-header", npy(dict(`(${"9".repeat(400)},)`))],
  ["a shape that is a number", "npy-header", npy(dict("(3)"), 12)],
  ["a negative axis", "npy-header", npy(dict("(-1,)"))],
  ["an axis with a leading zero", "npy-header", npy(dict("(01,)"), 4)],
  ["an axis of 1.5", "npy-header", npy(dict("(1.5,)"), 4)],
  ["a shape of 65 axes", "npy-header", npy(dict(`(${"1, ".repeat(65)})`), 4)],
  ["deep nesting", "npy-header", npy(dict("(".repeat(60_000)))],
  ["a call", "npy-header", npy(dict("__import__('os').system('true')"))],
  [
    "a duplicate key",
    "npy-header",
    npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", 4),
  ],
  ["a missing key", "npy-header", npy("{'descr': '<f4', 'fortran_order': False}", 4), 10],
  [
    "a key too many",
    "npy-header",
    npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), '__proto__': 1}", 4),
  ],
  [
    "the key constructor",
    "npy-header",
    npy("{'constructor': '<f4', 'fortran_order': False, 'shape': (1,)}", 4),
    11,
  ],
  ["an escape in a text", "npy-header", npy(dict("(1,)", "'\\x3cf4'"), 4)],
  ["fortran_order 1", "npy-header", npy(dict("(1,)", "'<f4'", "1"), 4)],
  ["text after the dict", "npy-header", npy(`${dict("(1,)")}x`, 4)],
  ["a byte that is not ASCII", "npy-header", npy(`${dict("(1,)")}\xe4`, 4)],
  ["bytes that are not UTF-8", "npy-header", npy("\xff".repeat(20), 4), 10],
  ["a shape whose product wraps", "npy-size", npy(dict("(4294967296, 4294967296)"))],
  ["a shape whose product wraps, and an empty axis", "npy-size", npy(dict("(4294967296, 4294967296, 0)"))],
  ["an empty axis, and a shape whose product wraps", "npy-size", npy(dict("(0, 4294967296, 4294967296)"))],
  ["an array of 2^50 bytes in a tiny file", "npy-truncated", npy(dict("(281474976710656,)"), 4)],
  ["one byte too few", "npy-truncated", npy(dict("(2,)"), 7)],
  ["one byte too many", "npy-trailing", npy(dict("(2,)"), 9)],
];

// One array, stored, and deflated; the offsets of the records are found by their marks.
const stored = await writeNpz({
  a: { data: new Uint8Array([1, 2, 3]), shape: [3] },
  bb: { data: new Uint8Array([4]), shape: [1] },
});
const deflated = await writeNpz({ a: { data: new Float32Array(4096), shape: [4096] } }, { compress: true });
const indexOfMark = (file: Uint8Array, mark: string, after = 0) =>
  Buffer.from(file).indexOf(mark, after, "latin1");
const CENTRAL = indexOfMark(stored, "PK\x01\x02");
const SECOND = indexOfMark(stored, "PK\x03\x04", 1);
const END = indexOfMark(stored, "PK\x05\x06");

/** `file` with other bytes at one place. */
function patch(file: Uint8Array, at: number, bytes: string): Uint8Array {
  const out = file.slice();
  out.set(latin1(bytes), at);
  return out;
}
const both = (at: number, central: number, bytes: string, file = stored) =>
  patch(patch(file, at, bytes), indexOfMark(file, "PK\x01\x02") + central, bytes);
const packedAt = 30 + 5 + 20;
const deflatedCentral = indexOfMark(deflated, "PK\x01\x02");
const renamed = (name: string) => both(30, 46, name);
/** An end record on its own. */
const endOnly = (count: number, bytes: number, start: number) =>
  latin1(`PK\x05\x06${u32(0)}${u16(count)}${u16(count)}${u32(bytes)}${u32(start)}${u16(0)}`);
const end64 = (count: number, bytes: number, start: number, at: number, reach = 44) =>
  `PK\x06\x06${u64(reach)}${u16(45)}${u16(45)}${u32(0)}${u32(0)}${u64(count)}${u64(count)}${u64(bytes)}${u64(start)}` +
  `PK\x06\x07${u32(0)}${u64(at)}${u32(1)}`;
const withEnd64 = (text: string) =>
  latin1(text + Buffer.from(endOnly(65535, 0xffffffff, 0xffffffff)).toString("latin1"));

const NPZ: Hostile[] = [
  ["an empty file", "zip-end", latin1(""), 0],
  ["no end record", "zip-end", stored.slice(0, END)],
  ["bytes after the end record", "zip-end", latin1(`${Buffer.from(stored).toString("latin1")}x`)],
  ["a directory outside the file", "zip-end", patch(stored, END + 16, u32(0x7fffffff))],
  ["more members than the directory holds", "zip-end", patch(stored, END + 8, u16(9000) + u16(9000))],
  [
    "100,000 members",
    "zip-count",
    withEnd64(" ".repeat(4_600_000) + end64(100_000, 4_600_000, 0, 4_600_000)),
  ],
  ["a zip64 locator that points nowhere", "zip-end", withEnd64(end64(0, 0, 0, 999))],
  ["a zip64 end record of the wrong length", "zip-end", withEnd64(end64(0, 0, 0, 0, 43))],
  ["a zip64 count beyond 2^53", "zip-size", withEnd64(end64(2 ** 60, 0, 0, 0))],
  [
    "two end records that contradict each other",
    "zip-end",
    latin1(end64(0, 0, 0, 0) + Buffer.from(endOnly(1, 0, 0)).toString("latin1")),
  ],
  ["a zip64 archive in parts", "zip-spanned", patch(withEnd64(end64(0, 0, 0, 0)), 16, u32(1)), 16],
  ["an archive in parts", "zip-spanned", patch(stored, END + 4, u16(1)), END + 4],
  ["a member in another part", "zip-spanned", patch(stored, CENTRAL + 34, u16(1)), undefined, "a.npy"],
  ["fewer members than the directory holds", "zip-directory", patch(stored, END + 8, u16(1) + u16(1))],
  ["a directory entry without its mark", "zip-directory", patch(stored, CENTRAL, "XX"), CENTRAL],
  ["a name longer than the directory", "zip-directory", patch(stored, CENTRAL + 28, u16(60_000))],
  ["an encrypted member", "zip-encrypted", patch(stored, CENTRAL + 8, u16(1)), CENTRAL + 8, "a.npy"],
  ["method 12, bzip2", "zip-method", patch(stored, CENTRAL + 10, u16(12)), CENTRAL + 10, "a.npy"],
  ["a name that is not UTF-8", "zip-name", renamed("\xff")],
  ["a name with NUL", "zip-name", renamed("\0")],
  ["a duplicate name", "zip-duplicate", await duplicated(), undefined, "aa.npy"],
  ["a local header with another name", "zip-local", patch(stored, 30, "x"), 0, "a.npy"],
  ["a local header with other flags", "zip-local", patch(stored, 6, u16(2)), 0, "a.npy"],
  ["a local header with another method", "zip-local", patch(stored, 8, u16(8)), 0, "a.npy"],
  ["a local header with another CRC", "zip-local", patch(stored, 14, u32(7)), 0, "a.npy"],
  ["a local header with another size", "zip-local", patch(stored, 30 + 5 + 4, u64(7)), 0, "a.npy"],
  [
    "a local header that is not there",
    "zip-local",
    patch(stored, CENTRAL + 42, u32(5)),
    CENTRAL + 42,
    "a.npy",
  ],
  ["a stored member of two sizes", "zip-size", patch(stored, CENTRAL + 24, u32(7)), CENTRAL + 20, "a.npy"],
  [
    "a size in a zip64 field that is missing",
    "zip-size",
    patch(stored, CENTRAL + 20, u32(0xffffffff) + u32(0xffffffff)),
  ],
  ["a zip64 field that is too short", "zip-size", patch(stored, 30 + 5 + 2, u16(8)), 30 + 5],
  ["a local size beyond 2^53", "zip-size", patch(stored, 30 + 5 + 4, "\xff".repeat(8))],
  [
    "a member that reaches into the directory",
    "zip-truncated",
    patch(patch(stored, 30 + 5 + 4, u64(900) + u64(900)), CENTRAL + 20, u32(900) + u32(900)),
    0,
    "a.npy",
  ],
  [
    "overlapping members",
    "zip-overlap",
    patch(patch(stored, 30 + 5 + 4, u64(200) + u64(200)), CENTRAL + 20, u32(200) + u32(200)),
    SECOND,
    "bb.npy",
  ],
  ["a byte changed", "zip-crc", patch(stored, packedAt + 128, "\x09"), packedAt, "a"],
  [
    "a deflated byte changed in the CRC",
    "zip-crc",
    patch(patch(deflated, 14, u32(7)), deflatedCentral + 16, u32(7)),
    packedAt,
    "a",
  ],
  [
    "a bomb: 20 bytes that claim 3 GiB",
    "zip-ratio",
    patch(deflated, deflatedCentral + 24, u32(3 * 2 ** 30)),
    deflatedCentral + 24,
    "a.npy",
  ],
  ["a member that is no npy", "npz-member", renamed("a.txt"), packedAt, "a.txt"],
  ["a member named __proto__", "npz-member", await renamedTo("__proto__"), undefined, "__proto__.npy"],
  ["an npy that is not one", "npy-magic", await npzOf(latin1("not an npy file")), packedAt, "a"],
  ["an object array", "npy-object", await npzOf(npy(dict("(1,)", "'|O'"), 8)), undefined, "a"],
  ["a broken deflate stream", "npz-inflate", patch(deflated, packedAt, "\xff\xff\xff"), packedAt, "a"],
  [
    "a deflated member that claims more than its npy header",
    "npz-size",
    both(30 + 5 + 4, 24, u32(20_000), deflated),
    packedAt,
    "a",
  ],
  [
    "a deflated member that claims less than it inflates to",
    "npz-inflate",
    both(30 + 5 + 4, 24, u32(4096), deflated),
    packedAt,
    "a",
  ],
  [
    "a deflated npy header that claims less than is there",
    "npz-inflate",
    await deflatedOf(npy(dict("(1,)"), 4), npy(dict("(1,)"), 99)),
    packedAt,
    "a",
  ],
  [
    "a deflated npy header that claims more than is there",
    "npz-inflate",
    await deflatedOf(npy(dict("(99,)"), 396), npy(dict("(99,)"), 4)),
    packedAt,
    "a",
  ],
  [
    "a deflated npy cut inside its header",
    "npy-truncated",
    await deflatedOf(latin1("\x93NUMPY"), latin1("\x93NUMPY")),
    undefined,
    "a",
  ],
];

/** An archive whose only member is named __proto__.npy. */
async function renamedTo(name: string): Promise<Uint8Array> {
  const file = await writeNpz({ ["x".repeat(name.length)]: { data: new Uint8Array(1), shape: [1] } });
  return latin1(Buffer.from(file).toString("latin1").replaceAll("x".repeat(name.length), name));
}

/** An archive with two members aa.npy. */
async function duplicated(): Promise<Uint8Array> {
  const one = { data: new Uint8Array(1), shape: [1] };
  const file = await writeNpz({ aa: one, bb: one });
  return latin1(Buffer.from(file).toString("latin1").replaceAll("bb.npy", "aa.npy"));
}

/** An archive that stores any bytes as a.npy. */
async function npzOf(bytes: Uint8Array): Promise<Uint8Array> {
  const { writeMembers } = await import("./archive/zip.ts");
  return writeMembers("test", [{ name: "a.npy", bytes }]);
}

/** An archive that claims the size and CRC of `claimed` and inflates to `real`. */
async function deflatedOf(claimed: Uint8Array, real: Uint8Array): Promise<Uint8Array> {
  const { writeMembers } = await import("./archive/zip.ts");
  const { deflate } = await import("./archive/deflate.ts");
  return writeMembers("test", [{ name: "a.npy", bytes: claimed, packed: await deflate(real) }]);
}

async function errorOf(read: () => unknown): Promise<FormatError> {
  try {
    await read();
  } catch (error) {
    return error as FormatError;
  }
  throw new Error("the file was read");
}

const raised = new Set<string>();
describe.each([
  ["readSafetensors", SAFETENSORS, readSafetensors],
  ["readNpy", NPY, readNpy],
  ["readNpz", NPZ, readNpz],
] as const)("%s refuses", (reader, table, read) => {
  test.each(table)("%s: %s", async (_, code, file, offset, tensor) => {
    const error = await errorOf(() => read(file));
    raised.add(error.code);
    expect(error.name, error.stack).toBe("FormatError");
    expect(error.code, error.message).toBe(code);
    expect(Number.isSafeInteger(error.fields.offset)).toBe(true);
    expect(error.message.startsWith(`${reader}: `)).toBe(true);
    expect(error.message).toContain(`(byte ${error.fields.offset})`);
    expect(error.message.length).toBeLessThan(400);
    if (offset !== undefined) expect(error.fields.offset, error.message).toBe(offset);
    if (tensor !== undefined) {
      expect(error.fields.tensor).toBe(tensor);
      expect(error.message).toContain(`tensor ${JSON.stringify(tensor)}`);
    }
  });
});

const INDEXES: [string, string, string][] = [
  ["not JSON", "json", "PK"],
  ["no weight_map", "index-map", "{}"],
  ["weight_map as a list", "index-map", '{"weight_map":[]}'],
  ["a shard that is a number", "index-map", '{"weight_map":{"a":1}}'],
  ["a shard in another folder", "index-path", '{"weight_map":{"a":"../x.safetensors"}}'],
  ["a shard at the root", "index-path", '{"weight_map":{"a":"/etc/passwd"}}'],
  ["a shard after a backslash", "index-path", '{"weight_map":{"a":"..\\\\x"}}'],
  ["a shard on a drive", "index-path", '{"weight_map":{"a":"C:x"}}'],
  ["a shard named ..", "index-path", '{"weight_map":{"a":".."}}'],
  ["a shard with NUL", "index-path", '{"weight_map":{"a":"x\\u0000"}}'],
  ["a shard without a name", "index-path", '{"weight_map":{"a":""}}'],
  ["two weight_maps", "json-duplicate", '{"weight_map":{},"weight_map":{}}'],
  ["a tensor that its shard does not hold", "index-missing", '{"weight_map":{"a":"x.safetensors"}}'],
];
test.each(INDEXES)("an index with %s is refused: %s", async (_, code, json) => {
  const error = await errorOf(() => openSafetensors(latin1(json), { shard: () => st("{}") }));
  raised.add(error.code);
  expect([error.name, error.code], error.message).toEqual(["FormatError", code]);
});

test("every code a reader can raise is in these tables", () => {
  const elsewhere = ["index-escape", "file-truncated", "git-lfs", "png"]; // open, source, safetensors and PNG tests
  const codes = new Set<string>();
  // Those of checkpoints and GGUF files are in hostile-weights.test.ts.
  for (const name of readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" }))
    if (/(?<!\.test)\.ts$/.test(name) && !/^(?:torch|gguf)\b|^protobuf/.test(name)) {
      const text = readFileSync(join(import.meta.dirname, name), "utf8");
      for (const [, code] of text.matchAll(/(?:refuse|refuser\(\w+\)|inside)\(\s*"([a-z0-9-]+)"/g))
        codes.add(code);
    }
  expect([...codes].filter((code) => !raised.has(code) && !elsewhere.includes(code))).toEqual([]);
  expect(codes.size).toBeGreaterThan(30);
});

test("a hostile name is cut and escaped in the message", async () => {
  const name = `\\u001b[31m${"x".repeat(100_000)}`;
  const error = await errorOf(() => readSafetensors(st(`{"${name}":null}`)));
  expect(error.message.length).toBeLessThan(300);
  expect(error.message).not.toContain("\u001b");
});

test("a file of zeros deflated a thousandfold is still read", async () => {
  const zeros = { data: new Float32Array(1 << 20), shape: [1 << 20] };
  const file = await writeNpz({ zeros }, { compress: true });
  expect(file.length).toBeLessThan(8192);
  expect((await readNpz(file)).get("zeros")).toMatchObject({ shape: [1 << 20], dtype: "float32" });
  expect(writeNpy(zeros).length).toBe(128 + 4 * (1 << 20));
});
