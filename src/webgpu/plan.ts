/** How the backend would run an operation, as `explain` prints it. */
import type { Operation } from "../backend/contract.ts";
import type { Plan } from "../backend/plan/plan.ts";
import { countTiles } from "../backend/plan/tiles.ts";
import { COLUMNS, forwardShape, levelOf, splitsOf } from "./attention/forward.ts";
import { session } from "./device.ts";
import { PORTABLE, TILE, threadsOf } from "./tile.ts";

/** The plan of an operation. Tasks are workgroups. */
export function plan(operation: Operation): Plan {
  const common = { backend: "webgpu", threads: 1, rowTile: 1, keyTile: 1, splits: 1, stages: 1, bytes: 0 };
  if (operation.kind === "matmul") {
    const { batch, M, N, K } = operation.product;
    const tasks = batch * Math.ceil(M / TILE) * Math.ceil(N / TILE);
    const tile = { tasks, rowTile: TILE, keyTile: TILE };
    return { ...common, ...tile, operation: "matmul", kernel: "portable product", operations: 2 * batch * M * N * K };
  }
  if (operation.kind === "rowwise" || operation.kind === "array") {
    const { name } = operation.operation;
    return { ...common, operation: name, kernel: `portable ${name}`, tasks: 1, operations: 0 };
  }
  const { problem, kind } = operation;
  const { B, Hq, Nq, Nk, dk, dv } = problem.shape;
  const tiles = problem.mask && countTiles(problem, TILE, TILE, TILE);
  const cells = tiles ? (tiles.full + tiles.partial) * TILE * TILE : B * Hq * Nq * Nk;
  const isForward = kind === "forward";
  const splits = isForward ? splitsOf(problem) : 1;
  const tile = isForward ? forwardShape(session(), problem).tile : PORTABLE;
  const { name } = levelOf(session(), problem);
  const level = isForward && (splits === 1 || name === "half") ? name : "portable";
  return {
    ...common,
    splits,
    operation: kind,
    kernel: `${level} ${kind}, float32, ${threadsOf(tile)} threads`,
    tasks: B * Hq * Math.ceil(Nq / tile.rows) * Math.max(1, Math.ceil(dv / COLUMNS)) * splits,
    rowTile: tile.rows,
    keyTile: TILE,
    operations: (kind === "backward" ? 5 : 2) * cells * (dk + dv),
    weightsBytes: 4 * B * Hq * Nq * Nk,
    ...(tiles && { tiles: { skipped: tiles.skipped, full: tiles.full, partial: tiles.partial } }),
  };
} // biome-ignore format: a row a plan
