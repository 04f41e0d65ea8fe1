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
import { ProtoMessage } from "./protobuf.ts";
import { refuser } from "./refuse.ts";

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

const TORCH: [name: string, code: string, file: Uint8Array][] = [
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
  ["a pickle that ends in its middle", "file-truncated", zip(good.slice(0, 40))],
  ["a call of a function", "pickle-code", zip(`\x80\x02cos\nsystem\n(${text("true")}tR.`)],
  ["a call by names on the stack", "pickle-code", zip(`\x80\x04${text("os")}${text("system")}\x93.`)],
  ["an unknown opcode", "pickle", zip("\x80\x02\xff.")],
  ["an empty stack", "pickle", zip("\x80\x02s.")],
  ["a missing mark", "pickle", zip("\x80\x02t.")],
  ["a memory that is empty", "pickle", zip("\x80\x02h\x05.")],
  ["a protocol of the future", "pickle", zip("\x80\x09.")],
];

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
  test.each(table)("%s: %s", async (_, code, file) => {
    const error = await open(file)
      .then(readAll)
      .catch((error) => error);
    expect(error).toBeInstanceOf(HeedError);
    expect([error.name, error.code], error.message).toEqual(["FormatError", code]);
    raised.add(code);
    expect(error.message.startsWith(`${reader}: `), error.message).toBe(true);
    expect(error.message.length).toBeLessThan(500);
  });
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
