/**
 * Attention of the self-test by the formula, in float64: heads that share key heads, with everything that a kernel is printed for. src/reference
 * computes whole calls, and is several times as large in a bundle. `shift` changes each score s by shift·(1 + |s|) before score mods: where a
 * result then differs, float32 cannot tell what is right.
 */
import type { BackwardResult, BackwardTensors, Selection } from "../../backend/contract.ts";
import type { Problem } from "../../backend/problem.ts";
import { cellBits, dropoutThreshold, headKey, rowKey } from "../../core/random/random.ts";
import type { State } from "../../core/state.ts";
import { sizeOf, Tensor } from "../../core/tensor.ts";
import { derivative } from "../../masks/expression/derivative.ts";
import { tablesOf } from "../../masks/expression/expr.ts";
import { compile, compileIndex } from "../../masks/expression/js.ts";

const tensor = (data: ArrayLike<number>, ...shape: number[]): Tensor =>
  new Tensor(Float64Array.from(data), shape, "float64");

const dot = (n: number, x: Float64Array, xAt: number, y: Float64Array, yAt: number): number => {
  let sum = 0;
  for (let i = 0; i < n; i++) sum += x[xAt + i] * y[yAt + i];
  return sum;
};

const addTo = (
  n: number,
  y: Float64Array,
  yAt: number,
  factor: number,
  x: Float64Array,
  xAt: number,
): void => {
  if (factor !== 0) for (let i = 0; i < n; i++) y[yAt + i] += factor * x[xAt + i];
};

/** The numbers of a problem, and its rows: of each cell the input of softmax, −∞ where it is masked, and the factor of dropout. */
function numbersOf(problem: Problem, shift: number) {
  const { shape, scale, tensors, offsets, positions, dropoutP, seed } = problem;
  const { B, Hq: H, G, Hkv, Nq: M, Nk: N, dk: D, dv: E } = shape;
  const [q, k, v] = [shape.query, shape.key, shape.value].map((x) => x.tensor.toFloat64());
  const isVisible = problem.mask && compile(problem.mask);
  const mod = problem.score && compile(problem.score);
  const masks = tensors.map((t) => ({ ...t, numbers: t.tensor.toFloat64() }));
  const threshold = dropoutThreshold(dropoutP);
  const cellAt = (b: number, h: number, i: number, j: number) => {
    const key = (b * Hkv + Math.floor(h / G)) * N + j;
    const score = dot(D, q, ((b * H + h) * M + i) * D, k, key * D) * scale;
    const cell = { b, h, i, q: i + offsets[b], k: j, score: score + shift * (1 + Math.abs(score)) };
    let s = isVisible?.(cell) === 0 ? -Infinity : mod ? mod(cell) : cell.score;
    for (const { kind, numbers, base, head, row, column } of masks) {
      const x = numbers[base[b] + h * head + i * row + j * column];
      if (kind === "float") s += x;
      else if (x === 0) s = -Infinity;
    }
    const isDropped = dropoutP > 0 && cellBits(rowKey(headKey(seed, b, h), positions.query(b, i)), positions.key(b, j)) < threshold; // biome-ignore format: a condition
    return { key, cell, s, factor: isDropped ? 0 : 1 / (1 - dropoutP) };
  };
  const row = (b: number, h: number, i: number) => Array.from({ length: N }, (_, j) => cellAt(b, h, i, j));
  const rows = Array.from({ length: B * H * M }, (_, n) => [Math.floor(n / M / H), Math.floor(n / M) % H, n % M] as const); // biome-ignore format: a row
  return {
    B,
    H,
    M,
    N,
    D,
    E,
    Hkv,
    q,
    k,
    v,
    sinks: problem.sinks ?? new Float64Array(H).fill(-Infinity),
    row,
    rows,
  };
}

