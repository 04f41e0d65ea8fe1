// @ts-check
/**
 * A picture always agrees with its data: after each kind of change (another file of the same and of another size, head,
 * stage, mode, theme, window, scale, hidden keys, edits) every cell of every view is compared with the store's own numbers. For each commit
 * half of the changes of each view are compared: two views have together each of them.
 */
import { expect } from "@playwright/test";
import { codeOf, signedCodeOf } from "../../src/store/measures/transfer.ts";
import { colorTable } from "../../src/view/color.ts";
import { isItsTurn } from "../support/cases/count.ts";
import { another, assigned, dropped, edited, open, set } from "./support/changes.mjs";
import { test } from "./support/fixtures.ts";
import { settled } from "./support/site.mjs";

/** @typedef {import("@playwright/test").Page} Page */

/** What a view shows: each cell's drawn color or written number, and what it has to be. @typedef {{ name: string, shown: string, want: string }} Cell */

/** Changes, in order; each starts from the state of the previous one. @type {readonly (readonly [name: string, change: (page: Page) => Promise<unknown>])[]} */
const CHANGES = [
  ["as opened", async () => {}],
  ["another file of the same size", (page) => open(page, { seed: 21 })],
  ["another text of the list", another],
  ["a file that is dropped", dropped],
  ["other arrays as the property data", assigned],
  ["another file of another size", (page) => open(page, { seed: 22, Nq: 9 })],
  ["a causal file in its place", (page) => open(page, { seed: 23, Nq: 9, recipe: { mask: "causal" } })],
  ["a rectangular file", (page) => open(page, { seed: 24, Nq: 5, Nk: 11 })],
  ["a file of weights", (page) => open(page, { seed: 25, Nq: 7, asWeights: true })],
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

/** The views, and how each is read: the parts of a page together. @type {readonly (readonly [string, object, ...((page: Page) => Promise<Cell[]>)[]])[]} */
const VIEWS = [
  ["matrix and its margins", { view: "head", mode: "matrix", table: false }, matrix, margins],
  ["lines", { view: "head", mode: "lines", table: false, keep: "top", top: 3 }, lines],
  [
    "text and the atlas beside it",
    { view: "head", mode: "text", table: false },
    text,
    (page) => thumbnails(page, ".atlas:not(.large)"),
  ],
  ["table", { view: "head", mode: "matrix", table: true }, table],
  ["model", { view: "model", table: false }, (page) => thumbnails(page, ".atlas.large")],
  ["row", { view: "row", table: false }, row],
  ["compare", { view: "compare", table: false }, compare],
  ["flow", { view: "flow", table: false }, flow],
];

for (const [at, [view, state, ...readers]] of VIEWS.entries())
  test(`every cell of the view ${view} is right after every kind of change`, async ({ visit }) => {
    await visit({ heads: { Nq: 8, seed: 20 } }, async (page) => {
      await set(page, state);
      for (const [number, [change, make]] of CHANGES.entries())
        await test.step(change, async () => {
          await make(page);
          if (!isItsTurn(at + number, 2)) return;
          await set(page, state);
          for (const read of readers) expect.soft(await soon(page, read), `after "${change}"`).toBe("");
        });
    });
  });

for (const still of [true, false])
  test(`while the cells of another text are computed, no cell of the previous one is under its words, ${still ? "still" : "animated"}`, async ({
    visit,
  }) => {
    await visit({ heads: { Nq: 8, seed: 40 }, still }, async (page) => {
      await page.evaluate(async () => {
        const { view, makeInput } = /** @type {any} */ (globalThis);
        await view.add({ name: "second", data: makeInput({ Nq: 6, seed: 41 }) });
        // From here on, its pictures wait.
        const { store } = view;
        const released = new Promise((resolve) => Object.assign(globalThis, { release: resolve }));
        for (const name of ["tile", "overview"]) {
          const computed = store[name].bind(store);
          store[name] = async (/** @type {any[]} */ ...args) => {
            await released;
            return computed(...args);
          };
        }
        view.state = { text: 0 };
      });
      await settled(page);
      expect(await page.evaluate(marked), "the first text is drawn").toBe(true);
      await set(page, { text: 1 });
      await page.waitForFunction(() => /** @type {any} */ (globalThis).view.state.text === 1);
      await expect(page.locator("attention-view .matrix .labels.rows .token:not([hidden])")).toHaveCount(6);
      expect(await page.evaluate(marked), "nothing is drawn under the second text's words").toBe(false);
      // Another head before the first one is drawn.
      await set(page, { head: 1 });
      await page.evaluate(() => /** @type {any} */ (globalThis).release());
      expect(await soon(page, matrix)).toBe("");
    });
  });

/** Whether a canvas of the matrix has a pixel that is not transparent. Runs in the page. */
function marked() {
  const inside = /** @type {any} */ (globalThis).view.shadowRoot;
  return [...inside.querySelectorAll(".matrix canvas.cells")].some((canvas) => {
    if (canvas.width * canvas.height === 0 || getComputedStyle(canvas).opacity === "0") return false;
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.some((/** @type {number} */ value) => value > 0);
  });
}

test("the ends of the legend are those of the colors, for scores as for weights", async ({ visit }) => {
  await visit({ heads: { Nq: 8, seed: 42 } }, async (page) => {
    for (const stage of ["scores", "scaled", "masked", "contribution", "weights"]) {
      await set(page, { stage });
      const { range } = await numbers(page);
      const maximum = stage === "weights" ? 1 : Number(range.toPrecision(2));
      const end = page.locator("attention-view .legend .tick").last();
      await expect.poll(async () => Number(await end.textContent()), stage).toBe(maximum);
    }
  });
});

/** The cells that are still wrong after the picture had time to update. @param {Page} page @param {(page: Page) => Promise<Cell[]>} read */
async function soon(page, read) {
  let problem = "";
  const end = Date.now() + 30_000;
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

/** The numbers of the cursor's head, or of the head `further` heads later, from the store. @param {Page} page @param {number} [further] */
const numbers = (page, further = 0) =>
  page.evaluate(async (by) => {
    const { view } = /** @type {any} */ (globalThis);
    const { state, store } = view;
    const { stage, layer } = state;
    const ref = { block: 0, layer, head: (state.head + by) % store.blocks[0].heads };
    await store.load(ref);
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
  }, further);

/** The color a cell must have; undefined where it has none. @param {Awaited<ReturnType<typeof numbers>>} head @param {number} i @param {number} j */
function colorOf(head, i, j) {
  const { state, rows, weights, visible, range, dark } = head;
  const { stage } = state;
  const early = stage === "scores" || stage === "scaled";
  const signed = early || stage === "masked";
  const hides = state.hide === "first" && !signed;
  if ((!early && visible[i][j] === 0) || (hides && j === 0)) return undefined;
  const left = hides && state.renormalize ? 1 - weights[i][0] : 1;
  const visibleScores = rows[i].filter((_, at) => visible[i][at] && !(hides && at === 0));
  const maximum =
    state.domain === "row"
      ? Math.max(...visibleScores.map(Math.abs)) / left
      : signed || stage === "contribution"
        ? range
        : state.domain === "head"
          ? Math.max(...weights.flat())
          : 1;
  const value = rows[i][j] / left;
  const code = signed ? signedCodeOf(value, maximum) : codeOf(value, state.transfer, maximum);
  return colorTable(/** @type {any} */ (`${signed ? "signed" : state.ramp}${dark ? "-dark" : ""}`))[code];
}

/** @param {Page} page @returns {Promise<Cell[]>} */
async function matrix(page) {
  const head = await numbers(page);
  const drawn = await cellColors(page, head.Nq, head.Nk);
  return cellsOf(head, (i, j) => drawn[i][j].join());
}

/**
 * The colors of a matrix at one point of each cell.
 * @param {Page} page @param {number} Nq @param {number} Nk @param {number} [which] of several matrices
 * @param {number} [at] position in the cell, horizontally and vertically: 0 to 1
 * @returns {Promise<number[][][]>}
 */
const cellColors = (page, Nq, Nk, which = 0, at = 0.5) =>
  page.evaluate(
    ([rows, columns, n, within]) => {
      const { view } = /** @type {any} */ (globalThis);
      const matrix = view.shadowRoot.querySelectorAll(".pane .matrix")[n];
      const canvas = matrix.querySelector("canvas.cells");
      const [a, b] = [matrix.querySelector(".area"), canvas].map((one) => one.getBoundingClientRect());
      const ratio = canvas.width / b.width;
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return Array.from({ length: rows }, (_, i) =>
        Array.from({ length: columns }, (_, j) => {
          const x = Math.floor((a.left - b.left + ((j + within) * a.width) / columns) * ratio);
          const y = Math.floor((a.top - b.top + ((i + within) * a.height) / rows) * ratio);
          return [...data.slice(4 * (y * canvas.width + x), 4 * (y * canvas.width + x) + 3)];
        }),
      );
    },
    [Nq, Nk, which, at],
  );

/**
 * The bars beside a matrix: the entropy of each row, or the share of hidden keys where they leave a gap, and the total of each
 * column. @param {Page} page @returns {Promise<Cell[]>}
 */
async function margins(page) {
  const { state, Nq, Nk, weights } = await numbers(page);
  const hides = state.hide === "first" && !["scores", "scaled"].includes(state.stage);
  const rescales = hides && state.renormalize;
  const rows = weights.map((row) =>
    rescales && row[0] < 1 ? row.map((weight, j) => (j === 0 ? 0 : weight / (1 - row[0]))) : row,
  );
  const drawn = await page.evaluate(
    ([rows, columns]) => {
      const { view } = /** @type {any} */ (globalThis);
      const matrix = view.shadowRoot.querySelector(".pane .matrix");
      const canvas = matrix.querySelector("canvas.cells");
      const [a, b] = [matrix.querySelector(".area"), canvas].map((one) => one.getBoundingClientRect());
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const filled = (/** @type {number} */ x, /** @type {number} */ y) =>
        data[4 * (y * canvas.width + x) + 3] > 0;
      const [left, top] = [Math.round(a.left - b.left), Math.round(a.top - b.top)];
      const length = (
        /** @type {number} */ x,
        /** @type {number} */ y,
        /** @type {number} */ right,
        /** @type {number} */ down,
      ) => {
        let n = 0;
        while (filled(x + n * right, y + n * down)) n++;
        return n;
      };
      return {
        small: matrix.clientWidth < 520,
        entropies: Array.from({ length: rows }, (_, i) =>
          length(left + Math.round(a.width) + 6, top + Math.floor(((i + 0.5) * a.height) / rows), 1, 0),
        ),
        totals: Array.from({ length: columns }, (_, j) =>
          length(left + Math.floor(((j + 0.5) * a.width) / columns), top + Math.round(a.height) + 6, 0, 1),
        ),
      };
    },
    [Nq, Nk],
  );
  const [wide, high] = drawn.small ? [14, 10] : [30, 22];
  const entropy = (/** @type {number[]} */ row) =>
    row.reduce((sum, weight) => sum - (weight > 0 ? weight * Math.log(weight) : 0), 0);
  const totals = Array.from({ length: Nk }, (_, j) => rows.reduce((sum, row) => sum + row[j], 0));
  const pixels = (/** @type {number} */ share, /** @type {number} */ extent) =>
    share > 0 ? Math.max(1, Math.round(extent * share)) : 0;
  return [
    ...rows.map((row, i) => ({
      name: `the bar of row ${i}`,
      shown: String(drawn.entropies[i]),
      want: String(pixels(hides && !rescales ? row[0] : entropy(row) / Math.log(Math.max(2, Nk)), wide)),
    })),
    ...totals.map((total, j) => ({
      name: `the bar of column ${j}`,
      shown: String(drawn.totals[j]),
      want: String(pixels(total / Math.max(...totals), high)),
    })),
  ];
}

/** Both heads, and each cell of their difference. @param {Page} page @returns {Promise<Cell[]>} */
async function compare(page) {
  // The next head of the same text, also where there are other texts.
  await page.evaluate(async () => {
    const { view } = /** @type {any} */ (globalThis);
    const { text, layer, head } = view.state;
    view.state = { other: { text, layer, head: (head + 1) % view.store.blocks[0].heads } };
    await view.updateComplete;
  });
  await settled(page);
  const [a, b] = [await numbers(page), await numbers(page, 1)];
  const { state, Nq, Nk, dark } = a;
  /** @type {number[][][][]} */
  const colors = [];
  for (const which of [0, 1, 2]) colors.push(await cellColors(page, Nq, Nk, which));
  const cells = [a, b].flatMap((head, which) =>
    cellsOf(head, (i, j) => colors[which][i][j].join()).map((cell) => ({
      ...cell,
      name: `${"AB"[which]}: ${cell.name}`,
    })),
  );
  const early = state.stage === "scores" || state.stage === "scaled";
  const hides = state.hide === "first" && !early;
  /** @param {typeof a} head @param {number} i @param {number} j */
  const shown = ({ rows, weights }, i, j) =>
    rows[i][j] / (state.stage === "weights" && hides && state.renormalize ? 1 - weights[i][0] : 1);
  /** @type {{ i: number, j: number, value: number }[]} */
  const differences = [];
  for (let i = 0; i < Nq; i++)
    for (let j = 0; j < Nk; j++)
      if (early || (a.visible[i][j] && b.visible[i][j] && !(hides && j === 0)))
        differences.push({ i, j, value: shown(a, i, j) - shown(b, i, j) });
  const maximum = Math.max(...differences.map(({ value }) => Math.abs(value)));
  const table = colorTable(dark ? "signed-dark" : "signed");
  for (const { i, j, value } of differences)
    cells.push({
      name: `difference of query ${i}, key ${j}`,
      shown: colors[2][i][j].join(),
      want: table[signedCodeOf(value, maximum)].join(),
    });
  return cells;
}

/** Each cell of the product of all layers, and the shares in the list. @param {Page} page @returns {Promise<Cell[]>} */
async function flow(page) {
  const head = await numbers(page);
  const { Nq: N, Nk, state } = head;
  if (N !== Nk) {
    const reason = await page.evaluate(
      () => /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".flow-said").textContent,
    );
    return [{ name: "the reason", shown: String(/queries and \d+ keys/.test(reason)), want: "true" }];
  }
  const product = await page.evaluate(async () => {
    const { store } = /** @type {any} */ (globalThis).view;
    const { Nq: n, heads, layers } = store.blocks[0];
    let product = Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => Number(i === j)));
    for (const layer of layers) {
      const joined = product.map((row) => row.map(() => 0));
      for (let one = 0; one < heads; one++) {
        const ref = { block: 0, layer, head: one };
        await store.load(ref);
        for (let i = 0; i < n; i++)
          store.row(ref, i, "weights").forEach((/** @type {number} */ weight, /** @type {number} */ j) => {
            joined[i][j] += weight / heads;
          });
      }
      const before = product;
      product = joined.map((row, i) => {
        const mixed = row.map((weight, j) => 0.5 * weight + (i === j ? 0.5 : 0));
        const sum = mixed.reduce((x, y) => x + y, 0);
        return mixed.map((_, j) =>
          mixed.reduce((total, share, k) => total + (share / sum) * before[k][j], 0),
        );
      });
    }
    return product;
  });
  const listed = await page.evaluate(() =>
    [
      .../** @type {any} */ (globalThis).view.shadowRoot
        .querySelector(".side table.keys")
        .querySelectorAll("td.num data"),
    ].map((data) => Number(data.value).toPrecision(9)),
  );
  const best = [...product[state.query]].sort((x, y) => y - x).slice(0, 8);
  const drawn = await cellColors(page, N, N, 0, 0.14);
  const all = {
    ...head,
    state: { ...state, stage: "weights", hide: "none" },
    rows: product,
    weights: product,
    visible: product.map((row) => row.map(() => 1)),
  };
  return [
    {
      name: "the listed shares",
      shown: listed.join(),
      want: best.map((share) => share.toPrecision(9)).join(),
    },
    ...cellsOf(all, (i, j) => drawn[i][j].join()),
  ];
}

