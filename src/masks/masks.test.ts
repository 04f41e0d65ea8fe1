/** Every mask against its definition, cell by cell, and the input that its builder rejects. */
import { describe, expect, it } from "vitest";
import { tensor } from "../core/create/construct.ts";
import { DTypeError, type HeedError, OptionError, ShapeError } from "../core/errors.ts";
import { boolConst, textOf } from "./expression/expr.ts";
import { compile } from "./expression/js.ts";
import {
  and,
  blockSparse,
  causal,
  dilated,
  documents,
  globalTokens,
  keyLengths,
  longformer,
  type Mask,
  maskMod,
  not,
  or,
  prefixLm,
  queryLengths,
  scoreMod,
  slidingWindow,
  table,
} from "./index.ts";

type Rule = (at: { b: number; h: number; i: number; q: number; k: number }) => boolean;

/** The mask and the rule agree on every cell of two batch entries, two heads and several offsets. */
function same(mask: Mask, rule: Rule, offsets = [0, 3, 11]) {
  const value = compile(mask);
  for (const offset of offsets)
    for (let b = 0; b < 2; b++)
      for (let h = 0; h < 2; h++)
        for (let i = 0; i < 12; i++)
          for (let k = 0; k < 20; k++) {
            const cell = { b, h, i, q: i + offset, k };
            if (value({ ...cell, score: 0 }) !== (rule(cell) ? 1 : 0))
              expect.fail(`${JSON.stringify(cell)}: expected ${rule(cell)}`);
          }
}

function refuses(kind: typeof HeedError, code: string, text: RegExp, build: () => unknown) {
  try {
    build();
  } catch (error) {
    expect(error).toBeInstanceOf(kind);
    expect((error as HeedError).code).toBe(code);
    expect((error as HeedError).message).toMatch(text);
    return;
  }
  expect.fail(`nothing was refused; expected ${text}`);
}

describe("causal", () => {
  it("attends to keys up to the query's own position", () => same(causal(), ({ q, k }) => k <= q));
});

describe("slidingWindow", () => {
  it("counts keys on each side, the own position not counted", () => {
    same(slidingWindow(3, 0), ({ q, k }) => k <= q && q - k <= 3);
    same(slidingWindow(0, 2), ({ q, k }) => q <= k && k - q <= 2);
    same(slidingWindow(0, 0), ({ q, k }) => q === k);
  });
  it("has no limit where a side is −1", () => {
    same(slidingWindow(-1, 1), ({ q, k }) => k - q <= 1);
    same(slidingWindow(2, -1), ({ q, k }) => q - k <= 2);
    same(slidingWindow(-1, -1), () => true);
  });
  it("refuses fractions, −2 and missing sides", () => {
    refuses(OptionError, "window", /slidingWindow: left .* −1 for open, got 1.5/, () =>
      slidingWindow(1.5, 0),
    );
    refuses(OptionError, "window", /right .* got -2/, () => slidingWindow(1, -2));
    refuses(OptionError, "window", /right .* got undefined/, () => slidingWindow(1, undefined as never));
  });
});

describe("dilated", () => {
  it("attends to every n-th key from the query's own position, in both directions", () => {
    same(dilated(4), ({ q, k }) => Math.abs(q - k) % 4 === 0);
    same(dilated(1), () => true);
  });
  it("refuses 0 and fractions", () => {
    refuses(OptionError, "dilated", /n must be an integer ≥ 1, got 0/, () => dilated(0));
    refuses(OptionError, "dilated", /got 2.5/, () => dilated(2.5));
  });
});

describe("keyLengths, queryLengths, prefixLm", () => {
  it("take one number, or one for each batch entry", () => {
    same(keyLengths(7), ({ k }) => k < 7);
    same(keyLengths([0, 9]), ({ b, k }) => k < [0, 9][b]);
    same(keyLengths(tensor(BigInt64Array.of(3n, 20n), [2])), ({ b, k }) => k < [3, 20][b]);
    same(queryLengths(5), ({ i }) => i < 5);
    same(queryLengths(Int32Array.of(12, 1)), ({ b, i }) => i < [12, 1][b]);
    same(prefixLm(6), ({ q, k }) => k < 6 || k <= q);
    same(prefixLm([2, 0]), ({ b, q, k }) => k < [2, 0][b] || k <= q);
  });
  it("queryLengths counts rows, independent of the offset", () =>
    same(queryLengths(2), ({ i }) => i < 2, [100]));
  it("refuse fractions and lists of floats", () => {
    refuses(OptionError, "length", /keyLengths: expected an integer .* got 2.5/, () => keyLengths(2.5));
    refuses(OptionError, "length", /keyLengths: .* got -1/, () => keyLengths(-1));
    refuses(OptionError, "length", /prefixLm: .* got -3/, () => prefixLm([2, -3]));
    refuses(OptionError, "length", /queryLengths: .* got NaN/, () => queryLengths(Number.NaN));
    refuses(DTypeError, "dtype", /prefixLm: expected integers/, () => prefixLm([1, 2.5]));
    refuses(DTypeError, "dtype", /keyLengths: expected integers/, () => keyLengths(Float32Array.of(1, 2)));
    refuses(OptionError, "table", /keyLengths: expected numbers, got "3"/, () => keyLengths(["3"] as never));
    refuses(OptionError, "table", /does not fit a 32-bit integer/, () =>
      keyLengths(tensor(BigInt64Array.of(2n ** 40n), [1])),
    );
  });
});

