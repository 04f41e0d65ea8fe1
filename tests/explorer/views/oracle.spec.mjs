// @ts-check
/**
 * Compare, Flow and thumbnails show what an independent computation in float64 gives, in random states: every number in the lists, and
 * the color of every cell. Heads and states are drawn from a seed, which is in the message of a difference.
 */
import { expect } from "@playwright/test";
import { codeOf, signedCodeOf } from "../../../src/store/measures/transfer.ts";
import { colorTable } from "../../../src/view/color.ts";
import { set } from "../support/changes.mjs";
import { test } from "../support/fixtures.ts";
import { drawer, makeInput } from "../support/heads.mjs";
import { drawnCells, headOf, rolloutOf, shownOf } from "../support/oracle.mjs";
import { settled } from "../support/site.mjs";

/** @typedef {import("@playwright/test").Page} Page */

const WORDS = ["time", "flies", "like", "an", "arrow", "fruit", "banana", "river", "bank"];

/** Choices from a seed. @param {number} seed */
function chooser(seed) {
  const draw = drawer(seed);
  const below = (/** @type {number} */ n) => Math.floor(Math.abs(draw() * 1e5)) % n;
  return { below, of: (/** @type {readonly any[]} */ list) => list[below(list.length)] };
}

/** A text of words in a random order between special tokens, and what it is made from. @param {number} seed */
function textOf(seed) {
  const { below, of } = chooser(seed);
  const words = Array.from({ length: 3 + below(6) }, () => of(WORDS));
  return {
    ...{ layers: 1 + below(3), heads: of([2, 3, 4]), seed, tokens: ["[CLS]", ...words, "[SEP]"] },
    recipe: of([{}, { mask: "causal" }]),
  };
}

/** Shows texts in a state. @param {Page} page @param {readonly object[]} texts @param {object} state */
async function show(page, texts, state) {
  await page.evaluate(
    async ([list, patch]) => {
      const { view, makeInput: make } = /** @type {any} */ (globalThis);
      const loaded = new Promise((resolve) => view.addEventListener("load", resolve, { once: true }));
      view.sources = list.map((/** @type {any} */ heads, /** @type {number} */ n) => ({
        name: `text ${n}`,
        data: make(heads),
      }));
      await loaded;
      view.state = patch;
      await view.updateComplete;
    },
    /** @type {any} */ ([texts, state]),
  );
}

/** The colors of a matrix by the oracle; "" where no number is shown. @param {number[][]} values @param {boolean[][]} visible @param {(value: number) => number} code @param {any} ramp */
const colors = (values, visible, code, ramp) => {
  const table = colorTable(ramp);
  return values.map((row, i) => row.map((x, j) => (visible[i][j] ? table[code(x)].join() : "")));
};

/** Waits until the cells that show a number have their colors. @param {() => Promise<string[][]>} drawn @param {string[][]} want @param {string} what */
const matches = (drawn, want, what) =>
  expect
    .poll(
      async () => {
        const got = await drawn();
        return want.flatMap((row, i) =>
          row.flatMap((color, j) =>
            color === "" || got[i]?.[j] === color ? [] : [`${i},${j}: drawn ${got[i]?.[j]}, is ${color}`],
          ),
        );
      },
      { message: what, timeout: 60_000 },
    )
    .toEqual([]);

