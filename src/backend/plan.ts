/** What is decided before a call runs, in a form that prints. */

/** Levels of WebAssembly SIMD, fastest first; see `configure`. */
export type SimdLevel = "wide" | "relaxed" | "strict";

/** How a call runs. Sizes in rows, keys and bytes. */
export interface Plan {
  /** Name of the backend: `wasm`, `reference`, or that of another device. */
  readonly backend: string;
  /** SIMD level; undefined for backends without one. */
  readonly simd?: SimdLevel;
  /** Readable key of the kernel: all it was specialised on. */
  readonly kernel: string;
  readonly threads: number;
  /** Pieces of work that threads take one by one. */
  readonly tasks: number;
  /** Query rows of one task and keys of one tile. */
  readonly rowTile: number;
  readonly keyTile: number;
  /** Parts the keys are split into, joined by `mergeStates`' rule. */
  readonly splits: number;
  /** Times the inputs are brought into the engine's memory, piece by piece. */
  readonly stages: number;
  /** Engine memory the call uses beyond inputs and output. */
  readonly bytes: number;
  /** Tiles the mask leaves empty, full and partial, over all heads; undefined where there is no mask expression. */
  readonly tiles?: { readonly skipped: number; readonly full: number; readonly partial: number };
  /** Why a faster level was not taken, where it was not. */
  readonly fallbackReason?: string;
}

/** A plan as lines of text. */
export function printPlan(plan: Plan): string {
  const lines: [string, string][] = [
    ["backend", plan.fallbackReason ? `${plan.backend} (${plan.fallbackReason})` : plan.backend],
    ...(plan.simd ? [["simd", plan.simd] as [string, string]] : []),
    ["kernel", plan.kernel],
    ["threads", String(plan.threads)],
    ["tasks", `${plan.tasks} of ${plan.rowTile} query rows × ${plan.keyTile} keys a tile`],
    ["splits", `${plan.splits} over the keys, ${plan.stages} ${plan.stages === 1 ? "stage" : "stages"}`],
    ["memory", `${(plan.bytes / 2 ** 20).toFixed(2)} MiB beyond inputs and output`],
  ];
  if (plan.tiles) {
    const { skipped, full, partial } = plan.tiles;
    const share = (n: number) => `${n} (${((100 * n) / Math.max(1, skipped + full + partial)).toFixed(1)} %)`;
    lines.push(["tiles", `${share(skipped)} skipped, ${share(full)} full, ${share(partial)} partial`]);
  }
  return lines.map(([name, text]) => `${name.padEnd(8)}${text}`).join("\n");
}
