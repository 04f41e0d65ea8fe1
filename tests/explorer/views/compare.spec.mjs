// @ts-check
/** Compare: which head it opens with, texts and models side by side, the linked cursor, the address, and every cell's color. */
import { expect } from "@playwright/test";
import { storeFrom } from "heed/view";
import { signedCodeOf } from "../../../src/store/measures/transfer.ts";
import { colorTable } from "../../../src/view/color.ts";
import { test } from "../support/fixtures.ts";
import { makeInput } from "../support/heads.mjs";
import { settled } from "../support/site.mjs";

/** @typedef {import("@playwright/test").Page} Page */

const SENTENCES = [
  "the cat sat on the mat",
  "time flies like an arrow",
  "they walked along the river bank",
  "fruit flies like a banana",
  "they walked to the savings bank",
];

/** Files of one text by models with different tokenizers, and a file of weights. */
const MODELS = [
  {
    name: "small.safetensors",
    heads: {
      layers: 3,
      heads: 4,
      seed: 5,
      tokens: ["[CLS]", "Time", "flies", "like", "an", "arr", "##ow", "[SEP]"],
    },
  },
  {
    name: "other.safetensors",
    heads: {
      layers: 2,
      heads: 2,
      seed: 9,
      tokens: ["<s>", "time", "Ġflies", "Ġlike", "Ġan", "Ġarrow", "</s>"],
    },
  },
  {
    name: "weights.json",
    heads: {
      layers: 1,
      heads: 2,
      seed: 11,
      asWeights: true,
      tokens: ["<s>", "time", "Ġflies", "Ġlike", "Ġan", "Ġarrow", "</s>"],
    },
  },
];

/** The tokens that both models have, by their positions. @type {readonly (readonly [number, number])[]} */
const PAIRS = [
  [0, 0],
  [1, 1],
  [2, 2],
  [3, 3],
  [4, 4],
  [6, 5],
  [7, 6],
];

/** @param {Page} page @param {readonly { name: string, heads: object }[]} sources @param {object} state */
async function open(page, sources, state) {
  await page.evaluate(
    async ([list, patch]) => {
      const { view, makeInput } = /** @type {any} */ (globalThis);
      const loaded = new Promise((resolve) => view.addEventListener("load", resolve, { once: true }));
      view.sources = list.map((/** @type {any} */ { name, heads }) => ({ name, data: makeInput(heads) }));
      await loaded;
      view.state = patch;
      await view.updateComplete;
    },
    /** @type {any} */ ([sources, state]),
  );
  await paired(page);
}