test("Compare: two heads and their difference, in 24 random states", ({ visit }) =>
  visit({}, async (page) => {
    test.setTimeout(300_000);
    for (let seed = 1; seed <= 8; seed++) {
      const { below, of } = chooser(1000 + seed);
      // Texts of the same tokens: which tokens are partners is the subject of compare.spec.mjs.
      const first = textOf(seed);
      const texts = [first, { ...textOf(seed + 50), tokens: first.tokens }];
      const [a, b] = texts.map((one) => makeInput(one));
      const state = () => ({
        ...{ view: "compare", table: false, layer: below(texts[0].layers), head: below(texts[0].heads) },
        ...{ stage: of(["weights", "weights", "contrast", "scores", "scaled"]) },
        ...{ transfer: of(["sqrt", "linear", "log"]), ramp: of(["plum", "cividis", "grey"]) },
        ...{ hide: of(["none", "special", "first"]), renormalize: of([true, false]) },
        ...{ query: below(first.tokens.length), key: below(first.tokens.length) },
      });
      await show(page, texts, { view: "compare" });
      for (let n = 0; n < 3; n++) {
        const text = of([0, 1]);
        const of2 = texts[text];
        const other = { text, layer: below(of2.layers), head: below(of2.heads) };
        const here = { ...state(), other };
        await set(page, here);
        await settled(page);
        const what = `seed ${seed}, state ${JSON.stringify(here)}`;
        const shown = [headOf(a, here.layer, here.head), headOf([a, b][text], other.layer, other.head)].map(
          (one) => shownOf(one, here, first.tokens),
        );
        const isSigned = here.stage !== "weights";
        const largest = (/** @type {number[][]} */ values) => Math.max(...values.flat().map(Math.abs));
        for (const [at, { values, visible }] of shown.entries()) {
          const domain = here.stage === "contrast" ? 1 : largest(values);
          const code = (/** @type {number} */ x) =>
            isSigned ? signedCodeOf(x, domain) : codeOf(x, here.transfer, 1);
          const want = colors(values, visible, code, isSigned ? "signed" : here.ramp);
          const N = first.tokens.length;
          await matches(() => drawnCells(page, ".comparison .matrix", at, N, N), want, `${what}, head ${at}`);
        }
        const [one, partner] = shown;
        const both = one.visible.map((row, i) => row.map((isShown, j) => isShown && partner.visible[i][j]));
        const difference = one.values.map((row, i) => row.map((x, j) => x - partner.values[i][j]));
        const domain = Math.max(
          ...difference.flatMap((row, i) => row.filter((_, j) => both[i][j])).map(Math.abs),
        );
        const N = first.tokens.length;
        await matches(
          () => drawnCells(page, ".comparison .matrix", 2, N, N),
          colors(difference, both, (x) => signedCodeOf(x, domain || 1), "signed"),
          `${what}, difference`,
        );
        const { query, key } = here;
        if (!both[query][key]) continue;
        const numbers = await page.evaluate(() =>
          [.../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".compared data")].map(
            (data) => Number(data.value),
          ),
        );
        const wanted = [one.values[query][key], partner.values[query][key], difference[query][key]];
        for (const [at, number] of wanted.entries()) expect(numbers[at], what).toBeCloseTo(number, 6);
      }
    }
  }));

test("Flow: the rollout, its list and its bars, in 18 random states", ({ visit }) =>
  visit({}, async (page) => {
    test.setTimeout(300_000);
    for (let seed = 1; seed <= 6; seed++) {
      const { below, of } = chooser(2000 + seed);
      const heads = textOf(seed + 100);
      const [input, N] = [makeInput(heads), heads.tokens.length];
      await show(page, [heads], { view: "flow" });
      for (let n = 0; n < 3; n++) {
        const state = {
          ...{ view: "flow", table: false, query: below(N), key: below(N), alpha: below(21) / 20 },
          ...{ fuse: of(["mean", "max", "min"]), discard: of([0, 0, 0.25, 0.6]) },
          ...{ fromLayer: of([null, below(heads.layers)]), transfer: of(["sqrt", "linear", "log"]) },
        };
        await set(page, state);
        await settled(page);
        const what = `seed ${seed}, state ${JSON.stringify(state)}`;
        const product = rolloutOf(input, state);
        const all = product.map((row) => row.map(() => true));
        const want = colors(product, all, (x) => codeOf(x, state.transfer, 1), "plum");
        await matches(() => drawnCells(page, ".flow-matrix .matrix", 0, N, N, 0.12), want, what);
        const listed = await page.evaluate(() =>
          [
            .../** @type {any} */ (globalThis).view.shadowRoot
              .querySelector(".side table.keys")
              .querySelectorAll("td.num data"),
          ].map((data) => Number(data.value)),
        );
        // Special tokens are listed last.
        const isSpecial = (/** @type {number} */ j) => Number(heads.tokens[j].startsWith("["));
        const row = product[state.query];
        const order = [...row.keys()].sort((x, y) => isSpecial(x) - isSpecial(y) || row[y] - row[x]);
        const shares = order.map((j) => row[j]);
        for (const [at, share] of listed.entries()) expect(share, what).toBeCloseTo(shares[at], 6);
        const bars = await barsOf(page, N);
        const largest = row.indexOf(Math.max(...row));
        for (const [at, height] of bars.entries()) {
          const expected = (bars[largest] * row[at]) / row[largest];
          if (expected > 3) expect(Math.abs(height - expected), `${what}, bar ${at}`).toBeLessThan(2);
        }
      }
    }
  }));

