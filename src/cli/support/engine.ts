/** The engine's settings on the command line: `--simd` and `--threads`, and the level a command starts with. */

import type { Level } from "../../backend/plan.ts";
import { configure, levelWasAsked } from "../../backend/settings.ts";
import { type Io, UsageError, type Values } from "./command.ts";
import { integer } from "./values.ts";

/** SIMD levels, fastest first. */
export const LEVELS: readonly Level[] = ["wide", "relaxed", "strict", "reference"];

/** Options every command that computes takes. */
export const ENGINE_OPTIONS = {
  simd: { type: "string" },
  threads: { type: "string" },
} as const;

/** Their help. */
export const ENGINE_HELP = {
  simd: "LEVEL  wide, relaxed, strict or reference (default: HEED_SIMD, else wide from Node 24 on, else relaxed)",
  threads: "N  most threads (default: HEED_THREADS, else the cores, at most 16)",
} as const;

/** True where this Node's V8 has the flag that `wide` sets. */
export const NODE_HAS_WIDE = Number(process.versions.node.split(".")[0]) >= 24;

/**
 * Applies `--simd` and `--threads` before a command runs. Where neither `--simd` nor HEED_SIMD says otherwise, the
 * command line asks for `wide` on Node 24 and later, else for `relaxed`: the process is its own, so that the engine
 * sets a flag of V8 for it (relaxed needs one on Node 20) disturbs nobody.
 * Lists (as bench takes them) are left to the command.
 */
export async function engineDefaults(values: Values, io: Pick<Io, "stderr">): Promise<void> {
  configure({ onWarning: (message) => io.stderr.write(`${message}\n`) });
  const { simd, threads } = values;
  if (typeof threads === "string" && !threads.includes(","))
    configure({ threads: integer("threads", threads, 1, 64) });
  if (typeof simd === "string" && !simd.includes(",")) configure({ simd: level(simd) });
  else if (!levelWasAsked()) configure({ simd: NODE_HAS_WIDE ? "wide" : "relaxed" });
}

/** A SIMD level by its name. */
export function level(text: string): Level {
  if (!LEVELS.includes(text as Level))
    throw new UsageError(`--simd must be ${LEVELS.join(", ")}, got ${JSON.stringify(text)}`);
  return text as Level;
}
