/**
 * `heed/cluster`: more than one process or machine. `joinCluster` joins the ranks that `mpirun` or `srun` started, over MPI.
 */

export type { Communicator, Traffic } from "./communicator.ts";
export { type ContextOptions, contextAttention, type Via } from "./context.ts";
export {
  type ContextBackwardOptions,
  type ContextGradients,
  contextAttentionBackward,
} from "./context-backward.ts";
export { type ContextPlan, type ExplainContextOptions, explainContext } from "./explain.ts";
export { type JoinOptions, joinCluster, type Launch, launchOf } from "./join.ts";
export { type LocalOptions, localCluster } from "./local.ts";
export { type PositionRange, type ShardKind, type ShardOptions, ShardPlan, shardSequence } from "./shard.ts";
