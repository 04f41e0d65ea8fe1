/** The levels of the engine as a test meets them: which there are here, and how to run under one. */
import { configure, explain, type Level, Tensor } from "heed";

export const LEVELS: readonly Level[] = ["wide", "relaxed", "strict", "reference"];
export const THREADS: readonly number[] = [1, 2, 3, 7];

const before = configure();

/** The level that a call gets when `level` is asked for. */
function got(level: Level): Level {
  use(level, 1);
  const one = new Tensor(Float32Array.of(1), [1, 1], "float32");
  const { level: taken } = explain(one, one, one);
  restore();
  return taken;
}

/** True where this engine has the level. */
export const has = (level: Level): boolean => got(level) === level;

/** Runs every later call at a level on so many threads. Warnings of a level that is missing are not the test's business. */
export function use(level: Level, threads: number): void {
  configure({ simd: level, threads, onWarning: () => {} });
}

/** Back to what was set before. */
export function restore(): void {
  configure(before);
}
