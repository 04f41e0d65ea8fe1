/** Sliding windows, contiguous or dilated. Beltagy et al. 2020 (Longformer), sections 3.1 and 3.2. */
import { checkCount, refuseGot } from "../core/errors.ts";
import { boolConst, type Mask, maskMod } from "./expression/expr.ts";
import { maskKind } from "./kind.ts";

/**
 * Keys at most `left` before and `right` after the query, the query's own position not counted; −1 means no limit.
 *
 * @example
 * slidingWindow(256, 0);  // the query's own position and 256 keys before it
 * slidingWindow(-1, 2);   // all keys before, two after
 */
export function slidingWindow(left: number, right: number): Mask {
  checkCount("slidingWindow", arguments, 2);
  for (const [name, n] of [
    ["left", left],
    ["right", right],
  ] as const)
    if (!(Number.isInteger(n) && n >= -1 && n < 2 ** 31))
      refuseGot("window", `slidingWindow: ${name} must be an integer ≥ 0, or −1 for open`, n);
  return maskMod(({ q, k }) =>
    (left < 0 ? boolConst(true) : q.sub(k).le(left)).and(right < 0 ? boolConst(true) : k.sub(q).le(right)),
  );
}

/**
 * Every `n`-th key before and after the query, counted from its own position. Combine it with a window to limit the distance.
 *
 * @example
 * scaledDotProductAttention(q, k, v, { attnMask: and(causal(), dilated(2)) });
 */
export function dilated(n: number): Mask {
  checkCount("dilated", arguments, 1);
  if (!(Number.isInteger(n) && n >= 1 && n < 2 ** 31))
    refuseGot("dilated", "dilated: n must be an integer ≥ 1", n);
  return n === 1 ? boolConst(true) : maskMod(({ q, k }) => q.sub(k).mod(n).eq(0));
}

/** The window by name: `{ "slidingWindow": { "left": 128, "right": 0 } }`. */
slidingWindow.kind = maskKind({
  name: "slidingWindow",
  parameters: [
    { name: "left", type: "integer", least: -1 },
    { name: "right", type: "integer", least: -1 },
  ],
  about: "keys at most LEFT before and RIGHT after the query; -1 means no limit",
  build: ({ left, right }) => slidingWindow(left as number, right as number),
  describe: ({ left, right }) => {
    const count = (n: unknown) => ((n as number) < 0 ? "all" : n);
    return `window of ${count(left)} before and ${count(right)} after`;
  },
});

/** Every n-th key by name: `{ "dilated": 3 }`. */
dilated.kind = maskKind({
  name: "dilated",
  parameters: [{ name: "n", type: "integer", least: 1 }],
  about: "every N-th key counted from the query",
  build: ({ n }) => dilated(n as number),
  describe: ({ n }) => (n === 1 ? "every key" : `one key in ${n}`),
});
