import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DRAWINGS, PAGES } from "../views/registry.ts";
import {
  AGGREGATES,
  ASK_ORDERS,
  ASKS,
  BY_PATTERN,
  CAUSES,
  DEFAULT,
  DOMAINS,
  FLOWS,
  FUSES,
  HIDES,
  indexSet,
  MEASURES,
  METRIC_NAMES,
  RAMPS,
  SORTS,
  STAGES,
  type State,
  TRANSFERS,
  togglePin,
} from "./state.ts";
import { decode, encode, isValueOf } from "./url.ts";

const index = fc.nat({ max: 1 << 20 });
const name = fc.string({ unit: "binary", maxLength: 8 });
const set = fc.array(fc.nat({ max: 4095 }), { maxLength: 20 }).map(indexSet);
const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
const camera = fc.option(
  fc.record({
    scale: fc.double({ min: 1e-6, max: 1e3, noNaN: true }),
    x: fc.double({ min: -1e6, max: 1e6, noNaN: true }),
    y: fc.double({ min: -1e6, max: 1e6, noNaN: true }),
  }),
  { nil: null },
);
const state: fc.Arbitrary<State> = fc.record({
  view: fc.constantFrom(...PAGES.map(({ name }) => name)),
  mode: fc.constantFrom(...DRAWINGS.map(({ name }) => name)),
  block: name,
  layer: index,
  head: index,
  text: index,
  query: index,
  key: index,
  pinned: fc.option(fc.tuple(index, index), { nil: null }),
  stage: fc.constantFrom(...STAGES),
  transfer: fc.constantFrom(...TRANSFERS),
  domain: fc.constantFrom(...DOMAINS),
  ramp: fc.constantFrom(...RAMPS),
  pool: fc.constantFrom("max" as const, "mean" as const),
  hide: fc.constantFrom(...HIDES),
  hidden: set,
  renormalize: fc.boolean(),
  pins: fc.array(fc.record({ block: name, layer: index, head: index }), { maxLength: 6 }),
  rows: set,
  columns: set,
  aggregate: fc.constantFrom(...AGGREGATES),
  querySegments: set,
  keySegments: set,
  sort: fc.constantFrom("", BY_PATTERN, ...METRIC_NAMES),
  descending: fc.boolean(),
  sortHow: fc.constantFrom(...SORTS),
  filters: fc.array(
    fc
      .record({ metric: fc.constantFrom(...METRIC_NAMES), low: finite, high: finite })
      .map((one) => (one.low <= one.high ? one : { ...one, low: one.high, high: one.low })),
    { maxLength: 3 },
  ),
  flipped: fc.boolean(),
  camera,
  modelCamera: camera,
  values: fc.boolean(),
  keep: fc.constantFrom("top" as const, "mass" as const),
  top: index,
  mass: fc.double({ min: 0, max: 1, noNaN: true }),
  arcs: fc.boolean(),
  together: fc.boolean(),
  direction: fc.constantFrom("from" as const, "to" as const),
  words: fc.boolean(),
  table: fc.boolean(),
  terms: fc.constantFrom("index" as const, "size" as const),
  other: fc.option(
    fc.record(
      { text: index, layer: index, head: index, block: fc.string() },
      { requiredKeys: ["text", "layer", "head"] },
    ),
    { nil: null },
  ),
  ask: fc.constantFrom(...ASKS),
  askBy: fc.constantFrom(...ASK_ORDERS),
  cause: fc.constantFrom(...CAUSES),
  measure: fc.constantFrom(...MEASURES),
  why: fc.boolean(),
  edits: fc.array(
    fc.oneof(
      fc.record({ what: fc.constant("scale" as const), value: finite }),
      fc.record({ what: fc.constant("query" as const), index: fc.nat({ max: 4095 }), value: finite }),
      fc.record({
        what: fc.constant("key" as const),
        token: fc.nat({ max: 4095 }),
        index: fc.nat({ max: 4095 }),
        value: finite,
      }),
    ),
    { maxLength: 5 },
  ),
  temperature: fc.double({ min: 0, max: 100, noNaN: true }),
  alpha: fc.double({ min: 0, max: 1, noNaN: true }),
  flowBy: fc.constantFrom(...FLOWS),
  fuse: fc.constantFrom(...FUSES),
  discard: fc.double({ min: 0, max: 0.99, noNaN: true }),
  fromLayer: fc.option(index, { nil: null }),
  ablated: fc.uniqueArray(
    fc.record({
      layer: index,
      head: index,
      replace: fc.constantFrom("zero" as const, "mean" as const),
      position: fc.option(index, { nil: null }),
    }),
    { maxLength: 5, selector: ({ layer, head }) => `${layer}.${head}` },
  ),
  predict: fc.option(index, { nil: null }),
});

