/**
 * `heed/cluster`: more than one process or machine. `joinCluster` joins the ranks that `mpirun` or `srun` started, over MPI.
 * @module
 * @beta
 */

export type { Communicator, Traffic } from "./communicator/communicator.ts";
export { type LocalOptions, localCluster } from "./communicator/local.ts";
export {
  type ContextBackwardOptions,
  type ContextGradients,
  contextAttentionBackward,
} from "./context/backward.ts";
export { type ContextPlan, type ExplainContextOptions, explainContext } from "./context/explain.ts";
export { contextAttention } from "./context/forward.ts";
export type { ContextOptions, Via } from "./context/options.ts";
export {
  type PositionRange,
  type ShardKind,
  type ShardOptions,
  ShardPlan,
  shardSequence,
} from "./context/shard.ts";
export { type JoinOptions, joinCluster, type Launch, launchOf } from "./join.ts";
