/** Which level runs on which runtime, with the reason; and that heed's flags of V8 change no other module. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it, vi } from "vitest";
import { unsupportedWide } from "./levels.ts";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

const NODE = { node: "24.21.0", v8: "13.6.233.17-node.50" };
const v8 = { setFlagsFromString: () => {} };
const host = (more: object = {}, modules: Readonly<Record<string, unknown>> = {}) => ({
  versions: NODE,
  arch: "x64",
  platform: "linux",
  execArgv: [],
  env: {},
  getBuiltinModule: (id: string) => ({ "node:v8": v8, ...modules })[id],
  ...more,
});
const cpu = (flags: string) => ({ "node:fs": { readFileSync: () => `flags\t\t: fpu ${flags} sse2\nbugs` } });
const denied = {
  "node:fs": {
    readFileSync: () => {
      throw new Error("ERR_ACCESS_DENIED");
    },
  },
};

/** [runtime, its process, the reason why it has no level `wide`] */
const RUNTIMES: readonly (readonly [string, object | undefined, RegExp | undefined])[] = [
  ["Node 24", host({}, cpu("avx2")), undefined],
  [
    "Node 26",
    host({ versions: { node: "26.10.0", v8: "14.6.1" } }, cpu("avx avx2")),
    /Node 26\.10\.0 cannot change its compiler .* start it with --experimental-wasm-revectorize/,
  ],
  [
    "Node 26 that was started with V8's flag",
    host(
      { versions: { node: "26.10.0", v8: "14.6.1" }, execArgv: ["--experimental-wasm-revectorize"] },
      cpu("avx avx2"),
    ),
    undefined,
  ],
  ["Node 24 that may not read files", host({}, denied), undefined],
  ["Node 24 on Windows", host({ platform: "win32" }), undefined],
  [
    "a worker of Node without the variables of the environment",
    host({ env: undefined }, cpu("avx2")),
    undefined,
  ],
  [
    "Node 22",
    host({ versions: { node: "22.23.3", v8: "12.4.254" } }),
    /needs Node 24 or later, and this is Node 22\.23\.3/,
  ],
  ["Bun", host({ versions: { ...NODE, bun: "1.4.5" } }), /Bun's engine/],
  ["Deno", host({ versions: { ...NODE, deno: "2.9.6" } }), /only Node/],
  ["Electron", host({ versions: { ...NODE, electron: "40.0.0" } }), /Electron/],
  ["a page", undefined, /only Node/],
  ["Node 24 on 64-bit Arm", host({ arch: "arm64" }), /x86-64 only, and this is arm64/],
  ["a processor without AVX2", host({}, cpu("avx")), /no AVX2/],
  ["frozen flags", host({ execArgv: ["--freeze-flags-after-init"] }), /--freeze-flags-after-init/],
  [
    "frozen flags in NODE_OPTIONS",
    host({ env: { NODE_OPTIONS: "--x --freeze_flags_after_init" } }),
    /--freeze-flags/,
  ],
  ["the baseline compiler alone", host({ execArgv: ["--liftoff-only"] }), /--liftoff-only/],
];

describe("the level of a runtime", () => {
  for (const [name, process, reason] of RUNTIMES)
    it(`${name} ${reason ? "runs the next level, with the reason" : "runs wide without a choice"}`, async () => {
      vi.stubGlobal("process", process);
      vi.resetModules();
      const { configure, settings } = await import("./settings.ts");
      const { warnOfLowerLevel } = await import("./settings.ts");
      const warnings: string[] = [];
      configure({ onWarning: (text) => warnings.push(text) });
      warnOfLowerLevel();
      expect([settings().simd, warnings]).toEqual([reason ? "relaxed" : "wide", []]);
      for (let n = 0; n < 2; n++) {
        expect(configure({ simd: "wide" }).simd).toBe(reason ? "relaxed" : "wide");
        warnOfLowerLevel();
      }
      expect(warnings.length).toBe(reason ? 1 : 0);
      if (reason) {
        expect(warnings[0]).toMatch(reason);
        expect(warnings[0]).toMatch(/^heed: simd: "wide" is not available: .*; running "relaxed"$/);
      }
      expect(configure({ simd: "strict" }).simd).toBe("strict");
    });

  it("is strict where the engine has no relaxed SIMD; a choice of relaxed sets Node 20's flag", async () => {
    let enabled = false;
    const node20 = {
      versions: { node: "20.20.2", v8: "11.3.244" },
      getBuiltinModule: (id: string) =>
        id === "node:v8" ? { setFlagsFromString: () => (enabled = true) } : undefined,
    };
    vi.stubGlobal("process", host(node20));
    vi.stubGlobal("WebAssembly", { validate: () => enabled });
    vi.resetModules();
    const { configure } = await import("./settings.ts");
    expect([configure().simd, enabled]).toEqual(["strict", false]);
    expect([configure({ simd: "relaxed" }).simd, enabled]).toEqual(["relaxed", true]);
  });
});

describe("V8's flags for wide kernels", () => {
  it("are set while a wide module is compiled, and are the defaults again after it, also after an error", async () => {
    const flags: string[] = [];
    const set = { "node:v8": { setFlagsFromString: (flag: string) => flags.push(flag) }, ...cpu("avx2") };
    vi.stubGlobal("process", host({ execArgv: ["--no-liftoff"] }, set));
    vi.resetModules();
    const { compile } = await import("./levels.ts");
    const empty = Uint8Array.from([0, 97, 115, 109, 1, 0, 0, 0]);
    compile(empty, false);
    expect(flags).toEqual([]);
    const both = [
      "--experimental-wasm-revectorize",
      "--no-wasm-lazy-compilation",
      "--no-experimental-wasm-revectorize",
      "--wasm-lazy-compilation",
    ];
    compile(empty, true);
    // `--no-liftoff` is the user's: it stays.
    expect(flags.splice(0)).toEqual(both);
    expect(() => compile(Uint8Array.from([1]), true)).toThrow(WebAssembly.CompileError);
    expect(flags).toEqual(both);
  });

  it("are never changed on Node 26, whose process would end if another thread compiled meanwhile", async () => {
    const flags: string[] = [];
    const set = { "node:v8": { setFlagsFromString: (flag: string) => flags.push(flag) }, ...cpu("avx2") };
    const versions = { node: "26.10.0", v8: "14.6.1" };
    vi.stubGlobal("process", host({ versions, execArgv: ["--experimental-wasm-revectorize"] }, set));
    vi.resetModules();
    const { compile } = await import("./levels.ts");
    compile(Uint8Array.from([0, 97, 115, 109, 1, 0, 0, 0]), true);
    expect(flags).toEqual([]);
  });

  const program = `
    import { randn, scaledDotProductAttention } from ${JSON.stringify(new URL("../index.ts", import.meta.url).href)};
    import { f32x4, ModuleBuilder, v128 } from ${JSON.stringify(new URL("../wasm/assembler/index.ts", import.meta.url).href)};
    const other = (index) => {
      const module = new ModuleBuilder({ initial: 1, maximum: 1, shared: false });
      for (let n = 0; n < index; n++) module.func("other" + n, {}, () => {});
      module.func("run", { times: "i32", at: "i32" }, (f, { times, at }) => {
        f.repeat(() => {
          const pair = [0, 16].map((n) => f.let(f32x4.add(v128.load(at, 1024 + n), v128.load(at, 2048 + n))));
          pair.forEach((x, n) => f.storeVector(at, x, 16 * n));
          f.step(times, -1);
          return times;
        });
      }, { exported: true });
      const env = { memory: new WebAssembly.Memory({ initial: 1, maximum: 1 }) };
      const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.encode()), { env });
      // Long enough for the optimizing compiler.
      for (let n = 0; n < 3000; n++) exports.run(2000, 0);
    };
    other(91);
    const x = randn([1, 2, 96, 64]);
    scaledDotProductAttention(x, x, x);
    other(92);
    setTimeout(() => other(93), 50);`;
  /** Modules that V8's revectorizer compiled: heed's, and the others by the index of their function. */
  const fusedModules = (...flags: string[]): string[] => {
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      // One thread compiles: the lines of several are written into one another.
      [
        ...flags,
        "--trace-wasm-revectorize",
        "--wasm-num-compilation-tasks=1",
        "--input-type=module",
        "--eval",
        program,
      ],
      { encoding: "utf8", maxBuffer: 2 ** 28, cwd: fileURLToPath(new URL("../..", import.meta.url)) },
    );
    if (status !== 0) throw new Error(stderr);
    const functions = [...stdout.matchAll(/Begin revec function wasm-function#(\d+)/g)].map(
      ([, index]) => index,
    );
    return [...new Set(functions.map((index) => (Number(index) < 90 ? "heed" : index)))].toSorted();
  };

  it.skipIf(unsupportedWide() !== undefined)(
    "disturb no thread that compiles and runs modules meanwhile",
    { timeout: 120_000 },
    () => {
      // Each round compiles two new kernels; the threads start together, so that their first compilations meet.
      const thread = `
        const { attentionBackward, configure, maskMod, randn, scaledDotProductAttention } = await import(${JSON.stringify(new URL("../index.ts", import.meta.url).href)});
        const { workerData, parentPort } = process.getBuiltinModule("node:worker_threads");
        configure({ simd: workerData, threads: 1 });
        const x = randn([2, 100, 32]);
        for (let round = 0; round < 60; round++) {
          const options = { attnMask: maskMod(({ q, k }) => k.le(q.add(round)).and(k.ne(round))) };
          const forward = scaledDotProductAttention(x, x, x, options);
          attentionBackward(x, x, x, x, forward, options);
        }
        parentPort.postMessage(configure().simd);`;
      const { stdout, stderr, status, signal } = spawnSync(
        process.execPath,
        [
          "--input-type=module",
          "--eval",
          `import { Worker } from "node:worker_threads";
          const url = new URL("data:text/javascript," + encodeURIComponent(${JSON.stringify(thread)}));
          const levels = await Promise.all(["wide", "wide", "relaxed"].map((workerData) => new Promise((resolve, reject) => {
            const worker = new Worker(url, { workerData });
            worker.once("message", resolve);
            worker.once("error", reject);
          })));
          console.log(levels.join(" "));`,
        ],
        { encoding: "utf8", cwd: fileURLToPath(new URL("../..", import.meta.url)) },
      );
      expect({ stdout, signal, status, stderr: status === 0 ? "" : stderr }).toEqual({
        stdout: "wide wide relaxed\n",
        signal: null,
        status: 0,
        stderr: "",
      });
    },
  );

  it.skipIf(unsupportedWide() !== undefined)(
    "reach heed's kernels and no other module; set for the process they would reach all",
    { timeout: 120_000 },
    () => {
      expect(fusedModules()).toEqual(["heed"]);
      expect(fusedModules("--experimental-wasm-revectorize")).toEqual(["91", "92", "93", "heed"]);
    },
  );
});