describe("the address", () => {
  it("decodes to the state that was encoded, for every state", () => {
    fc.assert(
      fc.property(state, (one) => {
        expect(decode(encode(one))).toEqual(one);
      }),
      { numRuns: 400 },
    );
  });

  it("has each value of a state as a value of its part, and no other", () => {
    fc.assert(
      fc.property(state, (one) => {
        for (const [part, value] of Object.entries(one)) expect(isValueOf(part, value), part).toBe(true);
      }),
      { numRuns: 100 },
    );
    for (const part of Object.keys(DEFAULT))
      for (const value of [Number.NaN, -1, 1.5, () => 1, {}, [-1], [{}], ["a"], new Date(0)])
        if (!(value === 1.5 && part === "temperature"))
          expect(isValueOf(part, value), `${part} ${JSON.stringify(value)}`).toBe(false);
    expect(isValueOf("sort", "entropie")).toBe(false);
    expect(isValueOf("filters", [{ metric: "entropie", low: 0, high: 1 }])).toBe(false);
    expect(isValueOf("filters", [{ metric: "entropy", low: 1, high: 0 }])).toBe(false);
    for (const part of ["foo", "toString", "__proto__"]) expect(isValueOf(part, 1)).toBe(false);
  });

  it("survives the normalization of URLs by browsers", () => {
    fc.assert(
      fc.property(state, (one) => {
        expect(decode(new URL(encode(one), "http://localhost/").hash)).toEqual(one);
      }),
      { numRuns: 100 },
    );
  });

  it("is short and readable", () => {
    expect(encode(DEFAULT)).toBe("#v1/head");
    const one: State = {
      ...DEFAULT,
      block: "enc",
      layer: 4,
      head: 7,
      query: 9,
      key: 2,
      hide: "special",
      pins: [
        { block: "enc", layer: 4, head: 7 },
        { block: "dec", layer: 0, head: 2 },
      ],
    };
    expect(encode(one)).toBe("#v1/head?b=enc&l=4&h=7&i=9&j=2&hide=sp&pin=4.7,dec:0.2");
  });

  it("distinguishes 0 from a missing value, and rejects other versions", () => {
    expect(decode("#v1/head?ma=0&te=0&at=0.0")).toEqual({
      ...DEFAULT,
      mass: 0,
      temperature: 0,
      pinned: [0, 0],
    });
    expect(decode("#v2/head")).toBeUndefined();
    expect(decode("")).toBeUndefined();
    expect(decode("#section-2")).toBeUndefined();
  });

  it("ignores parts that no state would write", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const read = decode(`#v1/row?${text}`);
        expect(read === undefined || decode(encode(read))).toEqual(read ?? true);
      }),
    );
    expect(decode("#v1/row?l=-1&h=x&i=1e3&hk=9,3-4,,x&z=1,2&pin=1.1,9&b=%")).toEqual({
      ...DEFAULT,
      view: "row",
      hidden: [3, 4, 9],
      pins: [{ block: "", layer: 1, head: 1 }],
    });
  });
});

describe("pins", () => {
  it("are at most six, and pinning a pinned head unpins it", () => {
    const heads = Array.from({ length: 8 }, (_, head) => ({ block: "", layer: 0, head }));
    const full = heads.reduce(togglePin, [] as ReturnType<typeof togglePin>);
    expect(full.map(({ head }) => head)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(togglePin(full, heads[2]).map(({ head }) => head)).toEqual([0, 1, 3, 4, 5]);
  });
});
