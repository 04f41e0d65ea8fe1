/** The engine's settings on the command line: `--simd` and `--threads`, and the level a command starts with. */

import type { Plan, SimdLevel } from "../../../backend/plan/plan.ts";
import { configure, type Settings, settings } from "../../../backend/settings.ts";
import { type Io, UsageError, type Values } from "../line/command.ts";
import { integer } from "../line/values.ts";

/** A value of `--simd`: a SIMD level, or the reference backend, which has none. */
export type EngineLevel = SimdLevel | "reference";

/** All of them, fastest first. */
export const LEVELS: readonly EngineLevel[] = ["wide", "relaxed", "strict", "reference"];

/** Their help. */
export const ENGINE_HELP = {
  simd: "LEVEL  wide, relaxed, strict or reference (default: HEED_SIMD, else the fastest that runs here)",
  threads: "N  maximum threads (default: HEED_THREADS, else the cores, at most 16)",
} as const;

/** Applies `--simd` and `--threads` before a command runs. */
export async function engineDefaults(values: Values, io: Pick<Io, "stderr">): Promise<void> {
  configure({ onWarning: (message) => io.stderr.write(`${message}\n`) });
  const { simd, threads } = values;
  if (typeof threads === "string") configure({ threads: integer("threads", threads, 1, 64) });
  if (typeof simd === "string") configure(settingsOf(level(simd)));
}

/** The settings that select a level. */
export const settingsOf = (level: EngineLevel): Partial<Settings> =>
  level === "reference" ? { backend: level } : { backend: "auto", simd: level };

/** The level in a plan: its SIMD level, or `reference`. */
export const levelOf = ({ backend, simd = settings().simd }: Pick<Plan, "backend" | "simd">): EngineLevel =>
  backend === "reference" ? backend : simd;

/** A level by its name. */
export function level(text: string): EngineLevel {
  if (!LEVELS.includes(text as EngineLevel))
    throw new UsageError(`--simd must be ${LEVELS.join(", ")}, got ${JSON.stringify(text)}`);
  return text as EngineLevel;
}
