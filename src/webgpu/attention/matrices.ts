/**
 * The products of the forward pass by matrices of subgroups (gpuweb/gpuweb#4195, a draft), float16 × float16 with sums in float32. Each
 * subgroup, of whatever width, has blocks of M rows of the tile. A matrix gives no access to its elements: what threads compute with goes
 * through workgroup memory.
 *
 * The products q·k of float16 are exact in float32; their sums have another order than on the other levels. A weight p ≤ 1 becomes
 * two numbers of float16, p·2^15 ≈ high + rest: an error of at most 2^-21·p + 2^-40. A matrix multiplies
 * masked cells too, so that a value of NaN or infinity would reach rows that do not see it: from its tile on, a workgroup adds values
 * as the other levels do.
 */
import type { ForwardShape } from "../levels.ts";
import { each, loadSlice, TILE, threadsOf } from "../tile.ts";

type MatrixShape = ForwardShape & Required<Pick<ForwardShape, "matrices">>;

/** The text of a pair of elements of a row and a column. */
type Reader = (i: string, d: string) => string;

/** Extensions of the language. */
const ENABLES = ["subgroups", "f16", "chromium_experimental_subgroup_matrix"] as const;

/** What the entry point has besides. */
const BUILTINS = ", @builtin(subgroup_id) subgroup: u32";

/** The scale of weights. */
const SCALE = 2 ** 15;

/** Reading and writing four numbers of the arrays of float16. A word with a number that is not finite is noted. */
const FUNCTIONS = `
fn put_qs(at: i32, x: vec2u) { let v = bitcast<vec4<f16>>(x); ${each(4, (n) => `qs[4 * at + ${n}] = v[${n}];`)} }
fn put_ks(at: i32, x: vec2u) {
  let v = bitcast<vec4<f16>>(x);
  ${each(4, (n) => `ks[4 * at + ${n}] = v[${n}];`)}
  let e = vec4u(x << vec2u(16u), x) & vec4u(0x7c000000u);
  if (any(e == vec4u(0x7c000000u))) { atomicStore(&wild[0], 1u); }
}
fn get_ks(at: i32) -> vec4f { return vec4f(vec4<f16>(ks[4 * at], ks[4 * at + 1], ks[4 * at + 2], ks[4 * at + 3])); }`;

/** Blocks of rows of a subgroup: enough also where all subgroups are of the largest size. */
const blocksOf = ({ tile, matrices: { M, subgroup } }: MatrixShape): number =>
  Math.ceil(tile.rows / M / Math.max(1, Math.floor(threadsOf(tile) / subgroup)));

/** The text of each block that a subgroup has, with the first row of the block. */
const eachBlock = (shape: MatrixShape, text: (block: number, row: string) => string): string =>
  each(blocksOf(shape), (block) => {
    const row = `(i32(subgroup) * ${blocksOf(shape)} + ${block}) * ${shape.matrices.M}`;
    return `if (${row} < ${shape.tile.rows}) { ${text(block, row)} }`;
  });

/** Names of the matrices of a row of blocks: N columns or keys each. */
const parts = ({ matrices: { N } }: MatrixShape): readonly number[] =>
  Array.from({ length: TILE / N }, (_, n) => n);

/** Adds to the results `name`, for each array, its columns from `at` on times the rows of ks. */
const multiply = (
  shape: MatrixShape,
  name: string,
  block: number,
  row: string,
  arrays: readonly string[],
): string => {
  const { M, N, K } = shape.matrices;
  const { rows } = shape.tile;
  const rights = parts(shape).map((n) => `let right${n} = subgroupMatrixLoad<subgroup_matrix_right<f16, ${N}, ${K}>, row_major>(&ks, at * ${TILE} + ${n * N}, ${TILE});`); // biome-ignore format: a row
  const lefts = arrays.map((array) => `{ let left = subgroupMatrixLoad<subgroup_matrix_left<f16, ${K}, ${M}>, col_major>(&${array}, at * ${rows} + ${row}, ${rows});
      ${parts(shape).map((n) => `${name}${block}_${n} = subgroupMatrixMultiplyAccumulate(left, right${n}, ${name}${block}_${n});`).join("\n")} }`); // biome-ignore format: a row
  return `for (var at = 0; at < ${TILE}; at += ${K}) {
      ${[...rights, ...lefts].join("\n")}
    }`;
};

