/**
 * One session of a run: one SIMD level and one number of threads. It measures the given cases, one after another, and sends each
 * outcome when it is complete: to run.ts from a process (child.ts), to the test's process from a page (page.ts).
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
      /** "Node 24.1.0". */
      readonly runtime: string;
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

/** Measures the cases of an order and sends what becomes of each. */
export async function runSession(
  order: SessionOrder,
  runtime: string,
  send: (message: Message) => Promise<void>,
): Promise<void> {
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
  await send({ kind: "begun", runtime, ceilings: { flops, loop }, missing });
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
