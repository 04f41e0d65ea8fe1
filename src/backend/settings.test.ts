/** Settings: valid and rejected values. */
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { OptionError } from "../core/errors.ts";
import { configure, settings, warnOfDeprecated, warnOnce } from "./settings.ts";

const before = configure();
afterAll(() => configure(before));
beforeEach(() => configure(before));

describe("configure", () => {
  it("changes the given settings only", () => {
    const { bytesPerThread } = settings();
    expect(configure({ simd: "strict", threads: 3 })).toMatchObject({
      simd: "strict",
      threads: 3,
      bytesPerThread,
    });
    expect(configure({ threads: 1 })).toMatchObject({ simd: "strict", threads: 1 });
    expect(configure({})).toEqual(settings());
  });
  it("rejects unknown names and values out of range without changing any setting", () => {
    const bad: [object, RegExp][] = [
      [
        { thread: 2 },
        /unknown setting "thread"; expected one of backend, simd, threads, bytesPerThread, onWarning/,
      ],
      [{ simd: "avx" }, /simd: expected "wide", "relaxed", "strict", got "avx"/],
      [
        { simd: "reference" },
        /"reference" is a backend, not a SIMD level; set configure\({ backend: "reference" }\)/,
      ],
      [{ backend: "gpu" }, /backend: expected "auto", "wasm", "reference", got "gpu"/],
      [{ threads: 0 }, /threads: expected an integer from 1 to 64, got 0/],
      [{ threads: 65 }, /got 65/],
      [{ threads: 1.5 }, /got 1.5/],
      [{ threads: 2, bytesPerThread: 1000 }, /at least 1 MiB, got 1000/],
      [{ threads: 2, onWarning: "loud" }, /onWarning must be a function, got "loud"/],
    ];
    const saved = { ...settings() };
    for (const [change, text] of bad) {
      expect(() => configure(change)).toThrow(OptionError);
      expect(() => configure(change)).toThrow(text);
    }
    expect(settings()).toEqual(saved);
  });
  it("warns once per cause", () => {
    const heard: string[] = [];
    configure({ onWarning: (message) => heard.push(message) });
    warnOnce("test cause", "first");
    warnOnce("test cause", "first");
    warnOnce("another test cause", "second");
    expect(heard).toEqual(["heed: first", "heed: second"]);
    for (const _ of [1, 2]) warnOfDeprecated("dot", "matmul");
    expect(heard.slice(2)).toEqual([
      "heed: dot is deprecated and goes with the next first number of heed; write matmul",
    ]);
  });
});

it("settings that are not an object are rejected", () => {
  for (const none of [null, "strict", [4]])
    expect(() => configure(none as never)).toThrow(/expected an object of settings/);
});
