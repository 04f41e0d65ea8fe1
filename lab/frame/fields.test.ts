import fc from "fast-check";
import { expect, test } from "vitest";
import { loadPage, PAGES } from "../pages.ts";
import {
  acceptState,
  decodeState,
  encodeState,
  initialOf,
  integer,
  numbers,
  oneOf,
  real,
  type StateFields,
  shortText,
  toggle,
} from "./fields.ts";

const fields: StateFields<{
  readonly times: number;
  readonly name: string;
  readonly on: boolean;
  readonly list: readonly number[];
  readonly kind: string;
}> = {
  times: real(1, -1e300, 1e300),
  name: shortText(40, "a b", "n"),
  on: toggle(),
  list: numbers([1, 2, 3], integer(0, -1e9, 1e9), () => true),
  kind: oneOf(["a", "b"]),
};
const initial = initialOf(fields);

test("a state comes back from its address", () => {
  const state = fc.record({
    times: fc
      .double({ noNaN: true, noDefaultInfinity: true, min: -1e300, max: 1e300 })
      .map((x) => (x === 0 ? 0 : x)),
    name: fc.string({ maxLength: 40 }),
    on: fc.boolean(),
    list: fc.array(fc.integer(), { maxLength: 20 }),
    kind: fc.constantFrom("a", "b"),
  });
  fc.assert(
    fc.property(state, (one) => {
      expect(decodeState(fields, encodeState(fields, one))).toEqual(one);
    }),
  );
});

test("the first state has no address of its own, and an address that says nothing is the first state", () => {
  expect(encodeState(fields, initial)).toBe("");
  expect(decodeState(fields, "")).toEqual(initial);
  expect(decodeState(fields, "#something")).toEqual(initial);
  expect(encodeState(fields, { ...initial, name: "c" })).toBe("#v1?n=c");
});

test("what an address says wrongly is left out, and what is out of range is brought into it", () => {
  expect(decodeState(fields, "#v1?times=x&on=2&list=1,y&kind=c&name=d&other=3&__proto__=1")).toEqual(initial);
  const state = acceptState<{ readonly times: number }>({ times: integer(1, 0, 9) }, { times: -0.2 });
  expect(Object.is(state.times, 0)).toBe(true);
});

test("every page accepts any address", async () => {
  for (const name of PAGES) {
    const page = await loadPage(name);
    const names = Object.entries(page.fields).map(([name, { address }]) => address ?? name);
    const search = fc.dictionary(
      fc.constantFrom(...names),
      fc.oneof(fc.string(), fc.double().map(String), fc.array(fc.double(), { maxLength: 120 }).map(String)),
    );
    fc.assert(
      fc.property(search, (texts) => {
        const state = page.check(decodeState(page.fields, `#v1?${new URLSearchParams(texts)}`));
        // Brought into range once, it stays.
        expect(page.check(state)).toEqual(state);
        expect(page.check(decodeState(page.fields, encodeState(page.fields, state)))).toEqual(state);
      }),
      { numRuns: 60 },
    );
  }
}, 60_000);
