/**
 * The cases that are measured: shapes, options, the variants compared in a case, and the goals of each. The measurement, its
 * check and the report use the same table. measure.ts measures a case; peers/ has the other packages.
 *
 * Work is counted as 4·B·H·Nq·Nk·d operations, including masked scores, so that causal attention shows what the mask saves.
 */
import type { AttentionOptions, SimdLevel } from "../../src/index.ts";
import {
  alibi,
  alibiSlopes,
  causal,
  documents,
  keyLengths,
  maskMod,
  scoreMod,
  slidingWindow,
  softcap,
} from "../../src/index.ts";

/** Sizes of a case: queries and keys have the same number of heads and the same head size. */
export interface CallSizes {
  readonly B: number;
  readonly H: number;
  readonly Nq: number;
  readonly Nk: number;
  readonly d: number;
}

/** One form of the call. The first variant of a case is its subject; it is compared with the others. */
export interface Variant {
  readonly name: string;
  /** Options of the call; sizes may be smaller than in the table when only the check runs. */
  readonly options?: (sizes: CallSizes) => AttentionOptions;
  /** Where keys and values are stored: arrays of the caller, or tensors in the engine's memory, as a cache. Default: arrays. */
  readonly cache?: "arrays" | "engine" | "engine bfloat16";
  /** Threads, instead of those of the run. */
  readonly threads?: number;
}

/** A goal: a bound of a figure at some level, number of threads and version of Node. */
export interface Goal {
  readonly figure: string;
  readonly atLeast?: number;
  readonly atMost?: number;
  /** Default: every level. */
  readonly level?: SimdLevel;
  /** Default 1. */
  readonly threads?: number;
  /** Versions of Node to which it applies: from, and before. */
  readonly node?: { readonly from?: number; readonly before?: number };
}

/** What is measured: the time of a call; the first calls of a new kernel; memory. */
export type MeasureKind = "time" | "first" | "memory";

/** A row of the table. */
export interface Case {
  readonly name: string;
  readonly kind: MeasureKind;
  readonly sizes: CallSizes;
  readonly variants: readonly [Variant, ...Variant[]];
  /** True where the other packages compute the same: full or causal, float32. */
  readonly peers: boolean;
  /** The bound of the speed: arithmetic, or reading keys and values. */
  readonly bound: "compute" | "read";
  /** The variant without a mask; the goal is its time times the share of visible tiles. */
  readonly tiles?: { readonly full: string };
  readonly goals: readonly Goal[];
}

/** Figures by name, as goals and reports call them. */
export const figure = {
  gflops: "GFLOP/s",
  ms: "ms",
  /** Of what the bounding loop reaches in the same turns. */
  ofCeiling: "share of the ceiling",
  /** The subject's time over that of another variant. */
  timeOver: (variant: string) => `time / ${variant}`,
  /** How many times faster the subject is than a peer, or than the fastest peer of a package. */
  speedOver: (peer: string) => `speed / ${peer}`,
  /** The subject's time over 1.15 × visible share × full + 0.2 ms. */
  allowed: "time / allowed by tiles",
  build: "ms to emit and compile",
  steady: "ms until steady",
  memory: "MiB a thread",
} as const;

/** The variant that two threads are compared with. */
export const ONE_THREAD = "one thread";

/** Operations counted of a call. */
export const flopsOf = ({ B, H, Nq, Nk, d }: CallSizes): number => 4 * B * H * Nq * Nk * d;

/** Bytes of keys and values that a call reads at least; `bytes` is the size of a number. */
export const cacheBytes = ({ B, H, Nk, d }: CallSizes, bytes = 4): number => 2 * B * H * Nk * d * bytes;

const square = (N: number, H = 12, d = 64, B = 1): CallSizes => ({ B, H, Nq: N, Nk: N, d });
const plain = (name = "full"): Variant => ({ name });
const MHA = "onnxruntime-node MultiHeadAttention";
/** Two threads relative to one. */
const scaling = (gain: number): Goal => ({
  figure: figure.timeOver(ONE_THREAD),
  atMost: 1 / gain,
  threads: 2,
});

