/** Kernels over a table of specs: each is a valid module, equal keys are equal code, and each feature is in the key. */
import { describe, expect, it } from "vitest";
import wabtOf from "wabt";
import { codeOf } from "../../../tests/support/backends/kernels.ts";
import { hasRelaxed } from "../../backend/levels.ts";
import { type AttentionOptions, type Problem, resolve } from "../../backend/problem.ts";
import { zeros } from "../../core/create/construct.ts";
import { tablesOf } from "../../masks/expression/expr.ts";
import {
  alibi,
  and,
  blockSparse,
  causal,
  dilated,
  documents,
  keyLengths,
  longformer,
  maskMod,
  not,
  prefixLm,
  relativeBias,
  scoreMod,
  slidingWindow,
  softcap,
  table,
} from "../../masks/index.ts";
import { planBiasGradients } from "../attention/backward/bias-gradients.ts";
import { makeBackwardPlan } from "../attention/backward/plan.ts";
import { specOf } from "../attention/plan.ts";
import { keyOf, type Spec } from "../codegen/spec.ts";
import type { Engine } from "./engine.ts";
import { KernelCache } from "./kernel-cache.ts";
import { EngineMemory } from "./memory.ts";

const [B, Hq, Hkv] = [2, 4, 2];

interface Sizes {
  readonly Nq?: number;
  readonly Nk?: number;
  readonly dk?: number;
  readonly dv?: number;
  readonly dtype?: "float32" | "float16" | "bfloat16";
}

type SimdLevel = "wide" | "relaxed" | "strict";

function problemFor(sizes: Sizes, options: AttentionOptions): Problem {
  const { Nq = 40, Nk = 70, dk = 16, dv = dk, dtype = "float32" } = sizes;
  return resolve(
    "test",
    zeros([B, Hq, Nq, dk], dtype),
    zeros([B, Hkv, Nk, dk], dtype),
    zeros([B, Hkv, Nk, dv], dtype),
    // A block mask has exactly as many blocks as the call.
    options === OPTIONS.blocks ? { attnMask: blocks(Nq, Nk) } : options,
  );
}

/** A block mask for so many queries and keys, all true. */
const blocks = (Nq: number, Nk: number) =>
  blockSparse(
    Array.from({ length: Math.ceil(Nq / 8) }, () => new Array(Math.ceil(Nk / 8)).fill(true)),
    8,
  );

const specFor = (
  sizes: Sizes,
  options: AttentionOptions,
  level: SimdLevel = "relaxed",
  shared = true,
): Spec => specOf(problemFor(sizes, options), level, shared).spec;

const engine = { memory: { shared: true } } as Engine;

/** The backward kernel with all gradients, and with those of query, key and value only. */
function backwardFor(sizes: Sizes, options: AttentionOptions, level: SimdLevel = "relaxed"): Spec[] {
  const problem = problemFor(sizes, options);
  const tables = problem.score ? tablesOf(problem.score).filter((t) => t.type === "float") : [];
  const masks = problem.tensors.map((t) => ({ ...t, data: new Float64Array(0) }));
  const all = planBiasGradients(problem, {
    masks: masks.map((t) => (t.kind === "float" ? t : undefined)),
    tables: new Map(tables.map((t) => [t, new Float64Array(0)])),
  });
  return [all, undefined].map(
    (sums) => makeBackwardPlan(engine, problem, level, problem.dtype as "float32", "float32", sums).spec,
  );
}

const bias = table(Float32Array.from({ length: 70 }, (_, n) => n / 10));
const ids = Array.from({ length: 70 }, (_, n) => Math.floor(n / 9));

