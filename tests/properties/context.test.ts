/**
 * Context-parallel attention on ranks inside one process: 1 to 8 ranks, gather = ring = resident = one call, forward and
 * backward, for every kind of mask, grouped heads, dropout, sinks, and lengths that no number of ranks divides.
 */

import * as fc from "fast-check";
import type { AttentionOptions, HeedError } from "heed";
import {
  alibi,
  alibiSlopes,
  and,
  attentionBackward,
  cast,
  causal,
  documents,
  globalTokens,
  maskMod,
  OptionError,
  or,
  prefixLm,
  queryLengths,
  relativeBias,
  scaledDotProductAttention,
  slidingWindow,
  softcap,
  Tensor,
} from "heed";
import type { ContextOptions, ShardPlan } from "heed/cluster";
import {
  contextAttention,
  contextAttentionBackward,
  explainContext,
  localCluster,
  shardSequence,
} from "heed/cluster";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { restore, use } from "../support/backends/levels.ts";
import { random } from "../support/cases/random.ts";

type Precision = "float32" | "float64";
const VIAS = ["gather", "ring", "resident"] as const;

beforeAll(() => use("relaxed", 1));
afterAll(restore);

function normal(shape: number[], seed: number, dtype: Precision): Tensor {
  const { normal } = random(seed);
  const numbers = Float64Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => normal());
  return new Tensor(dtype === "float64" ? numbers : Float32Array.from(numbers), shape, dtype);
}

/** The rows of all ranks at their positions: [..., N, width]. */
function assemble(plan: ShardPlan, parts: readonly Tensor[], shape: readonly number[]): Float64Array {
  const [N, width] = shape.slice(-2);
  const out = new Float64Array(shape.reduce((a, b) => a * b, 1));
  parts.forEach((part, rank) => {
    const places = plan.positions(rank);
    const numbers = part.toFloat64();
    for (let h = 0; h < out.length / (N * width); h++)
      places.forEach((at, n) => {
        for (let e = 0; e < width; e++)
          out[(h * N + at) * width + e] = numbers[(h * places.length + n) * width + e];
      });
  });
  return out;
}

function close(got: Float64Array, want: Tensor, tolerance: number, what: string): void {
  const b = want.toFloat64();
  expect(got.length, what).toBe(b.length);
  const size = b.reduce((m, x) => Math.max(m, Number.isFinite(x) ? Math.abs(x) : 0), 1e-30);
  for (let n = 0; n < b.length; n++)
    if (got[n] !== b[n] && !(Math.abs(got[n] - b[n]) <= tolerance * size))
      expect.fail(`${what}: ${got[n]} instead of ${b[n]} at ${n}`);
}

/** The same numbers, and every seventh of them minus infinity. */
function infinities(t: Tensor): Tensor {
  (t.data as Float32Array).forEach((_, n) => {
    if (n % 7 === 3) (t.data as Float32Array)[n] = Number.NEGATIVE_INFINITY;
  });
  return t;
}

interface Case {
  readonly name: string;
  readonly options: (N: number, H: number, dtype: Precision) => AttentionOptions & ContextOptions;
}

