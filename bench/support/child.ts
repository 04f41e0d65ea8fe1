/**
 * One process of a run: one SIMD level and one number of threads, because V8's flags and the peers' threads belong to a
 * process. It measures the given cases, one after another, and sends each outcome to run.ts when it is complete.
 */
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { configure, explain, type SimdLevel, zeros } from "../../src/index.ts";
import { measureFirst } from "../first.ts";
import { measureHere } from "../memory.ts";
import type { Peer } from "../peers/index.mjs";
import { ceilingOf, Rig } from "../roofline.ts";
import { chosen } from "./cases.ts";
import { measure, type Outcome } from "./measure.ts";

/** The work of a process. */
export interface SessionOrder {
  readonly level: SimdLevel;
  readonly threads: number;
  /** Names of cases. */
  readonly cases: readonly string[];
  readonly seconds: number;
  /** Path of the module with the peers, if they are measured. */
  readonly peers?: string;
}

/** A message of a process. */
export type Message =
  | {
      readonly kind: "begun";
      readonly node: string;
      readonly v8: string;
      readonly ceilings: Ceilings;
      readonly missing: Readonly<Record<string, string>>;
    }
  | { readonly kind: "outcome"; readonly outcome: Outcome }
  | { readonly kind: "failed"; readonly case: string; readonly why: string }
  | { readonly kind: "refused"; readonly why: string };

/** The ceilings of the machine with these threads at this level, in GFLOP/s and GB/s. */
export interface Ceilings {
  readonly flops: number;
  readonly loop: string;
}

const send = (message: Message) =>
  new Promise<void>((resolve) => process.send?.(message, undefined, undefined, () => resolve()));

async function main(order: SessionOrder): Promise<void> {
  const warnings: string[] = [];
  configure({ simd: order.level, threads: order.threads, onWarning: (text) => warnings.push(text) });
  const one = zeros([8, 8]);
  const { simd } = explain(one, one, one);
  if (simd !== order.level) {
    await send({
      kind: "refused",
      why: warnings.join("; ") || `this engine runs ${simd}, not ${order.level}`,
    });
    return;
  }
  const rig = await new Rig(order.threads, order.level === "wide").ready();
  const loop = ceilingOf(order.level);
  const flops = rig.best(loop);
  let peers: readonly Peer[] = [];
  let missing: Readonly<Record<string, string>> = {};
  if (order.peers !== undefined && existsSync(order.peers)) {
    const module: typeof import("../peers/index.mjs") = await import(pathToFileURL(order.peers).href);
    ({ peers, missing } = module);
  }
  const { node, v8 } = process.versions;
  await send({ kind: "begun", node, v8, ceilings: { flops, loop }, missing });
  for (const c of chosen(order.cases))
    try {
      const outcome =
        c.kind === "first"
          ? await measureFirst(c, order.threads)
          : c.kind === "memory"
            ? await measureHere(c, order.level, order.threads)
            : await measure(c, order.threads, order.seconds, peers, rig);
      await send({ kind: "outcome", outcome });
    } catch (error) {
      await send({ kind: "failed", case: c.name, why: String((error as Error)?.stack ?? error) });
    }
  await rig.end();
}

await main(JSON.parse(process.argv[2]));
// Peers do not end their threads, which would keep the process alive.
process.exit(0);
