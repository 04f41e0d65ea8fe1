/**
 * Learning rates over time: a linear warm-up, then constant, or a linear or cosine decay (Loshchilov and Hutter 2016,
 * arXiv 1608.03983, without restarts). Steps count from 0.
 */
import { checkCount, checkInteger, checkNumber, refuseValue } from "../core/errors.ts";
import { checkOptionNames } from "../core/option-names.ts";

/** The learning rate of a step. */
export type Schedule = (step: number) => number;

/** Options of `schedule`. */
export interface ScheduleOptions {
  /** The highest rate. */
  readonly lr: number;
  /** The rate after the warm-up; default `constant`. */
  readonly decay?: "constant" | "linear" | "cosine";
  /** Steps until `lr` is reached, rising linearly: step s has lr · (s + 1) / warmup. Default 0. */
  readonly warmup?: number;
  /** Total number of steps, where a decay ends. Required for `linear` and `cosine`. */
  readonly steps?: number;
  /** Final rate of a decay, as a share of `lr`; default 0. */
  readonly floor?: number;
}

/**
 * A schedule from its parts. Throws OptionError.
 *
 * @example
 * const rate = schedule({ lr: 1e-3, warmup: 10, decay: "cosine", steps: 100 });
 * rate(9); // → 0.001
 */
export function schedule(options: ScheduleOptions): Schedule {
  checkCount("schedule", arguments, 1);
  checkOptionNames("schedule", options, ["lr", "decay", "warmup", "steps", "floor"]);
  const { lr, decay = "constant", warmup = 0, steps, floor = 0 } = options;
  const refuse = (name: string, expected: string, got: unknown): never => {
    refuseValue("schedule", name, expected, got);
  };
  checkNumber("schedule", "lr", lr, 0);
  if (!["constant", "linear", "cosine"].includes(decay)) refuse("decay", "constant, linear or cosine", decay);
  checkInteger("schedule", "warmup", warmup, 0);
  checkNumber("schedule", "floor", floor, 0, 1);
  if (steps !== undefined) checkInteger("schedule", "steps", steps, 1);
  if (decay !== "constant" && !(Number.isSafeInteger(steps) && (steps as number) > warmup))
    refuse("steps", `an integer above the warm-up of ${warmup} for a ${decay} decay`, steps);
  const length = (steps as number) - warmup;
  return (step) => {
    checkInteger("schedule", "step", step, 0);
    if (step < warmup) return (lr * (step + 1)) / warmup;
    if (decay === "constant") return lr;
    const done = Math.min(1, (step - warmup) / length);
    const left = decay === "linear" ? 1 - done : 0.5 * (1 + Math.cos(Math.PI * done));
    return lr * (floor + (1 - floor) * left);
  };
}
