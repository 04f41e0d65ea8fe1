import { expect, test } from "vitest";
import { viewOf } from "../../tests/golden/lab/listings.ts";
import { textOf } from "../../ui/text-of.ts";
import { compute, type ScorersNumbers } from "./compute.ts";
import { page } from "./page.ts";

test("the caption has the bytes that the first task asks for, on a phone as well", async () => {
  const view = await viewOf("scorers", { n: 512, power: 8, show: "cost" });
  expect(textOf(page.caption({ ...view, wide: false } as never))).toContain(
    "At n = 512 additive’s hidden layers would take 256 MiB, if kept.",
  );
});

test("entropies of the prediction are not drawn before the guess, and are after it", async () => {
  const shown = async (...changes: object[]) => {
    const view = await viewOf("scorers", ...changes);
    return {
      dots: page.picture({ ...view, wide: true } as never).match(/<circle/g)!.length,
      rows: page.table(view as never).rows.filter(([name]) => /^entropy/.test(String(name))).length,
    };
  };
  const { state, predict } = page.steps[1];
  const before = await shown(state as object);
  // Three scorers, two lengths more; the table has a row for each length.
  expect(before.rows).toBe(2);
  expect(await shown(state as object, predict!.show as object)).toEqual({ dots: before.dots + 6, rows: 4 });
});

test("the bound of an additive score grows with d, so the text says that larger numbers cannot change it", async () => {
  const bound = async (power: number) =>
    ((await viewOf("scorers", { power })).numbers as ScorersNumbers).all[2].bound;
  expect(await bound(10)).toBeGreaterThan(3 * (await bound(6)));
  const { text, state } = page.steps[2];
  expect(textOf(text((await viewOf("scorers", state as object)) as never))).toContain(
    "Larger numbers in queries and keys cannot change that bound.",
  );
});

test("a phone has the means of 64 rows", async () => {
  const view = await viewOf("scorers", {});
  const narrow = page.picture({ ...view, wide: false } as never);
  for (const mean of ["89", "36", "28"]) expect(narrow).toMatch(new RegExp(`mean of 64: ${mean}`));
});

test("over 64 rows dot is more saturated at each longer length, for every seed, though one row need not be", async () => {
  for (const seed of [1, 2, 3]) {
    const means: number[] = [];
    for (const power of [4, 6, 8, 10]) {
      const { numbers } = await viewOf("scorers", { power, seed });
      means.push((numbers as ScorersNumbers).all[0].largest);
    }
    expect(means, `seed ${seed}`).toEqual(means.toSorted((a, b) => a - b));
  }
});

test("another throw draws additive's parameters, too, and the lines of earlier throws stay in the picture", async () => {
  const [first, second] = [compute({ ...page.initial, seed: 41 }), compute({ ...page.initial, seed: 42 })];
  for (const s of [0, 1, 2]) {
    expect(second.all[s].entropies).not.toEqual(first.all[s].entropies);
    expect(second.all[s].earlier).toContainEqual(first.all[s].entropies);
  }
});

test("what the page says of the three holds at every seed: dot falls, scaled and additive at 16 do not saturate", () => {
  for (const seed of [1, 2, 3, 50, 9999]) {
    const [dot, scaled, additive] = compute({ ...page.initial, seed }).all.map(({ entropies }) => entropies);
    expect(dot[3], `${seed}`).toBeLessThan(0.2);
    expect(Math.min(...scaled), `${seed}`).toBeGreaterThan(3.5);
    expect(additive[0], `${seed}`).toBeGreaterThan(3.5);
  }
});

test("the last text says what dot keeps at d = 16 in numbers: it is not fine there", async () => {
  const view = await viewOf("scorers", {});
  const { all } = view.numbers as { all: readonly { entropies: readonly number[] }[] };
  const [, dot, scaled] = /at d = 16 it keeps ([\d.]+) of 4\.16 nats, where scaled keeps (\d\.\d+)/.exec(
    textOf(page.steps[4].text(view as never)),
  )!;
  expect(Number(dot)).toBeCloseTo(all[0].entropies[0], 2);
  expect(Number(scaled)).toBeCloseTo(all[1].entropies[0], 2);
  expect(Number(dot)).toBeLessThan(0.5 * Number(scaled));
});

test("the bars are shares, in the color of shares, and none is called 0 that is not", async () => {
  const picture = page.picture((await viewOf("scorers")) as never);
  expect(picture).not.toMatch(/>0<\/text>[^<]*<text[^>]*class="mid s11 second"|class="f[qvk]"/);
  expect(picture).not.toMatch(/class="mid s11 second">0</);
});

test("additive has 2.5 times the operations of scaled, and a guess of that is answered by the clock's number", async () => {
  const { state, predict, text } = page.steps[3];
  const view = await viewOf("scorers", state as object);
  expect(textOf(text(view as never))).toContain("additive has 2.5 times the operations of scaled");
  expect(textOf(predict!.result(view as never))).toBe("The page measures it.");
  const [dot, scaled, additive] = (view.numbers as ScorersNumbers).all;
  const timed = { all: [dot, { ...scaled, ms: 0.5 }, { ...additive, ms: 150, tanh: 130 }] };
  const result = textOf(predict!.result({ ...view, numbers: timed } as never));
  expect(result).toContain("<b>300 times</b> as long: 150 ms");
  expect(result).toContain("As many tanh and nothing else take 130 ms");
});

test("additive's scores do not grow with d because w begins like 1 ÷ √d: the bound of a tanh alone grows as dot's scores do", () => {
  const at = (power: number) => compute({ ...page.initial, power }).all;
  const [short, long] = [at(4), at(10)];
  // From d = 16 to 1024 the sum of |w| grows by about √64.
  expect(long[2].bound / short[2].bound).toBeGreaterThan(6);
  expect(Math.max(...long[2].scores.map(Math.abs))).toBeLessThan(0.1 * long[2].bound);
  expect(Math.max(...long[0].scores.map(Math.abs))).toBeGreaterThan(20);
});

test("each picture has one subject: shares at first, entropies with their definition, costs with the race", async () => {
  const shown = await Promise.all(page.steps.map(({ state }) => viewOf("scorers", state as object)));
  const pictures = shown.map((view) => page.picture(view as never));
  for (const [at, picture] of pictures.entries()) {
    expect(picture.includes("largest share, mean of 64 rows: 89"), `stop ${at + 1}`).toBe(at === 0);
    expect(picture.includes("entropy of 64 shares"), `stop ${at + 1}`).toBe(at === 1);
    expect(picture.includes("parameters"), `stop ${at + 1}`).toBe(at >= 3);
  }
  expect(textOf(page.caption(shown[0] as never))).not.toContain("nats");
});
