/**
 * Gradients of terms added to the scores: the sums that a kernel computes for them, their addresses in the engine's
 * memory, and the gradients of masks and tables from these sums. Each query head has separate cells, columns and rows; each
 * key head and range of keys has a separate copy of a table that is read cell by cell. So tasks of one wave write no common
 * sums, and each sum has a fixed order. The copies are added up here, in float64.
 */
import type { Gradients, MaskGradient } from "../../../backend/contract.ts";
import { floatTables } from "../../../backend/gradients.ts";
import type { Problem } from "../../../backend/problem.ts";
import { derivative, type TableDerivative } from "../../../masks/expression/derivative.ts";
import type { NumberExpression } from "../../../masks/expression/expr.ts";
import { type Cell, compileIndex } from "../../../masks/expression/js.ts";
import { perRow } from "../../codegen/score.ts";
import { type BiasGradients, roundUp, targetsOf } from "../../codegen/spec.ts";
import type { AllocationScope, EngineMemory } from "../../engine/memory.ts";
import type { EngineStage } from "../plan.ts";

/** The sums of a pass. */
export interface BiasGradientPlan {
  readonly sums: BiasGradients;
  /** Lookups whose entry is the same for a whole row, in the order of `sums.rows`. */
  readonly byRow: readonly TableDerivative[];
  readonly byCell: readonly TableDerivative[];
}

type Target = "cells" | "columns" | "rows";

/** The sum for a mask's gradient: a stride of 0 marks a broadcast axis. */
const targetOf = (g: MaskGradient): Target => (g.column === 0 ? "rows" : g.row === 0 ? "columns" : "cells");

const bytesOf = ({ table }: TableDerivative): number => 8 * table.data.length;

/** The sums for the requested gradients; undefined where there are none. */
export function planBiasGradients(
  problem: Problem,
  gradients: Pick<Gradients, "masks" | "tables">,
): BiasGradientPlan | undefined {
  const targets = gradients.masks.flatMap((g) => (g ? [targetOf(g)] : []));
  const partials = gradients.tables.size > 0 && problem.score ? derivative(problem.score).tables : [];
  const wanted = partials.filter(({ table }) => gradients.tables.has(table));
  if (targets.length + wanted.length === 0) return undefined;
  const byRow = wanted.filter(({ read }) => perRow(read));
  const byCell = wanted.filter(({ read }) => !perRow(read));
  const rows: (NumberExpression | undefined)[] = byRow.map(({ partial }) => partial);
  if (targets.includes("rows")) rows.push(undefined);
  const name = [
    ...new Set(targets),
    ...byRow.map((x) => `rows ${partials.indexOf(x)}`),
    ...byCell.map((x) => `cells ${partials.indexOf(x)}`),
  ].join("+");
  const sums = {
    name,
    cells: targets.includes("cells"),
    columns: targets.includes("columns"),
    rows,
    tables: byCell,
  };
  return { sums, byRow, byCell };
}

/** The sums for the gradients of all tables of the score mods; undefined where there are none. */
export const planTableGradients = (problem: Problem): BiasGradientPlan | undefined =>
  planBiasGradients(problem, tableGradients(problem));

/** Gradients of the tables alone. */
export const tableGradients = (problem: Problem): Pick<Gradients, "masks" | "tables"> => ({
  masks: problem.tensors.map(() => undefined),
  tables: new Map(floatTables(problem).map((t) => [t, t.data as Float64Array])),
});

/** Bytes of the tables' copies for one range of keys of one key head. */
export const copyBytes = (plan: BiasGradientPlan | undefined): number =>
  plan ? plan.byCell.reduce((n, x) => n + bytesOf(x), 0) : 0;

/** The sums of a stage in the engine's memory. */
export interface PlacedBiasGradients {
  readonly targets: number;
  /** Address of the first row of the first head of a task, bytes from head to head and from row to row, of every target. */
  words(b: number, hk: number, s: number, row: number, key: number): number[];
  /** Adds what the stage summed to the gradients. */
  collect(gradients: Gradients): void;
}

