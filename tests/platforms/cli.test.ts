/**
 * `heed` as a program: output, exit codes, files, closed pipes and Ctrl-C; and `heed run` against the library. The other
 * commands: cli-commands.test.ts. Parts of the command line: beside them in src/cli.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { scaledDotProductAttention, tensor } from "../../src/index.ts";
import { readNpy, readSafetensors, writeNpz, writeSafetensors } from "../../src/io/index.ts";
import {
  bytesOf,
  heed,
  INPUTS,
  key,
  npz,
  numbers,
  pad,
  query,
  root,
  same,
  unix,
  value,
  work,
} from "./cli.ts";

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

  it("bad input ends with 1 and one line that names file, tensor and position", async () => {
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

  it("connects to nothing: commands on files and on the models that heed ships end without a socket", async () => {
    const trap = `import net from "node:net"; import dns from "node:dns"; import { writeSync } from "node:fs";
      for (const [owner, name] of [[net.Socket.prototype, "connect"], [dns, "lookup"], [dns.promises, "lookup"], [globalThis, "fetch"]])
        owner[name] = () => { writeSync(2, "connects by " + name); process.exit(99); };`;
    const trapped = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(trap)}` };
    const ended = await Promise.all(
      [
        ["show", "time flies like an arrow", "fruit flies like a banana"],
        ["similar", "encoder", "time flies like an arrow", "fruit flies like a banana"],
        ["capture", "encoder", "time flies", "-o", "captured.safetensors"],
        ["explain", "--shape", "1,2,16,8"],
        ["doctor"],
      ].map((line) => heed(line, trapped)),
    );
    // Dawn, with which `doctor` looks for a GPU, warns of what a Vulkan driver lacks.
    const ofHeed = (err: string) => err.replaceAll(/^Warning: max\w+ artificially reduced .*\n/gm, "");
    for (const { code, err } of ended) expect({ code, err: ofHeed(err) }).toEqual({ code: 0, err: "" });
    // The trap works.
    const pull = await heed(["pull", "org/model"], { ...trapped, HF_ENDPOINT: "http://127.0.0.1:9" });
    expect(pull).toMatchObject({ code: 99, err: expect.stringContaining("connects by") });
  });

  it("a stack is shown only with HEED_DEBUG", async () => {
    expect((await heed(["run", "none.npz"])).err).not.toContain("at ");
    expect((await heed(["run", "none.npz"], { HEED_DEBUG: "1" })).err).toMatch(/\n +at /);
  });

  it("prints no color on a pipe, and does with FORCE_COLOR", async () => {
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
      // Many times longer than the time until the signal, on any machine.
      const [q, k] = [numbers([1, 128, 768, 64], 5), numbers([1, 1, 768, 64], 6)];
      writeFileSync(join(work, "big.safetensors"), writeSafetensors({ q, k, v: k }));
      writeFileSync(join(work, "out.npy"), "the file of before");
      const args = ["run", "big.safetensors", "--simd", "reference", "-o", "out.npy"];
      const { code, signal, out } = await heed(args, {}, (child) =>
        setTimeout(() => child.kill("SIGINT"), 1500),
      );
      // If a step takes long, the signal ends the process, which a shell also reports as 130.
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

  it("writes by extension: npy the output, safetensors all results", async () => {
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

  it("prints results as JSON, with the plan and the check", async () => {
    const { code, out } = await heed(["run", "qkv.npz", "--json", "--check", "--simd", "reference"]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      query: { shape: [2, 4, 33, 16], dtype: "float32" },
      output: { shape: [2, 4, 33, 8], dtype: "float32" },
      lse: { shape: [2, 4, 33] },
      seconds: expect.any(Number),
      gflops: expect.any(Number),
      plan: { backend: "reference", threads: 1, kernel: expect.any(String) },
      check: { rows: 64, of: 264, bounds: expect.any(Number) },
    });
  });

  it("a call that fails changes no file", async () => {
    writeFileSync(join(work, "out.npz"), "the file of before");
    expect((await heed(["run", "qkv.npz", "--causal", "-o", "out.npz"])).code).toBe(1);
    expect(readFileSync(join(work, "out.npz"), "utf8")).toBe("the file of before");
    const { code, err } = await heed(["run", "qkv.npz", "-o", "no/such/folder/out.npz"]);
    expect(code).toBe(1);
    expect(err).toMatch(/^heed run: .*no\/such\/folder\/out\.npz.*\n$/);
    expect(readdirSync(work).sort()).toEqual([...INPUTS, "out.npz"].sort());
  });

  it("empty sizes and fully masked rows are computed like any other", async () => {
    writeFileSync(
      join(work, "e.npz"),
      await writeNpz({ q: query, k: numbers([2, 2, 0, 16], 1), v: numbers([2, 2, 0, 8], 1) }),
    );
    expect(await heed(["run", "e.npz", "-o", "o.npy", "--check"])).toMatchObject({ code: 0, err: "" });
    expect(bytesOf(readNpy(readFileSync(join(work, "o.npy")))).every((byte) => byte === 0)).toBe(true);
  });
});