const zeros = (shape: MatrixShape, name: string, block: number): string => {
  const { M, N } = shape.matrices;
  return parts(shape).map((n) => `var ${name}${block}_${n} = subgroup_matrix_result<f32, ${N}, ${M}>();`).join("\n"); // biome-ignore format: a row
};

/** products[column · rows + row] = the results `name` of a block. */
const store = (shape: MatrixShape, name: string, block: number, row: string): string => {
  const { rows } = shape.tile;
  const { N } = shape.matrices;
  return parts(shape).map((n) => `subgroupMatrixStore<col_major>(&products, ${n * N * rows} + ${row}, ${name}${block}_${n}, ${rows});`).join("\n"); // biome-ignore format: a row
};

/** The products of row y of a thread with its four columns or keys. */
const productsOf = ({ tile: { rows, perThread } }: MatrixShape, y: number): string =>
  `vec4f(${[0, 1, 2, 3].map((x) => `products[(tx * 4 + ${x}) * ${rows} + ty * ${perThread} + ${y}]`).join(", ")})`;

/** s = q·kᵀ of the tile: `product` of tile.ts by matrices. */
const scores = (shape: MatrixShape, left: Reader, right: Reader): string => {
  const { tile, storage } = shape;
  return `
    ${each(blocksOf(shape), (block) => zeros(shape, "c", block))}
    for (var d0 = 0; d0 < dk(); d0 += ${TILE}) {
      workgroupBarrier();
      ${loadSlice(left, right, tile, storage)}
      workgroupBarrier();
      ${eachBlock(shape, (block, row) => multiply(shape, "c", block, row, ["qs"]))}
    }
    ${eachBlock(shape, (block, row) => store(shape, "c", block, row))}
    workgroupBarrier();
    ${each(tile.perThread, (y) => `var s${y} = ${productsOf(shape, y)};`)}`;
};

/** The weights of a thread as two parts of float16; masked cells are 0. */
const storeWeights = ({ tile: { rows, perThread } }: ForwardShape): string =>
  each(
    perThread,
    (y) => `{ let w = select(p${y}, vec4f(0), p${y} < vec4f(0)) * ${SCALE}.0;
      // By bits: a compiler may leave out a conversion to float16 and back.
      let first = bitcast<vec4f>(bitcast<vec4u>(w) & vec4u(0xffffe000u));
      let high = vec4<f16>(first);
      let rest = vec4<f16>(w - first);
      for (var x = 0; x < 4; x++) {
        let at = (tx * 4 + x) * ${rows} + ty * ${perThread} + ${y};
        qs[at] = high[x];
        rests[at] = rest[x];
      } }`,
  );

/** o += p·v for the columns of chunk c, which ks has; `byThreads` does it without matrices. */
const addKeys = (shape: MatrixShape, c: number, byThreads: string): string => {
  const { perThread } = shape.tile;
  return `let isWild${c} = workgroupUniformLoad(&wild[0]) != 0u;
    if (isWild${c}) {
    ${byThreads}
    } else {
      ${eachBlock(shape, (block, row) => `${zeros(shape, "a", block)}\n${multiply(shape, "a", block, row, ["qs", "rests"])}\n${store(shape, "a", block, row)}`)}
    }
    workgroupBarrier();
    if (!isWild${c}) {
      ${each(perThread, (y) => `o${perThread * c + y} += ${productsOf(shape, y)} * ${1 / SCALE};`)}
    }`;
};

/** What the forward kernel of a shape with matrices has instead of its own text, or besides. */
export const matrixText = (shape: ForwardShape) => ({
  enables: ENABLES,
  builtins: BUILTINS,
  functions: FUNCTIONS,
  weights: storeWeights(shape),
  scores: (left: Reader, right: Reader) => scores(shape as MatrixShape, left, right),
  addKeys: (c: number, byThreads: string) => addKeys(shape as MatrixShape, c, byThreads),
});

/** Prints those texts. */
export type MatrixText = typeof matrixText;
