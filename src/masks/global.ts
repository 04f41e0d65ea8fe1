/** Global tokens, which attend to all keys and which all queries attend to, and Longformer's pattern. Beltagy et al. 2020, section 3. */
import { checkCount, isList, refuseGot } from "../core/errors.ts";
import { boolConst, type Mask, maskMod } from "./expression/expr.ts";
import { table } from "./expression/table.ts";
import { maskKind } from "./kind.ts";
import { slidingWindow } from "./window.ts";

/**
 * The query or the key is one of `indices` (positions).
 *
 * @example
 * or(slidingWindow(64, 64), globalTokens([0, 511]));
 */
export function globalTokens(indices: ArrayLike<number>): Mask {
  checkCount("globalTokens", arguments, 1);
  if (!isList(indices)) refuseGot("global-tokens", "globalTokens: expected a list of positions", indices);
  const list = Array.from(indices);
  for (const x of list)
    if (!(Number.isInteger(x) && x >= 0 && x < 2 ** 24))
      refuseGot("global-tokens", "globalTokens: expected positions, integers from 0", x);
  if (list.length === 0) return boolConst(false);
  // One flag for each position up to the last global one, then a 0 that every later position reads.
  const flags = new Int32Array(Math.max(...list) + 2);
  for (const x of list) flags[x] = 1;
  // A leading 0: positions before 0 (a negative offset) are not global.
  const globalTable = table(
    { data: Int32Array.from([0, ...flags]), shape: [flags.length + 1] },
    { name: "globalTokens", highest: flags.length - 2 },
  );
  return maskMod(({ q, k }) =>
    globalTable
      .at(q.add(1))
      .ne(0)
      .or(globalTable.at(k.add(1)).ne(0)),
  );
}

/**
 * Longformer's pattern: `window` keys on each side, and the `globals`.
 *
 * @example
 * scaledDotProductAttention(q, k, v, { attnMask: longformer(1, [0]) });
 */
export function longformer(window: number, globals: ArrayLike<number> = []): Mask {
  checkCount("longformer", arguments, 2);
  return slidingWindow(window, window).or(globalTokens(globals));
}

/** Global tokens by name: `{ "globalTokens": [0, 7] }`. */
globalTokens.kind = maskKind({
  name: "globalTokens",
  parameters: [{ name: "indices", type: "integers", least: 0 }],
  about: "positions that attend to all keys and that all queries attend to",
  build: ({ indices }) => globalTokens(indices as number[]),
  describe: ({ indices }) => `${(indices as number[]).length} global tokens`,
});