/**
 * All lines: the canvas has the pixels that a plain loop over the strongest keys of each row draws, as curves whose width and
 * opacity follow the color scale.
 * @param {Page} page @returns {Promise<Cell[]>}
 */
async function lines(page) {
  const head = await numbers(page);
  const { state, Nq, Nk } = head;
  const values = state.stage === "contribution" ? head.rows : head.weights;
  const hides = state.hide === "first";
  const shown = values.map((row) => {
    const left = hides && state.renormalize ? 1 - row[0] / row.reduce((x, y) => x + y, 0) : 1;
    return row.map((value, j) => (hides && j === 0 ? 0 : value / left));
  });
  const strongest = shown.flatMap((row, i) =>
    row
      .map((weight, j) => ({ i, j, weight }))
      .filter(({ weight }) => weight > 0)
      .sort((x, y) => y.weight - x.weight || x.j - y.j)
      .slice(0, 3),
  );
  const maximum =
    state.stage !== "contribution" && state.domain === "absolute" ? 1 : Math.max(...shown.flat());
  const share = (/** @type {number} */ i, /** @type {number} */ weight) =>
    codeOf(weight, state.transfer, state.domain === "row" ? Math.max(...shown[i]) : maximum) / 255;
  const counts = await page.evaluate(
    ({ links, gaps, Nq, Nk }) => {
      const root = /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".pane .lines");
      const canvas = root.querySelector("canvas");
      const [a, b] = [root.querySelector(".area"), canvas].map((one) => one.getBoundingClientRect());
      const ratio = canvas.width / b.width;
      const [left, top, width, height] = [a.left - b.left, a.top - b.top, a.width, a.height];
      const pitch = Math.min(40, height / Math.max(Nq, Nk));
      const y = (/** @type {number} */ place, /** @type {number} */ count) => {
        const over = count - height / pitch;
        return top + (place + 0.5 - (over <= 1e-6 ? (count - Math.max(Nq, Nk)) / 2 : 0)) * pitch;
      };
      const probe = root.appendChild(document.createElement("i"));
      const colorOf = (/** @type {string} */ name) => {
        probe.style.setProperty("color", `var(--${name})`);
        return getComputedStyle(probe).color;
      };
      const copy = document.createElement("canvas");
      [copy.width, copy.height] = [canvas.width, canvas.height];
      const context = /** @type {any} */ (copy.getContext("2d"));
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.beginPath();
      context.rect(left - 4, top, width + 8, height);
      context.clip();
      context.strokeStyle = colorOf("weight");
      const widest = Math.max(1, Math.min(5, pitch / 2));
      for (const { i, j, share } of links) {
        const [from, to, handle] = [y(i, Nq), y(j, Nk), 0.42 * width];
        context.globalAlpha = Math.max(0.1, share);
        context.lineWidth = Math.max(0.6, widest * share);
        context.beginPath();
        context.moveTo(left, from);
        context.bezierCurveTo(left + handle, from, left + width - handle, to, left + width, to);
        context.stroke();
      }
      context.fillStyle = colorOf("hatch");
      for (const { i, share } of gaps) {
        const thick = Math.max(0.6, widest * share);
        context.globalAlpha = Math.max(0.4, Math.max(0.1, share));
        context.fillRect(left, y(i, Nq) - thick / 2, 12, thick);
      }
      probe.remove();
      const [one, other] = [canvas, copy].map(
        (each) => each.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data,
      );
      let [ink, wrong] = [0, 0];
      for (let at = 3; at < one.length; at += 4) {
        if (other[at] > 0) ink++;
        // Sums in another order may differ in the last bit, and so may the pixels of an edge.
        if (Math.abs(one[at] - other[at]) > 3) wrong++;
        else if (one[at] > 40 && [1, 2, 3].some((c) => Math.abs(one[at - c] - other[at - c]) > 12)) wrong++;
      }
      return { ink, wrong };
    },
    {
      Nq,
      Nk,
      links: strongest
        .sort((x, y) => x.weight - y.weight)
        .map(({ i, j, weight }) => ({ i, j, share: share(i, weight) })),
      gaps: hides && !state.renormalize ? values.map((row, i) => ({ i, share: share(i, row[0]) })) : [],
    },
  );
  return [
    { name: "pixels that differ", shown: String(counts.wrong), want: "0" },
    { name: "there are lines", shown: String(counts.ink > 200), want: "true" },
  ];
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

