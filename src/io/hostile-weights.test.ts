/** Malformed checkpoints of PyTorch, GGUF files and protocol buffers: the code of each error, and files with random changes. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CHANGES_MS, readChanged } from "../../tests/support/cases/changes.ts";
import { HeedError } from "../core/errors.ts";
import { readSentencePiece, sentencePieceJson } from "../models/tokenizer/convert/sentencepiece.ts";
import { readTokenizer } from "../models/tokenizer/index.ts";
import { writeMembers } from "./archive/zip.ts";
import { openGguf, openTorch, type SafetensorsFile } from "./index.ts";
import { integerField, ProtoMessage, rangeField } from "./protobuf.ts";
import { concatBytes, refuser } from "./refuse.ts";
import { readPickle } from "./torch/pickle.ts";

const golden = join(import.meta.dirname, "../../tests/golden/weights");
const latin1 = (text: string) => new Uint8Array(Buffer.from(text, "latin1"));
const u32 = (n: number) => String.fromCharCode(n & 255, (n >> 8) & 255, (n >> 16) & 255, n >>> 24);
const u64 = (n: number) => u32(n % 2 ** 32) + u32(Math.floor(n / 2 ** 32));
const raised = new Set<string>();

/** A zip checkpoint with this pickle and one storage of 8 bytes. */
const zip = (pickle: string, more: Record<string, string> = {}, packed = false) =>
  writeMembers(
    "test",
    Object.entries({ "x/data.pkl": pickle, "x/data/0": "\0".repeat(8), ...more }).map(([name, text]) => ({
      name,
      bytes: latin1(text),
      ...(packed && name === "x/data/0" && { packed: [latin1("\x03\0")] }),
    })),
  );
const text = (value: string) => `X${u32(value.length)}${value}`;
const int = (value: number) => `J${u32(value)}`;
/** A tensor of float32 in storage "0" of `length` elements. */
const tensor = (length: number, offset: number, shape: string, strides: string) =>
  `ctorch._utils\n_rebuild_tensor_v2\n((${text("storage")}ctorch\nFloatStorage\n${text("0")}${text("cpu")}${int(length)}tQ${int(offset)}(${shape}t(${strides}t\x89)tR`;
const dict = (value: string) => `\x80\x02}${text("w")}${value}s.`;
const good = dict(tensor(2, 0, int(2), int(1)));
/** A checkpoint before PyTorch 1.6: magic number, version, sizes, value, keys of the storages, and the storages. */
const stream = (value: string, keys = `](${text("0")}e`, data = u64(2) + "\0".repeat(8), sizes = "}") =>
  latin1(
    `\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02${sizes}.${value}\x80\x02${keys}.${data}`,
  );
/** A persistent id of a storage, with its class, key and number of elements. */
const storage = (kind: string, key = text("0"), length = int(2)) =>
  `(${text("storage")}${kind}${key}${text("cpu")}${length}tQ`;
const rebuild = (values: string) => `ctorch._utils\n_rebuild_tensor_v2\n(${values}tR`;
const floats = storage("ctorch\nFloatStorage\n");

