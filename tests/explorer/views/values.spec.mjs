// @ts-check
/** The drawing agrees with the numbers: the color in the middle of sampled cells is the color of the weight. */
import { expect } from "@playwright/test";
import { codeOf, signedCodeOf } from "../../../src/store/measures/transfer.ts";
import { colorTable } from "../../../src/view/color.ts";
import { test } from "../support/fixtures.ts";
import { drawer } from "../support/heads.mjs";
import { cellAt, settled } from "../support/site.mjs";

/** Bundles of many kinds: f32, masks, windows, grouped and rectangular heads, 1 to 300 tokens, close up and from afar. */
const CASES = [
  { name: "from one file", singleFile: true, heads: { Nq: 16 }, hash: "#v1/head" },
  { name: "24 tokens", heads: { Nq: 24 }, hash: "#v1/head?l=1&h=1" },
  { name: "one token", heads: { Nq: 1 }, hash: "#v1/head" },
  { name: "causal", heads: { Nq: 31, recipe: { mask: "causal" } }, hash: "#v1/head?x=lin" },
  {
    name: "window, at two pixels a pixel",
    heads: { Nq: 40, recipe: { mask: { window: 5, causal: false } } },
    hash: "#v1/head?h=1",
    ratio: 2,
  },
  {
    name: "grouped, padded",
    heads: { heads: 4, keyHeads: 2, Nq: 17, recipe: { keyLengths: 11 } },
    hash: "#v1/head?h=3&x=log",
  },
  {
    name: "rectangular with an offset",
    heads: { Nq: 7, Nk: 29, recipe: { mask: "causal", queryOffset: 22 } },
    hash: "#v1/head",
  },
  { name: "300 tokens, close up", heads: { Nq: 300, layers: 1 }, hash: "#v1/head?z=9,140,220" },
  { name: "two segments", heads: { Nq: 20, segments: true }, hash: "#v1/head?qs=1&ks=0" },
  { name: "given weights", heads: { Nq: 16, asWeights: true }, hash: "#v1/head" },
  { name: "scores", heads: { Nq: 16 }, hash: "#v1/head?s=q" },
  { name: "dark, grey", heads: { Nq: 16 }, hash: "#v1/head?ramp=grey", scheme: "dark" },
  { name: "renormalized without the first key", heads: { Nq: 16 }, hash: "#v1/head?hide=1st&rn=1" },
  { name: "colored by each row's maximum", heads: { Nq: 16 }, hash: "#v1/head?d=row" },
];

for (const { name, ...options } of CASES)
  test(`values drawn, ${name}`, ({ visit }) =>
    visit(/** @type {any} */ (options), async (page) => expect(await onceDrawn(page)).toEqual([])));

/**
 * The cells that are still wrong after tiles had time to load: a busy machine draws them some frames later.
 * @param {import("@playwright/test").Page} page @returns {Promise<string[]>}
 */
async function onceDrawn(page) {
  let wrong = await compared(page);
  for (let tries = 0; wrong.length > 0 && tries < 120; tries++) {
    await page.waitForTimeout(250);
    wrong = await compared(page);
  }
  return wrong;
}

/**
 * Compares 40 cells with the table and returns those that differ. The positions of two cells determine those of all others.
 * @param {import("@playwright/test").Page} page @returns {Promise<string[]>}
 */