/** The numbers of the table: every row of weights of the store. @param {Page} page @returns {Promise<Cell[]>} */
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

/** The tints of the tokens in the running text. @param {Page} page @returns {Promise<Cell[]>} */
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

/** Each cell of each head's thumbnail. @param {Page} page @param {string} selector @returns {Promise<Cell[]>} */
async function thumbnails(page, selector) {
  const { boxes, state, dark } = await page.evaluate(async (which) => {
    const { view } = /** @type {any} */ (globalThis);
    const { store, state } = view;
    const [{ Nq, Nk, layers, heads }] = store.blocks;
    const atlas = view.shadowRoot.querySelector(which);
    const canvas = atlas?.querySelector("canvas");
    /** @type {{ name: string, rows: { weight: number, visible: boolean, color: string }[][] }[]} */
    const boxes = [];
    const look = { state: { ...state }, dark: matchMedia("(prefers-color-scheme: dark)").matches };
    // On a phone the overview is collapsed.
    if (!(canvas?.getBoundingClientRect().width > 0)) return { ...look, boxes };
    for (const layer of layers)
      for (let head = 0; head < heads; head++) {
        const ref = { block: 0, layer, head };
        await store.load(ref);
        view.state = { layer, head };
        await view.updateComplete;
        for (let frame = 0; frame < 3; frame++)
          await new Promise((resolve) => requestAnimationFrame(resolve));
        const cell = atlas.querySelector("[role=gridcell][tabindex='0']");
        const [a, b] = [cell, canvas].map((one) => one.getBoundingClientRect());
        const ratio = canvas.width / b.width;
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        const { width, height } = a;
        const rows = [];
        for (let i = 0; i < Nq; i++) {
          const weights = [...store.row(ref, i, "weights")];
          const visible = store.visible(ref, i);
          rows.push(
            weights.map((weight, j) => {
              const x = Math.floor((a.left - b.left + ((j + 0.5) * width) / Nk) * ratio);
              const y = Math.floor((a.top - b.top + ((i + 0.5) * height) / Nq) * ratio);
              const at = 4 * (y * canvas.width + x);
              return { weight, visible: visible[j] === 1, color: [...data.slice(at, at + 3)].join() };
            }),
          );
        }
        boxes.push({ name: `L${layer} H${head}`, rows });
      }
    view.state = { layer: look.state.layer, head: look.state.head };
    await view.updateComplete;
    return { ...look, boxes };
  }, selector);
  if (boxes.length === 0) return [{ name: "collapsed", shown: "", want: "" }];
  const table = colorTable(/** @type {any} */ (`${state.ramp}${dark ? "-dark" : ""}`));
  // Thumbnails store 255·√w, and apply the selected scale to that.
  const quantized = (/** @type {number} */ weight) => (Math.round(255 * Math.sqrt(weight)) / 255) ** 2;
  return boxes.flatMap(({ name, rows }) =>
    rows.flatMap((row, i) =>
      row.flatMap(({ weight, visible, color }, j) =>
        visible
          ? [
              {
                name: `${name}, query ${i}, key ${j} (${weight})`,
                shown: color,
                want: table[codeOf(quantized(weight), state.transfer, 1)].join(),
              },
            ]
          : [],
      ),
    ),
  );
}

/** Each number of the row view's ledger and list of keys. @param {Page} page @returns {Promise<Cell[]>} */
async function row(page) {
  const ledger = await page.evaluate(() => {
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
      bars: [...inside.querySelectorAll(".rowbars i")].map((bar) => Number.parseFloat(bar.style.height)),
      shares: [...weights],
    };
  });
  return [
    ...ledger.bars.map((height, j) => ({
      name: `the bar of key ${j}`,
      // Browsers round the percentages of style sheets.
      shown: Math.abs(height - 100 * ledger.shares[j]) <= 1e-4 ? "its share" : `${height} %`,
      want: ledger.shares[j] >= 0 ? "its share" : `a share of ${ledger.shares[j]}`,
    })),
    { name: "the ledger's weight", shown: String(ledger.weight), want: String(ledger.want) },
    { name: "the row's strongest", shown: ledger.listed.join(), want: ledger.best.join() },
  ];
}
