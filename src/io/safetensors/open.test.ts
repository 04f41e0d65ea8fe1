import { mkdir, mkdtemp, open, readFile, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openSafetensors, type SourceLike, writeSafetensors } from "../index.ts";

const tensors = {
  a: { data: Float32Array.from({ length: 12 }, (_, i) => i), shape: [4, 3] },
  b: { data: new BigInt64Array([5n, 6n]), shape: [2] },
  scalar: { data: new Float64Array([2.5]), shape: [] },
  empty: { data: new Float32Array(0), shape: [3, 0] },
};
const file = writeSafetensors(tensors, { metadata: { format: "pt" } });
const part = (name: "a" | "b") => writeSafetensors({ [name]: tensors[name] }, { metadata: { from: name } });
const index = JSON.stringify({
  metadata: { total_size: 64.0, note: 1.5 },
  weight_map: { a: "model-00001-of-00002.safetensors", b: "model-00002-of-00002.safetensors" },
});

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "heed-open-"));
  await writeFile(join(folder, "one.safetensors"), file);
  for (const name of ["models", "models-private", "single", "none"]) await mkdir(join(folder, name));
  await writeFile(join(folder, "models", "model.safetensors.index.json"), index);
  await writeFile(join(folder, "models", "model-00001-of-00002.safetensors"), part("a"));
  await writeFile(join(folder, "models", "model-00002-of-00002.safetensors"), part("b"));
  await writeFile(join(folder, "models-private", "secret.safetensors"), part("a"));
  await symlink("../models-private/secret.safetensors", join(folder, "models", "link.safetensors"));
  await writeFile(
    join(folder, "models", "escape.json"),
    JSON.stringify({ weight_map: { a: "link.safetensors" } }),
  );
  await writeFile(
    join(folder, "models", "missing.json"),
    JSON.stringify({ weight_map: { a: "no.safetensors" } }),
  );
  await writeFile(join(folder, "single", "model.safetensors"), file);
});
afterAll(() => rm(folder, { recursive: true }));

const data = async (from: SourceLike, name: string, rows?: [number, number]) => {
  const opened = await openSafetensors(from);
  try {
    const t = await opened.read(name, { rows });
    return { shape: t.shape, values: Array.from(t.data as Float32Array) };
  } finally {
    await opened.close();
  }
};