/** Buffers for the sums of a stage, all zero. */
export function placeBiasGradients(
  memory: EngineMemory,
  regions: AllocationScope,
  problem: Problem,
  plan: BiasGradientPlan,
  stage: EngineStage,
  keyRanges: number,
  strip: number,
): PlacedBiasGradients {
  const { G, Hkv } = problem.shape;
  const { sums, byRow, byCell } = plan;
  const [[r0, r1], [k0, k1]] = [stage.rows, stage.keys];
  const heads = stage.heads.list.length * G;
  const units = new Map(stage.heads.list.map(({ b, hk }, n) => [b * Hkv + hk, n]));
  const unitOf = (b: number, hk: number) => units.get(b * Hkv + hk) as number;
  const headOf = (b: number, h: number) => unitOf(b, Math.floor(h / G)) * G + (h % G);
  const zeroed = (bytes: number) => {
    const at = regions.alloc(bytes);
    memory.u8.fill(0, at, at + bytes);
    return at;
  };
  const across = 4 * roundUp(k1 - k0, strip);
  const down = 4 * (r1 - r0);
  const cellsHead = across * (r1 - r0);
  const cells = sums.cells ? zeroed(heads * cellsHead) : 0;
  const columns = sums.columns ? zeroed(heads * across) : 0;
  const rows = sums.rows.map(() => zeroed(heads * down));
  const tables = byCell.map((x) => zeroed(stage.heads.list.length * keyRanges * bytesOf(x)));
  const copyAt = (n: number, b: number, hk: number, s: number) =>
    tables[n] + (unitOf(b, hk) * keyRanges + s) * bytesOf(byCell[n]);

  return {
    targets: targetsOf(sums),
    words(b, hk, s, row, key) {
      const h = hk * G;
      const list: number[] = [];
      const [i, j] = [row - r0, 4 * (key - k0)];
      if (sums.cells) list.push(cells + headOf(b, h) * cellsHead + i * across + j, cellsHead, across);
      if (sums.columns) list.push(columns + headOf(b, h) * across + j, across, 0);
      for (const at of rows) list.push(at + headOf(b, h) * down + 4 * i, down, 4);
      tables.forEach((_, n) => void list.push(copyAt(n, b, hk, s), 0, 0));
      return list;
    },
    collect(gradients) {
      const { f32 } = memory;
      const f64 = new Float64Array(memory.memory.buffer);
      for (const { b, hk } of stage.heads.list)
        for (let h = hk * G; h < (hk + 1) * G; h++) {
          const head = headOf(b, h);
          for (const g of gradients.masks) if (g) addMask(g, b, h, head);
          byRow.forEach(({ read, table }, n) => {
            const into = gradients.tables.get(table) as Float64Array;
            const index = compileIndex(read);
            const cell: Cell = { b, h, i: 0, q: 0, k: 0, score: 0 };
            for (let i = r0; i < r1; i++) {
              cell.i = i;
              cell.q = i + problem.offsets[b];
              into[index(cell)] += f32[(rows[n] + head * down) / 4 + i - r0];
            }
          });
        }
      for (const { b, hk } of stage.heads.list)
        byCell.forEach(({ table }, n) => {
          const into = gradients.tables.get(table) as Float64Array;
          for (let s = 0; s < keyRanges; s++) {
            const at = copyAt(n, b, hk, s) / 8;
            for (let e = 0; e < into.length; e++) into[e] += f64[at + e];
          }
        });

      function addMask(g: MaskGradient, b: number, h: number, head: number): void {
        const start = g.base[b] + h * g.head;
        const target = targetOf(g);
        const { data } = g;
        if (target === "rows") {
          const from = (rows[sums.rows.indexOf(undefined)] + head * down) / 4;
          for (let i = 0; i < r1 - r0; i++) data[start + (r0 + i) * g.row] += f32[from + i];
          return;
        }
        const count = target === "columns" ? 1 : r1 - r0;
        for (let i = 0; i < count; i++) {
          const from =
            (target === "columns" ? columns + head * across : cells + head * cellsHead + i * across) / 4;
          const to = start + (r0 + i) * g.row + k0 * g.column;
          for (let j = 0; j < k1 - k0; j++) data[to + j * g.column] += f32[from + j];
        }
      }
    },
  };
}