/** Waits until both heads and their difference are drawn. @param {Page} page */
async function paired(page) {
  await page.waitForFunction(
    () =>
      /** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".comparison .matrix:not(.waiting)")
        .length === 3,
  );
  await settled(page);
}

/** The values of the selects of A (0) or B (1). @param {Page} page @param {0 | 1} which @returns {Promise<string[]>} */
const chosen = (page, which) =>
  page.evaluate(
    (n) =>
      [
        .../** @type {any} */ (globalThis).view.shadowRoot
          .querySelectorAll(".chooser")
          [n].querySelectorAll("select"),
      ].map((select) => select.value),
    which,
  );

test("it opens with the same head on the most similar text, or else with the next head", async ({
  visit,
}) => {
  await visit({}, async (page) => {
    const sources = SENTENCES.map((name, n) => ({
      name,
      heads: { seed: n, heads: 3, tokens: ["[CLS]", ...name.split(" "), "[SEP]"] },
    }));
    await open(page, sources, { view: "compare", layer: 1, head: 2 });
    // No other sentence shares its words: the next head of the same text.
    expect(await chosen(page, 1)).toEqual(["0", "1", "0"]);
    for (const [text, partner] of [
      [1, 3],
      [3, 1],
      [2, 4],
      [4, 2],
    ]) {
      await page.evaluate((n) => {
        /** @type {any} */ (globalThis).view.state = { text: n };
      }, text);
      await expect.poll(() => chosen(page, 1)).toEqual([String(partner), "1", "2"]);
      await page.waitForFunction((n) => new RegExp(`[?&]n=${n}(&|$)`).test(location.hash), text);
    }
    // The address restores the same two texts.
    const { hash } = new URL(page.url());
    expect(hash).toMatch(/^#v1\/compare\?n=4&/);
    await page.evaluate(() => {
      /** @type {any} */ (globalThis).view.state = { text: 0, layer: 0, view: "head" };
    });
    // The step is written after its frame. Until then, the address is the one that is set below, and setting it changes nothing.
    await page.waitForFunction((from) => location.hash !== from, hash);
    await page.evaluate((to) => {
      location.hash = to;
    }, hash);
    await expect.poll(() => chosen(page, 0)).toEqual(["4", "1", "2"]);
    await expect.poll(() => chosen(page, 1)).toEqual(["2", "1", "2"]);
  });
});

test("the second text is that of the list that is shown, also if the same place of an earlier list arrives later", async ({
  visit,
}) => {
  await visit({}, async (page) => {
    /** The requests of a file, which are answered once it is in `open`. @type {Map<string, (() => void)[]>} */
    const waiting = new Map();
    const open = new Set();
    const isWaiting = (/** @type {string} */ name) => waiting.get(name)?.length ?? 0;
    const answer = (/** @type {string} */ name) => {
      open.add(name);
      for (const go of waiting.get(name) ?? []) go();
    };
    await page.route("**/held-*.json", async (route) => {
      const name = /** @type {string} */ (/held-(\w+)/.exec(route.request().url())?.[1]);
      if (!open.has(name))
        await new Promise((resolve) =>
          waiting.set(name, [...(waiting.get(name) ?? []), () => resolve(undefined)]),
        );
      const attention = [
        [
          [
            [1, 0],
            [0.5, 0.5],
          ],
        ],
      ];
      await route.fulfill({ json: { attention, tokens: [name, "end"] } });
    });
    const show = (/** @type {string} */ name) =>
      page.evaluate((second) => {
        const { view, makeInput } = /** @type {any} */ (globalThis);
        view.sources = [
          { name: "first", data: makeInput({ Nq: 2, Nk: 2 }) },
          { name: second, src: `held-${second}.json` },
        ];
        view.state = { view: "compare", other: { text: 1, layer: 0, head: 0 } };
      }, name);
    await show("earlier");
    await expect.poll(() => isWaiting("earlier")).toBeGreaterThan(0);
    await show("later");
    await expect.poll(() => isWaiting("later")).toBeGreaterThan(0);
    answer("earlier");
    await page.waitForTimeout(300);
    answer("later");
    const labels = page.locator("attention-view .comparison > section:nth-of-type(2) .labels.rows");
    await expect(labels).toContainText("later");
    await expect(labels).not.toContainText("earlier");
  });
});

test("two models: their own layers and heads, tokens aligned as words, one cursor, and the address", async ({
  visit,
}) => {
  await visit({}, async (page) => {
    await open(page, MODELS, { view: "compare", layer: 2, head: 3, query: 5, key: 2 });
    // The second model has no layer 2 and no head 3: its last ones are shown, also in the selects.
    await expect.poll(() => chosen(page, 1)).toEqual(["1", "1", "1"]);
    const labels = await page.evaluate(() => {
      const [, , third] = /** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(
        ".comparison .matrix",
      );
      return [...third.querySelectorAll(".labels span")].map((one) => one.textContent);
    });
    for (const pair of ["[CLS]|<s>", "Time|time", "flies", "[SEP]|</s>"])
      expect(labels.join(" ")).toContain(pair);
    for (const other of [null, { text: 1, layer: 0, head: 0 }]) {
      await page.evaluate((to) => {
        /** @type {any} */ (globalThis).view.state = { other: to };
      }, other);
      await settled(page);
      await difference(page, other ?? { layer: 1, head: 1 });
    }
    await page.waitForFunction(() => /[?&]c=1\.0\.0(&|$)/.test(location.hash));

    // A file of weights has no scores, so weights are compared.
    await page.evaluate(() => {
      /** @type {any} */ (globalThis).view.state = { stage: "scores" };
    });
    await settled(page);
    await page.evaluate(() => {
      /** @type {any} */ (globalThis).view.state = { other: { text: 2, layer: 0, head: 1 } };
    });
    await expect
      .poll(() => page.evaluate(() => /** @type {any} */ (globalThis).view.state.stage))
      .toBe("weights");
    await settled(page);
    await difference(page, { layer: 0, head: 1 }, 2);
  });
});

/**
 * Every cell of the third picture has the color of A less B over the tokens that both have, and the cursor of A marks the same
 * tokens in B.
 * @param {Page} page @param {{ layer: number, head: number }} other @param {number} [text]
 */
async function difference(page, { layer, head }, text = 1) {
  const [a, b] = [storeFrom(makeInput(MODELS[0].heads)), storeFrom(makeInput(MODELS[text].heads))];
  const [one, otherRef] = [
    { block: 0, layer: 2, head: 3 },
    { block: 0, layer, head },
  ];
  await Promise.all([a.load(one), b.load(otherRef)]);
  const value = (/** @type {number} */ i, /** @type {number} */ j) =>
    a.row(one, PAIRS[i][0], "weights")[PAIRS[j][0]] - b.row(otherRef, PAIRS[i][1], "weights")[PAIRS[j][1]];
  const n = PAIRS.length;
  const values = Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => value(i, j)));
  const maximum = Math.max(...values.flat().map(Math.abs));
  const table = colorTable("signed");
  const want = values.map((row) => row.map((x) => table[signedCodeOf(x, maximum)].join()));
  await expect.poll(() => drawn(page, n), { timeout: 60_000 }).toEqual(want);
  // The cursor is on ‹flies› in A: position 2 of both texts.
  for (const [i, [first, second]] of PAIRS.entries()) {
    await page.evaluate((query) => {
      /** @type {any} */ (globalThis).view.setCursor({ query, key: 2 });
    }, first);
    await settled(page);
    const shown = await page.evaluate(() =>
      [.../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".compared data")].map((data) =>
        Number(data.value),
      ),
    );
    const numbers = [a.row(one, first, "weights")[2], b.row(otherRef, second, "weights")[2], values[i][2]];
    expect(shown).toHaveLength(3);
    for (const [n, number] of numbers.entries()) expect(shown[n]).toBeCloseTo(number, 12);
    const cells = await page.evaluate(() =>
      [.../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".comparison .matrix")].map(
        (matrix) =>
          matrix.querySelector("[role=gridcell][tabindex='0']").parentElement.getAttribute("aria-rowindex"),
      ),
    );
    expect(cells.map(Number)).toEqual([first + 2, second + 2, i + 2]);
  }
}

