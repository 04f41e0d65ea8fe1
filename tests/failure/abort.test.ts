/**
 * `signal` at random moments of calls of every level: the promise is rejected within 100 ms, memory is as before, and the next call is
 * right. Time is that of the processor, and the median of all slices: a program on the other half of a core makes single ones longer.
 */
import {
  attentionBackward,
  attentionBackwardAsync,
  scaledDotProductAttention,
  scaledDotProductAttentionAsync,
} from "heed";
import { afterAll, expect, it } from "vitest";
import type { SliceOptions } from "../../src/core/slices.ts";
import { getEngine } from "../../src/wasm/engine/engine.ts";
import { has, LEVELS, restore, use } from "../support/backends/levels.ts";
import { expectBits, normal } from "../support/cases/call.ts";
import { caseCount } from "../support/cases/count.ts";
import { random } from "../support/cases/random.ts";
import { seed } from "../support/cases/seed.ts";

/** Moments in all (`HEED_CASES` for more), and the limit in milliseconds. */
const MOMENTS = caseCount(24, 60);
const LIMIT = 100;

afterAll(restore);

/** Milliseconds of the processor that this thread has used. */
const used = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

const levels = LEVELS.filter(has);
it.each(levels)(`%s: at random moments (seed ${seed})`, async (level) => {
  use(level, 1);
  const draw = random(seed);
  // The reference is slower by two orders of magnitude.
  const [rows, width] = level === "reference" ? [300, 16] : [1400, 64];
  const [q, k, v, dOutput] = [1, 2, 3, 4].map((n) => normal(n, [2, 4, rows, width]));
  const options = { sinks: [1, 0, 2, 1] };
  const state = scaledDotProductAttention(q, k, v, options);
  const { dKey } = attentionBackward(dOutput, q, k, v, state, options);
  const calls = [
    (slices: SliceOptions) => scaledDotProductAttentionAsync(q, k, v, { ...options, ...slices }),
    (slices: SliceOptions) => attentionBackwardAsync(dOutput, q, k, v, state, { ...options, ...slices }),
  ];
  const memory = getEngine()?.memory.resetPeak();
  const shares: number[][] = [[], []];
  const times: { slice: number[]; end: number[] } = { slice: [], end: [] };
  for (const [n, call] of calls.entries()) await call({ onProgress: (share) => shares[n].push(share) });
  for (let n = 0; n < MOMENTS / levels.length; n++) {
    const [stop, moment] = [new AbortController(), draw.pick(shares[n % 2])];
    let aborted = Number.NaN;
    // A signal that comes during a slice is handled after it: no slice may take longer either. After it no other slice runs.
    let last = used();
    const onProgress = (share: number) => {
      expect(stop.signal.aborted, "a slice after the abort").toBe(false);
      times.slice.push(used() - last);
      last = used();
      if (share < moment) return;
      aborted = used();
      stop.abort();
    };
    await expect(calls[n % 2]({ signal: stop.signal, onProgress })).rejects.toThrow("aborted");
    times.end.push(used() - aborted);
    expect(getEngine()?.memory.resetPeak()).toBe(memory);
  }
  for (const [what, list] of Object.entries(times))
    expect(list.sort((a, b) => a - b)[list.length >> 1], `milliseconds: ${what}`).toBeLessThan(LIMIT);
  const again = scaledDotProductAttention(q, k, v, options);
  expectBits(again.output, state.output);
  expectBits(attentionBackward(dOutput, q, k, v, again, options).dKey, dKey);
});