const TORCH: [name: string, code: string, file: Uint8Array, words?: string][] = [
  ["an empty file", "torch-file", latin1("")],
  ["a text", "torch-file", latin1("hello")],
  ["a pickle of a number", "torch-file", latin1("\x80\x02K\x05.")],
  ["a pickle that ends early", "file-truncated", latin1("\x80\x02")],
  ["a zip file without a pickle", "torch-zip", writeMembers("test", [{ name: "a", bytes: latin1("") }])],
  ["a compressed storage", "torch-zip", zip(good, {}, true)],
  ["numbers with the high byte first", "torch-order", zip(good, { "x/byteorder": "big" })],
  ["no dictionary of tensors", "torch-file", zip("\x80\x02K\x05.")],
  ["a storage that is missing", "torch-storage", zip(good.replace(text("0"), text("1")))],
  ["a storage that is too short", "torch-storage", zip(dict(tensor(3, 0, int(2), int(1))))],
  ["a tensor beyond its storage", "pickle", zip(dict(tensor(2, 1, int(2), int(1))))],
  ["a view that repeats numbers", "torch-shape", zip(dict(tensor(2, 0, int(9), int(0))))],
  [
    "a shape beyond 2^53",
    "torch-shape",
    zip(dict(tensor(2, 0, int(2 ** 30) + int(2 ** 30), int(0) + int(0)))),
  ],
  ["a member twice", "zip-duplicate", writeMembers("test", [1, 2].map(() => ({ name: "x/data.pkl", bytes: latin1(good) })))],
  ["a pickle that ends in its middle", "file-truncated", zip(good.slice(0, 40))],
  ["a call of a function", "pickle-code", zip(`\x80\x02cos\nsystem\n(${text("true")}tR.`)],
  ["a call by names on the stack", "pickle-code", zip(`\x80\x04${text("os")}${text("system")}\x93.`)],
  ["an unknown opcode", "pickle", zip("\x80\x02\xff.")],
  ["an empty stack", "pickle", zip("\x80\x02s.")],
  ["a missing mark", "pickle", zip("\x80\x02t.")],
  ["a memory that is empty", "pickle", zip("\x80\x02h\x05.")],
  ["a protocol of the future", "pickle", zip("\x80\x09.")],
  ["a text that is not UTF-8", "pickle", zip("\x80\x02X\x01\0\0\0\xff."), "a text that is not UTF-8"],
  ["a text of 2^60 bytes", "pickle", zip(`\x80\x04\x8d${u32(0)}${u32(2 ** 28)}.`), "a length of"],
  ["an entry of a list", "pickle", zip("]K\x01K\x02s."), "something that is no dictionary"],
  ["an item of a dictionary", "pickle", zip("}K\x01a."), "items are added to something that is no list"],
  ["a key without a value", "pickle", zip("}(K\x01u."), "a dictionary has a key without a value"],
  ["a call of a number", "pickle", zip("K\x05)R."), "a call of something that is no function"],
  ["a call without a list of values", "pickle", zip("ctorch\nSize\nK\x01R."), "that is no function"],
  ["attributes of a list", "pickle", zip("]K\x01b."), "sets attributes of something that is no dictionary"],
  ["a persistent id of a number", "pickle", zip("K\x05Q."), "a persistent id that is no storage"],
  ["a persistent id of another kind", "pickle", zip(`(${text("module")}tQ.`), "that is no storage"],
  ["a storage of a number", "pickle", zip(`${storage(int(1))}.`), "a storage of an unknown class"],
  ["a storage of another class", "pickle", zip(`${storage("ctorch\nSize\n")}.`), "an unknown class"],
  ["a storage with a number as key", "pickle", zip(`${storage("ctorch\nIntStorage\n", int(0))}.`), "without a key"],
  ["a storage with a path as key", "pickle", zip(`${storage("ctorch\nIntStorage\n", text("../0"))}.`), "without a key"],
  ["a storage of a text of elements", "pickle", zip(`${storage("ctorch\nIntStorage\n", text("0"), text("2"))}.`), "without a number of elements"],
  ["a dictionary of numbers", "pickle", zip("ccollections\nOrderedDict\n(](K\x01etR."), "something other than pairs"],
  ["a dictionary of lists of one", "pickle", zip("ccollections\nOrderedDict\n(](](K\x01eetR."), "other than pairs"],
  ["a parameter of a number", "pickle", zip("ctorch._utils\n_rebuild_parameter\n(K\x05tR."), "no tensor"],
  ["a call of a class of storages", "pickle", zip("ctorch\nIntStorage\n)R."), 'a call of "torch.IntStorage"'],
  ["a tensor of a number", "pickle", zip(`${rebuild(int(5))}.`), "a tensor without a storage"],
  ["a negative offset", "pickle", zip(`${rebuild(`${floats}${int(-1)}(t(t`)}.`), "not lists of integers"],
  ["more strides than axes", "pickle", zip(`${rebuild(`${floats}${int(0)}(t(${int(1)}t`)}.`), "not lists of"],
  ["65 axes", "pickle", zip(`${rebuild(`${floats}${int(0)}${`(${int(1).repeat(65)}t`.repeat(2)}`)}.`), "65 axes"],
  ["an old file with the high byte first", "torch-order", stream(good, undefined, undefined, `}${text("little_endian")}\x89s`)],
  ["an old file whose keys are a number", "torch-storage", stream(good, int(0)), "the keys of the storages are no list"],
  ["an old file whose key is a number", "torch-storage", stream(good, `](${int(0)}e`), "a storage that no tensor uses"],
  ["an old file with a key that is not used", "torch-storage", stream(good, `](${text("9")}e`), "that no tensor uses"],
  ["an old file that ends in a storage", "torch-storage", stream(good, undefined, `${u64(2)}\0`), "storage 0 of 2 numbers reaches beyond the file"],
]; // biome-ignore format: a file is a line

/** A GGUF file: tensors of F32 with `data` zero bytes after the header. */
const gguf = (
  values: readonly string[],
  tensors: readonly string[],
  data = 64,
  counts?: readonly [number, number],
) => {
  const head = `GGUF${u32(3)}${u64(counts?.[0] ?? tensors.length)}${u64(counts?.[1] ?? values.length)}${values.join("")}${tensors.join("")}`;
  return latin1(head + "\0".repeat(((32 - (head.length % 32)) % 32) + data));
};
const key = (name: string, kind: number, value: string) => `${u64(name.length)}${name}${u32(kind)}${value}`;
const place = (name: string, shape: readonly number[], kind = 0, offset = 0) =>
  `${u64(name.length)}${name}${u32(shape.length)}${shape.map(u64).join("")}${u32(kind)}${u64(offset)}`;

const GGUF: [name: string, code: string, file: Uint8Array][] = [
  ["an empty file", "file-truncated", latin1("")],
  ["another file", "gguf", latin1("GGML____________")],
  ["a version of the future", "gguf-version", latin1(`GGUF${u32(9)}${u64(0)}${u64(0)}`)],
  ["a file of the other byte order", "gguf-version", latin1(`GGUF\0\0\0\x03${u64(0)}${u64(0)}`)],
  ["more tensors than it can hold", "gguf", gguf([], [], 0, [2 ** 40, 0])],
  ["more values than it has", "file-truncated", gguf([], [], 0, [0, 5])],
  ["a list that claims 2^40 items", "gguf", gguf([key("a", 9, u32(4) + u64(2 ** 40))], [])],
  ["a list of lists", "gguf", gguf([key("a", 9, u32(9) + u64(1))], [])],
  ["a kind of value that does not exist", "gguf", gguf([key("a", 99, "")], [])],
  ["a key twice", "gguf", gguf([key("a", 7, "\x01"), key("a", 7, "\x01")], [])],
  ["a tensor twice", "gguf", gguf([], [place("a", [2]), place("a", [2])])],
  ["a tensor beyond the file", "gguf", gguf([], [place("a", [2 ** 20])])],
  ["a tensor beyond 2^53", "gguf", gguf([], [place("a", [2 ** 50, 2 ** 50])])],
  ["five axes", "gguf", gguf([], [place("a", [1, 1, 1, 1, 1])])],
  ["a place that is not aligned", "gguf", gguf([], [place("a", [2], 0, 3)])],
  ["blocks that do not fill a row", "gguf", gguf([], [place("a", [31], 8)])],
  ["a kind that heed does not unpack", "gguf", gguf([], [place("a", [32], 20)])],
  ["a kind that does not exist", "gguf", gguf([], [place("a", [32], 99)])],
  ["an alignment of 3", "gguf", gguf([key("general.alignment", 4, u32(3))], [])],
];

async function readAll(file: SafetensorsFile): Promise<void> {
  for (const name of file.tensors.keys()) await file.read(name);
  await file.close();
}

describe.each([
  ["openTorch", TORCH, openTorch],
  ["openGguf", GGUF, openGguf],
] as const)("%s refuses", (reader, table, open) => {
  test.each<(typeof TORCH)[number]>(table)("%s: %s", async (_, code, file, words = "") => {
    const error = await open(file)
      .then(readAll)
      .catch((error) => error);
    expect(error).toBeInstanceOf(HeedError);
    expect([error.name, error.code], error.message).toEqual(["FormatError", code]);
    raised.add(code);
    expect(error.message.startsWith(`${reader}: `), error.message).toBe(true);
    expect(error.message).toContain(words);
    expect(error.message.length).toBeLessThan(500);
  });
});

test("a pickle of any protocol is read: framed, with texts and bytes of every length, and attributes that are left out", () => {
  const read = (pickle: string) => readPickle(latin1(pickle), 0, refuser("test")).value;
  expect(read(`\x80\x04\x95${u64(9)}]\x94K\x01a\x8c\x01aaK\x09\x300h\0j${u32(0)}\x86.`)).toEqual([
    [1, "a"],
    [1, "a"],
  ]);
  expect(read(`(\x8d${u64(2)}abU\x01cC\x01dT${u32(1)}eB${u32(1)}f\x8a\x01\xfet.`)).toEqual([
    "ab",
    ...["c", "d", "e", "f"].map(latin1),
    -2,
  ]);
  expect(read(`ccollections\nOrderedDict\n(](](K\x01K\x02eetR}${text("_metadata")}}sb.`)).toEqual(
    new Map([[1, 2]]),
  );
  expect(read("K\x05Nb.")).toBe(5);
  expect(read("ctorch\nSize\n(K\x02K\x03tR.")).toEqual([2, 3]);
});

test("a checkpoint before PyTorch 1.6 may have a storage that no tensor is a view of, and a zip file other folders", async () => {
  const entry = dict(tensor(2, 0, int(2), int(1))).replace(
    "}",
    `}${text("spare")}${storage("ctorch\nIntStorage\n", text("1"))}s`,
  );
  const data = `${u64(2)}\0\0\x80?\0\0\0@`.repeat(2);
  for (const file of [stream(entry, `](${text("0")}${text("1")}e`, data), zip(good, { "y/z": "" })])
    expect([...(await openTorch(file)).tensors.keys()]).toEqual(["w"]);
  const { data: numbers } = await (await openTorch(stream(entry, `](${text("0")}${text("1")}e`, data))).read(
    "w",
  );
  expect([...(numbers as Float32Array)]).toEqual([1, 2]);
});

test("a view that is not dense is read in order, also of numbers that only files have", async () => {
  const kind = (name: string, data: string) =>
    zip(dict(tensor(4, 0, int(2) + int(2), int(1) + int(2)).replace("FloatStorage", name)), {
      "x/data/0": data,
    });
  const file = await openTorch(kind("HalfStorage", "\x01\0\x02\0\x03\0\x04\0"));
  const bits = (await file.read("w")).data as Uint16Array;
  expect([...bits]).toEqual([1, 3, 2, 4]);
  expect((await file.read("w", { rows: [1, 1] })).shape).toEqual([0, 2]);
  const bytes = await (await openTorch(kind("CharStorage", "\x01\x02\x03\x04"))).read("w");
  expect([...(bytes.data as Int8Array)]).toEqual([1, 3, 2, 4]);
});

test("a GGUF file of one part of a model is refused; a number without axes and part of a row of blocks are read", async () => {
  await expect(openGguf(gguf([key("split.count", 2, "\x03\0")], []))).rejects.toMatchObject({
    code: "gguf-split",
    message: expect.stringContaining("the file is part of a model in 3 files; join them with"),
  });
  const file = await openGguf(gguf([], [place("a", []), place("b", [64], 8, 32)], 128));
  expect((await file.read("a")).shape).toEqual([]);
  expect((await file.read("b", { rows: [5, 40] })).data).toEqual(new Float32Array(35));
  expect(["a", "b", "c"].map(file.storage)).toEqual(["float32", "Q8_0", ""]);
});

test("the fields of a message are read by their kind", () => {
  const message = new ProtoMessage(
    concatBytes([
      integerField(1, -3),
      latin1(`\x15\0\0\x80?\x19${"\0".repeat(8)}`),
      rangeField(4, "text"),
      rangeField(5, latin1("\xff")),
      integerField(6, 2n ** 60n),
    ]),
    refuser("test"),
  );
  expect([message.integer(1), message.float(2), message.text(4)]).toEqual([-3, 1, "text"]);
  expect([message.integer(9), message.float(9), message.text(9)]).toEqual([undefined, undefined, undefined]);
  const [, , double, range] = message.fields;
  expect([double.wire, double.to - double.from, message.range(range).length]).toEqual([1, 8, 4]);
  const refused: [() => unknown, string][] = [
    [() => message.integer(4), "field 4 is no integer"],
    [() => message.integer(6), "field 6 is beyond 2^53"],
    [() => message.float(1), "field 1 is no float"],
    [() => message.text(1), "field 1 is no range of bytes"],
    [() => message.text(5), "field 5 is no UTF-8 text"],
  ];
  for (const [call, words] of refused) expect(call).toThrow(`test: ${words} (byte 0)`);
});

test.each([
  ["an integer that does not end", "\x08\xff"],
  ["an integer of more than 64 bits", `\x08${"\xff".repeat(11)}`],
  ["a range beyond the message", "\x0a\x05ab"],
  ["field 0", "\x00\x01"],
  ["a group", "\x0b"],
  ["four bytes that are three", "\x0dabc"],
])("a message with %s is refused", (_, bytes) => {
  expect(() => new ProtoMessage(latin1(bytes), refuser("test"))).toThrow(
    expect.objectContaining({ code: "protobuf" }),
  );
  raised.add("protobuf");
});

test("every code of these readers is in these tables", () => {
  const codes = new Set<string>();
  for (const name of readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" }))
    if (/^(?:torch|gguf)\b.*(?<!\.test)\.ts$|^protobuf\.ts$/.test(name)) {
      const source = readFileSync(join(import.meta.dirname, name), "utf8");
      for (const [, code] of source.matchAll(/(?:refuse|refuser\(\w+\))\(\s*"([a-z0-9-]+)"/g))
        codes.add(code);
    }
  expect([...codes].filter((code) => !raised.has(code))).toEqual([]);
  expect(codes.size).toBeGreaterThan(6);
});

test.each([
  ["torch/zip.bin", openTorch],
  ["torch/stream.bin", openTorch],
  ["torch/training.bin", openTorch],
  ["gguf/blocks.gguf", openGguf],
  ["gguf/qwen3.gguf", openGguf],
] as const)(
  "%s with random changes is read, or refused by a typed error",
  { timeout: CHANGES_MS },
  (name, open) =>
    readChanged([readFileSync(join(golden, name))], async (bytes) =>
      readAll(await open(bytes, { maxBytes: 2 ** 26 })),
    ),
);

test("models of SentencePiece with random changes are read, or refused by a typed error", {
  timeout: CHANGES_MS,
}, () => {
  const folder = join(golden, "sentencepiece");
  const originals = readdirSync(folder)
    .filter((name) => name.endsWith(".model"))
    .map((name) => readFileSync(join(folder, name)));
  expect(originals.length).toBeGreaterThan(3);
  return readChanged(originals, (bytes) => {
    const json = sentencePieceJson(readSentencePiece(bytes));
    const tokenizer = readTokenizer(JSON.stringify(json));
    tokenizer.decode(tokenizer.encode("The cats sat.\u0301 😀").ids);
  });
});