/** One entry for each feature that a kernel's code depends on. */
const OPTIONS: Record<string, AttentionOptions> = {
  plain: {},
  causal: { attnMask: causal() },
  window: { attnMask: slidingWindow(5, 3) },
  lengths: { attnMask: keyLengths([30, 70]) },
  documents: { attnMask: documents(ids) },
  prefix: { attnMask: prefixLm([3, 9]) },
  longformer: { attnMask: longformer(7, [0, 31]) },
  dilated: { attnMask: dilated(3) },
  blocks: { attnMask: blocks(40, 70) },
  composed: { attnMask: and(causal(), not(dilated(5))) },
  head: { attnMask: maskMod(({ h, k }) => k.ge(h.mul(2))) },
  alibi: { scoreMod: alibi(new Float32Array(Hq)) },
  softcap: { scoreMod: softcap(20) },
  relative: { scoreMod: relativeBias(zeros([8, Hq])) },
  "every function": {
    scoreMod: scoreMod(({ score, q, k }) =>
      score.abs().add(1).log().exp().sqrt().tanh().add(bias.at(k)).sub(q.sub(k).floorDiv(3).mod(8).min(5).max(1)),
    ),
  },
  "softcap, causal": { scoreMod: softcap(20), attnMask: causal() },
  "bool tensor": { attnMask: zeros([40, 70], "bool") },
  "float tensor": { attnMask: zeros([40, 70]) },
  "two tensors, causal": { attnMask: [zeros([40, 70], "bool"), zeros([Hq, 1, 70]), causal()] },
  dropout: { dropoutP: 0.1, seed: 0 },
  "dropout, window": { dropoutP: 0.1, seed: 0, attnMask: slidingWindow(9, 0) },
}; // biome-ignore format: a row a feature

const LEVELS: readonly SimdLevel[] = hasRelaxed() ? ["wide", "relaxed", "strict"] : ["strict"];

/** The specs of a case: the forward (or decode) kernel, and the weights and pack kernels made from it. */
function kinds(spec: Spec): Spec[] {
  if (spec.kind === "decode") return [spec];
  const pack: Spec = {
    ...spec,
    kind: "pack",
    mask: undefined,
    score: undefined,
    tensors: [],
    dropout: false,
    inBounds: new Set(),
  };
  return [spec, { ...spec, kind: "weights" }, pack];
}

function* table_(): Generator<[string, Spec]> {
  for (const level of LEVELS) {
    for (const [name, options] of Object.entries(OPTIONS)) {
      const tensors = name.includes("tensor");
      for (const Nq of tensors ? [40] : [40, 1, 3])
        for (const spec of kinds(specFor({ Nq }, options, level))) yield [`${level} ${name} ${Nq}`, spec];
      for (const spec of backwardFor({}, options, level)) yield [`${level} ${name} backward`, spec];
    }
    for (const [dk, dv] of [[0, 0], [0, 5], [1, 1], [3, 2], [64, 64], [65, 1], [1, 65], [80, 96], [128, 128], [161, 7], [256, 300]])
      for (const Nq of [40, 2])
        for (const spec of [
          ...kinds(specFor({ Nq, dk, dv }, { attnMask: causal() }, level)),
          ...backwardFor({ Nq, dk, dv }, { attnMask: causal() }, level),
        ])
          yield [`${level} ${dk}/${dv}`, spec];
    for (const dtype of ["float16", "bfloat16"] as const)
      for (const dk of [5, 64])
        for (const Nq of [40, 2])
          for (const spec of [
            ...kinds(specFor({ Nq, dk, dtype }, { attnMask: causal() }, level)),
            ...backwardFor({ Nq, dk, dtype }, { attnMask: causal() }, level),
          ])
            yield [`${level} ${dtype} ${dk}`, spec];
    for (const spec of kinds(specFor({}, {}, level, false))) yield [`${level} unshared`, spec];
  }
} // biome-ignore format: one list of sizes

describe("kernels", () => {
  const codes = new Map<string, Uint8Array>();
  const specs = [...table_()];

  it(`of ${specs.length} specs are valid modules`, () => {
    for (const [name, spec] of specs) {
      const key = keyOf(spec);
      if (codes.has(key)) continue;
      const code = codeOf(spec);
      if (!WebAssembly.validate(code)) expect.fail(`${name}: ${key} is not valid`);
      codes.set(key, code);
    }
    expect(codes.size).toBeGreaterThan(100);
  });

  it("with equal keys are equal code", () => {
    for (const [name, spec] of specs) {
      const first = codes.get(keyOf(spec));
      if (first && Buffer.compare(first, codeOf(spec)) !== 0)
        expect.fail(`${name}: two codes for one key ${keyOf(spec)}`);
    }
  });

  it("fit the memory that threads have for code", () => {
    for (const [key, code] of codes) expect(code.length, key).toBeLessThan(256 * 1024);
  });
});