/** A row: by default the time of a computation that no peer has. */
const row = (
  name: string,
  sizes: CallSizes,
  variants: Case["variants"],
  goals: readonly Goal[],
  more: Partial<Case> = {},
): Case => ({ name, kind: "time", sizes, variants, peers: false, bound: "compute", goals, ...more });

/** Full attention at head size d. */
function full(N: number, H = 12, d = 64): Case {
  const goals: Goal[] = [
    { figure: figure.ofCeiling, level: "relaxed", atLeast: 0.85 },
    { figure: figure.ofCeiling, level: "wide", atLeast: 0.8 },
    { figure: figure.speedOver(MHA), level: "wide", atLeast: 1 },
    { figure: figure.speedOver("onnxruntime-web"), level: "relaxed", atLeast: 2.4 },
  ];
  const variants: Case["variants"] = [plain()];
  return row(`full d${d} N${N}`, square(N, H, d), variants, [...(N >= 1024 ? goals : []), scaling(1.9)], {
    peers: true,
  });
}

function causalCase(N: number, share: number): Case {
  const variants: Case["variants"] = [{ name: "causal", options: () => ({ isCausal: true }) }, plain()];
  const goals = [{ figure: figure.timeOver("full"), atMost: share }, scaling(1.9)];
  return row(`causal d64 N${N}`, square(N), variants, goals, { peers: true });
}

/** Short calls: a second thread never makes one slower. */
function shortCall(N: number, H: number): Case {
  const goals: Goal[] = [{ figure: figure.speedOver("onnxruntime-node"), level: "wide", atLeast: 1 }];
  if (N === 128 && H === 12)
    goals.push(
      { figure: figure.ms, level: "wide", atMost: 0.62 },
      { figure: figure.ms, level: "wide", threads: 2, atMost: 0.4 },
    );
  return row(`short d64 N${N} H${H}`, square(N, H), [plain()], [...goals, scaling(1)], { peers: true });
}

function decode(Nk: number, goals: readonly Goal[], d = 64): Case {
  const variants: Case["variants"] = [
    { name: "cache in the engine's memory", cache: "engine" },
    { name: "bfloat16 cache", cache: "engine bfloat16" },
    { name: "plain arrays", cache: "arrays" },
  ];
  const sizes = { B: 1, H: 12, Nq: 1, Nk, d };
  return row(`decode d${d} Nk${Nk}`, sizes, variants, goals, { peers: true, bound: "read" });
}

function masked(name: string, sizes: CallSizes, options: (sizes: CallSizes) => AttentionOptions): Case {
  const goals = [{ figure: figure.allowed, atMost: 1 }];
  return row(name, sizes, [{ name: "masked", options }, plain()], goals, { tiles: { full: "full" } });
}

function scored(name: string, limit: number, options: (sizes: CallSizes) => AttentionOptions): Case {
  const goals = [{ figure: figure.timeOver("plain"), atMost: limit }];
  return row(name, square(1024), [{ name: "changed", options }, plain("plain")], goals);
}

/** Ids of documents of the same length. */
const documentIds = (N: number, length: number): Int32Array =>
  Int32Array.from({ length: N }, (_, i) => Math.floor(i / length));

/** Real keys by batch entry: 3/8, 5/8, 1/4, 3/4 of Nk, half of it on average. */
const halfLengths = ({ B, Nk }: CallSizes): number[] =>
  Array.from({ length: B }, (_, b) => Math.round(([3, 5, 2, 6][b % 4] * Nk) / 8));

