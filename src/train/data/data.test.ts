import { describe, expect, test } from "vitest";
import { IGNORE_INDEX } from "../loss.ts";
import { maskedBatch, nextTokenBatch, type Span, splitBlocks, Windows, windowsInOrder } from "./data.ts";
import { Generator, permutation } from "./random.ts";

const counting = (n: number) => Int32Array.from({ length: n }, (_, i) => i);
const sizeOf = (spans: readonly Span[]) => spans.reduce((sum, { start, end }) => sum + end - start, 0);

describe("Generator", () => {
  test("a seed gives one sequence, from any position; streams and seeds differ", () => {
    const draw = (seed: number, stream: number, position = 0) => {
      const generator = new Generator(seed, stream, position);
      return Array.from({ length: 5 }, () => generator.bits());
    };
    expect(draw(7, 1)).toEqual(draw(7, 1));
    expect(draw(7, 1, 2).slice(0, 3)).toEqual(draw(7, 1).slice(2));
    expect(new Set([draw(7, 1), draw(7, 2), draw(8, 1), draw(7 + 2 ** 40, 1)].flat()).size).toBe(20);
  });

  test.each([0, -3, 2.5, Number.NaN, 2 ** 32 + 1, "4" as never])("no integer is below %s: an error", (n) => {
    expect(() => new Generator(1).below(n)).toThrow(
      `Generator.below: n must be an integer from 1 to 4294967296, got `,
    );
  });

  test("numbers are spread evenly, across positions 65,535 and 65,536 too", () => {
    const generator = new Generator(1);
    const n = 200_000;
    let sum = 0;
    const dice = new Array<number>(6).fill(0);
    for (let i = 0; i < n; i++) {
      sum += generator.uniform();
      dice[generator.below(6)]++;
    }
    expect(Math.abs(sum / n - 0.5)).toBeLessThan(0.003);
    for (const count of dice) expect(Math.abs(count / n - 1 / 6)).toBeLessThan(0.004);
    expect(Array.from(permutation(100, generator)).sort((a, b) => a - b)).toEqual([...counting(100)]);
  });
});

describe("splitBlocks", () => {
  test.each([
    [1000, 0.1],
    [100_000, 0.1],
    [65, 0.2],
    [64, 0.5],
    [12_345, 0.05],
  ])("cuts %d tokens into parts that are disjoint and whole, about %d held out", (length, share) => {
    const { train, heldOut } = splitBlocks(length, { window: 32, share });
    const visits = new Uint8Array(length);
    for (const { start, end } of [...train, ...heldOut]) {
      expect(end - start).toBeGreaterThanOrEqual(32);
      for (let i = start; i < end; i++) visits[i]++;
    }
    expect(visits.every((count) => count === 1)).toBe(true);
    if (length > 1000) expect(Math.abs(sizeOf(heldOut) / length - share)).toBeLessThan(0.03);
    expect(heldOut.length).toBeGreaterThan(0);
  });

  test("a text that is too short is refused with its length", () => {
    expect(() => splitBlocks(63, { window: 32 })).toThrow(
      expect.objectContaining({ code: "text", fields: { tokens: 63, window: 32 } }),
    );
    expect(splitBlocks(63, { window: 32, share: 0 })).toEqual({
      train: [{ start: 0, end: 63 }],
      heldOut: [],
    });
    expect(() => splitBlocks(1000, { window: 32, share: 0.9 })).toThrow(
      expect.objectContaining({ code: "share" }),
    );
  });
});