describe("a key", () => {
  it("differs for every feature, level, size, dtype and kind", () => {
    const keys = Object.entries(OPTIONS).map(
      ([name, options]) => [name, keyOf(specFor({}, options))] as const,
    );
    for (const level of LEVELS) keys.push([level, keyOf(specFor({ dk: 24 }, {}, level))]);
    for (const dtype of ["float16", "bfloat16"] as const) keys.push([dtype, keyOf(specFor({ dtype }, {}))]);
    for (const sizes of [{ dk: 17 }, { dv: 17 }, { Nq: 1 }, { Nq: 2 }])
      keys.push([JSON.stringify(sizes), keyOf(specFor(sizes, {}))]);
    keys.push(["unshared", keyOf(specFor({}, {}, "relaxed", false))]);
    for (const spec of kinds(specFor({}, {})).slice(1)) keys.push([spec.kind, keyOf(spec)]);
    for (const [name, options] of Object.entries(OPTIONS)) {
      const [all, none] = backwardFor({}, options).map(keyOf);
      keys.push([`backward ${name}`, all]);
      if (none !== all) keys.push([`backward ${name}, no gradients of what was added`, none]);
    }
    const names = new Map<string, string>();
    for (const [name, key] of keys) {
      if (names.has(key)) expect.fail(`${name} and ${names.get(key)} share the key ${key}`);
      names.set(key, name);
    }
  });

  it("is the same for windows, lengths, slopes and tables with other numbers", () => {
    const same = (a: AttentionOptions, b: AttentionOptions) =>
      expect(keyOf(specFor({}, a))).toBe(keyOf(specFor({}, b)));
    same({ attnMask: slidingWindow(5, 3) }, { attnMask: slidingWindow(12, 30) });
    same({ attnMask: keyLengths([1, 2]) }, { attnMask: keyLengths([70, 9]) });
    same({ attnMask: documents(ids) }, { attnMask: documents(ids.map((x) => 99 - x)) });
    same({ scoreMod: softcap(20) }, { scoreMod: softcap(30) });
    same({ scale: 2 }, { scale: -1 });
  });

  it("distinguishes different reads of the pool: one table twice or two tables; one constant twice or two", () => {
    const [a, b] = [table(ids), table(ids)];
    const differ = (x: AttentionOptions["attnMask"], y: AttentionOptions["attnMask"]) =>
      expect(keyOf(specFor({}, { attnMask: x }))).not.toBe(keyOf(specFor({}, { attnMask: y })));
    differ(
      maskMod(({ q, k }) => a.at(q).eq(a.at(k))),
      maskMod(({ q, k }) => a.at(q).eq(b.at(k))),
    );
    differ(
      maskMod(({ q, k }) => {
        const x = q.sub(k).mul(3);
        return x.lt(20).or(x.eq(30));
      }),
      maskMod(({ q, k }) => q.sub(k).mul(3).lt(20).or(q.sub(k).mul(5).eq(100))),
    );
    const short = table(ids.slice(0, 20));
    differ(
      maskMod(({ k }) => a.at(k).lt(short.at(k))),
      maskMod(({ k }) => short.at(k).lt(a.at(k))),
    );
    differ(
      maskMod(({ q }) => q.mod(3).eq(0)),
      maskMod(({ q }) => q.mod(5).eq(0)),
    );
  });

  it("is readable", () => {
    const read = [
      specFor({ dk: 64 }, {}, "strict"),
      specFor(
        { dk: 64, dv: 32, dtype: "bfloat16" },
        { attnMask: and(causal(), documents(ids)), dropoutP: 0.5, seed: 0 },
        "strict",
      ),
      specFor(
        { Nq: 1 },
        { scoreMod: softcap(3), attnMask: [zeros([70], "bool"), zeros([70])] },
        "strict",
        false,
      ),
      backwardFor({ dk: 64, dv: 32 }, { attnMask: causal(), dropoutP: 0.5, seed: 0 }, "strict")[0],
      backwardFor(
        { dtype: "bfloat16" },
        {
          scoreMod: [alibi(new Float32Array(Hq)), relativeBias(zeros([8, Hq])), softcap(9)],
          attnMask: zeros([1, 70]),
        },
        "strict",
      )[0],
    ].map((spec) =>
      keyOf(spec)
        .replace(/ \d+x\d+(u\d+)? /, " RxV ")
        .replace(/q\d+ k\d+/, "qM kN"),
    );
    expect(read).toMatchInlineSnapshot(`
      [
        "forward mul+add RxV d64 qM kN f32",
        "forward mul+add RxV d64/32 qM kN bf16 mask and(le(k,q),eq(table1i![q],table1i@0![k])) dropout",
        "decode mul+add RxV d16 qM kN f32 score mul(tanh(div(score,cf)),cf) tensors bool+float unshared",
        "backward mul+add RxV d64/32 qM kN f32 mask le(k,q) dropout",
        "backward mul+add RxV d16 qM kN bf16/bf16/bf16/f32/bf16 score mul(tanh(div(add(sub(score,mul(table1f![h],float(abs(sub(q,k))))),table2f![table1i![add(sub(k,q),ci)],h]),cf)),cf) bias gradients columns+rows 1+cells 0 tensors float",
      ]
    `);
  });
});