describe("documents", () => {
  const ids = Array.from({ length: 31 }, (_, i) => Math.floor(i / 4));
  it("a query attends to keys with its id; ids are read by position", () => {
    same(documents(ids), ({ q, k }) => ids[q] === ids[k]);
    const rows = Int32Array.from([...ids, ...ids.map((x) => x % 3)]);
    same(documents(tensor(rows, [2, 31])), ({ b, q, k }) => rows[31 * b + q] === rows[31 * b + k]);
  });
  it("with separate key ids, query ids are read by row", () => {
    const keys = Array.from({ length: 20 }, (_, j) => j % 3);
    same(documents(ids.slice(0, 12), keys), ({ i, k }) => ids[i] === keys[k]);
  });
  it("refuses floats and ids of three axes", () => {
    refuses(DTypeError, "dtype", /documents: expected integers/, () => documents([0, 0.5]));
    refuses(OptionError, "documents", /ids \[N\] or \[B, N\], got 3 axes/, () =>
      documents(tensor(new Int32Array(8), [2, 2, 2])),
    );
    refuses(OptionError, "documents", /key ids.*got 3 axes/, () =>
      documents([1], tensor(new Int32Array(8), [2, 2, 2])),
    );
  });
});

describe("globalTokens and longformer", () => {
  it("a global position attends to all keys, and all queries attend to it", () => {
    same(globalTokens([0, 7]), ({ q, k }) => [0, 7].includes(q) || [0, 7].includes(k));
    same(globalTokens([]), () => false);
    same(globalTokens([5]), ({ q, k }) => q === 5 || k === 5, [-4]);
  });
  it("longformer is a symmetric window or a global token", () => {
    same(longformer(2, [9]), ({ q, k }) => Math.abs(q - k) <= 2 || q === 9 || k === 9);
    same(longformer(1), ({ q, k }) => Math.abs(q - k) <= 1);
  });
  it("reject invalid positions", () => {
    refuses(OptionError, "global-tokens", /got -1/, () => globalTokens([-1]));
    refuses(OptionError, "global-tokens", /got 0.5/, () => longformer(2, [0.5]));
  });
});

describe("blockSparse", () => {
  const blocks = [
    [1, 0, 0, 1, 0, 1],
    [0, 1, 1, 0, 0, 0],
    [1, 1, 0, 0, 1, 1],
    [0, 0, 0, 0, 0, 0],
    [1, 1, 1, 1, 1, 1],
    [0, 1, 0, 1, 0, 1],
  ];
  it("blocks of queries attend to blocks of keys, given as rows, booleans or a tensor", () => {
    const rule: Rule = ({ q, k }) => blocks[Math.floor(q / 4)][Math.floor(k / 4)] === 1;
    same(blockSparse(blocks, 4), rule);
    same(
      blockSparse(
        blocks.map((row) => row.map((x) => x === 1)),
        4,
      ),
      rule,
    );
    same(blockSparse(tensor(Uint8Array.from(blocks.flat()), [6, 6], "bool"), 4), rule);
  });
  it("may differ from head to head", () => {
    const flipped = blocks.map((row) => row.map((x) => 1 - x));
    same(
      blockSparse(tensor(Int32Array.from([blocks, flipped].flat(2)), [2, 6, 6]), 4),
      ({ h, q, k }) => [blocks, flipped][h][Math.floor(q / 4)][Math.floor(k / 4)] === 1,
    );
  });
  it("refuses ragged rows, ranks other than 2 and 3, and sizes below 1", () => {
    refuses(ShapeError, "ragged", /blockSparse: rows must have one length/, () =>
      blockSparse([[1], [1, 0]], 4),
    );
    refuses(ShapeError, "blocks", /got \[4\]/, () => blockSparse(tensor(new Uint8Array(4), [4], "uint8"), 4));
    refuses(OptionError, "block-size", /size must be an integer ≥ 1, got 0/, () => blockSparse(blocks, 0));
  });
});