const CASES: readonly Case[] = [
  { name: "no mask", options: () => ({}) },
  { name: "causal", options: () => ({ isCausal: true }) },
  { name: "window and sinks", options: (_, H) => ({ attnMask: slidingWindow(7, 2), sinks: Float64Array.from({ length: H }, (_, h) => h / 2 - 1) }) },
  {
    name: "causal documents",
    options: (N) => ({ attnMask: and(causal(), documents(Int32Array.from({ length: N }, (_, n) => Math.floor(n / 11)))) }),
  },
  { name: "prefix and ALiBi", options: (_, H, dtype) => ({ attnMask: prefixLm(9), scoreMod: alibi(dtype === "float64" ? Float64Array.from(alibiSlopes(H)) : alibiSlopes(H)) }) },
  { name: "global tokens", options: () => ({ attnMask: or(slidingWindow(3, 3), globalTokens([0, 17])) }) },
  { name: "causal dropout", options: () => ({ isCausal: true, dropoutP: 0.3, seed: 5 }) },
  { name: "relative bias and soft cap", options: (_, H, dtype) => ({ scoreMod: [relativeBias(normal([8, H], 3, dtype), { maxDistance: 16 }), softcap(4)] }) },
  { name: "a bool tensor", options: (N) => ({ attnMask: new Tensor(Uint8Array.from({ length: N * N }, (_, n) => (n * 7919) % 3 > 0 ? 1 : 0), [N, N], "bool") }) },
  { name: "a float tensor and causal", options: (N, H, dtype) => ({ attnMask: [normal([H, 1, N], 8, dtype), causal()] }) },
  { name: "one float tensor", options: (N, H, dtype) => ({ attnMask: normal([2, H, N, N], 8, dtype) }) },
  { name: "float tensors, of which one is by row and one has minus infinity, and sinks", options: (N, H, dtype) => ({ sinks: new Float64Array(H), attnMask: [normal([N, 1], 8, dtype), causal(), infinities(normal([1, N, N], 9, dtype))] }) },
  { name: "a custom mask by head, and query lengths", options: (N) => ({ attnMask: [maskMod(({ q, k, h }) => q.add(k).add(h).mod(4).ne(1)), queryLengths(N - 3)] }) },
]; // biome-ignore format: a row a case

const toContext = ({ attnMask, isCausal, ...rest }: AttentionOptions & ContextOptions): ContextOptions => ({
  ...rest,
  ...(attnMask !== undefined && { attnMask }),
  ...(isCausal !== undefined && { isCausal: isCausal === true }),
});