/** Output and lse. */
export function forward(problem: Problem, shift = 0): State {
  const { B, H, M, E, v, sinks, row, rows } = numbersOf(problem, shift);
  const output = new Float64Array(B * H * M * E);
  const lse = rows.map(([b, h, i], n) => {
    const cells = row(b, h, i);
    const top = Math.max(sinks[h], ...cells.map(({ s }) => s));
    if (top === -Infinity) return top;
    const l = cells.reduce((sum, { s }) => sum + Math.exp(s - top), Math.exp(sinks[h] - top));
    for (const { key, s, factor } of cells)
      addTo(E, output, n * E, (Math.exp(s - top) / l) * factor, v, key * E);
    return top + Math.log(l);
  });
  return { output: tensor(output, B, H, M, E), lse: tensor(lse, B, H, M) };
}

const weightOf = (s: number, lse: number): number => (s === -Infinity ? 0 : Math.exp(s - lse));

/** The weights of heads and rows. */
export function weights(problem: Problem, lse: Tensor, { heads, rows: list }: Selection, shift = 0): Tensor {
  const { B, H, M, N, row } = numbersOf(problem, shift);
  const all = lse.toFloat64();
  const results: number[] = [];
  for (let b = 0; b < B; b++)
    for (const h of heads)
      for (const i of list)
        for (const { s, factor } of row(b, h, i))
          results.push(weightOf(s, all[(b * H + h) * M + i]) * factor);
  return tensor(results, B, heads.length, list.length, N);
}

/** All gradients. */
export function backward(problem: Problem, tensors: BackwardTensors, shift = 0): BackwardResult {
  const { B, H, M, N, D, E, Hkv, q, k, v, sinks, row, rows } = numbersOf(problem, shift);
  const { score } = problem;
  const [dO, o, lse] = [tensors.dOutput, tensors.output, tensors.lse].map((t) => t.toFloat64());
  const zeros = (n: number) => new Float64Array(n);
  const [dq, dk, dv, dSinks] = [B * H * M * D, B * Hkv * N * D, B * Hkv * N * E, H].map(zeros);
  const masks = problem.tensors.map((t) => ({ ...t, sum: zeros(t.tensor.size) }));
  const by = score && derivative(score);
  const slope = by?.score && compile(by.score);
  const tables = new Map((score ? tablesOf(score) : []).map((t) => [t, zeros(sizeOf(t.shape))]));
  const reads = by?.tables.map(({ table, read, partial }) => ({ sum: tables.get(table) as Float64Array, place: compileIndex(read), partial: compile(partial) })); // biome-ignore format: a row
  for (const [n, [b, h, i]] of rows.entries()) {
    if (lse[n] === -Infinity) continue;
    const delta = dot(E, o, n * E, dO, n * E);
    dSinks[h] -= Math.exp(sinks[h] - lse[n]) * delta;
    for (const { key, cell, s, factor } of row(b, h, i)) {
      const p = weightOf(s, lse[n]);
      if (p === 0) continue;
      const ds = p * (dot(E, dO, n * E, v, key * E) * factor - delta);
      const dDot = problem.scale * ds * (slope ? slope(cell) : 1);
      addTo(E, dv, key * E, p * factor, dO, n * E);
      addTo(D, dq, n * D, dDot, k, key * D);
      addTo(D, dk, key * D, dDot, q, n * D);
      for (const { sum, base, head, row, column } of masks)
        sum[base[b] + h * head + i * row + cell.k * column] += ds;
      for (const { sum, place, partial } of reads ?? []) sum[place(cell)] += ds * partial(cell);
    }
  }
  return {
    dQuery: tensor(dq, B, H, M, D),
    dKey: tensor(dk, B, Hkv, N, D),
    dValue: tensor(dv, B, Hkv, N, E),
    masks: masks.map(({ sum, tensor: t }) => tensor(sum, ...t.shape)),
    sinks: tensor(dSinks, H),
    tables: new Map([...tables].map(([t, sum]) => [t, tensor(sum, ...t.shape)])),
  };
}