describe("and, or, not", () => {
  it("combine any number of masks", () => {
    same(and(causal(), slidingWindow(4, 0), keyLengths(9)), ({ q, k }) => k <= q && q - k <= 4 && k < 9);
    same(or(dilated(5), keyLengths(2), causal()), ({ q, k }) => (q - k) % 5 === 0 || k < 2 || k <= q);
    same(not(causal()), ({ q, k }) => k > q);
    same(not(not(and(causal(), not(dilated(2))))), ({ q, k }) => k <= q && (q - k) % 2 !== 0);
  });
  it("without masks: and() is true everywhere, or() nowhere", () => {
    same(and(), () => true);
    same(or(), () => false);
    same(not(or()), () => true);
  });
  it("true and false are folded away", () => {
    expect(textOf(and(boolConst(true), causal()))).toBe(textOf(causal()));
    expect(textOf(or(causal(), boolConst(false)))).toBe(textOf(causal()));
    expect(textOf(and(causal(), boolConst(false)))).toBe("false");
    expect(textOf(or(causal(), boolConst(true)))).toBe("true");
  });
  it("reject values that are not masks, by name", () => {
    refuses(OptionError, "mask", /and: expected masks such as causal\(\), got true/, () =>
      and(true as never),
    );
    refuses(OptionError, "mask", /or: expected masks/, () => or(causal(), {} as never));
    refuses(OptionError, "mask", /not: expected masks .* got undefined/, () => not(undefined as never));
  });
});

describe("maskMod", () => {
  it("has the variables b, h, i, q and k", () => {
    same(
      maskMod(({ b, h, i, q, k }) =>
        b
          .eq(1)
          .or(h.gt(0))
          .and(i.ne(3))
          .and(q.min(10).ge(k.max(2))),
      ),
      ({ b, h, i, q, k }) => (b === 1 || h > 0) && i !== 3 && Math.min(q, 10) >= Math.max(k, 2),
    );
  });
  it("floors divisions and remainders towards −∞", () => {
    same(
      maskMod(({ q, k }) => q.sub(k).floorDiv(3).eq(-2).or(q.sub(k).mod(7).eq(5))),
      ({ q, k }) => Math.floor((q - k) / 3) === -2 || (((q - k) % 7) + 7) % 7 === 5,
    );
  });
  it("reads tables by expressions, and the nearest edge where an index is out of range", () => {
    const limits = [5, 2, 9, 0];
    same(
      maskMod(({ q, k }) => table(limits).at(q.sub(2)).ge(k)),
      ({ q, k }) => limits[Math.max(0, Math.min(3, q - 2))] >= k,
    );
    const grid = tensor(
      Float32Array.from({ length: 12 }, (_, n) => n / 2),
      [3, 4],
    );
    same(
      maskMod(({ i, k }) => table(grid).at(i.mod(3), k.mod(4)).lt(2.75)),
      ({ i, k }) => ((i % 3) * 4 + (k % 4)) / 2 < 2.75,
    );
  });
  it("keeps a copy of a float32 table in float32", () => {
    const list = tensor(Float32Array.of(1, 2));
    const copy = table(list).table.data;
    expect(copy).toEqual(Float32Array.of(1, 2));
    expect(copy).not.toBe(list.data);
  });
  it("mixes integers and floats", () => {
    same(
      maskMod(({ q, k }) => q.sub(k).toFloat().mul(0.5).abs().lt(2.25).and(k.div(3).sqrt().exp().lt(6))),
      ({ q, k }) => Math.abs((q - k) * 0.5) < 2.25 && Math.exp(Math.sqrt(k / 3)) < 6,
    );
  });
  it("rejects a mask that depends on the score, and a function that does not return a boolean expression", () => {
    refuses(OptionError, "mask", /may not depend on the score/, () => maskMod(scoreLeak));
    refuses(OptionError, "mask", /must return a statement such as k.le\(q\), got 5/, () =>
      maskMod(() => 5 as never),
    );
    refuses(OptionError, "mask", /must return a statement/, () => maskMod(({ k }) => k as never));
  });
  it("refuses NaN, fractions as divisors and floats as indices", () => {
    refuses(OptionError, "constant", /got NaN/, () => maskMod(({ q }) => q.lt(Number.NaN)));
    refuses(OptionError, "expression", /floorDiv: needs an integer expression/, () =>
      maskMod(({ q }) => q.floorDiv(1.5).lt(1)),
    );
    refuses(OptionError, "expression", /mod: needs an integer expression/, () =>
      maskMod(({ q }) => q.toFloat().mod(2).lt(1)),
    );
    refuses(OptionError, "table", /an index must be an integer expression/, () =>
      maskMod(({ q }) => table([1, 2]).at(q.toFloat()).lt(1)),
    );
    refuses(ShapeError, "table", /2 indices for a table of 1 axes/, () =>
      maskMod(({ q, k }) => table([1, 2]).at(q, k).lt(1)),
    );
  });
});

/** A boolean expression of the score, which the types do not allow. */
function scoreLeak(): Mask {
  let leaked: Mask | undefined;
  scoreMod(({ score }) => {
    leaked = score.lt(0);
    return leaked.select(score, score);
  });
  return leaked as Mask;
}

it("errors of custom masks say what is wrong", () => {
  expect(() => maskMod(undefined as never)).toThrow(
    /maskMod: expected a function of one object, such as .* got undefined/,
  );
  expect(() => scoreMod(2 as never)).toThrow(/scoreMod: expected a function of one object, such as .* got 2/);
  const onScore = ({ score }: { score: { lt(x: number): Mask } }) => score.lt(1);
  expect(() => maskMod(onScore as never)).toThrow(/a mask may not depend on the score; use scoreMod/);
});
