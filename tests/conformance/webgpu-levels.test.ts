/**
 * The levels of the forward kernel on a GPU, or on a software adapter of one: each gives the bits of the one below, and what an adapter
 * lacks or computes wrongly is not used. Needs an adapter, as webgpu.test.ts, and is skipped without one.
 */
import {
  type AttentionOptions,
  explain,
  scaledDotProductAttention,
  slidingWindow,
  softcap,
  Tensor,
  UnsupportedError,
} from "heed";
import { type LevelName, webgpu } from "heed/webgpu";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { session } from "../../src/webgpu/device.ts";
import { TILES } from "../../src/webgpu/levels.ts";
import { tune } from "../../src/webgpu/tune.ts";
import { gpuAtHand } from "../support/backends/gpu.ts";
import { wrongGpu } from "../support/backends/wrong-gpu.ts";
import { normal } from "../support/cases/call.ts";

const { gpu, reason } = await gpuAtHand();
const NAMES: readonly LevelName[] = ["portable", "tiles", "subgroups", "half", "matrices"];

/** Sizes on the edges of tiles of 32 and 64 rows, of keys and of columns. */
const inputs = (Nq: number, Nk: number) =>
  [normal(1, [2, 4, Nq, 12]), normal(2, [2, 2, Nk, 12]), normal(3, [2, 2, Nk, 34])] as const;
const keys = Uint8Array.from({ length: 70 }, (_, j) => +(j % 3 > 0));

/** Calls by name; `place` moves a mask. */
const CALLS: Readonly<Record<string, (place: (t: Tensor) => Promise<Tensor>) => Promise<AttentionOptions>>> =
  {
    causal: async () => ({ isCausal: "lower-right" }),
    "window, score mod, mask and sinks": async (place) => ({
      attnMask: [slidingWindow(40, 50), await place(new Tensor(keys, [70], "bool"))],
      scoreMod: softcap(3),
      sinks: [0.5, -1, 0, -Infinity],
    }),
    dropout: async () => ({ dropoutP: 0.25, seed: 9 }),
  };
/** A software driver takes seconds to compile a kernel: the last call runs where HEED_GPU is "all". */
const NAMED = Object.keys(CALLS).slice(0, process.env.HEED_GPU === "all" ? undefined : 2);