/** The table. */
export const CASES: readonly Case[] = [
  full(512),
  full(1024),
  full(2048),
  full(4096),
  full(1024, 8, 128),
  causalCase(1024, 0.54),
  causalCase(4096, 0.515),
  ...[16, 32, 64, 128, 256].flatMap((N) => [4, 12, 32].map((H) => shortCall(N, H))),
  // The sizes that XNNPACK measures: 32 heads of 64, 256 (above) and 1,024 tokens.
  row("full d64 N1024 H32", square(1024, 32), [plain()], [scaling(1.9)], { peers: true }),
  decode(4096, [
    { figure: figure.ofCeiling, atLeast: 0.8 },
    { figure: figure.timeOver("plain arrays"), atMost: 1 },
    scaling(1.7),
  ]),
  decode(16384, [
    { figure: figure.ofCeiling, atLeast: 0.8 },
    { figure: figure.timeOver("bfloat16 cache"), atLeast: 1.6 },
    scaling(1.7),
  ]),
  decode(4096, [{ figure: figure.ofCeiling, atLeast: 0.8 }], 128),
  masked("window 256 N4096", square(4096), () => ({ attnMask: slidingWindow(256, 0) })),
  masked("documents of 512 N4096", square(4096), ({ Nk }) => ({
    attnMask: documents(documentIds(Nk, Math.max(1, Math.round(Nk / 8)))),
  })),
  masked("causal documents of 512 N4096", square(4096), ({ Nk }) => ({
    attnMask: [causal(), documents(documentIds(Nk, Math.max(1, Math.round(Nk / 8))))],
  })),
  masked("padding, half of B4 N1024", square(1024, 12, 64, 4), (sizes) => ({
    attnMask: keyLengths(halfLengths(sizes)),
  })),
  scored("score: ALiBi N1024", 1.07, ({ H }) => ({ scoreMod: alibi(alibiSlopes(H)) })),
  // As a mask, which skips tiles, and as a score mod, which skips none.
  scored("score: window as maskMod N1024", 1.07, () => ({
    attnMask: maskMod(({ q, k }) => q.sub(k).abs().le(256)),
  })),
  scored("score: window as scoreMod N1024", 1.07, () => ({
    scoreMod: scoreMod(({ score, q, k }) => q.sub(k).abs().le(256).select(score, -Infinity)),
  })),
  scored("score: softcap N1024", 1.2, () => ({ scoreMod: softcap(50) })),
  row(
    "first call of a new kind",
    square(128),
    [plain()],
    [
      { figure: figure.build, atMost: 5 },
      { figure: figure.steady, atMost: 20 },
    ],
    { kind: "first" },
  ),
  row(
    "memory N32768",
    square(32768, 1),
    [plain()],
    [
      { figure: figure.memory, atMost: 16 },
      { figure: figure.memory, threads: 2, atMost: 16 },
    ],
    { kind: "memory" },
  ),
];

/** Goals of a case that apply to a run. */
export function goalsOf(c: Case, level: SimdLevel, threads: number, node: number): Goal[] {
  return c.goals.filter(
    (goal) =>
      (goal.level ?? level) === level &&
      (goal.threads ?? 1) === threads &&
      node >= (goal.node?.from ?? 0) &&
      node < (goal.node?.before ?? Number.POSITIVE_INFINITY),
  );
}

/** Whether a figure meets its goal. */
export const reached = (goal: Goal, value: number): boolean =>
  value >= (goal.atLeast ?? Number.NEGATIVE_INFINITY) && value <= (goal.atMost ?? Number.POSITIVE_INFINITY);

/** A goal in words. */
export function goalText(goal: Goal): string {
  const bound = goal.atLeast !== undefined ? `≥ ${short(goal.atLeast)}` : `≤ ${short(goal.atMost as number)}`;
  return `${goal.figure} ${bound}`;
}

const short = (x: number): string => String(Number(x.toPrecision(3)));

/** Cases whose name matches one of the patterns: `*` matches any text. */
export function chosen(patterns: readonly string[]): Case[];
export function chosen<T extends { readonly name: string }>(
  patterns: readonly string[],
  cases: readonly T[],
): T[];
export function chosen(patterns: readonly string[], cases: readonly { readonly name: string }[] = CASES) {
  const tests = patterns.map((p) => new RegExp(`^${p.split("*").map(literal).join(".*")}$`, "i"));
  return cases.filter(({ name }) => tests.length === 0 || tests.some((test) => test.test(name)));
}

const literal = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
