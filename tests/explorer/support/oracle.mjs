// @ts-check
/**
 * One head of `makeInput` by the definitions of docs/08-explorer.md, in plain loops over float64: scores, weights, contrast, and the
 * rollout of a block. It uses nothing of the store.
 */

/** @typedef {{ scores: number[][], scaled: number[][], weights: number[][], contrast: number[][], visible: boolean[][] }} Head */

const isSpecial = (/** @type {string} */ token) => /^\[(?:CLS|SEP)\]$/.test(token);

/** Keys that the state leaves out. @param {readonly string[]} tokens @param {string} hide */
export const hiddenOf = (tokens, hide) =>
  tokens.map((token, j) => (hide === "special" ? isSpecial(token) : hide === "first" && j === 0));

/** @param {any} input @param {number} layer @param {number} head @returns {Head} */
export function headOf(input, layer, head) {
  const [{ queryTokens, keyTokens, recipe, layers }] = input.blocks;
  const { query, key } = layers[layer];
  const [heads, Nq, d] = query.shape;
  const [keyHeads, Nk] = key.shape;
  const shared = Math.floor(head / (heads / keyHeads));
  const rows = (/** @type {(i: number, j: number) => number} */ cell) =>
    Array.from({ length: Nq }, (_, i) => Array.from({ length: Nk }, (_, j) => cell(i, j)));
  const scores = rows((i, j) => {
    let sum = 0;
    for (let c = 0; c < d; c++)
      sum += query.data[(head * Nq + i) * d + c] * key.data[(shared * Nk + j) * d + c];
    return sum;
  });
  const scaled = rows((i, j) => scores[i][j] / Math.sqrt(d));
  const visible = rows((i, j) => Number(recipe.mask !== "causal" || j <= i)).map((row) => row.map(Boolean));
  const sums = visible.map((row, i) =>
    row.reduce((sum, one, j) => sum + (one ? Math.exp(scaled[i][j]) : 0), 0),
  );
  const weights = rows((i, j) => (visible[i][j] ? Math.exp(scaled[i][j]) / sums[i] : 0));
  const keys = visible.map((row) => row.filter(Boolean).length);
  const contrast = rows((i, j) => {
    if (!visible[i][j]) return 0;
    const others = weights.filter(
      (_, r) => r !== i && !isSpecial(queryTokens[r]) && visible[r][j] && 2 * keys[r] >= keys[i],
    );
    return others.length === 0
      ? 0
      : weights[i][j] - others.reduce((sum, row) => sum + row[j], 0) / others.length;
  });
  if (keyTokens.length !== Nk) throw new Error("tokens and keys differ in number");
  return { scores, scaled, weights, contrast, visible };
}

/** A stage as the page shows it: weights without hidden keys, which the others share if `renormalize`. @param {Head} one @param {any} state @param {readonly string[]} tokens */
export function shownOf(one, { stage, hide, renormalize }, tokens) {
  const hidden = stage === "weights" ? hiddenOf(tokens, hide) : tokens.map(() => false);
  const values = /** @type {any} */ (one)[stage].map((/** @type {number[]} */ row) => {
    const rest = row.reduce((sum, w, j) => sum + (hidden[j] ? 0 : w), 0);
    return row.map((w) => (stage === "weights" && renormalize && rest > 0 ? w / rest : w));
  });
  const early = stage === "scores" || stage === "scaled";
  return {
    values: /** @type {number[][]} */ (values),
    visible: one.visible.map((row) => row.map((isSeen, j) => (early || isSeen) && !hidden[j])),
  };
}

/** The rollout of a block: the product of all layers from one on. @param {any} input @param {any} state @returns {number[][]} */
export function rolloutOf(input, { alpha, fuse, discard, fromLayer }) {
  const [{ layers }] = input.blocks;
  const heads = layers[0].query.shape[0];
  /** @type {number[][] | undefined} */
  let product;
  for (let layer = fromLayer ?? 0; layer < layers.length; layer++) {
    const all = Array.from({ length: heads }, (_, h) =>
      headOf(input, layer, h).weights.map(without(discard)),
    );
    const step = all[0].map((row, i) => {
      const joined = row.map((_, j) => {
        const values = all.map((one) => one[i][j]);
        const fused =
          fuse === "mean"
            ? values.reduce((a, b) => a + b) / heads
            : fuse === "max"
              ? Math.max(...values)
              : Math.min(...values);
        return (1 - alpha) * fused + (i === j ? alpha : 0);
      });
      const sum = joined.reduce((a, b) => a + b);
      return joined.map((w, j) => (sum > 0 ? w / sum : Number(i === j)));
    });
    const before = product;
    product =
      before === undefined
        ? step
        : step.map((row) =>
            before[0].map((_, j) => row.reduce((sum, w, middle) => sum + w * before[middle][j], 0)),
          );
  }
  return product ?? [];
}

/** A row without its smallest weights, as many as sum to at most a share of it. @param {number} share */
const without = (share) => (/** @type {number[]} */ row) => {
  if (share === 0) return row;
  const order = [...row.keys()].sort((a, b) => row[a] - row[b]);
  let sum = 0;
  const dropped = new Set(order.filter((j) => (sum += row[j]) <= share * row.reduce((a, b) => a + b)));
  return row.map((w, j) => (dropped.has(j) ? 0 : w));
};

/** The colors of the cells of a matrix, in their middle or, where numbers are written, near their corner. @param {import("@playwright/test").Page} page @param {string} matrix a selector @param {number} n which of them @param {number} rows @param {number} columns @param {number} [part] of a cell @returns {Promise<string[][]>} */
export const drawnCells = (page, matrix, n, rows, columns, part = 0.5) =>
  page.evaluate(
    ([selector, which, height, width, share]) => {
      const one = /** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(selector)[which];
      const canvas = one?.querySelector("canvas.cells");
      if (!canvas?.width) return [];
      const [area, box] = [one.querySelector(".area"), canvas].map((part) => part.getBoundingClientRect());
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const ratio = canvas.width / box.width;
      return Array.from({ length: height }, (_, i) =>
        Array.from({ length: width }, (_, j) => {
          const x = Math.floor((area.left - box.left + ((j + share) * area.width) / width) * ratio);
          const y = Math.floor((area.top - box.top + ((i + share) * area.height) / height) * ratio);
          return [...data.slice(4 * (y * canvas.width + x), 4 * (y * canvas.width + x) + 3)].join();
        }),
      );
    },
    /** @type {[string, number, number, number, number]} */ ([matrix, n, rows, columns, part]),
  );
