/**
 * Cost: what a layer of twelve heads takes for n words, from heed's own plans (nothing is computed for those), and what one head
 * took here, measured. Sizes are those of a small model: 12 heads of 64 numbers, so 768 numbers a word.
 */
import { explain, explainMatmul, randn, scaledDotProductAttention } from "../../src/index.ts";
import { zerosOf } from "../frame/zeros.ts";
import { HEADS, LARGE, LAYERS, SMALL, WIDTH } from "./sizes.ts";

/** What a reader changes. */
export type Cost = {
  /** Exponent of the number of words: n = 2^power, 4 to 20. */
  readonly power: number;
  /** What the plot shows: "work" or "time"; a narrow picture can show "memory" instead. */
  readonly show: string;
  /** Whether the model writes one word at a time, with keys and values of all earlier words kept. */
  readonly one: boolean;
  /** 0: nothing measured; 1: up to 1,024 words; 2: 4,096 too. */
  readonly run: number;
  /** Milliseconds that the reader expects of 4,096 words; 0 for no guess yet. */
  readonly ghost: number;
};

/** A number of words, and what attention, the projections and one new word take there: multiplications and additions. */
export interface CostPoint {
  readonly n: number;
  readonly attention: number;
  readonly projections: number;
  readonly one: number;
}

/** What the picture shows. */
export interface CostNumbers {
  readonly now: CostPoint;
  /** The same for 16, 32, … 1,048,576 words. */
  readonly curve: readonly CostPoint[];
  /** Bytes of all weights if they are kept; of queries, keys, values and output; that heed uses beyond those. */
  readonly weights: number;
  readonly tensors: number;
  readonly workspace: number;
  /** The same for one new word after n words. */
  readonly newWord: { readonly weights: number; readonly workspace: number };
  /** Keys and values of n words in twelve layers, float16. */
  readonly cache: number;
  /** Where all weights fill 2 GiB, and where attention takes as much as the projections. */
  readonly full: number;
  readonly even: number;
  /** Words and milliseconds of one head, measured here. */
  readonly measured: readonly (readonly [n: number, ms: number])[];
}

const MODEL = HEADS * WIDTH;
const LIMIT = 2 ** 31;

const planOf = (queries: number, n: number) => {
  const keys = zerosOf([HEADS, n, WIDTH]);
  return explain(zerosOf([HEADS, queries, WIDTH]), keys, keys);
};

function pointAt(n: number): CostPoint {
  const projection = explainMatmul(zerosOf([n, MODEL]), zerosOf([MODEL, MODEL])).operations;
  return {
    n,
    attention: planOf(n, n).operations,
    projections: 4 * projection,
    one: planOf(1, n).operations,
  };
}

/** The smallest n from which on `reached` holds. */
function firstLength(reached: (n: number) => boolean): number {
  let [low, high] = [1, 2 ** 20];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (reached(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

let fixed: { readonly curve: readonly CostPoint[]; readonly full: number; readonly even: number } | undefined;

/** What does not depend on the state. */
function constants() {
  fixed ??= {
    curve: Array.from({ length: 17 }, (_, i) => pointAt(2 ** (i + 4))),
    full: firstLength((n) => planOf(n, n).weightsBytes! >= LIMIT),
    even: firstLength((n) => {
      const { attention, projections } = pointAt(n);
      return attention >= projections;
    }),
  };
  return fixed;
}

/**
 * Milliseconds of one head on n words: the best of three runs. A page's clock may count in steps of 0.1 ms, so a run is as many
 * calls as take at least 10 ms.
 */
function timeOf(n: number): number {
  const [query, key, value] = [1, 2, 3].map((seed) => randn([n, WIDTH], { seed }));
  const run = (calls: number) => {
    const start = performance.now();
    for (let i = 0; i < calls; i++) scaledDotProductAttention(query, key, value);
    return performance.now() - start;
  };
  // The first call compiles.
  run(1);
  let calls = 1;
  let best = run(calls);
  while (best < 10) {
    calls *= 2;
    best = run(calls);
  }
  for (let again = 0; again < 2; again++) best = Math.min(best, run(calls));
  return best / calls;
}

/** What was measured; forgotten when nothing is to be measured. */
let measured: (readonly [n: number, ms: number])[] = [];

/** The numbers of a state. Measuring reports each point. */
export async function compute(
  { power, run }: Cost,
  report?: (numbers: CostNumbers, progress: number) => void,
): Promise<CostNumbers> {
  const n = Math.round(2 ** power);
  const [plan, one] = [planOf(n, n), planOf(1, n)];
  const bytes = Float32Array.BYTES_PER_ELEMENT;
  const numbers = {
    ...constants(),
    now: pointAt(n),
    weights: plan.weightsBytes!,
    tensors: 4 * HEADS * n * WIDTH * bytes,
    workspace: plan.bytes,
    newWord: { weights: one.weightsBytes!, workspace: one.bytes },
    cache: LAYERS * 2 * HEADS * n * WIDTH * 2,
  };
  if (run === 0) measured = [];
  const wanted = run === 0 ? [] : run === 1 ? SMALL : [...SMALL, LARGE];
  for (const [i, size] of wanted.entries()) {
    if (measured.some(([done]) => done === size)) continue;
    measured.push([size, timeOf(size)]);
    report?.({ ...numbers, measured: [...measured] }, (i + 1) / wanted.length);
    // Lets the reply be sent before the next call.
    await new Promise((resolve) => setTimeout(resolve));
  }
  return { ...numbers, measured: measured.filter(([size]) => (wanted as readonly number[]).includes(size)) };
}