describe("contextAttention", () => {
  const shapes = [
    { ranks: 1, N: 19, H: 2, Hkv: 2, d: 8, dv: 8 },
    { ranks: 2, N: 61, H: 4, Hkv: 2, d: 8, dv: 12 },
    { ranks: 3, N: 50, H: 2, Hkv: 1, d: 4, dv: 4 },
    { ranks: 4, N: 97, H: 2, Hkv: 2, d: 8, dv: 8 },
    { ranks: 5, N: 33, H: 2, Hkv: 2, d: 8, dv: 8 },
    { ranks: 8, N: 75, H: 4, Hkv: 4, d: 8, dv: 8 },
  ];
  for (const { name, options } of CASES)
    it(`${name}: gather, ring and resident give the output and gradients of one call, on 1 to 8 ranks`, async () => {
      for (const [n, { ranks, N, H, Hkv, d, dv }] of shapes.entries())
        for (const dtype of n % 2 ? (["float32"] as const) : (["float64"] as const)) {
          const [tolerance, gradientTolerance] = dtype === "float64" ? [1e-13, 1e-12] : [2e-6, 8e-6];
          const [q, k] = [normal([2, H, N, d], 1, dtype), normal([2, Hkv, N, d], 2, dtype)];
          const [v, dOut] = [normal([2, Hkv, N, dv], 3, dtype), normal([2, H, N, dv], 4, dtype)];
          const full = options(N, H, dtype);
          const want = scaledDotProductAttention(q, k, v, full);
          const gradients = attentionBackward(dOut, q, k, v, want, full);
          const call = toContext(full);
          const plan = shardSequence({
            length: N,
            ranks,
            heads: H,
            ...(call.attnMask !== undefined && { attnMask: call.attnMask }),
            ...(call.isCausal && { isCausal: true }),
          });
          for (const via of VIAS) {
            const what = `${via}, ${ranks} ranks, ${plan.kind}`;
            const got = await localCluster(ranks, async (comm) => {
              const mine = (t: Tensor) => plan.take(comm.rank, t);
              const [qr, kr, vr] = [mine(q), mine(k), mine(v)];
              const state = await contextAttention(comm, plan, qr, kr, vr, { ...call, via });
              const back = await contextAttentionBackward(comm, plan, mine(dOut), qr, kr, vr, state, {
                ...call,
                via,
              });
              return { ...state, ...back };
            });
            const each = <K extends keyof (typeof got)[0]>(name: K) => got.map((one) => one[name] as Tensor);
            close(
              assemble(plan, each("output"), want.output.shape),
              want.output,
              tolerance,
              `output, ${what}`,
            );
            const lses = each("lse").map((t) => t.reshape([...t.shape, 1]));
            close(assemble(plan, lses, [...want.lse.shape, 1]), want.lse, tolerance, `lse, ${what}`);
            for (const name of ["dQuery", "dKey", "dValue"] as const)
              close(
                assemble(plan, each(name), gradients[name].shape),
                gradients[name],
                gradientTolerance,
                `${name}, ${what}`,
              );
            const masks = [gradients.dMask, ...(gradients.dMasks ?? [])];
            for (const one of got)
              for (const [n, mask] of [one.dMask, ...(one.dMasks ?? [])].entries()) {
                expect(mask?.shape, `gradient of mask ${n}, ${what}`).toEqual(masks[n]?.shape);
                expect(mask?.dtype, `gradient of mask ${n}, ${what}`).toBe(masks[n]?.dtype);
                if (mask)
                  close(
                    mask.toFloat64(),
                    masks[n] as Tensor,
                    8 * gradientTolerance,
                    `gradient of mask ${n}, ${what}`,
                  );
              }
            for (const name of ["dSinks", "dSlopes", "dTable"] as const)
              for (const one of got) {
                expect(one[name] !== undefined, `${name}, ${what}`).toBe(gradients[name] !== undefined);
                if (one[name])
                  close(
                    one[name].toFloat64(),
                    gradients[name] as Tensor,
                    8 * gradientTolerance,
                    `${name}, ${what}`,
                  );
              }
          }
        }
    });

  it("a rank's rows that see only keys of the other rank count in the gradient of a sink", async () => {
    const N = 8;
    const half = N / 2;
    const attnMask = maskMod(({ q, k }) => or(and(q.lt(half), k.ge(half)), and(q.ge(half), k.lt(half))));
    const options = { attnMask, sinks: [0.5, -1] };
    const plan = shardSequence({ length: N, ranks: 2, attnMask, cost: "tokens" });
    for (const dtype of ["float64", "float32", "float16", "bfloat16"] as const) {
      const [q, k, v, dOut] = [1, 2, 3, 4].map((seed) => cast(normal([1, 2, N, 8], seed, "float64"), dtype));
      const state = scaledDotProductAttention(q, k, v, options);
      const { dSinks } = attentionBackward(dOut, q, k, v, state, options);
      for (const via of VIAS) {
        const ranks = await localCluster(2, async (comm) => {
          const [dOr, qr, kr, vr] = [dOut, q, k, v].map((t) => plan.take(comm.rank, t));
          const part = await contextAttention(comm, plan, qr, kr, vr, { ...options, via });
          return contextAttentionBackward(comm, plan, dOr, qr, kr, vr, part, { ...options, via });
        });
        const tolerance = { float64: 1e-7, float32: 8e-6, float16: 2 ** -9, bfloat16: 2 ** -6 }[dtype];
        for (const rank of ranks)
          close((rank.dSinks as Tensor).toFloat64(), dSinks as Tensor, tolerance, `${via}, ${dtype}`);
      }
    }
  });

  it("sinks of tensors without an axis of heads have one gradient, that of their one head", async () => {
    const N = 6;
    const plan = shardSequence({ length: N, ranks: 2 });
    const [q, k, v] = [1, 2, 3].map((seed) => normal([3, N, 4], seed, "float32"));
    const options = { sinks: [0.5] };
    const state = scaledDotProductAttention(q, k, v, options);
    const { dSinks } = attentionBackward(q, q, k, v, state, options);
    for (const via of VIAS) {
      const ranks = await localCluster(2, async (comm) => {
        const [qr, kr, vr] = [q, k, v].map((t) => plan.take(comm.rank, t));
        const part = await contextAttention(comm, plan, qr, kr, vr, { ...options, via });
        return contextAttentionBackward(comm, plan, qr, qr, kr, vr, part, { ...options, via });
      });
      for (const rank of ranks) {
        expect(rank.dSinks?.shape).toEqual([1]);
        close((rank.dSinks as Tensor).toFloat64(), dSinks as Tensor, 8e-6, via);
      }
    }
  });

  it("has the same bits on every run, with any timing", async () => {
    const [ranks, N] = [3, 64];
    const [q, k, v] = [1, 2, 3].map((seed) => normal([2, N, 8], seed, "float32"));
    const plan = shardSequence({ length: N, ranks, isCausal: true });
    for (const via of VIAS) {
      const run = (seed: number) => {
        const { next } = random(seed);
        return localCluster(
          ranks,
          async (comm) => {
            const [qr, kr, vr] = [q, k, v].map((t) => plan.take(comm.rank, t));
            const options = { isCausal: true, via };
            const state = await contextAttention(comm, plan, qr, kr, vr, options);
            const { dKey, dQuery } = await contextAttentionBackward(
              comm,
              plan,
              qr,
              qr,
              kr,
              vr,
              state,
              options,
            );
            return [state.output.data, state.lse.data, dKey.data, dQuery.data];
          },
          { deliver: () => new Promise((resolve) => setTimeout(resolve, 4 * next())) },
        );
      };
      expect(await run(1)).toEqual(await run(2));
    }
  });

  it("moves exactly the bytes of the cost model", async () => {
    const [ranks, N, H, Hkv, d] = [4, 96, 4, 2, 8];
    const plan = shardSequence({ length: N, ranks, isCausal: true });
    const [q, k, v] = [
      normal([1, H, N, d], 1, "float32"),
      normal([1, Hkv, N, d], 2, "float32"),
      normal([1, Hkv, N, d], 3, "float32"),
    ];
    const bytes = async (via: (typeof VIAS)[number], backward: boolean) => {
      const sent = await localCluster(ranks, async (comm) => {
        const [qr, kr, vr] = [q, k, v].map((t) => plan.take(comm.rank, t));
        const state = await contextAttention(comm, plan, qr, kr, vr, { isCausal: true, via });
        const before = comm.sent.bytes;
        if (!backward) return before;
        await contextAttentionBackward(comm, plan, qr, qr, kr, vr, state, { isCausal: true, via });
        return comm.sent.bytes - before;
      });
      expect(new Set(sent).size).toBe(1);
      // Every call begins with a digest of the arguments: 20 bytes to each other rank.
      return sent[0] - 20 * (ranks - 1);
    };
    const keys = 2 * N * Hkv * d * 4;
    const share = (ranks - 1) / ranks;
    expect(await bytes("gather", false)).toBe(keys * share);
    expect(await bytes("ring", false)).toBe(keys * share);
    // Queries are sent around; outputs and lse are sent back.
    expect(await bytes("resident", false)).toBe((N * H * d * 4 + N * H * (d + 1) * 4) * share);
    expect(await bytes("gather", true)).toBe(2 * keys * share);
    // The sums of gradients make one more step, back to their rank.
    expect(await bytes("ring", true)).toBe(keys * share + keys);
  });

  it("16-bit inputs are merged in float32 and rounded once", async () => {
    const [ranks, N] = [4, 64];
    const dense = [1, 2, 3].map((seed) => normal([2, N, 8], seed, "float32"));
    const [q, k, v] = dense.map((t) => {
      const bits = Uint16Array.from(
        new Uint32Array((t.data as Float32Array).buffer),
        (x) => (x + 0x8000) >>> 16,
      );
      return new Tensor(bits, t.shape, "bfloat16");
    });
    const exact = scaledDotProductAttention(
      ...([q, k, v].map((t) => new Tensor(t.toFloat64(), t.shape, "float64")) as [Tensor, Tensor, Tensor]),
    ).output.toFloat64();
    const plan = shardSequence({ length: N, ranks });
    for (const via of VIAS) {
      const got = await localCluster(ranks, async (comm) => {
        const [qr, kr, vr] = [q, k, v].map((t) => plan.take(comm.rank, t));
        return (await contextAttention(comm, plan, qr, kr, vr, { via })).output;
      });
      expect(got[0].dtype).toBe("bfloat16");
      const out = assemble(plan, got, q.shape);
      // One rounding to bfloat16 and the error of float32; merging 16-bit states would round four times.
      for (let n = 0; n < out.length; n++)
        expect(Math.abs(out[n] - exact[n])).toBeLessThanOrEqual(2 ** -8 * Math.abs(exact[n]) + 1e-6);
    }
  });

  it("a float mask in 16 bits, and one whose part on a rank holds only 0 and 1, are added as in one call", async () => {
    const [ranks, N] = [2, 16];
    const bfloat16 = (t: Tensor) =>
      new Tensor(
        Uint16Array.from(new Uint32Array((t.data as Float32Array).buffer), (x) => (x + 0x8000) >>> 16),
        t.shape,
        "bfloat16",
      );
    const [q, k, v, mask] = [
      ...[1, 2, 3].map((seed) => bfloat16(normal([2, N, 8], seed, "float32"))),
      bfloat16(normal([N, N], 4, "float32")),
    ];
    const steps = new Tensor(
      Float32Array.from({ length: N * N }, (_, n) => (n < 4 ? 2 : n % 2)),
      [N, N],
      "float32",
    );
    const plan = shardSequence({ length: N, ranks });
    for (const attnMask of [mask, steps]) {
      const want = scaledDotProductAttention(q, k, v, { attnMask });
      const { dMask } = attentionBackward(want.output, q, k, v, want, { attnMask });
      for (const via of VIAS) {
        const [got] = await localCluster(ranks, async (comm) => {
          const [qr, kr, vr] = [q, k, v].map((t) => plan.take(comm.rank, t));
          const state = await contextAttention(comm, plan, qr, kr, vr, { attnMask, via });
          return contextAttentionBackward(comm, plan, state.output, qr, kr, vr, state, { attnMask, via });
        });
        expect(got.dMask?.dtype).toBe(attnMask.dtype);
        close((got.dMask as Tensor).toFloat64(), dMask as Tensor, 2 ** -6, `dMask, ${via}`);
      }
    }
  });

  it("decoding: replicated queries, keys that are not moved, and a growing sequence", async () => {
    const [ranks, prompt, steps, H, Hkv, d] = [3, 20, 7, 4, 2, 8];
    const N = prompt + steps;
    const [q, k, v] = [
      normal([1, H, N, d], 1, "float32"),
      normal([1, Hkv, N, d], 2, "float32"),
      normal([1, Hkv, N, d], 3, "float32"),
    ];
    const row = (t: Tensor, at: number) =>
      new Tensor(
        t.toFloat64().filter((_, n) => Math.floor((n % (N * d)) / d) === at),
        [1, t.shape[1], 1, d],
        "float64",
      );
    const first = shardSequence({ length: prompt, ranks, isCausal: true });
    const sinks = Float64Array.of(0.5, -1, 0, 2);
    const full = scaledDotProductAttention(q, k, v, { isCausal: true, sinks });
    const results = await localCluster(ranks, async (comm) => {
      let plan = first;
      const outputs: Float64Array[] = [];
      for (let at = prompt; at < N; at++) {
        plan = plan.extend(at + 1);
        const places = [...plan.positions(comm.rank)];
        const mine = (t: Tensor) => {
          const rows = places.map((place) => row(t, place).toFloat64());
          const data = Float32Array.from({ length: t.shape[1] * places.length * d }, (_, n) => {
            const [h, r] = [Math.floor(n / (places.length * d)), Math.floor(n / d) % places.length];
            return rows[r][h * d + (n % d)];
          });
          return new Tensor(data, [1, t.shape[1], places.length, d], "float32");
        };
        const query = new Tensor(Float32Array.from(row(q, at).toFloat64()), [1, H, 1, d], "float32");
        const options = { isCausal: true, sinks, queries: "replicated" } as const;
        outputs.push(
          (await contextAttention(comm, plan, query, mine(k), mine(v), options)).output.toFloat64(),
        );
      }
      return outputs;
    });
    for (const outputs of results)
      outputs.forEach((output, n) => {
        close(output, row(full.output, prompt + n), 2e-6, `token ${n}`);
      });
    expect(results[1]).toEqual(results[0]);
  });

  it("layout bshd has the numbers of bhsd", async () => {
    const [ranks, N] = [2, 24];
    const plan = shardSequence({ length: N, ranks, isCausal: true });
    const heads = [1, 2, 3].map((seed) => normal([2, N, 8], seed, "float32"));
    const [flat, across] = await Promise.all(
      (["bhsd", "bshd"] as const).map((layout) =>
        localCluster(ranks, async (comm) => {
          const [q, k, v] = heads.map((t) => {
            const mine = plan.take(comm.rank, t);
            return layout === "bshd" ? mine.transpose(0, 1).contiguous() : mine;
          });
          const state = await contextAttention(comm, plan, q, k, v, { isCausal: true, layout });
          const { dKey } = await contextAttentionBackward(comm, plan, q, q, k, v, state, {
            isCausal: true,
            layout,
          });
          const turn = (t: Tensor) => (layout === "bshd" ? t.transpose(0, 1).contiguous() : t).toFloat64();
          return [turn(state.output), turn(dKey)];
        }),
      ),
    );
    expect(across).toEqual(flat);
  });
});

