/**
 * The plots of the chapters: numbers that heed computes in float64, drawn by heed's own `curves` and `bars`, so that they have the
 * same bytes on every machine. tools/pictures.mjs writes them from the built package; tests/docs.test.ts draws them again from
 * the source and compares.
 */

/**
 * @typedef {object} Modules
 * @property {typeof import("../../src/index.ts")} heed
 * @property {typeof import("../../src/reference/index.ts")} reference
 * @property {typeof import("../../src/nn/index.ts")} nn
 * @property {typeof import("../../src/train/index.ts")} train
 * @property {typeof import("../../src/view/index.ts")} view
 */

/** Numbers that look random, the same everywhere. @param {number} n */
const numbers = (n) =>
  Float64Array.from({ length: n }, (_, i) => Math.sin(12.9898 * (i + 1)) * 2.2 + Math.cos(3.7 * i));

/** Running maximum and sum of one row, key by key. @param {Modules} modules */
function online({ reference, view }) {
  const N = 48;
  const sizes = { Nq: 1, Nk: N, dk: 1, dv: 1 };
  const [scores, maxima, sums] = [[], [], []].map((list) => /** @type {[number, number][]} */ (list));
  for (const { keys, s, m, l } of reference.online(
    Float64Array.of(1),
    numbers(N),
    new Float64Array(N),
    sizes,
    { tileN: 1 },
  )) {
    scores.push([keys[1], s[0]]);
    maxima.push([keys[1], m[0]]);
    sums.push([keys[1], m[0] + Math.log(l[0])]);
  }
  return view.curves(
    [
      { name: "score", points: scores },
      { name: "maximum m", points: maxima },
      { name: "m + ln l", points: sums },
    ],
    { title: "One row, key by key", x: "keys read", y: "score" },
  );
}

/** A mask, drawn as the explorer draws a head: all scores are equal, so that only the mask is visible. @param {Modules} modules */
async function mask({ heed, view }) {
  const N = 16;
  const zeros = heed.zeros([1, N, 4]);
  const store = view.storeFrom({
    blocks: [
      {
        tokens: Array.from({ length: N }, (_, n) => `${n}`),
        recipe: { mask: { window: 3, causal: true, globals: [0] } },
        layers: [{ query: zeros, key: zeros }],
      },
    ],
  });
  try {
    const { svg } = await view.renderFigure(store, { view: "matrix", layer: 0, head: 0, caption: false });
    return svg;
  } finally {
    store.dispose();
  }
}

/** The products' share of all operations. @param {Modules} modules */
function kernel({ view }) {
  return view.bars(
    [16, 32, 64, 128, 256].map((d) => [`d = ${d}`, (4 * d) / (4 * d + 16)]),
    {
      title: "The two products' share of the operations",
      max: 1,
      format: (share) => `${Math.round(100 * share)} %`,
    },
  );
}

/** Keys that each task of a causal call reads. @param {Modules} modules */
function tasks({ heed, view }) {
  const [N, tile] = [512, 64];
  const q = heed.zeros([N, 1]);
  const { weights } = heed.scaledDotProductAttention(q, q, q, { isCausal: true, returnWeights: true });
  /** The last row of a tile sees the most keys. @param {number} row */
  const keys = (row) => Array.from({ length: N }, (_, j) => weights.at(row, j)).filter((x) => x > 0).length;
  return view.bars(
    Array.from({ length: N / tile }, (_, n) => [
      `rows ${n * tile}–${(n + 1) * tile - 1}`,
      keys((n + 1) * tile - 1),
    ]),
    { title: "Keys that each task reads, causal, N = 512", format: String },
  );
}

/** Sizes of dQ as the scores grow. @param {Modules} modules */
function gradient({ reference, view }) {
  const [N, d] = [8, 4];
  const sizes = { Nq: N, Nk: N, dk: d, dv: d };
  const [q, k, v, dOutput] = [0, 1, 2, 3].map((n) => numbers(4 * N * d).subarray(n * N * d, (n + 1) * N * d));
  const points = [0.03, 0.1, 0.3, 1, 3, 10, 30, 100].map((scale) => {
    const { dQuery } = reference.backward(dOutput, q, k, v, sizes, { scale });
    // Of the scores, not of the queries: the scale itself is divided out.
    const size = Math.sqrt(dQuery.reduce((sum, x) => sum + (x / scale) ** 2, 0));
    return /** @type {[number, number]} */ ([scale, size]);
  });
  return view.curves([{ name: "gradient", points }], {
    title: "Saturation: large scores stop the gradient",
    x: "scale",
    y: "size",
    logX: true,
    logY: true,
  });
}

/** The loss of the table of letters of chapter 7. @param {Modules} modules */
async function loss({ heed, nn, train, view }) {
  const settings = { ...heed.configure() };
  heed.configure({ backend: "reference" });
  try {
    const text = "the cat sat on the mat, the rat ran at the cat, that was that. ".repeat(8);
    const letters = [...new Set(text)];
    const ids = Int32Array.from(text, (letter) => letters.indexOf(letter));
    const windows = new train.Windows(ids, [{ start: 0, end: ids.length }], {
      window: 33,
      overlap: 1,
      seed: 1,
    });
    const table = heed.zeros([letters.length, letters.length], "float64");
    const model = {
      parameters: () => new Map([["table.weight", table]]),
      /** @param {import("../../src/train/index.ts").Batch} batch */
      loss: ({ inputs, targets }) => train.crossEntropy(nn.embedding(inputs, table), targets),
    };
    /** @param {number} step */
    const data = (step) => [
      train.nextTokenBatch([0, 1, 2, 3].map((row) => windows.sequence(4 * step + row))),
    ];
    const { losses } = await train.train({ model, data, steps: 100, adamw: { lr: 0.1 } });
    return view.curves(
      [{ name: "training loss", points: losses.map((x, n) => /** @type {[number, number]} */ ([n + 1, x])) }],
      { title: "A table of letters learns the next one", x: "step", y: "nats per letter" },
    );
  } finally {
    heed.configure(settings);
  }
}

/** @param {(modules: Modules) => Promise<import("../../src/view/index.ts").Plot> | import("../../src/view/index.ts").Plot} plot */
const drawn = (plot) => async (/** @type {Modules} */ modules) => (await plot(modules)).toSvg();

/** SVG texts by file name. @type {ReadonlyMap<string, (modules: Modules) => Promise<string>>} */
export const PLOTS = new Map([
  ["online.svg", drawn(online)],
  ["window.svg", mask],
  ["kernel.svg", drawn(kernel)],
  ["tasks.svg", drawn(tasks)],
  ["gradient.svg", drawn(gradient)],
  ["loss.svg", drawn(loss)],
]);
