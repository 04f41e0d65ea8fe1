import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FormatError, UnsupportedError } from "heed";
import { afterAll, expect, test } from "vitest";
import {
  openGraphModel,
  parseManifest,
  readWeights,
} from "../../examples/universal-sentence-encoder/tfjs.ts";

const folder = mkdtempSync(join(tmpdir(), "heed-tfjs-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const weights = [
  { name: "flag", shape: [3], dtype: "bool" },
  { name: "a/matrix", shape: [2, 2], dtype: "float32" },
  { name: "count", shape: [], dtype: "int32" },
];
const model = (over: object = {}) =>
  JSON.stringify({ weightsManifest: [{ paths: ["s1", "s2"], weights, ...over }] });
const bytes = new Uint8Array([
  1,
  0,
  1,
  ...new Uint8Array(Float32Array.of(1, -2.5, 3, 4).buffer),
  ...new Uint8Array(Int32Array.of(-7).buffer),
]);

test("tensors lie one after the other in the shards, aligned or not", () => {
  const tensors = readWeights(parseManifest(model()), bytes);
  expect([...tensors.keys()]).toEqual(["flag", "a/matrix", "count"]);
  expect([...tensors.get("a/matrix")!.toFloat64()]).toEqual([1, -2.5, 3, 4]);
  expect(tensors.get("a/matrix")!.shape).toEqual([2, 2]);
  expect(tensors.get("count")!.at()).toBe(-7);
  expect([...tensors.get("flag")!.toFloat64()]).toEqual([1, 0, 1]);
});

test("a folder is read with its shards cut anywhere", () => {
  writeFileSync(join(folder, "model.json"), model());
  for (const cut of [0, 1, 9, 23]) {
    writeFileSync(join(folder, "s1"), bytes.subarray(0, cut));
    writeFileSync(join(folder, "s2"), bytes.subarray(cut));
    expect(openGraphModel(folder).get("a/matrix")!.at(0, 1)).toBe(-2.5);
  }
});

test("shards of another size than the manifest's are refused before they are read", () => {
  writeFileSync(join(folder, "model.json"), model());
  writeFileSync(join(folder, "s1"), bytes);
  writeFileSync(join(folder, "s2"), "more");
  expect(() => openGraphModel(folder)).toThrow(/describes 23 bytes of weights, its 2 shards have 27/);
  expect(() => readWeights(parseManifest(model()), bytes.subarray(1))).toThrow(FormatError);
  writeFileSync(
    join(folder, "model.json"),
    model({ weights: [{ name: "x", shape: [2 ** 40], dtype: "float32" }] }),
  );
  expect(() => openGraphModel(folder)).toThrow(FormatError);
});

test("a missing shard is an error with its path", () => {
  writeFileSync(join(folder, "model.json"), model({ paths: ["s1", "gone"] }));
  expect(() => openGraphModel(folder)).toThrow(/gone/);
});

test.each([
  ["no JSON", "{"],
  ["null", "null"],
  ["no manifest", "{}"],
  ["a group that is none", '{"weightsManifest":[null]}'],
  ["a path that climbs", model({ paths: ["../s1"] })],
  ["a path from the root", model({ paths: ["/etc/passwd"] })],
  ["a path with a drive", model({ paths: ["C:\\x"] })],
  ["a tensor that is null", model({ weights: [null] })],
  ["a shape below 0", model({ weights: [{ name: "x", shape: [-1], dtype: "float32" }] })],
  [
    "a shape beyond integers",
    model({ weights: [{ name: "x", shape: [2 ** 30, 2 ** 30], dtype: "float32" }] }),
  ],
  ["one name twice", model({ weights: [weights[0], weights[0]] })],
])("%s is a FormatError", (_, json) => {
  expect(() => parseManifest(json)).toThrow(FormatError);
});

test("strings and quantized weights are rejected by name", () => {
  expect(() => parseManifest(model({ weights: [{ name: "x", shape: [1], dtype: "string" }] }))).toThrow(
    UnsupportedError,
  );
  const quantised = { name: "x", shape: [1], dtype: "float32", quantization: { dtype: "uint8" } };
  expect(() => parseManifest(model({ weights: [quantised] }))).toThrow(/"x" at byte 0: quantised/);
});