describe("Windows", () => {
  const ids = counting(1000);
  const spans = [
    { start: 0, end: 500 },
    { start: 600, end: 1000 },
  ];

  test("an epoch reads each position at most once, inside the spans, in a new order", () => {
    const windows = new Windows(ids, spans, { window: 21, seed: 3, overlap: 1 });
    const orders = [0, 1].map((epoch) => {
      const visits = new Uint8Array(1000);
      const order: number[] = [];
      for (let n = 0; n < windows.perEpoch; n++) {
        const sequence = windows.sequence(epoch * windows.perEpoch + n);
        expect(sequence.length).toBe(21);
        order.push(sequence[0]);
        for (const id of sequence.subarray(0, 20)) visits[id]++;
        expect(sequence.every((id, i) => id === sequence[0] + i)).toBe(true);
      }
      expect(Math.max(...visits)).toBe(1);
      expect(visits.subarray(500, 600).every((count) => count === 0)).toBe(true);
      return order;
    });
    expect(windows.perEpoch).toBe(23 + 18);
    expect(orders[0]).not.toEqual([...orders[0]].sort((a, b) => a - b));
    expect(orders[0]).not.toEqual(orders[1]);
    // Each span has one grid an epoch, which moves between epochs.
    expect(new Set(orders[0].filter((start) => start < 500).map((start) => start % 20)).size).toBe(1);
    const starts = [0, 1, 2, 3, 4].map((epoch) =>
      Math.min(...Array.from({ length: 41 }, (_, n) => windows.sequence(41 * epoch + n)[0])),
    );
    expect(new Set(starts).size).toBeGreaterThan(1);
  });

  test("sequence n is a function of the seed and n, independent of earlier reads", () => {
    const options = { window: 16, seed: 9, repeats: 0.5 };
    const forward = new Windows(ids, spans, options);
    const first = Array.from({ length: 150 }, (_, n) => [...forward.sequence(n)]);
    const backward = new Windows(ids, spans, options);
    for (let n = 149; n >= 0; n--) expect([...backward.sequence(n)]).toEqual(first[n]);
  });

  test("the share of repeats is spans repeated several times", () => {
    const windows = new Windows(ids, spans, { window: 40, seed: 5, repeats: 0.3 });
    let repeated = 0;
    for (let n = 0; n < 1000; n++) {
      const sequence = windows.sequence(n);
      const period = sequence.findIndex((id, i) => i > 0 && id === sequence[0]);
      if (period < 0) continue;
      repeated++;
      expect(period).toBeGreaterThanOrEqual(8);
      expect(period).toBeLessThanOrEqual(20);
      for (let i = period; i < 40; i++) expect(sequence[i]).toBe(sequence[i - period]);
    }
    expect(Math.abs(repeated / 1000 - 0.3)).toBeLessThan(0.05);
  });

  test("a text of exactly one window has one, a shorter one is refused", () => {
    const one = new Windows(ids, [{ start: 5, end: 26 }], { window: 21, seed: 1 });
    expect(one.perEpoch).toBe(1);
    expect(one.sequence(7)[0]).toBe(5);
    expect(() => new Windows(ids, [{ start: 0, end: 20 }], { window: 21, seed: 1 })).toThrow(
      expect.objectContaining({ code: "text" }),
    );
  });

  test.each([
    [2, 2, "window must be an integer ≥ 3, got 2"],
    [0, 0, "window must be an integer ≥ 1, got 0"],
    [1.5, 0, "window must be an integer ≥ 1, got 1.5"],
    [4, -1, "overlap must be an integer ≥ 0, got -1"],
  ])("windows of %s tokens that share %s do not advance: an error", (window, overlap, message) => {
    const spans = [{ start: 0, end: 9 }];
    expect(() => windowsInOrder(counting(9), spans, window, overlap)).toThrow(`windowsInOrder: ${message}`);
    expect(() => new Windows(counting(9), spans, { window, overlap, seed: 1 })).toThrow(
      `Windows: ${message}`,
    );
  });

  test("windows in order cover a span once", () => {
    const list = windowsInOrder(ids, [{ start: 100, end: 142 }], 11, 1);
    expect(list.map((window) => window[0])).toEqual([100, 110, 120, 130]);
  });
});

describe("batches", () => {
  test("the target of a token is the next one", () => {
    const { inputs, targets, count } = nextTokenBatch([counting(5), Int32Array.of(9, 8, 7, 6, 5)]);
    expect(inputs.shape).toEqual([2, 4]);
    expect([...inputs.data]).toEqual([0, 1, 2, 3, 9, 8, 7, 6]);
    expect([...targets.data]).toEqual([1, 2, 3, 4, 8, 7, 6, 5]);
    expect(count).toBe(8);
  });

  test("masking chooses 15 %, of which 80 % are masked, 10 % another token, 10 % as they were", () => {
    const sequences = Array.from({ length: 200 }, (_, r) =>
      Int32Array.from({ length: 100 }, (_, i) => (i === 0 ? 1 : i === 99 ? 2 : 5 + ((i * 7 + r) % 95))),
    );
    const options = { mask: 3, vocabulary: 100, special: new Set([0, 1, 2, 3, 4]), seed: 11 };
    const { inputs, targets, count } = maskedBatch(sequences, 0, options);
    const fates = { masked: 0, other: 0, same: 0 };
    sequences.forEach((ids, row) =>
      ids.forEach((id, i) => {
        const [input, target] = [inputs.at(row, i), targets.at(row, i)];
        if (target === IGNORE_INDEX) return expect(input).toBe(id);
        expect(target).toBe(id);
        expect(options.special.has(id)).toBe(false);
        expect(input === 3 || !options.special.has(input)).toBe(true);
        fates[input === 3 ? "masked" : input === id ? "same" : "other"]++;
      }),
    );
    expect(fates.masked + fates.other + fates.same).toBe(count);
    expect(Math.abs(count / (200 * 98) - 0.15)).toBeLessThan(0.01);
    expect(Math.abs(fates.masked / count - 0.8)).toBeLessThan(0.03);
    expect(Math.abs(fates.other / count - 0.1)).toBeLessThan(0.02);
    const part = maskedBatch(sequences.slice(50, 60), 50, options);
    expect([...part.inputs.data]).toEqual([...inputs.data.subarray(5000, 6000)]);
  });

  test("every sequence has a target, even a sequence of one token", () => {
    const options = { mask: 3, vocabulary: 10, special: new Set([0, 3]), seed: 2 };
    for (let n = 0; n < 50; n++) expect(maskedBatch([Int32Array.of(0, 7, 0)], n, options).count).toBe(1);
  });
});
