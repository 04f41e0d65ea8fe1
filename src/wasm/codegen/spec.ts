/**
 * What a kernel is specialized on, and its readable key. Two calls with equal keys share a kernel: constants and
 * tables of mask expressions are read from memory, so a window of 256 and one of 512 have the same one.
 */
import {
  type BoolExpression,
  type Expression,
  type NumberExpression,
  textOf,
} from "../../masks/expression/expr.ts";

/** How an operand is stored in the engine's memory. */
export type StoredDType = "float32" | "float16" | "bfloat16";

/** Why the kernels do not take float64 operands. */
export const FLOAT64_REASON = "float64 calls compute in float64, the kernels in float32";

/** The most rows or keys that the kernels' 32-bit integers count, with space for a tile after the last. */
export const MAX_KEYS = 2 ** 31 - 2 ** 12;

/** Bytes of one stored number. */
export const BYTES_OF: Readonly<Record<StoredDType, number>> = { float32: 4, float16: 2, bfloat16: 2 };

/** Register tile: rows × vectors of four columns, and how often the inner loop is written out. */
export interface Tile {
  readonly rows: number;
  readonly vectors: number;
  readonly unroll: number;
}

/** Which gradients a backward kernel gives of what was added to the scores; kernels/sums.ts. */
export interface BiasGradients {
  /** What is summed, tables of the score numbered: `cells`, `columns`, `rows`, `rows 0`, `cells 1`, joined by +. */
  readonly name: string;
  /** Of every cell, of some float mask. */
  readonly cells: boolean;
  /** Summed over rows, of some float mask. */
  readonly columns: boolean;
  /** Summed over keys: of a float mask (undefined), or times the slope by a table entry that is one for the row. */
  readonly rows: readonly (NumberExpression | undefined)[];
  /** Into a table that is read cell by cell. */
  readonly tables: readonly { readonly read: NumberExpression; readonly partial: NumberExpression }[];
}

/** All that a kernel's code depends on. */
export interface Spec {
  readonly kind: "forward" | "weights" | "decode" | "pack" | "backward";
  /** Multiply and add in one rounding (relaxed_madd) or two. */
  readonly fused: boolean;
  /** Written so that V8 widens pairs of vectors to 256 bits: constants reloaded at each use. */
  readonly wide: boolean;
  readonly tile: Tile;
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
  /** Table look-ups proved to stay inside their tables: read without a clamp, along k as whole vectors. */
  readonly inBounds: ReadonlySet<Expression>;
  readonly tensors: readonly ("bool" | "float")[];
  /** `counted`: keyed by row + offset and the number of the key; `listed`: by the call's lists of positions. */
  readonly dropout: false | "counted" | "listed";
  readonly shared: boolean;
  /** Of a backward kernel: how the output and its gradient are stored. */
  readonly output?: StoredDType;
  readonly dOutput?: StoredDType;
  /** Of a backward kernel: the derivative of the score mod by the score, where it is not 1. */
  readonly scoreDerivative?: NumberExpression;
  readonly biasGradients?: BiasGradients;
}

/** How many places sums go to. */
export const targetsOf = (sums: BiasGradients): number =>
  (sums.cells ? 1 : 0) + (sums.columns ? 1 : 0) + sums.rows.length + sums.tables.length;

/** The slopes of a kernel's sums: of its rows, then of its tables. */
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

/** The kernel that packs keys and values for another: it has no mask, no score, no rows. */
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
export const panelOf = (tile: Tile): number => 4 * tile.vectors;

/** `n` rounded up to a multiple of `step`. */
export const roundUp = (n: number, step: number): number => Math.ceil(n / step) * step;

/** Keys that are full panels and full strips of the register tile at once: products over keys and of keys both take them. */
export function stripOf(tile: Tile): number {
  let n = panelOf(tile);
  while (n % tile.rows !== 0) n += panelOf(tile);
  return n;
}

const SHORT: Readonly<Record<StoredDType, string>> = { float32: "f32", float16: "f16", bfloat16: "bf16" };

/** The key: a string a person can read, `forward fma 6x2 d64 q48 k128 f32 mask le(k,q)`. */
export function keyOf(spec: Spec): string {
  const { tile } = spec;
  const stored = [spec.query, spec.key, spec.value, spec.output, spec.dOutput].filter((s) => s !== undefined);
  const storage = new Set(stored).size === 1 ? SHORT[spec.query] : stored.map((s) => SHORT[s]).join("/");
  const parts = [
    spec.kind,
    `${spec.wide ? "wide " : ""}${spec.fused ? "fma" : "mul+add"}`,
    `${tile.rows}x${tile.vectors}${tile.unroll > 1 ? `u${tile.unroll}` : ""}`,
    spec.dk === spec.dv ? `d${spec.dk}` : `d${spec.dk}/${spec.dv}`,
    `q${spec.rowTile} k${spec.keyTile}`,
    storage,
  ];
  const mark = marks(spec.inBounds);
  if (spec.score) parts.push(`score ${textOf(spec.score, "hidden", mark)}`);
  // Slopes follow from the score; which of them are summed is in the name.
  if (spec.biasGradients) parts.push(`sums ${spec.biasGradients.name}`);
  if (spec.mask) parts.push(`mask ${textOf(spec.mask, "hidden", mark)}`);
  if (spec.tensors.length) parts.push(`tensors ${spec.tensors.join("+")}`);
  if (spec.dropout) parts.push(spec.dropout === "listed" ? "dropout listed" : "dropout");
  if (!spec.shared) parts.push("unshared");
  return parts.join(" ");
}

/**
 * What the kernel's code asks of constants and tables beyond their kind: `@n` where one was met before as the n-th (it
 * has one place in the pool), `!` where a look-up stays inside its table.
 */
function marks(inside: ReadonlySet<Expression>): (x: Expression) => string {
  const met: unknown[] = [];
  return (x) => {
    const what = x.op === "table" ? x.value : x;
    const before = met.indexOf(what);
    if (before < 0) met.push(what);
    return `${before < 0 ? "" : `@${before}`}${inside.has(x) ? "!" : ""}`;
  };
}
