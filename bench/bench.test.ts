/** The benches without timing: the table is well formed, and every case computes the formula. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { hasRelaxed } from "../src/backend/levels.ts";
import { explain } from "../src/index.ts";
import { isBuilt } from "../tests/support/built.ts";
import { Rig } from "./roofline.ts";
import { judge } from "./run.ts";
import { translate, translated } from "./support/built.ts";
import type { CallSizes, Case } from "./support/cases.ts";
import { CASES, chosen, flopsOf, goalsOf, goalText, reached } from "./support/cases.ts";
import { callOf, errorOf, inputsOf } from "./support/measure.ts";
import { quantile, ratios, takeTurns } from "./support/turns.ts";

/** The same case with at most two heads and 320 positions: windows and documents still cut tiles. */
function reduced({ B, H, Nq, Nk, d }: CallSizes): CallSizes {
  return { B: Math.min(B, 2), H: Math.min(H, 2), Nq: Math.min(Nq, 320), Nk: Math.min(Nk, 320), d };
}

describe("the table of cases", () => {
  it("has unique names, positive sizes and goals with one bound each", () => {
    expect(new Set(CASES.map(({ name }) => name)).size).toBe(CASES.length);
    for (const { name, sizes, variants, goals } of CASES) {
      for (const size of Object.values(sizes)) expect(Number.isInteger(size) && size > 0, name).toBe(true);
      expect(new Set(variants.map((v) => v.name)).size, name).toBe(variants.length);
      expect(goals.length, name).toBeGreaterThan(0);
      for (const goal of goals) {
        expect((goal.atLeast === undefined) !== (goal.atMost === undefined), `${name}: ${goal.figure}`).toBe(
          true,
        );
        expect(goalText(goal)).toContain(goal.figure);
      }
    }
  });

  it("compares the subject only with variants that exist", () => {
    for (const c of CASES) {
      const names = c.variants.map(({ name }) => name);
      if (c.tiles) expect(names, c.name).toContain(c.tiles.full);
      for (const { figure } of c.goals)
        if (figure.startsWith("time / ") && !figure.endsWith("one thread") && !figure.endsWith("tiles"))
          expect(names, c.name).toContain(figure.slice("time / ".length));
    }
  });

  it.each(CASES.filter((c) => c.kind === "time"))("$name computes the formula", (c: Case) => {
    const sizes = reduced(c.sizes);
    const inputs = inputsOf(sizes);
    for (const variant of c.variants) {
      const call = callOf(variant, sizes, inputs);
      expect(errorOf(call, call.run()), variant.name).toBeLessThanOrEqual(1);
    }
  });

  it("masks skip tiles, as their goals require", () => {
    for (const c of CASES.filter(({ tiles }) => tiles)) {
      const { query } = inputsOf({ ...c.sizes, H: 1, d: 8 });
      const options = c.variants[0].options?.(c.sizes) ?? {};
      const { tiles } = explain(query, query, query, options);
      expect(tiles?.skipped, c.name).toBeGreaterThan(0);
      const visible = (tiles?.full ?? 0) + (tiles?.partial ?? 0);
      expect(visible / (visible + (tiles?.skipped ?? 0)), c.name).toBeLessThan(0.7);
    }
  });

  it("a wrong result is detected", () => {
    const [c] = chosen(["full d64 N512"]);
    const sizes = reduced(c.sizes);
    const call = callOf(c.variants[0], sizes, inputsOf(sizes));
    const output = call.run();
    (output.data as Float32Array)[0] += 1e-3;
    expect(errorOf(call, output)).toBeGreaterThan(1);
  });

  it("cases are chosen by patterns", () => {
    expect(chosen([])).toHaveLength(CASES.length);
    expect(chosen(["decode*", "full d128*"]).map(({ name }) => name)).toEqual([
      "full d128 N1024",
      "decode d64 Nk4096",
      "decode d64 Nk16384",
      "decode d128 Nk4096",
    ]);
    expect(chosen(["nothing*"])).toEqual([]);
  });

  it("goals hold for their level, threads and Node", () => {
    const [c] = chosen(["full d64 N1024"]);
    const bounds = (...args: [Parameters<typeof goalsOf>[1], number, number]) =>
      goalsOf(c, ...args).map(({ figure, atLeast }) => `${figure} ${atLeast}`);
    expect(bounds("relaxed", 1, 24)).toEqual(["share of the ceiling 0.85", "speed / onnxruntime-web 2.4"]);
    expect(bounds("strict", 1, 24)).toEqual([]);
    expect(goalsOf(c, "strict", 2, 24)).toHaveLength(1);
    expect(reached({ figure: "ms", atMost: 2 }, 2)).toBe(true);
    expect(reached({ figure: "ms", atMost: 2 }, Number.NaN)).toBe(false);
    expect(flopsOf(c.sizes)).toBe(4 * 12 * 1024 * 1024 * 64);
  });
});

