/** A call planned for the kernels, before anything is in the engine's memory: its spec, its cut, what its rows and keys cost. */

import type { SimdLevel } from "../../backend/plan.ts";
import type { Problem } from "../../backend/problem.ts";
import { settings } from "../../backend/settings.ts";
import { type Costs, planStaging, type StagingPlan, type Tiling } from "../../backend/tiling.ts";
import { paddedValue, stateBytes, workspaceOf } from "../codegen/layout.ts";
import { BYTES_OF, panelOf, type Spec } from "../codegen/spec.ts";
import type { Engine } from "../engine/engine.ts";
import { residentOperand } from "../engine/transfer.ts";
import { specOf } from "./call.ts";

/** What a forward call is made of before anything is staged. */
export interface ForwardPlan {
  readonly spec: Spec;
  readonly tiling: Tiling;
  readonly packValues: boolean;
  readonly costs: Costs;
  readonly staging: StagingPlan;
  readonly work: number;
}

/** Which part of the keys a stage is: whether the state begins and ends with it. */
export interface KeyRange {
  readonly first: boolean;
  readonly last: boolean;
}

/** Plans a problem for the kernels. */
export function planForward(engine: Engine, problem: Problem, level: SimdLevel): ForwardPlan {
  const { spec, tiling } = specOf(problem, level, engine.memory.shared);
  const { shape } = problem;
  const packed = spec.kind === "forward";
  // Values are used as they lie unless the product needs them widened or padded.
  const packValues = packed && (spec.value !== "float32" || spec.dv % panelOf(spec.tile) !== 0);
  const at = (x: typeof shape.key, columns: number, bytes: number) =>
    residentOperand(engine.memory, x) ? 0 : columns * bytes;
  const costs: Costs = {
    key:
      at(shape.key, shape.dk, BYTES_OF[spec.key]) +
      (packed ? 4 * shape.dk : 0) +
      at(shape.value, shape.dv, BYTES_OF[spec.value]) +
      (packValues ? 4 * paddedValue(spec) : 0),
    row:
      at(shape.query, shape.dk, BYTES_OF[spec.query]) +
      4 * shape.dv +
      4 +
      Math.ceil(stateBytes(spec) / spec.rowTile),
    cell: problem.tensors.reduce((n, t) => n + (t.kind === "bool" ? 1 : 4), 0),
  };
  const budget = Math.max(2 ** 20, (settings().bytesPerThread - workspaceOf(spec).size) * settings().threads);
  const work = 4 * shape.B * shape.Hq * shape.Nq * shape.Nk * Math.max(shape.dk, shape.dv);
  return { spec, tiling, packValues, costs, staging: planStaging(problem, tiling, costs, budget), work };
}