describe("ranks that disagree", () => {
  const plan = shardSequence({ length: 16, ranks: 3 });
  const attempt = (change: (rank: number) => ContextOptions, width = (_rank: number) => 4) => {
    const errors: unknown[] = [];
    return localCluster(3, async (comm) => {
      const t = normal([1, plan.size(comm.rank), width(comm.rank)], 1, "float32");
      try {
        await contextAttention(comm, plan, t, t, t, change(comm.rank));
      } catch (error) {
        errors.push(error);
      }
    }).then(() => errors as HeedError[]);
  };

  it("get one typed error on all ranks that names the difference", async () => {
    for (const [change, text] of [
      [
        (rank: number) => ({ dropoutP: rank === 2 ? 0.5 : 0, seed: 1 }),
        "dropoutP is 0 on rank 0, but 0.5 on rank 2",
      ],
      [(rank: number) => ({ isCausal: rank === 1 }), "mask is none on rank 0, but le(k,q) on rank 1"],
      [
        (rank: number) => ({ via: rank ? "ring" : "gather" }) as const,
        "via is gather on rank 0, but ring on rank 1",
      ],
      [(rank: number) => ({ attnMask: documents(new Int32Array(16).fill(1, rank)) }), "mask is eq"],
    ] as const) {
      const errors = await attempt(change);
      expect(errors).toHaveLength(3);
      for (const error of errors) {
        expect(error).toBeInstanceOf(OptionError);
        expect(error.code).toBe("cluster-disagreement");
        expect(error.message).toContain(`ranks disagree: ${text}`);
      }
    }
  });

  it("a rank whose own arguments are wrong throws its own error, and the others name it", async () => {
    const errors = await attempt((rank) => (rank === 1 ? { scale: Number.NaN } : {}));
    expect(errors.map(({ code }) => code).sort()).toEqual(["cluster-rank", "cluster-rank", "scale"]);
    for (const { code, message } of errors)
      if (code === "cluster-rank")
        expect(message).toContain("rank 1 of 3 cannot: contextAttention: scale must be");
  });

  it("other widths, plans and unknown options are errors on all ranks", async () => {
    expect(
      (
        await attempt(
          () => ({}),
          (rank) => (rank === 2 ? 8 : 4),
        )
      ).map(({ message }) => message)[0],
    ).toContain("query is [1, n, 4] float32 on rank 0, but [1, n, 8] float32 on rank 2");
    for (const error of await attempt(() => ({ rows: 3 }) as ContextOptions))
      expect(error.code).toBe("option-name");
    await expect(
      localCluster(2, (comm) => {
        const t = normal([1, 8, 4], 1, "float32");
        return contextAttention(comm, plan, t, t, t);
      }),
    ).rejects.toThrow(/the plan is for 3 ranks, and there are 2/);
  });

  it("no communicator, no options and no state are typed errors", async () => {
    const one = shardSequence({ length: 8, ranks: 1 });
    const t = normal([1, 8, 4], 1, "float32");
    const noComm = { name: "OptionError", code: "comm" };
    await expect(contextAttention(undefined as never, one, t, t, t)).rejects.toMatchObject(noComm);
    await expect(contextAttention(one as never, one, t, t, t)).rejects.toMatchObject(noComm);
    const state = { output: t, lse: normal([1, 8], 1, "float32") };
    await localCluster(1, async (comm) => {
      const backward = (forwardState: typeof state, options: object) =>
        contextAttentionBackward(comm, one, t, t, t, t, forwardState, options);
      for (const options of [null, 5])
        await expect(backward(state, options as never)).rejects.toThrow(/options must be an object/);
      await expect(backward(state, { wanted: "sinks" })).rejects.toThrow(
        'wanted takes a list of "mask", "sinks", "tables", got "sinks"',
      );
      await expect(backward(undefined as never, {})).rejects.toThrow(
        /state must be what contextAttention returned, got undefined/,
      );
    });
    expect(() => explainContext(2, t, t, t, null as never)).toThrow(/options must be an object, got null/);
  });
});

