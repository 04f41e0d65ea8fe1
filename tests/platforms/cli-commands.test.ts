/** Every command except `run` as a process. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tensor } from "../../src/index.ts";
import { readSafetensors, writeNpz, writeSafetensors } from "../../src/io/index.ts";
import { heed, pad, query, root, work } from "./cli.ts";

describe("heed explain, inspect, convert, bench, doctor", () => {
  it("explain prints the plan of shapes, without data", async () => {
    const { code, out } = await heed([
      "explain",
      "--query-shape",
      "1,8,1,64",
      "--key-shape",
      "1,2,500,64",
      "--dtype",
      "float16",
      "--json",
    ]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      query: { shape: [1, 8, 1, 64], dtype: "float16" },
      key: { shape: [1, 2, 500, 64] },
      flops: 4 * 8 * 500 * 64,
      plan: { backend: expect.any(String), simd: expect.any(String), tasks: expect.any(Number) },
    });
    const text = await heed(["explain", "qkv.npz", "--causal=upper-left", "--window", "4,0"]);
    expect(text).toMatchObject({
      code: 0,
      out: expect.stringMatching(/query +\[2, 4, 33, 16\] float32[\s\S]*\nkernel /),
    });
  });

  it("explain plans the backward pass, a matrix product, and a call over ranks", async () => {
    const shape = ["explain", "--shape", "1,2,96,16", "--causal"];
    const backward = await heed([...shape, "--backward"]);
    expect(backward).toMatchObject({
      code: 0,
      out: expect.stringMatching(/operations \(backward\)\nweights /),
    });
    const product = await heed([
      "explain",
      "--a-shape",
      "4,40,24",
      "--b-shape",
      "80,24",
      "--transpose-b",
      "--json",
    ]);
    expect(JSON.parse(product.out)).toMatchObject({
      a: { shape: [4, 40, 24], dtype: "float32" },
      plan: { operation: "matmul", operations: 2 * 4 * 40 * 80 * 24 },
    });
    const ranks = await heed([...shape, "--backward", "--ranks", "3", "--via", "ring", "--json"]);
    expect(JSON.parse(ranks.out).ranks).toMatchObject({
      kind: "zigzag",
      via: "ring",
      shares: expect.any(Array),
      slowest: { calls: 3, plan: { operation: "backward" } },
    });
    expect((await heed([...shape, "--ranks", "3"])).out).toMatch(
      /\nzigzag, 96 tokens over 3 ranks[\s\S]*not stored\n/,
    );
    for (const [args, text] of [
      [["explain", "--a-shape", "3,4"], "give --b-shape too"],
      [
        ["explain", "--a-shape", "3,4", "--b-shape", "4,5", "--causal"],
        "--causal does not go with --a-shape",
      ],
      [[...shape, "--via", "ring"], "--via goes with --ranks"],
      [[...shape, "--ranks", "2", "--key-offset", "1"], "--key-offset does not go with --ranks"],
    ] as const)
      expect(await heed([...args])).toMatchObject({ code: 2, err: expect.stringContaining(text) });
  });

  it("inspect lists names, dtypes, shapes, bytes, offsets and statistics", async () => {
    const { code, out } = await heed(["inspect", "qkv.safetensors", "--stats", "--json"]);
    expect(code).toBe(0);
    const { kind, metadata, tensors } = JSON.parse(out);
    expect({ kind, metadata }).toEqual({ kind: "safetensors", metadata: { origin: "here" } });
    const mask = tensors.find((t: { name: string }) => t.name === "pad");
    expect(mask).toMatchObject({
      dtype: "bool",
      shape: [2, 1, 1, 40],
      bytes: 80,
      stats: { min: 0, max: 1, zeros: 18, count: 80 },
    });
    for (const { offsets, bytes } of tensors) expect(offsets[1] - offsets[0]).toBe(bytes);
    expect((await heed(["inspect", "q.npy"])).out).toMatch(
      /q\.npy: npy, 1 tensor, 4224 elements, 16\.5 KiB[\s\S]*q +float32 +\[2, 4, 33, 16\]/,
    );
    expect((await heed(["inspect", "qkv.npz#k"])).out).not.toMatch(/\nq /);
  });

  it("inspect keeps control characters of names out of the terminal", async () => {
    writeFileSync(join(work, "x.safetensors"), writeSafetensors({ "a\x1b[2J": query }));
    const { out } = await heed(["inspect", "x.safetensors"]);
    expect(out).toContain("a\\u001b[2J");
    expect(out).not.toContain("\x1b");
  });

  it("convert from npy over safetensors and npz and back gives the first bytes", async () => {
    expect(await heed(["convert", "q.npy", "1.safetensors", "--name", "x"])).toMatchObject({ code: 0 });
    expect(await heed(["convert", "1.safetensors", "2.npz", "--compress"])).toMatchObject({ code: 0 });
    expect(await heed(["convert", "2.npz#x", "3.npy"])).toMatchObject({
      code: 0,
      out: "wrote 3.npy: x [2, 4, 33, 16] float32, 16.6 KiB\n",
    });
    expect(readFileSync(join(work, "3.npy")).equals(readFileSync(join(work, "q.npy")))).toBe(true);
  });

  it("convert rounds floats, does not change masks, keeps metadata, and reports overflow", async () => {
    writeFileSync(
      join(work, "big.npz"),
      await writeNpz({ a: tensor(Float32Array.of(1e6, 2, -7e4), [3]), pad }),
    );
    const { code, err } = await heed(["convert", "big.npz", "half.safetensors", "--dtype", "float16"]);
    expect({ code, err }).toEqual({
      code: 0,
      err: "heed convert: 2 finite numbers of a are beyond float16 and became infinite\n",
    });
    const { tensors } = readSafetensors(readFileSync(join(work, "half.safetensors")));
    expect([tensors.get("a")?.dtype, tensors.get("pad")?.dtype]).toEqual(["float16", "bool"]);
    await heed(["convert", "qkv.safetensors", "b.safetensors", "--dtype", "bfloat16", "--only", "key,value"]);
    const merged = readSafetensors(readFileSync(join(work, "b.safetensors")));
    expect([...merged.tensors.keys()]).toEqual(["key", "value"]);
    expect(merged.metadata.get("origin")).toBe("here");
  });

  it("bench checks, then measures every level and number of threads asked for", async () => {
    const args = [
      "bench",
      "--shape",
      "1,2,40,16",
      "--simd",
      "strict,reference",
      "--threads",
      "1",
      "--rounds",
      "2",
    ];
    const { code, out } = await heed([...args, "--json"]);
    expect(code).toBe(0);
    const { results } = JSON.parse(out);
    expect(results.map(({ simd }: { simd: string }) => simd)).toEqual(["strict", "reference"]);
    for (const { median, gflops, error } of results)
      expect(median > 0 && gflops > 0 && error <= 1).toBe(true);
  });

  it("an output in a missing folder is rejected before the input is read", async () => {
    const paths = {
      code: 1,
      out: "",
      err: expect.stringMatching(/cannot write nowhere\/o\.\w+: the folder nowhere does not exist/),
    };
    for (const args of [
      ["run", "no-such-input.npz", "-o", "nowhere/o.npz"],
      ["convert", "no-such-input.npy", "nowhere/o.npy"],
      ["show", "hi", "--model", "no-such-model", "-o", "nowhere/o.svg"],
    ])
      expect(await heed(args)).toMatchObject(paths);
    expect((await heed(["run", "qkv.safetensors", "-o", "q.npy/o.npy"])).err).toContain(
      "q.npy is not a folder",
    );
  });

  it("run rejects weights of rows that do not exist, and names itself", async () => {
    const { code, err } = await heed(["run", "qkv.safetensors", "--weights", "--rows", "99", "-o", "o.npz"]);
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringMatching(/^heed run: rows holds 99, expected/),
    });
  });

  it("doctor finds at least one level whose results are right", async () => {
    const { code, out } = await heed(["doctor", "--json"], { HEED_SIMD: undefined, HEED_THREADS: undefined });
    expect(code).toBe(0);
    const report = JSON.parse(out);
    expect(report.levels.reference).toEqual({ runs: true });
    expect(report.levels[report.level].runs).toBe(true);
    expect(report.verdict).toContain(`level ${report.level}`);
    expect(report.threads).toBe(true);
  });

  it("show is dispatched like the other commands", async () => {
    const { code, out } = await heed(["show", "hello world", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(out).texts[0].text).toBe("hello world");
  });
});

describe("docs/cli.md", () => {
  const page = readFileSync(join(root, "docs/cli.md"), "utf8");

  it("names every command", async () => {
    const { out } = await heed([]);
    const names = [...out.split("Options:")[0].matchAll(/^ {2}(\w+) {2,}/gm)].map(([, name]) => name);
    expect(names.length).toBeGreaterThan(5);
    for (const name of names) expect(page).toContain(`\`heed ${name}`);
  });
});
