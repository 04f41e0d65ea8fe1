import fc from "fast-check";
import { expect, test } from "vitest";
import { PAGES } from "../../pages.ts";
import { decodeState, encodeState } from "./address.ts";

const initial = { times: 1, name: "a b", on: false, list: [1, 2, 3] as readonly number[] };

test("a state comes back from its address", () => {
  const state = fc.record({
    times: fc.double({ noNaN: true, noDefaultInfinity: true }).map((x) => (x === 0 ? 0 : x)),
    name: fc.string({ maxLength: 40 }),
    on: fc.boolean(),
    list: fc.array(fc.integer(), { maxLength: 20 }),
  });
  fc.assert(
    fc.property(state, (one) => {
      expect(decodeState(encodeState(one, initial), initial)).toEqual(one);
    }),
  );
});

test("the first state has no address of its own, and an address that says nothing is the first state", () => {
  expect(encodeState(initial, initial)).toBe("");
  expect(decodeState("", initial)).toEqual(initial);
  expect(decodeState("#something", initial)).toEqual(initial);
});

test("what an address says wrongly is left out", () => {
  expect(decodeState("#v1?times=x&on=2&list=1,y&other=3&__proto__=1", initial)).toEqual(initial);
});

test("every page accepts any address", async () => {
  for (const entry of PAGES) {
    const page = await entry.load();
    const names = Object.keys(page.initial);
    const search = fc.dictionary(
      fc.constantFrom(...names),
      fc.oneof(fc.string(), fc.double().map(String), fc.array(fc.double(), { maxLength: 120 }).map(String)),
    );
    fc.assert(
      fc.property(search, (asked) => {
        const state = page.check(decodeState(`#v1?${new URLSearchParams(asked)}`, page.initial));
        // Brought into range once, it stays.
        expect(page.check(state)).toEqual(state);
        expect(page.check(decodeState(encodeState(state, page.initial), page.initial))).toEqual(state);
      }),
      { numRuns: 60 },
    );
  }
}, 60_000);