/** The colors in the middle of the cells of the third picture. @param {Page} page @param {number} n @returns {Promise<string[][]>} */
const drawn = (page, n) =>
  page.evaluate((count) => {
    const [, , third] = /** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(
      ".comparison .matrix",
    );
    const canvas = third.querySelector("canvas.cells");
    const [area, box] = [third.querySelector(".area"), canvas].map((one) => one.getBoundingClientRect());
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const ratio = canvas.width / box.width;
    return Array.from({ length: count }, (_, i) =>
      Array.from({ length: count }, (_, j) => {
        const x = Math.floor((area.left - box.left + ((j + 0.5) * area.width) / count) * ratio);
        const y = Math.floor((area.top - box.top + ((i + 0.5) * area.height) / count) * ratio);
        return [...data.slice(4 * (y * canvas.width + x), 4 * (y * canvas.width + x) + 3)].join();
      }),
    );
  }, n);

test("the cells of the three pictures have one size and start at one height, whatever the words beside them", async ({
  visit,
}) => {
  const texts = [
    { name: "they walked along", heads: { tokens: ["they", "walked", "along", "it"] } },
    { name: "they walked to", heads: { tokens: ["they", "walked", "to", "extraordinarily"], seed: 3 } },
  ];
  await visit({}, async (page) => {
    await open(page, texts, { view: "compare" });
    const areas = await page.evaluate(() =>
      [.../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".comparison .area")].map(
        (area) => {
          const { top, width, height } = area.getBoundingClientRect();
          return [top, width, height].map(Math.round);
        },
      ),
    );
    expect(areas).toHaveLength(3);
    expect(areas[1]).toEqual(areas[0]);
    expect(areas[2]).toEqual(areas[0]);
  });
});

test("on a phone, the table and the choices of both heads have the width of the screen", async ({
  visit,
}) => {
  await visit({ width: 375, height: 812 }, async (page) => {
    await open(page, MODELS.slice(0, 2), { view: "compare" });
    await page.evaluate(() => {
      /** @type {any} */ (globalThis).view.state = { table: true };
    });
    await settled(page);
    const widths = await page.evaluate(() =>
      [".comparison section", ".compare-table", ".compared"].map((wanted) =>
        Math.round(
          /** @type {any} */ (globalThis).view.shadowRoot.querySelector(wanted).getBoundingClientRect().width,
        ),
      ),
    );
    for (const width of widths) expect(width).toBeGreaterThan(340);
  });
});

test("the blocks of one file are compared: each head has a list of them, and the address names the second", async ({
  visit,
}) => {
  const heads = { blocks: ["enc", "dec"], layers: 2, heads: 2, Nq: 5 };
  const hash = "#v1/compare?b=enc&l=1&h=0&i=3&j=2&c=0.1.1.none";
  const store = storeFrom(makeInput(heads));
  await visit({ heads, hash }, async (page) => {
    const second = () =>
      page.evaluate(() => {
        const inside = /** @type {any} */ (globalThis).view.shadowRoot;
        return [
          .../** @type {string} */ (inside.querySelector(".compared").textContent).matchAll(/: ([\d.]+)\./g),
        ][1]?.[1];
      });
    const shown = async (/** @type {number} */ block) =>
      Math.abs(Number(await second()) - store.cell({ block, layer: 1, head: 1 }, 3, 2, "weights")) < 0.0006;
    await page.getByText(/text or head to compare with, none/).waitFor();
    const lists = page.getByLabel("block");
    expect(await lists.count()).toBe(2);
    await lists.last().selectOption("dec");
    await expect.poll(() => shown(1)).toBe(true);
    await expect.poll(() => page.url()).toContain("c=0.1.1.dec");
    await lists.first().selectOption("dec");
    await lists.last().selectOption("enc");
    await expect.poll(() => shown(0)).toBe(true);
  });
});
