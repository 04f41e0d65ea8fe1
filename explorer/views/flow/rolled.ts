/**
 * The rollout or the attention flow of the current block, computed by functions of the store. It is cached until the text or a
 * setting changes; while the next one is computed, the previous one stays on screen.
 */
import { messageOf } from "../../../src/core/errors.ts";
import type { RequestOptions } from "../../../src/store/compute/request.ts";
import type { HeadStore } from "../../../src/store/head-store.ts";
import { attentionFlow, MAX_FLOW_TOKENS } from "../../../src/store/measures/attention-flow.ts";
import { type LayerMatrices, type RolloutOptions, rollout } from "../../../src/store/measures/rollout.ts";
import type { Session } from "../../app/session.ts";

/** The result for all layers together. */
export interface Rolling extends LayerMatrices {
  readonly by: "rollout" | "flow";
  /** [N, N]: the product of all layers, or the flow of each pair as a share of its row. Rows sum to 1. */
  readonly matrix: Float64Array;
  /** The row sums of the product, or of the flows before each row is divided by its sum. */
  readonly rowSums: Float64Array;
  /** The largest |row sum − 1| of `matrix`. */
  readonly worst: number;
  readonly warning: string;
}

/** The last computed rollout, or why there is none. */
export interface Rolled {
  readonly done: Rolling | undefined;
  /** Share of the work that is done. */
  readonly progress: number;
  readonly problem: string | undefined;
  /** Incremented with every new rollout. */
  readonly version: number;
}

interface RolloutEntry extends Rolled {
  readonly key: string;
  readonly text: string;
  readonly stop: AbortController;
}

const rollouts = new WeakMap<Session, RolloutEntry>();

/** The rollout for the session's state; it is computed if it is not cached. */
export function rolledOf(session: Session): Rolled {
  const { store, state } = session;
  const { block } = session.ref;
  const text = `${session.opened} ${block}`;
  const { alpha, fuse, discard, fromLayer } = state;
  // Longer texts only have a rollout.
  const by = (store?.blocks[block]?.Nq ?? 0) > MAX_FLOW_TOKENS ? "rollout" : state.flowBy;
  const key = JSON.stringify([text, alpha, fuse, discard, fromLayer, by]);
  const before = rollouts.get(session);
  if (before?.key === key || store === undefined) return before ?? NONE;
  before?.stop.abort();
  const stop = new AbortController();
  const same = before?.text === text ? before : NONE;
  const entry: RolloutEntry = {
    key,
    text,
    stop,
    done: same.done,
    progress: 0,
    problem: undefined,
    version: same.version,
  };
  rollouts.set(session, entry);
  const from = store.blocks[block]?.layers.includes(fromLayer ?? -1) ? { from: fromLayer! } : {};
  const put = (patch: Partial<Rolled>) => {
    if (rollouts.get(session)?.key !== key) return;
    rollouts.set(session, { ...entry, ...patch, version: ++versions });
    session.changed();
  };
  const onProgress = (progress: number) => {
    const now = rollouts.get(session);
    // Every tenth is reported, to limit how often the page is drawn.
    if (now?.key !== key || progress < now.progress + 0.1) return;
    rollouts.set(session, { ...now, progress });
    session.changed();
  };
  allLayers(by, store, { block, alpha, fuse, discard, ...from }, { signal: stop.signal, onProgress }).then(
    (done) => put({ done }),
    (error) => {
      if (!stop.signal.aborted) put({ done: undefined, problem: reasonOf(error) });
    },
  );
  return entry;
}

const NONE: Rolled = { done: undefined, progress: 0, problem: undefined, version: 0 };
let versions = 0;

async function allLayers(
  by: Rolling["by"],
  store: HeadStore,
  options: RolloutOptions,
  request: RequestOptions,
): Promise<Rolling> {
  if (by === "rollout") {
    const { products, ...rest } = await rollout(store, options, request);
    // The products before the last one are dropped: they are as large, and are not shown.
    return { ...rest, by, matrix: products[products.length - 1] };
  }
  const { shares, rowSums, ...rest } = await attentionFlow(store, options, request);
  const N = rest.tokens;
  let worst = 0;
  for (let i = 0; i < N; i++) {
    const sum = shares.subarray(i * N, (i + 1) * N).reduce((a, b) => a + b, 0);
    worst = Math.max(worst, Math.abs(sum - 1));
  }
  return { ...rest, by, matrix: shares, rowSums, worst };
}

/** An error's text without the name of the function. */
function reasonOf(error: unknown): string {
  const reason = messageOf(error).replace(/^(?:rollout|attentionFlow): /, "");
  return reason.charAt(0).toUpperCase() + reason.slice(1);
}