describe.skipIf(!gpu)(`levels on webgpu${reason && `: ${reason}`}`, () => {
  let started: Awaited<ReturnType<typeof webgpu>> | undefined;
  const start = async (options: Parameters<typeof webgpu>[0]) => {
    started = await webgpu(options);
    return started;
  };
  afterAll(() => started?.destroy());

  it.each(NAMED)("%s: the numbers of the CPU, with the same bits on every level", { timeout: 600_000 }, async (name) => {
    // A level that was requested before would be kept.
    started?.destroy();
    const first = await start({ gpu: gpu! });
    const here = first.levels.slice(0, 3).filter(({ state }) => state !== "not available").map((level) => level.name);
    expect(here[0]).toBe("portable");
    expect(first.levels.filter(({ state }) => state === "in use").map((level) => level.name)).toEqual([here.at(-1), "half", ...(first.level === "matrices" ? ["matrices"] : [])]);
    for (const Nq of [20, 64, 65]) {
      let bits: unknown;
      const want = scaledDotProductAttention(...inputs(Nq, 70), await CALLS[name](async (t) => t));
      for (const level of here) {
        expect((await start({ gpu: gpu!, level })).level).toBe(level);
        const [q, k, v] = await Promise.all(inputs(Nq, 70).map((t) => t.to("webgpu")));
        const options = await CALLS[name]((t) => t.to("webgpu"));
        const { output, lse } = scaledDotProductAttention(q, k, v, options);
        const got = [await output.read(), await lse.read()] as Float32Array[];
        [want.output, want.lse].forEach((t, n) =>
          t.toFloat64().forEach((x, i) => {
            if (x === -Infinity) expect(got[n][i]).toBe(-Infinity);
            else expect(Math.abs(got[n][i] - x), `${level}, element ${i}`).toBeLessThanOrEqual(2e-5 * (1 + Math.abs(x)));
          }),
        );
        bits ??= got;
        expect(got, level).toEqual(bits);
        const plan = explain(q, k, v, options);
        expect(plan.rowTile).toBe(Nq > 32 && level !== "portable" ? 64 : 32);
        expect(plan.kernel).toMatch(new RegExp(`^${level} forward`));
      }
    }
  }); // biome-ignore format: one test

  describe("an adapter that lacks something", () => {
    afterEach(() => started?.destroy());
    const rightOn = async () => {
      const t = normal(5, [40, 8]);
      const moved = await t.to("webgpu");
      const got = await scaledDotProductAttention(moved, moved, moved).output.read();
      scaledDotProductAttention(t, t, t)
        .output.toFloat64()
        .forEach((x, i) => expect(got[i]).toBeCloseTo(x, 4));
    };

    it("without subgroups takes the level tiles, for 16 bits half, and says why; a request for more is refused", { timeout: 300_000 }, async () => {
      const { gpu: plain } = wrongGpu(gpu!, "", "", "without subgroups", { feature: "subgroup" });
      const { level, levels } = await start({ gpu: plain });
      expect(level).toBe("half");
      expect(levels[1].state).toBe("in use");
      expect(levels[2]).toEqual({ name: "subgroups", state: "not available", reason: 'the adapter has no feature "subgroups"' });
      await rightOn();
      const error = await webgpu({ gpu: plain, level: "subgroups" }).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(UnsupportedError);
      expect(error).toMatchObject({ code: "level", fields: { level: "subgroups", adapter: "wrong without subgroups" } });
      expect((error as Error).message).toMatch(/the level "subgroups" does not run on the adapter wrong without subgroups: the adapter has no feature "subgroups"; without the option/);
    }); // biome-ignore format: one test

    it("with 16 KiB of workgroup memory takes the portable level, for 16 bits half", {
      timeout: 300_000,
    }, async () => {
      const limits = { maxComputeWorkgroupStorageSize: 16384 };
      const { level, levels } = await start({ gpu: wrongGpu(gpu!, "", "", "small", { limits }).gpu });
      expect([level, levels[0].state]).toEqual(["half", "in use"]);
      expect(levels[1].reason).toBe("it takes 22528 bytes of workgroup memory, and the adapter has 16384");
      await rightOn();
    });

    it("whose shuffles are wrong takes the next lower level, with the first wrong number in the report", { timeout: 300_000 }, async () => {
      const wrong = wrongGpu(gpu!, "subgroupShuffleXor(top0, 1u)", "top0", "shuffles");
      const { level, levels, selfTests } = await start({ gpu: wrong.gpu });
      if (levels[2].state === "in use") return expect(wrong.changed()).toBe(0);
      expect([level, levels[1].state]).toEqual(["half", "in use"]);
      expect(levels[2].reason).toMatch(/wrong numbers with the kernel "forward, tiles of 64 × 32, shuffles of \d", which is not used: in its self-test element \d+ of (?:output|lse) is/);
      expect(selfTests().map(({ state }) => state)).toEqual(["failed", "passed", "passed"]);
      await rightOn();
    }); // biome-ignore format: one test
  });

  it("tune measures tiles, keeps the bits of results, and takes a stored choice without measuring; a stored text that is no tile is not used", { timeout: 300_000 }, async () => {
    await start({ gpu: gpu! });
    const t = await normal(6, [40, 16]).to("webgpu");
    const before = await scaledDotProductAttention(t, t, t).output.read();
    const stored = new Map<string, string>();
    const cache = { getItem: (key: string) => stored.get(key), setItem: (key: string, text: string) => void stored.set(key, text) };
    const small = { tokens: 40, size: 16, heads: 1 };
    const measured = await tune(session(), small, cache, TILES.slice(0, 2));
    expect([measured.cached, Object.keys(measured.times)]).toEqual([false, ["16 × 32, 4 rows a thread", "32 × 32, 4 rows a thread"]]);
    const [[key, text]] = stored;
    expect(key).toMatch(/^heed\/webgpu tile: .+; \w+; 32 columns$/);
    expect(text).toBe(measured.tile);
    expect(explain(t, t, t).rowTile).toBe(Number(measured.tile.slice(0, 2)));
    expect(await scaledDotProductAttention(t, t, t).output.read()).toEqual(before);
    stored.set(key, "16 × 32, 4 rows a thread");
    expect(await tune(session(), small, cache, TILES.slice(0, 2))).toEqual({ tile: "16 × 32, 4 rows a thread", cached: true, times: {} });
    expect(explain(t, t, t).rowTile).toBe(16);
    expect(await scaledDotProductAttention(t, t, t).output.read()).toEqual(before);
    stored.set(key, "1000 × 32");
    expect((await tune(session(), small, cache, TILES.slice(0, 2))).cached).toBe(false);
    await expect(async () => started!.tune({ tokens: 0 })).rejects.toThrow(/tokens.*positive integer, got 0/s);
    session().tiles.clear();
  }); // biome-ignore format: one test

  it("a level that does not exist is an option error that names all", async () => {
    await expect(webgpu({ gpu: gpu!, level: "fast" as LevelName })).rejects.toThrow(new RegExp(`one of ${NAMES.join(", ")}.*got "fast"`));
  }); // biome-ignore format: one test
});
