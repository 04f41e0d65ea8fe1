/**
 * The spec: the parameters that a kernel is specialized on, and its readable key. Calls with equal keys share a kernel: constants
 * and tables of mask expressions are read from memory, so windows of 256 and of 512 have the same kernel.
 */

import { DTYPES, isStored, type StoredDType } from "../../core/dtype.ts";
import { UnsupportedError } from "../../core/errors.ts";
import type { Operand } from "../../core/shape.ts";
import type { BoolExpression, Expression, NumberExpression } from "../../masks/expression/expr.ts";
import { textOf } from "../../masks/expression/expr.ts";

/** Why the kernels do not support float64 operands. */
export const FLOAT64_REASON = "float64 calls compute in float64, the kernels in float32";

/** Maximum number of rows or keys that the kernels' 32-bit integers can count, with a tile after the last one. */
export const MAX_KEYS = 2 ** 31 - 2 ** 12;

/** The dtype of an operand in the engine's memory. Plans refuse float64 before. */
export function storedDType({ tensor: { dtype } }: Operand): StoredDType {
  if (!isStored(dtype)) throw new UnsupportedError("dtype", `${dtype}: ${FLOAT64_REASON}`, { dtype });
  return dtype;
}

/** Register tile: rows × vectors of four columns, and how often the inner loop is written out. */
export interface RegisterTile {
  readonly rows: number;
  readonly vectors: number;
  readonly unroll: number;
}

/** The gradients of terms added to the scores that a backward kernel computes; kernels/attention/bias-gradients.ts. */
export interface BiasGradients {
  /** Name in the kernel key, tables of the score numbered: `cells`, `columns`, `rows`, `rows 0`, `cells 1`, joined by +. */
  readonly name: string;
  /** True where a float mask has a gradient for every cell. */
  readonly cells: boolean;
  /** True where the gradient of a float mask is summed over rows. */
  readonly columns: boolean;
  /** Sums over keys: of a float mask (undefined), or times the derivative by a table entry that is the same for the row. */
  readonly rows: readonly (NumberExpression | undefined)[];
  /** Tables that are read cell by cell. */
  readonly tables: readonly { readonly read: NumberExpression; readonly partial: NumberExpression }[];
}

/** All parameters that a kernel's code depends on. */
export interface Spec {
  readonly kind: "forward" | "weights" | "decode" | "pack" | "backward";
  /** Multiply and add in one rounding (relaxed_madd) or two. */
  readonly fused: boolean;
  /** Written so that V8 widens pairs of vectors to 256 bits: constants reloaded at each use. */
  readonly wide: boolean;
  readonly tile: RegisterTile;
  readonly dk: number;
  readonly dv: number;
  /** Query rows of a task, keys of a tile. */
  readonly rowTile: number;
  readonly keyTile: number;
  readonly query: StoredDType;
  readonly key: StoredDType;
  readonly value: StoredDType;
  readonly mask?: BoolExpression;
  readonly score?: NumberExpression;
  /** Table lookups that are always in range: read without a clamp, along k as full vectors. */
  readonly inBounds: ReadonlySet<Expression>;
  readonly tensors: readonly ("bool" | "float")[];
  /** `counted`: keyed by row + offset and the index of the key; `listed`: by the call's lists of positions. */
  readonly dropout: false | "counted" | "listed";
  readonly shared: boolean;
  /** Of a backward kernel: how the output and its gradient are stored. */
  readonly output?: StoredDType;
  readonly dOutput?: StoredDType;
  /** Of a backward kernel: the derivative of the score mod with respect to the score, where it is not 1. */
  readonly scoreDerivative?: NumberExpression;
  readonly biasGradients?: BiasGradients;
}

/** Number of targets of the sums. */
export const targetsOf = (sums: BiasGradients): number =>
  (sums.cells ? 1 : 0) + (sums.columns ? 1 : 0) + sums.rows.length + sums.tables.length;