/** The heights in pixels of the bars of the input tokens. @param {Page} page @param {number} N @returns {Promise<number[]>} */
const barsOf = (page, N) =>
  page.evaluate((count) => {
    const stage = /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".flow-stage");
    const canvas = stage.querySelector("canvas");
    const [names] = [...stage.children].filter((one) => one !== canvas);
    const ratio = canvas.width / canvas.getBoundingClientRect().width;
    const number = stage.clientWidth < 420 ? 0 : 44;
    const left = Number.parseFloat(names.style.width) + number + 12;
    const [top, height] = [names.style.top, names.style.height].map(Number.parseFloat);
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const at = (/** @type {number} */ x, /** @type {number} */ y) => {
      const start = 4 * (Math.floor(y * ratio) * canvas.width + Math.floor(x * ratio));
      return data.slice(start, start + 4).join();
    };
    return Array.from({ length: count }, (_, n) => {
      const middle = top + ((n + 0.5) * height) / count;
      const color = at(left - 1, middle);
      let size = 0;
      for (let y = middle; at(left - 1, y) === color && y < middle + height / count / 2; y += 0.25)
        size += 0.25;
      return 2 * size;
    });
  }, N);

test("thumbnails: every cell of every head, in 12 random states", ({ visit }) =>
  visit({}, async (page) => {
    test.setTimeout(300_000);
    for (let seed = 1; seed <= 4; seed++) {
      const { of } = chooser(3000 + seed);
      const heads = textOf(seed + 200);
      const [input, N] = [makeInput(heads), heads.tokens.length];
      await show(page, [heads], { view: "model" });
      for (let n = 0; n < 3; n++) {
        const state = {
          ...{ view: "model", table: false, transfer: of(["sqrt", "linear", "log"]) },
          ...{ ramp: of(["plum", "cividis", "grey"]), pool: of(["max", "mean"]), layer: 0, head: 0 },
        };
        await set(page, state);
        await settled(page);
        const table = colorTable(/** @type {any} */ (state.ramp));
        for (let layer = 0; layer < heads.layers; layer++)
          for (let head = 0; head < heads.heads; head++) {
            const { weights, visible } = headOf(input, layer, head);
            // An overview stores 255·√w: the color is that of a weight within half a step.
            const codes = (/** @type {number} */ w) =>
              [-0.5, 0, 0.5].map((step) => {
                const root = Math.max(0, Math.min(255, 255 * Math.sqrt(w) + step)) / 255;
                return codeOf(root ** 2, state.transfer, 1);
              });
            await expect
              .poll(
                async () => {
                  const got = await thumbnail(page, layer, head, N);
                  return weights.flatMap((row, i) =>
                    row.flatMap((w, j) => {
                      if (!visible[i][j]) return [];
                      const [low, , high] = codes(w);
                      const range = table.slice(Math.min(low, high), Math.max(low, high) + 1);
                      return range.some((color) => color.join() === got[i]?.[j])
                        ? []
                        : [`${i},${j}: drawn ${got[i]?.[j]}, is ${w}`];
                    }),
                  );
                },
                { message: `seed ${seed}, L${layer} H${head}, ${JSON.stringify(state)}`, timeout: 60_000 },
              )
              .toEqual([]);
          }
      }
    }
  }));

/** The colors in the middle of the cells of a thumbnail. @param {Page} page @param {number} layer @param {number} head @param {number} N @returns {Promise<string[][]>} */
const thumbnail = (page, layer, head, N) =>
  page.evaluate(
    async ([l, h, count]) => {
      const { view } = /** @type {any} */ (globalThis);
      view.setCursor({ layer: l, head: h });
      await view.updateComplete;
      for (let n = 0; n < 3; n++) await new Promise((resolve) => requestAnimationFrame(resolve));
      const atlas = view.shadowRoot.querySelector(".atlas.large");
      const canvas = atlas.querySelector("canvas");
      const [area, box] = [atlas.querySelector("[role=gridcell][tabindex='0']"), canvas].map((part) =>
        part.getBoundingClientRect(),
      );
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const ratio = canvas.width / box.width;
      return Array.from({ length: count }, (_, i) =>
        Array.from({ length: count }, (_, j) => {
          const x = Math.floor((area.left - box.left + ((j + 0.5) * area.width) / count) * ratio);
          const y = Math.floor((area.top - box.top + ((i + 0.5) * area.height) / count) * ratio);
          return [...data.slice(4 * (y * canvas.width + x), 4 * (y * canvas.width + x) + 3)].join();
        }),
      );
    },
    /** @type {[number, number, number]} */ ([layer, head, N]),
  );