it("the cache returns the same kernel for the same key, and evicts the least recently used after 256", () => {
  const cache = new KernelCache(new EngineMemory(false));
  const any = specFor({ dk: 4 }, {}, "strict", false);
  const get = (dk: number) => cache.get({ ...any, dk, kind: "pack" }, 64, codeOf);
  const first = get(1);
  expect(get(1)).toBe(first);
  for (let dk = 2; dk <= 256; dk++) get(dk);
  expect(get(1)).toBe(first);
  get(257);
  expect(cache.keys).toHaveLength(256);
  expect(get(1)).toBe(first);
  expect(cache.keys.some((key) => key.includes(" d2/"))).toBe(false);
});

describe("the inner loop of the score product, as text:", async () => {
  const wabt = await wabtOf();
  /** The first innermost loop, with its locals named in order. */
  const innermost = (spec: Spec): string => {
    const module = wabt.readWasm(codeOf(spec), { threads: true, relaxed_simd: true });
    const lines = module
      .toText({})
      .split("\n")
      .map((line) => line.trim());
    module.destroy();
    const opens = (line: string) => /^(loop|block|if|end)/.test(line);
    const start = lines.findIndex(
      (line, n) =>
        line.startsWith("loop") &&
        lines
          .slice(n + 1)
          .find(opens)
          ?.startsWith("end"),
    );
    const end = lines.findIndex((line, n) => n > start && line.startsWith("end"));
    const names = new Map<string, string>();
    return lines
      .slice(start, end)
      .map((line) =>
        line.replace(/local\.(get|set|tee) (\d+)/, (_, op, n) => {
          if (!names.has(n)) names.set(n, `$${String.fromCharCode(97 + names.size)}`);
          return `local.${op} ${names.get(n)}`;
        }),
      )
      .join("\n");
  };
  const small = (level: SimdLevel): Spec => ({
    ...specFor({ dk: 4 }, {}, level),
    tile: { rows: 1, vectors: 1, unroll: 1 },
  });

  it.skipIf(!hasRelaxed())("one row, four columns, fused", () => {
    expect(innermost(small("relaxed"))).toMatchInlineSnapshot(`
      "loop  ;; label = @4
      local.get $a
      v128.load
      local.set $b
      local.get $c
      v128.load32_splat
      local.set $d
      local.get $d
      local.get $b
      local.get $e
      f32x4.relaxed_madd
      local.set $e
      local.get $c
      i32.const 4
      i32.add
      local.set $c
      local.get $a
      i32.const 16
      i32.add
      local.set $a
      local.get $c
      local.get $f
      i32.ne
      br_if 0 (;@4;)"
    `);
  });
  it("multiply and add instead of a fused operation, at the strict level", () => {
    const fused = innermost(small("relaxed"));
    const step = "local.get $e\nf32x4.relaxed_madd";
    expect(fused.split(step)).toHaveLength(2);
    expect(innermost(small("strict"))).toBe(fused.replace(step, "f32x4.mul\nlocal.get $e\nf32x4.add"));
  });
});