/** The derivatives of a kernel's sums: of its rows, then of its tables. */
export const scoreModDerivatives = (sums: BiasGradients): readonly (NumberExpression | undefined)[] => [
  ...sums.rows,
  ...sums.tables.map((x) => x.partial),
];

/** Every expression of a kernel, in the order in which its pool stores their constants and tables. */
export const expressionsOf = (spec: Spec): readonly (Expression | undefined)[] => [
  spec.mask,
  spec.score,
  spec.scoreDerivative,
  ...(spec.biasGradients
    ? [...scoreModDerivatives(spec.biasGradients), ...spec.biasGradients.tables.map((x) => x.read)]
    : []),
];

/** The spec of the kernel that packs keys and values for another kernel: no mask, no score, no rows. */
export const packing = (spec: Spec): Spec => ({
  ...spec,
  kind: "pack",
  mask: undefined,
  score: undefined,
  scoreDerivative: undefined,
  tensors: [],
  dropout: false,
  inBounds: new Set(),
  output: undefined,
  dOutput: undefined,
  biasGradients: undefined,
});

/** Columns of one register tile: keys of a packed panel. */
export const panelOf = (tile: RegisterTile): number => 4 * tile.vectors;

/** `n` rounded up to a multiple of `step`. */
export const roundUp = (n: number, step: number): number => Math.ceil(n / step) * step;

/** Number of keys that is a multiple of both the panel and the rows of the register tile, for products over keys and of keys. */
export function stripOf(tile: RegisterTile): number {
  let n = panelOf(tile);
  while (n % tile.rows !== 0) n += panelOf(tile);
  return n;
}

/** A dtype in kernel keys: `f32`, `f16`, `bf16`. */
export const shortDType = (dtype: StoredDType): string => DTYPES[dtype].safetensors.toLowerCase();

/** The SIMD level and the register tile in kernel keys: `wide fma 6x2`. */
export const tileKey = ({ wide, fused, tile }: Pick<Spec, "wide" | "fused" | "tile">): string =>
  `${wide ? "wide " : ""}${fused ? "fma" : "mul+add"} ${tile.rows}x${tile.vectors}${tile.unroll > 1 ? `u${tile.unroll}` : ""}`;

/** The readable key: `forward fma 6x2 d64 q48 k128 f32 mask le(k,q)`. */
export function keyOf(spec: Spec): string {
  const stored = [spec.query, spec.key, spec.value, spec.output, spec.dOutput].filter((s) => s !== undefined);
  const storage =
    new Set(stored).size === 1 ? shortDType(spec.query) : stored.map((s) => shortDType(s)).join("/");
  const parts = [
    spec.kind,
    tileKey(spec),
    spec.dk === spec.dv ? `d${spec.dk}` : `d${spec.dk}/${spec.dv}`,
    `q${spec.rowTile} k${spec.keyTile}`,
    storage,
  ];
  const mark = marks(spec.inBounds);
  if (spec.score) parts.push(`score ${textOf(spec.score, "hidden", mark)}`);
  // The derivatives follow from the score; the name says which ones are summed.
  if (spec.biasGradients) parts.push(`bias gradients ${spec.biasGradients.name}`);
  if (spec.mask) parts.push(`mask ${textOf(spec.mask, "hidden", mark)}`);
  if (spec.tensors.length) parts.push(`tensors ${spec.tensors.join("+")}`);
  if (spec.dropout) parts.push(spec.dropout === "listed" ? "dropout listed" : "dropout");
  if (!spec.shared) parts.push("unshared");
  return parts.join(" ");
}

/**
 * Marks of constants and tables that change the kernel's code: `@n` where one is the same as the n-th before (it is stored in the
 * pool once), `!` where a lookup is always in range.
 */
function marks(inside: ReadonlySet<Expression>): (x: Expression) => string {
  const terms: unknown[] = [];
  return (x) => {
    const what = x.op === "table" ? x.value : x;
    const before = terms.indexOf(what);
    if (before < 0) terms.push(what);
    return `${before < 0 ? "" : `@${before}`}${inside.has(x) ? "!" : ""}`;
  };
}