describe("taking turns", () => {
  it("every contestant is called in every round, in order", async () => {
    const rounds: string[] = [];
    let round = "";
    const one = (name: string) => ({ name, run: () => void (round.endsWith(name) || (round += name)) });
    const between = () => {
      rounds.push(round);
      round = "";
    };
    await takeTurns([one("a"), one("b"), one("c")], [1e-3, 1e-3, 1e-3], 0.001, 2, between);
    expect(rounds.length).toBeGreaterThanOrEqual(2);
    expect(new Set(rounds.slice(1))).toEqual(new Set(["abc"]));
  });

  it("a call longer than the available time is measured once, cold", async () => {
    let called = 0;
    const slow = { name: "slow", run: () => called++ };
    const taken = await takeTurns([{ name: "quick", run: () => {} }, slow], [1e-3, 9], 0.01, 2);
    expect(taken[1]).toEqual({ name: "slow", seconds: [9], once: true });
    expect(called).toBe(0);
    expect(ratios(taken[1], taken[0])).toHaveLength(taken[0].seconds.length);
  });

  it("waits for asynchronous contestants, and computes ratios turn by turn", async () => {
    let done = 0;
    const later = { name: "later", run: () => Promise.resolve().then(() => done++) };
    const taken = await takeTurns([later, { name: "now", run: () => {} }], [1e-5, 1e-5], 0.01, 2);
    expect(done).toBeGreaterThan(2);
    expect(ratios(taken[0], taken[1])).toHaveLength(taken[0].seconds.length);
  });

  it("quantiles ignore skipped turns", () => {
    expect(quantile([3, Number.NaN, 1, 2], 0.5)).toBe(2);
    expect(quantile([1, 2], 0.25)).toBe(1.25);
    expect(quantile([], 0.5)).toBeNaN();
  });
});

describe("the benches for the built package", () => {
  it("import dist/ instead of src/, and have no types left", () => {
    const code = translate(`import { type A, b } from "../src/core/b.ts";
const { c }: typeof import("./c.ts") = await import("./c.ts");
import { peers } from "./peers/index.mjs";
import { d } from "node:d";`);
    expect(code).toMatch(/import \{ +b \} from "file:\/\/.*\/dist\/core\/b\.js"/);
    expect(code).toMatch(/const \{ c \} += await import\("\.\/c\.mjs"\)/);
    expect(code).toMatch(/from "file:\/\/.*\/bench\/peers\/index\.mjs"/);
    expect(code).toContain('from "node:d"');
  });
});

describe("the benches that are written for the built package", () => {
  it.skipIf(!isBuilt)("import files that exist", () => {
    const folder = translated();
    const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
    expect(names).toContain("run.mjs");
    for (const name of names.filter((file) =>
      /^(?:run|first|memory|support.(?:child|measure|session))\.mjs$/.test(file),
    )) {
      const file = join(folder, name);
      for (const [, path] of readFileSync(file, "utf8").matchAll(/\bfrom\s*"((?:\.|file:)[^"]+)"/g))
        expect(existsSync(new URL(path, pathToFileURL(file))), `${name}: ${path}`).toBe(true);
    }
  });
});

describe("the roofline", () => {
  it("runs every loop the engine has, on one thread and on two", async () => {
    for (const threads of [1, 2]) {
      const rig = await new Rig(threads).ready();
      expect(rig.sample("mul+add")).toBeGreaterThan(0);
      expect(rig.sample("read", 2 ** 20)).toBeGreaterThan(0);
      expect(rig.has("fma")).toBe(hasRelaxed());
      expect(rig.has("fma wide")).toBe(false);
      expect(() => rig.sample("fma wide")).toThrow("fma wide");
      await rig.end();
    }
  });
});

describe("an outcome", () => {
  it("has its goals, reached, missed and not measured", () => {
    const at = (median: number) => ({ median, p25: median, p75: median, best: median });
    const outcome = judge(
      {
        case: "short d64 N128 H12",
        level: "wide",
        threads: 1,
        measured: [
          { name: "full", kind: "heed", ms: at(2), gflops: 25.2, turns: 9, once: false, error: 0.1 },
          {
            name: "loops by hand",
            kind: "portable",
            ms: at(40),
            gflops: 1.3,
            turns: 2,
            once: false,
            error: 0.2,
          },
        ],
        absent: [{ name: "tfjs wasm", why: "not installed" }],
        ceiling: { loop: "fma", unit: "GFLOP/s", best: 50 },
        ofCeiling: 0.5,
        figures: { ms: at(2), "GFLOP/s": at(25.2), "speed / loops by hand": at(20) },
        notes: ["a note"],
      },
      24,
    );
    expect(outcome.goals).toMatchObject([
      { text: "speed / onnxruntime-node ≥ 1" },
      { text: "ms ≤ 0.62", value: 2, reached: false },
    ]);
  });
});