describe("shardSequence", () => {
  it("every position belongs to one rank, in any length, on any number of ranks, under any mask", () =>
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 3000 }),
        fc.integer({ min: 1, max: 9 }),
        fc.constantFrom<AttentionOptions["attnMask"] | "causal" | undefined>(
          undefined,
          "causal",
          slidingWindow(40, 0),
          or(causal(), globalTokens([0])),
        ),
        (length, ranks, mask) => {
          const plan = shardSequence({
            length,
            ranks,
            ...(mask === "causal" ? { isCausal: true } : { attnMask: mask }),
          });
          const counts = new Uint8Array(length);
          for (let rank = 0; rank < ranks; rank++) for (const at of plan.positions(rank)) counts[at]++;
          expect(counts.every((n) => n === 1)).toBe(true);
          const grown = plan.extend(length + 5);
          for (let rank = 0; rank < ranks; rank++)
            expect([...grown.positions(rank)].filter((at) => at < length)).toEqual([...plan.positions(rank)]);
        },
      ),
      { numRuns: 60 },
    ));

  it("balances causal attention within 1.05, where equal parts are 2 − 1/P", () => {
    for (const ranks of [2, 4, 8, 16])
      for (const length of [8192, 10_000]) {
        const zigzag = shardSequence({ length, ranks, isCausal: true });
        expect(zigzag.kind).toBe("zigzag");
        expect(zigzag.imbalance).toBeLessThanOrEqual(1.05);
        const plain = shardSequence({ length, ranks, isCausal: true, cost: "tokens" });
        expect(plain.imbalance).toBeGreaterThan(0.97 * (2 - 1 / ranks));
      }
  });

  it("balances documents of random lengths within 1.10", () => {
    for (let seed = 1; seed <= 10; seed++) {
      const { int } = random(seed);
      const ids = new Int32Array(16_384);
      for (let at = 0, id = 0; at < ids.length; id++) {
        const n = int(16, 3000);
        ids.fill(id, at, at + n);
        at += n;
      }
      const attnMask = and(causal(), documents(ids));
      for (const ranks of [2, 4, 8]) {
        const plan = shardSequence({ length: ids.length, ranks, attnMask });
        expect(plan.kind).toBe("dealt");
        expect(plan.imbalance, `seed ${seed}, ${ranks} ranks`).toBeLessThanOrEqual(1.1);
      }
    }
  });

  it("prints the positions of each rank", () => {
    expect(String(shardSequence({ length: 9600, ranks: 2, isCausal: true }))).toBe(
      [
        "zigzag, 9600 tokens over 2 ranks, max/mean 1.000",
        "rank 0  0–2399, 7200–9599  (4800 tokens, 3769 tiles)",
        "rank 1  2400–7199  (4800 tokens, 3769 tiles)",
      ].join("\n"),
    );
  });

  it("rejects unknown options and values", () => {
    for (const options of [
      { length: -1, ranks: 2 },
      { length: 8, ranks: 0 },
      { length: 8, ranks: 2, cost: "bytes" },
      { length: 8, ranks: 2, isCausal: "lower-right" },
      { length: 8, ranks: 2, masks: 1 },
    ])
      expect(() => shardSequence(options as Parameters<typeof shardSequence>[0])).toThrow(OptionError);
    expect(() => shardSequence({ length: 9, ranks: 2, attnMask: documents([0, 1]) })).toThrow(
      /documents has 2 entries/,
    );
  });
});