async function compared(page) {
  const shown = await page.evaluate(() => {
    const { view } = /** @type {any} */ (globalThis);
    const { state, store } = view;
    const { Nq, Nk, segments } = store.blocks[0];
    const bounds = (
      /** @type {number[]} */ chosen,
      /** @type {"query" | "key"} */ name,
      /** @type {number} */ count,
    ) => (chosen.length > 0 ? segments[chosen[0]][name] : [0, count]);
    return {
      state,
      rows: bounds(state.querySegments, "query", Nq),
      columns: bounds(state.keySegments, "key", Nk),
    };
  });
  const { state } = shown;
  const camera = state.camera;
  const rows = camera ? [camera.y + 2, camera.y + 30] : shown.rows;
  const columns = camera ? [camera.x + 2, camera.x + 30] : shown.columns;
  const first = await cellAt(page, rows[0], columns[0]);
  const last = await cellAt(page, rows[1] - 1, columns[1] - 1);
  const draw = drawer(7);
  const within = (/** @type {number[]} */ [from, to]) =>
    from + (Math.floor(Math.abs(draw()) * 1e4) % (to - from));
  const cells = Array.from({ length: 40 }, () => [within(rows), within(columns)]);
  const part = (
    /** @type {number} */ at,
    /** @type {number[]} */ [from, to],
    /** @type {number} */ a,
    /** @type {number} */ b,
  ) => (to - from < 2 ? a : a + ((at - from) / (to - 1 - from)) * (b - a));
  const points = cells.map(([i, j]) => [
    Math.floor(part(j, columns, first.at[0], last.at[0])),
    Math.floor(part(i, rows, first.at[1], last.at[1])),
  ]);
  const { drawn, numbers, range } = await page.evaluate(sample, { cells, points });
  const signed = state.stage === "scores";
  const dark = await page.evaluate(() => matchMedia("(prefers-color-scheme: dark)").matches);
  const table = colorTable(/** @type {any} */ (`${signed ? "signed" : state.ramp}${dark ? "-dark" : ""}`));
  const wrong = [];
  for (const [n, { value, limit, visible }] of numbers.entries()) {
    if (!visible) continue;
    const code = signed ? signedCodeOf(value, range) : codeOf(value, state.transfer, limit);
    if (table[code].join() !== drawn[n].slice(0, 3).join())
      wrong.push(`cell ${cells[n]}: drawn ${drawn[n]}, the table has ${table[code]}`);
  }
  if (!numbers.some(({ visible }) => visible)) wrong.push("no cell that is seen was looked at");
  return wrong;
}

/** In the page: what is drawn at some points, and the numbers of their cells. @param {{ cells: number[][], points: number[][] }} inputs */
async function sample({ cells, points }) {
  const { view } = /** @type {any} */ (globalThis);
  const { state, store } = view;
  const { stage, layer, head } = state;
  const ref = { block: 0, layer, head };
  const canvas = view.shadowRoot.querySelector(".matrix canvas.cells");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const drawn = points.map(([x, y]) => [
    ...data.slice(4 * (y * canvas.width + x), 4 * (y * canvas.width + x) + 4),
  ]);
  const hides = state.hide === "first";
  const numbers = cells.map(([i, j]) => {
    const row = [...store.row(ref, i, stage)];
    const rest = 1 - (hides && state.renormalize ? store.row(ref, i, "weights")[0] : 0);
    const early = stage === "scores" || stage === "scaled";
    const visible = (early || store.visible(ref, i)[j] === 1) && !(hides && j === 0);
    return { value: row[j] / rest, limit: state.domain === "row" ? Math.max(...row) : 1, visible };
  });
  const [low, high] = await store.range(ref, stage);
  return { drawn, numbers, range: Math.max(Math.abs(low), Math.abs(high)) };
}

test("a masked cell is hatched, not colored", async ({ visit }) => {
  const options = { heads: { Nq: 24, recipe: { mask: "causal" } } };
  await visit(options, async (page) => {
    const box = await cellAt(page, 3, 18);
    const colors = await page.evaluate(({ x, y, width, height }) => {
      const canvas = /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".matrix canvas.cells");
      const area = canvas.getBoundingClientRect();
      const { data } = canvas
        .getContext("2d")
        .getImageData(x - area.left + 1, y - area.top + 1, width - 3, height - 3);
      const kinds = new Set();
      for (let at = 0; at < data.length; at += 4) kinds.add(data[at + 3] === 0 ? "clear" : "inked");
      return [...kinds];
    }, box);
    if (colors.length !== 2) throw new Error(`a masked cell has ${colors.join()}, not lines on clear ground`);
  });
});

test("NaN is marked and counted", async ({ visit }) => {
  const options = { heads: { Nq: 12, layers: 1, asWeights: true, nonNumbers: 3 } };
  await visit(options, async (page) => {
    await settled(page);
    const drawn = await page.evaluate(() => {
      const canvas = /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".matrix canvas.cells");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      let count = 0;
      for (let at = 0; at < data.length; at += 4)
        if (data[at] === 224 && data[at + 1] === 122 && data[at + 2] === 0) count++;
      return count;
    });
    const caption = await page
      .locator("attention-view")
      .evaluate((view) => view.shadowRoot?.querySelector("[part=caption]")?.textContent ?? "");
    expect(drawn, "pixels marked as not a number").toBeGreaterThanOrEqual(3 * 100);
    expect(caption).toMatch(/3 weights are not numbers/);
  });
});