describe("openSafetensors", () => {
  const sources: [string, () => SourceLike | Promise<SourceLike>][] = [
    ["a path", () => join(folder, "one.safetensors")],
    ["a folder", () => join(folder, "single")],
    ["a Blob", () => new Blob([file])],
    ["bytes", () => file],
    ["an ArrayBuffer", () => file.buffer],
    [
      "a { size, read }",
      () => ({
        size: file.length,
        read: (offset: number, length: number) => file.slice(offset, offset + length),
      }),
    ],
    [
      "one that reads ArrayBuffers",
      () => ({
        size: file.length,
        read: async (offset: number, length: number) => file.slice(offset, offset + length).buffer,
      }),
    ],
  ];
  test.each(sources)("%s gives tensors, rows and metadata", async (_, from) => {
    const opened = await openSafetensors(await from());
    expect(opened.metadata.get("format")).toBe("pt");
    expect([...opened.tensors.keys()].sort()).toEqual(["a", "b", "empty", "scalar"]);
    expect(opened.tensors.get("a")).toMatchObject({ dtype: "float32", shape: [4, 3] });
    await opened.close();
    expect(await data(await from(), "a", [1, 3])).toEqual({ shape: [2, 3], values: [3, 4, 5, 6, 7, 8] });
    expect(await data(await from(), "a", [4, 4])).toEqual({ shape: [0, 3], values: [] });
    expect(await data(await from(), "b")).toEqual({ shape: [2], values: [5n, 6n] });
    expect(await data(await from(), "scalar")).toEqual({ shape: [], values: [2.5] });
    expect(await data(await from(), "empty", [1, 2])).toEqual({ shape: [1, 0], values: [] });
  });

  test("a file handle is read, and left open", async () => {
    const handle = await open(join(folder, "one.safetensors"));
    expect((await data(handle, "b")).values).toEqual([5n, 6n]);
    expect((await handle.stat()).size).toBe(file.length);
    await handle.close();
  });

  test("rows are read into the caller's memory where they fit, so that a large tensor needs no more than one part", async () => {
    const opened = await openSafetensors(join(folder, "one.safetensors"));
    const into = new Uint8Array(24);
    const [first, next] = [
      await opened.read("a", { rows: [0, 2], into }),
      await opened.read("a", { rows: [2, 4], into }),
    ];
    expect([first.data.buffer, next.data.buffer]).toEqual([into.buffer, into.buffer]);
    expect(first.data.buffer).toBe(into.buffer);
    expect([...(next.data as Float32Array)]).toEqual([6, 7, 8, 9, 10, 11]);
    expect([...(first.data as Float32Array)]).toEqual([...(next.data as Float32Array)]);
    await expect(opened.read("a", { into })).rejects.toThrow("into must have 48 bytes for this read, got 24");
    await opened.close();
  });

  test("only the bytes asked for are read", async () => {
    const reads: [number, number][] = [];
    const opened = await openSafetensors({
      size: file.length,
      read(offset: number, length: number) {
        reads.push([offset, length]);
        return file.subarray(offset, offset + length);
      },
    });
    const { start } = opened.tensors.get("a")!;
    reads.length = 0;
    await opened.read("a", { rows: [2, 3] });
    expect(reads).toEqual([[start + 24, 12]]);
  });

  test.each(["models", "models/model.safetensors.index.json"])("shards are found by %s", async (path) => {
    const opened = await openSafetensors(join(folder, path));
    expect([...opened.tensors.keys()].sort()).toEqual(["a", "b"]);
    expect(opened.metadata.get("from")).toBe("a");
    expect((await opened.read("b")).data).toEqual(tensors.b.data);
    await opened.close();
  });

  test("shards are opened by the caller's function", async () => {
    const opened = await openSafetensors(new Blob([index]), {
      shard: (name) => new Blob([part(name.includes("1-of") ? "a" : "b")]),
    });
    expect((await opened.read("a", { rows: [0, 1] })).shape).toEqual([1, 3]);
  });

  test("a shard that a link takes out of the folder is refused, unless its folder is allowed", async () => {
    const path = join(folder, "models", "escape.json");
    await expect(openSafetensors(path)).rejects.toMatchObject({
      name: "FormatError",
      code: "index-escape",
      fields: { offset: 0 },
    });
    const opened = await openSafetensors(path, { within: folder });
    expect(opened.tensors.size).toBe(1);
    await opened.close();
  });

  test.each<[string, () => SourceLike, object]>([
    ["a missing path", () => join(folder, "no.safetensors"), { code: "file", fields: { errno: "ENOENT" } }],
    [
      "a missing shard",
      () => join(folder, "models", "missing.json"),
      { code: "file", fields: { errno: "ENOENT" } },
    ],
    ["a folder without a model", () => join(folder, "none"), { code: "file" }],
    ["a device", () => "/dev/null", { code: "file" }],
    ["a number", () => 7 as unknown as SourceLike, { code: "source" }],
    ["null", () => null as unknown as SourceLike, { code: "source" }],
    ["a size of NaN", () => ({ size: Number.NaN, read: () => file }), { code: "source" }],
  ])("%s is refused", async (_, from, expected) => {
    await expect(openSafetensors(from())).rejects.toMatchObject({ name: "OptionError", ...expected });
  });

  test("a source that returns fewer bytes than its size is refused", async () => {
    const short = { size: file.length, read: () => file.subarray(0, 4) };
    await expect(openSafetensors(short)).rejects.toMatchObject({
      name: "FormatError",
      code: "file-truncated",
      fields: { offset: 4 },
    });
    const path = join(folder, "shrinks.safetensors");
    await writeFile(path, file);
    const opened = await openSafetensors(path);
    await truncate(path, file.length - 1);
    const last = [...opened.tensors].sort(([, x], [, y]) => y.end - x.end)[0][0];
    await expect(opened.read(last)).rejects.toMatchObject({ name: "FormatError", code: "file-truncated" });
    await opened.close();
    expect((await readFile(path)).length).toBe(file.length - 1);
  });

  test("a file that claims more than can be allocated raises a typed error", async () => {
    // A sparse source of 2^52 bytes: the header is consistent, the tensor cannot be allocated.
    const size = 2 ** 52;
    const json = new TextEncoder().encode(
      `{"a":{"dtype":"U8","shape":[${size - 128}],"data_offsets":[0,${size - 128}]}}`,
    );
    const head = new Uint8Array(128).fill(0x20);
    head.set([120, 0, 0, 0, 0, 0, 0, 0]);
    head.set(json, 8);
    const sparse = { size, read: (offset: number, length: number) => head.slice(offset, offset + length) };
    const opened = await openSafetensors(sparse, { maxBytes: Number.POSITIVE_INFINITY });
    await expect(opened.read("a")).rejects.toMatchObject({ name: "FormatError", code: "file-truncated" });
    await expect(openSafetensors({ ...sparse, size: size - 1 })).rejects.toMatchObject({
      code: "safetensors-truncated",
    });
  });

  test("rows and names that do not exist are refused", async () => {
    const opened = await openSafetensors(file);
    for (const rows of [
      [-1, 2],
      [3, 2],
      [0, 5],
      [0.5, 2],
    ] as [number, number][])
      await expect(opened.read("a", { rows })).rejects.toMatchObject({ name: "OptionError", code: "rows" });
    await expect(opened.read("scalar", { rows: [0, 1] })).rejects.toMatchObject({ code: "rows" });
    await expect(opened.read("no")).rejects.toMatchObject({ name: "OptionError", code: "tensor" });
  });

  test("an index larger than 100,000,000 bytes is refused unread", async () => {
    const huge = { size: 100_000_001, read: () => expect.unreachable() };
    await expect(openSafetensors(huge, { shard: () => file })).rejects.toMatchObject({ code: "max-bytes" });
  });

  test("a source is read to its size; a shorter answer is refused with the number of bytes", async () => {
    const bytes = writeSafetensors({ x: { data: new Float32Array(64), shape: [64] } });
    const source = (size: number) => ({ size, read: (at: number, n: number) => bytes.slice(at, at + n) });
    expect((await (await openSafetensors(source(bytes.length))).read("x")).shape).toEqual([64]);
    await expect(openSafetensors(source(-1))).rejects.toThrow(
      "the source's size must be an integer ≥ 0, got -1",
    );
    const short = {
      size: bytes.length,
      read: (at: number, n: number) => bytes.slice(at, Math.min(at + n, 200)),
    };
    await expect((await openSafetensors(short)).read("x")).rejects.toThrow(
      /the source gave \d+ of 256 bytes/,
    );
  });
});
