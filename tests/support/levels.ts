/** The SIMD levels and the reference backend as a test meets them: which ones exist here, and how to run on one. */
import { configure, explain, type SimdLevel, Tensor } from "heed";

/** A SIMD level of the wasm backend, or the reference backend. */
export type Level = SimdLevel | "reference";

export const LEVELS: readonly Level[] = ["wide", "relaxed", "strict", "reference"];
export const THREADS: readonly number[] = [1, 2, 3, 7];

const before = configure();

/** The level that a call gets when `level` is asked for. */
function got(level: Level): Level {
  use(level, 1);
  const one = new Tensor(Float32Array.of(1), [1, 1], "float32");
  const { backend, simd } = explain(one, one, one);
  restore();
  return backend === "reference" ? backend : (simd as SimdLevel);
}

/** True where this engine has the level. */
export const has = (level: Level): boolean => got(level) === level;

/** Runs every later call at a level on so many threads. Warnings of a level that is missing are not the test's business. */
export function use(level: Level, threads: number): void {
  const engine = level === "reference" ? { backend: level } : { backend: "auto" as const, simd: level };
  configure({ ...engine, threads, onWarning: () => {} });
}

/** Back to what was set before. */
export function restore(): void {
  configure(before);
}