/** A pattern one cell wide remains visible when it is drawn 20 times smaller. */
test("thin patterns survive thumbnails", async ({ visit }) => {
  const options = {
    heads: { Nq: 512, heads: 2, layers: 2, d: 16, plant: /** @type {const} */ ("previous") },
    hash: "#v1/model",
  };
  await visit(options, async (page) => {
    await page
      .waitForFunction(
        () => {
          const canvas = /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".atlas.large canvas");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          let dark = 0;
          for (let at = 0; at < data.length; at += 4)
            if (data[at] < 100 && data[at + 1] < 40 && data[at + 2] < 90 && data[at + 3] === 255) dark++;
          // Four diagonals of about 90 pixels each; every n-th row or column alone would leave none.
          return dark > 4 * 80;
        },
        undefined,
        { timeout: 60_000 },
      )
      .catch(() => {
        throw new Error("the diagonals of previous-token heads are not there");
      });
  });
});

test("the overview of the cursor's head is computed first, wherever the head is in the list", ({ visit }) =>
  visit({ heads: { Nq: 8 } }, async (page) => {
    const order = await page.evaluate(async () => {
      const { view, makeInput } = /** @type {any} */ (globalThis);
      const requested = /** @type {string[]} */ ([]);
      const watch = () => {
        const overview = view.store.overview.bind(view.store);
        view.store.overview = (/** @type {any} */ ref, /** @type {any[]} */ ...more) => {
          requested.push(`${ref.layer} ${ref.head}`);
          return overview(ref, ...more);
        };
      };
      view.state = { layer: 1, head: 1 };
      view.addEventListener("load", watch, { once: true });
      await view.open(makeInput({ Nq: 12, layers: 2, heads: 2 }));
      while (requested.length < 4) await new Promise((resolve) => requestAnimationFrame(resolve));
      return requested;
    });
    expect(order).toEqual(["1 1", "0 0", "0 1", "1 0"]);
  }));

test("the next head is sharp in its first picture: its tiles were computed before", ({ visit }) =>
  visit({ heads: { Nq: 12 } }, async (page) => {
    const firstPictures = await page.evaluate(async () => {
      const { view, makeInput } = /** @type {any} */ (globalThis);
      /** Addresses of the tiles that were computed, by head. @type {Map<string, Set<string>>} */
      const computed = new Map();
      let changed = () => {};
      const watch = () => {
        const tile = view.store.tile.bind(view.store);
        view.store.tile = async (
          /** @type {any} */ ref,
          /** @type {any} */ address,
          /** @type {any} */ more,
        ) => {
          const answer = await tile(ref, address, more);
          const name = `${ref.layer} ${ref.head}`;
          const { level, i, j } = address;
          computed.set(name, (computed.get(name) ?? new Set()).add(`${level} ${i} ${j}`));
          changed();
          return answer;
        };
      };
      view.addEventListener("load", watch, { once: true });
      await view.open(makeInput({ Nq: 300, layers: 2, heads: 3 }));
      const pictures = [];
      for (const [key, before, after] of [
        ["]", "0 0", "0 1"],
        ["]", "0 1", "0 2"],
        ["]", "0 2", "1 0"],
        ["[", "1 0", "0 2"],
      ]) {
        const isThere = () =>
          [...(computed.get(before) ?? [""])].every((address) => computed.get(after)?.has(address));
        while (!isThere()) await new Promise((resolve) => (changed = () => resolve(undefined)));
        const painted = new Promise((resolve) =>
          view.shadowRoot.addEventListener("painted", (/** @type {any} */ { detail }) => resolve(detail), {
            capture: true,
            once: true,
          }),
        );
        view.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, composed: true }));
        const { shown, missing } = /** @type {any} */ (await painted);
        pictures.push({ head: `${view.state.layer} ${view.state.head}`, shown, missing });
      }
      return pictures;
    });
    expect(firstPictures).toEqual(
      ["0 1", "0 2", "1 0", "0 2"].map((head) => ({ head, shown: true, missing: 0 })),
    );
  }));
