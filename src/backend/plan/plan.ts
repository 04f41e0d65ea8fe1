/** Plans: all decisions made before an operation runs, as printable values. */

/** Levels of WebAssembly SIMD, fastest first; see `configure`. */
export type SimdLevel = "wide" | "relaxed" | "strict";

/** How an operation runs. Sizes in rows, keys and bytes. */
export interface Plan {
  /** `forward`, `backward`, `matmul`, or the name of a row-wise or array operation. */
  readonly operation: string;
  /** Name of the backend: `wasm`, `reference`, or that of another device. */
  readonly backend: string;
  /** SIMD level; undefined for backends without one. */
  readonly simd?: SimdLevel;
  /** Readable key of the kernel: all it is specialized on. */
  readonly kernel: string;
  readonly threads: number;
  /** Units of work that threads take one by one. */
  readonly tasks: number;
  /** Query rows of one task and keys of one tile; for the backward pass, of one task; for a product, rows and columns of C. */
  readonly rowTile: number;
  readonly keyTile: number;
  /** Number of parts that the keys are split into; their results are merged as in `mergeStates`. */
  readonly splits: number;
  /** How often inputs are copied into the engine's memory, one stage after another; each copies a part of them. */
  readonly stages: number;
  /** Engine memory the call uses beyond inputs and output. */
  readonly bytes: number;
  /** Multiplications and additions over the visible tiles. */
  readonly operations: number;
  /** Bytes that the full weights would take in float32; they are not stored. */
  readonly weightsBytes?: number;
  /** Tiles that the mask leaves empty, full and partial, over all heads; undefined without a mask expression. */
  readonly tiles?: { readonly skipped: number; readonly full: number; readonly partial: number };
  /** Share of the work for each thread if each task goes to the first idle thread; the shares add up to 1. */
  readonly threadShares?: readonly number[];
  /** Why a faster backend was not chosen. */
  readonly fallbackReason?: string;
}

/** Assigns tasks, in order, to the thread with the least work so far; returns the share of each thread, the largest first. */
export function threadShares(tasks: ArrayLike<number>, threads: number): number[] {
  const work = new Float64Array(threads);
  let total = 0;
  for (let n = 0; n < tasks.length; n++) {
    let least = 0;
    for (let t = 1; t < threads; t++) if (work[t] < work[least]) least = t;
    work[least] += tasks[n];
    total += tasks[n];
  }
  return Array.from(work, (x) => (total === 0 ? 1 / threads : x / total)).sort((a, b) => b - a);
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** Bytes with a unit: `1.50 MiB`. */
export function bytesText(bytes: number): string {
  const unit = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${(bytes / 1024 ** unit).toFixed(unit === 0 ? 0 : 2)} ${UNITS[unit]}`;
}

/** A count in thousands, millions …: `12.9G`. */
export function countText(n: number): string {
  const exponent = Math.min(4, Math.floor(Math.log10(Math.max(1, n)) / 3));
  return exponent === 0 ? String(n) : `${(n / 1000 ** exponent).toPrecision(3)}${"kMGT"[exponent - 1]}`;
}

/** A plan as lines of text. */
export function printPlan(plan: Plan): string {
  const matrix = plan.operation === "matmul";
  const counted = (n: number, noun: string) => `${n} ${noun}${n === 1 ? "" : "s"}`;
  const columns = counted(plan.keyTile, matrix ? "column" : "key");
  // A task of the backward pass is a rectangle; other tasks read all keys, tile by tile.
  const tile = matrix || plan.operation === "backward" ? columns : `${columns} a tile`;
  const lines: [string, string][] = [
    ["backend", plan.fallbackReason ? `${plan.backend} (${plan.fallbackReason})` : plan.backend],
    ...(plan.simd ? [["simd", plan.simd] as [string, string]] : []),
    ["kernel", plan.kernel],
    ["threads", String(plan.threads)],
    ["tasks", `${plan.tasks} of ${counted(plan.rowTile, matrix ? "row" : "query row")} × ${tile}`],
    matrix
      ? ["stages", `${plan.stages}${plan.stages === 1 ? "" : ", one part of the product after another"}`]
      : ["splits", `${plan.splits} over the keys, ${counted(plan.stages, "stage")}`],
    ["memory", `${(plan.bytes / 2 ** 20).toFixed(2)} MiB beyond inputs and output`],
    ["work", `${countText(plan.operations)} operations (${plan.operation})`],
  ];
  if (plan.weightsBytes !== undefined)
    lines.push(["weights", `${bytesText(plan.weightsBytes)} in full, not stored`]);
  if (plan.tiles) {
    const { skipped, full, partial } = plan.tiles;
    const share = (n: number) => `${n} (${((100 * n) / Math.max(1, skipped + full + partial)).toFixed(1)} %)`;
    lines.push(["tiles", `${share(skipped)} skipped, ${share(full)} full, ${share(partial)} partial`]);
  }
  if (plan.threadShares && plan.threadShares.length > 1) {
    const [largest] = plan.threadShares;
    const even = 1 / plan.threadShares.length;
    const percents = plan.threadShares.map((x) => `${(100 * x).toFixed(1)} %`).join(", ");
    lines.push(["shares", `${percents} a thread (largest ${(largest / even).toFixed(2)} × the mean)`]);
  }
  return lines.map(([name, text]) => `${name.padEnd(8)}${text}`).join("\n");
}
