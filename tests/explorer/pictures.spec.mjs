// @ts-check
/**
 * A picture never shows anything but its data: after each kind of change (another file of the same and of another size, head,
 * stage, mode, theme, window, scale, hidden keys, edits) every cell of every view is compared with the store's own numbers.
 */
import { expect } from "@playwright/test";
import { codeOf, colorTable, signedCodeOf } from "heed/view";
import { test } from "./fixtures.ts";
import { settled } from "./site.mjs";

/** @typedef {import("@playwright/test").Page} Page */

/** What a view shows: each cell's drawn color or written number, and what it has to be. @typedef {{ name: string, shown: string, want: string }} Cell */

/** Changes, in order; each is made on the page as the one before left it. @type {readonly (readonly [name: string, change: (page: Page) => Promise<unknown>])[]} */
const CHANGES = [
  ["as opened", async () => {}],
  ["another file of the same size", (page) => open(page, { seed: 21 })],
  ["another file of another size", (page) => open(page, { seed: 22, Nq: 9 })],
  ["a causal file in its place", (page) => open(page, { seed: 23, Nq: 9, recipe: { mask: "causal" } })],
  ["a rectangular file", (page) => open(page, { seed: 24, Nq: 5, Nk: 11 })],
  ["a file of weights", (page) => open(page, { seed: 25, Nq: 7, given: true })],
  ["back to queries and keys", (page) => open(page, { seed: 26 })],
  ["another head", (page) => set(page, { head: 1 })],
  ["another layer", (page) => set(page, { layer: 1 })],
  ["scores", (page) => set(page, { stage: "scores" })],
  ["scaled scores", (page) => set(page, { stage: "scaled" })],
  ["another file while scores are shown", (page) => open(page, { seed: 27 })],
  ["contributions", (page) => set(page, { stage: "contribution" })],
  ["weights again", (page) => set(page, { stage: "weights" })],
  ["a linear scale", (page) => set(page, { transfer: "linear" })],
  ["another ramp", (page) => set(page, { ramp: "cividis" })],
  ["colors up to the head's maximum", (page) => set(page, { domain: "head" })],
  ["another file with colors up to its maximum", (page) => open(page, { seed: 28 })],
  ["colors up to each row's maximum", (page) => set(page, { domain: "row" })],
  ["colors up to 1", (page) => set(page, { domain: "absolute", transfer: "sqrt", ramp: "plum" })],
  ["the first key hidden", (page) => set(page, { hide: "first" })],
  ["renormalized", (page) => set(page, { renormalize: true })],
  ["another file, renormalized", (page) => open(page, { seed: 29 })],
  ["nothing hidden", (page) => set(page, { hide: "none", renormalize: false })],
  ["the dark theme", (page) => page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" })],
  ["another file in the dark", (page) => open(page, { seed: 30 })],
  ["the light theme", (page) => page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" })],
  ["a smaller window", (page) => page.setViewportSize({ width: 820, height: 640 })],
  ["a phone", (page) => page.setViewportSize({ width: 375, height: 812 })],
  ["a large window", (page) => page.setViewportSize({ width: 1600, height: 1000 })],
  ["a changed query, then back to the head", edited],
];

/** The views, and how each is read. @type {readonly (readonly [string, object, (page: Page) => Promise<Cell[]>])[]} */
const VIEWS = [
  ["matrix", { view: "head", mode: "matrix", table: false }, matrix],
  ["text", { view: "head", mode: "text", table: false }, text],
  ["table", { view: "head", mode: "matrix", table: true }, table],
  ["model", { view: "model", table: false }, model],
  ["row", { view: "row", table: false }, row],
];

for (const [view, state, read] of VIEWS)
  test(`every cell of the ${view} view is right after every kind of change`, async ({ visit }) => {
    await visit({ heads: { Nq: 8, seed: 20 } }, async (page) => {
      await set(page, state);
      for (const [change, make] of CHANGES)
        await test.step(change, async () => {
          await make(page);
          await set(page, state);
          expect.soft(await soon(page, read), `after "${change}"`).toBe("");
        });
    });
  });

/** @param {Page} page @param {object} wanted */
async function open(page, wanted) {
  await page.evaluate(async (heads) => {
    const { view, made } = /** @type {any} */ (globalThis);
    await view.open(made(heads));
    await view.updateComplete;
  }, wanted);
}

/** @param {Page} page @param {object} patch */
async function set(page, patch) {
  await page.evaluate(async (parts) => {
    const { view } = /** @type {any} */ (globalThis);
    view.state = parts;
    await view.updateComplete;
  }, patch);
}

/** Changes a number of the query in the row view, then leaves it. @param {Page} page */
async function edited(page) {
  await set(page, { view: "row", table: false, query: 3, key: 2 });
  await page.waitForFunction(
    () => /** @type {any} */ (globalThis).view.shadowRoot.querySelector("[aria-label='query 0']") !== null,
  );
  await page.evaluate(async () => {
    const { view } = /** @type {any} */ (globalThis);
    const field = view.shadowRoot.querySelector("[aria-label='query 0']");
    field.value = "50";
    field.dispatchEvent(new Event("change", { bubbles: true }));
    await view.updateComplete;
    view.state = { view: "head" };
    await view.updateComplete;
  });
}

/** What is still wrong once the picture had time to come. @param {Page} page @param {(page: Page) => Promise<Cell[]>} read */
async function soon(page, read) {
  let problem = "";
  const end = Date.now() + 4000;
  do {
    await settled(page);
    try {
      const cells = await read(page);
      const wrong = cells.filter(({ shown, want }) => shown !== want);
      problem =
        cells.length === 0
          ? "there is no cell"
          : wrong.length === 0
            ? ""
            : `${wrong.length} of ${cells.length} cells, such as ${wrong[0].name}: ${wrong[0].shown}, want ${wrong[0].want}`;
    } catch (error) {
      problem = `${/** @type {Error} */ (error).message}`.slice(0, 300);
    }
    if (problem === "") return "";
    await page.waitForTimeout(150);
  } while (Date.now() < end);
  return problem;
}

/** The head's numbers, as the store has them. @param {Page} page */
const numbers = (page) =>
  page.evaluate(async () => {
    const { view } = /** @type {any} */ (globalThis);
    const { state, store } = view;
    const { stage, layer, head } = state;
    const ref = { block: 0, layer, head };
    const { Nq, Nk } = store.blocks[0];
    const [low, high] = await store.range(ref, stage);
    return {
      state,
      Nq,
      Nk,
      dark: matchMedia("(prefers-color-scheme: dark)").matches,
      range: Math.max(Math.abs(low), Math.abs(high)),
      rows: Array.from({ length: Nq }, (_, i) => [...store.row(ref, i, stage)]),
      weights: Array.from({ length: Nq }, (_, i) => [...store.row(ref, i, "weights")]),
      visible: Array.from({ length: Nq }, (_, i) => [...store.visible(ref, i)]),
    };
  });

/** The color a cell must have; undefined where it has none. @param {Awaited<ReturnType<typeof numbers>>} head @param {number} i @param {number} j */
function colorOf(head, i, j) {
  const { state, rows, weights, visible, range, dark } = head;
  const { stage } = state;
  const early = stage === "scores" || stage === "scaled";
  const signed = early || stage === "masked";
  const hides = state.hide === "first" && !signed;
  if ((!early && visible[i][j] === 0) || (hides && j === 0)) return undefined;
  const left = hides && state.renormalize ? 1 - weights[i][0] : 1;
  const seen = rows[i].filter((_, at) => visible[i][at] && !(hides && at === 0));
  const most =
    state.domain === "row"
      ? Math.max(...seen.map(Math.abs)) / left
      : signed || stage === "contribution"
        ? range
        : state.domain === "head"
          ? Math.max(...weights.flat())
          : 1;
  const value = rows[i][j] / left;
  const code = signed ? signedCodeOf(value, most) : codeOf(value, state.transfer, most);
  return colorTable(/** @type {any} */ (`${signed ? "signed" : state.ramp}${dark ? "-dark" : ""}`))[code];
}

/** @param {Page} page @returns {Promise<Cell[]>} */
async function matrix(page) {
  const head = await numbers(page);
  const drawn = await page.evaluate(
    async ([Nq, Nk]) => {
      const { view } = /** @type {any} */ (globalThis);
      const canvas = view.shadowRoot.querySelector(".matrix canvas.cells");
      const area = view.shadowRoot.querySelector(".matrix .area");
      const [a, b] = [area.getBoundingClientRect(), canvas.getBoundingClientRect()];
      const ratio = canvas.width / b.width;
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return Array.from({ length: Nq }, (_, i) =>
        Array.from({ length: Nk }, (_, j) => {
          const x = Math.floor((a.left - b.left + ((j + 0.5) * a.width) / Nk) * ratio);
          const y = Math.floor((a.top - b.top + ((i + 0.5) * a.height) / Nq) * ratio);
          return [...data.slice(4 * (y * canvas.width + x), 4 * (y * canvas.width + x) + 3)];
        }),
      );
    },
    [head.Nq, head.Nk],
  );
  return cellsOf(head, (i, j) => drawn[i][j].join());
}

/** @param {Awaited<ReturnType<typeof numbers>>} head @param {(i: number, j: number) => string} drawn @returns {Cell[]} */
function cellsOf(head, drawn) {
  /** @type {Cell[]} */
  const cells = [];
  for (let i = 0; i < head.Nq; i++)
    for (let j = 0; j < head.Nk; j++) {
      const want = colorOf(head, i, j);
      if (want !== undefined)
        cells.push({ name: `query ${i}, key ${j}`, shown: drawn(i, j), want: want.join() });
    }
  return cells;
}

/** What the table writes: every row of weights as the store has it, in full. @param {Page} page @returns {Promise<Cell[]>} */
async function table(page) {
  /** @type {Cell[]} */
  const cells = [];
  const { rows, want } = await page.evaluate(() => {
    const { view } = /** @type {any} */ (globalThis);
    const { store, state } = view;
    const ref = { block: 0, layer: state.layer, head: state.head };
    const rows = [...view.shadowRoot.querySelectorAll(".tablewrap tbody tr:not(.space)")].map((tr) =>
      [...tr.querySelectorAll("data")].map((one) => Number(one.value)),
    );
    const hides = state.hide === "first";
    const want = rows.map((_, i) => {
      const row = [...store.row(ref, i, "weights")];
      const left = hides && state.renormalize ? 1 - row[0] : 1;
      return Math.max(...row.slice(hides ? 1 : 0).map((weight) => weight / left));
    });
    return { rows, want };
  });
  for (const [i, row] of rows.entries())
    cells.push({
      name: `strongest of row ${i}`,
      shown: String(row.some((value) => value === want[i])),
      want: "true",
    });
  return cells;
}

/** What is said of each token: tints in the running text. @param {Page} page @returns {Promise<Cell[]>} */
async function text(page) {
  const head = await numbers(page);
  const drawn = await page.evaluate(() => {
    const { view } = /** @type {any} */ (globalThis);
    const { state } = view;
    const tokens = [...view.shadowRoot.querySelectorAll(".pane .text [role=option]")]
      .filter((one) => one.closest("[hidden]") === null)
      .map((one) => [
        one.getAttribute("aria-posinset"),
        one.textContent,
        getComputedStyle(one).backgroundColor,
      ]);
    return { query: state.query, tokens };
  });
  /** @type {Cell[]} */
  const cells = [];
  const lists = drawn.tokens;
  // Where queries and keys are two texts, the keys come last.
  const keys = lists.slice(-head.Nk);
  for (const [j, [, , ground]] of keys.entries()) {
    const want = colorOf({ ...head, state: { ...head.state } }, drawn.query, j);
    if (want === undefined) continue;
    cells.push({
      name: `key ${j}`,
      shown: (ground ?? "").replace(/^rgba?\(|\)$|\s/g, ""),
      want: want.join(),
    });
  }
  return cells;
}

/** Every pixel's place on the scale in the large thumbnails. @param {Page} page @returns {Promise<Cell[]>} */
async function model(page) {
  const found = await page.evaluate(async () => {
    const { view } = /** @type {any} */ (globalThis);
    const { store, state } = view;
    const [{ Nq, Nk, layers, heads }] = store.blocks;
    const canvas = view.shadowRoot.querySelector(".atlas.large canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    /** @type {Set<string>} */
    const colors = new Set();
    for (let at = 0; at < data.length; at += 4)
      if (data[at + 3] === 255) colors.add(`${data[at]},${data[at + 1]},${data[at + 2]}`);
    const weights = [];
    for (const layer of layers)
      for (let head = 0; head < heads; head++) {
        const ref = { block: 0, layer, head };
        await store.load(ref);
        for (let i = 0; i < Nq; i++) weights.push([...store.row(ref, i, "weights")]);
      }
    return {
      colors: [...colors],
      weights,
      state,
      dark: matchMedia("(prefers-color-scheme: dark)").matches,
      Nk,
    };
  });
  // Thumbnails keep the largest weight of what a pixel merges: of 12 tokens none is merged, each weight has its color.
  const table = colorTable(/** @type {any} */ (`${found.state.ramp}${found.dark ? "-dark" : ""}`));
  const seen = new Set(found.colors);
  /** @type {Cell[]} */
  const cells = [];
  for (const [n, row] of found.weights.entries())
    for (const [j, weight] of row.entries())
      if (weight > 0.02) {
        // Thumbnails hold 255·√w, and take the chosen scale from there.
        const quantized = (Math.round(255 * Math.sqrt(weight)) / 255) ** 2;
        const near = [-1, 0, 1].some((by) => {
          const code = codeOf(quantized, found.state.transfer, 1) + by;
          return code >= 0 && code < 256 && seen.has(table[code].join());
        });
        cells.push({ name: `row ${n}, key ${j} (${weight})`, shown: String(near), want: "true" });
      }
  return cells;
}

/** Each number of the row view's ledger and list of keys. @param {Page} page @returns {Promise<Cell[]>} */
async function row(page) {
  const found = await page.evaluate(() => {
    const { view } = /** @type {any} */ (globalThis);
    const { store, state } = view;
    const ref = { block: 0, layer: state.layer, head: state.head };
    const inside = view.shadowRoot.querySelector(".rowview");
    const hides = state.hide === "first";
    const row = [...store.row(ref, state.query, "weights")];
    const left = hides && state.renormalize ? 1 - row[0] : 1;
    const weights = row.map((weight, j) => (hides && j === 0 ? 0 : weight / left));
    return {
      weight: Number(inside.querySelector(".weight-line data").value),
      want: store.cell(ref, state.query, state.key, "weights"),
      listed: [...inside.querySelectorAll(".keys tbody tr")].map((tr) =>
        Number(tr.querySelector("td data").value),
      ),
      best: weights
        .filter((one) => one > 0)
        .sort((a, b) => b - a)
        .slice(0, 8),
    };
  });
  return [
    { name: "the ledger's weight", shown: String(found.weight), want: String(found.want) },
    { name: "the row's strongest", shown: found.listed.join(), want: found.best.join() },
  ];
}
