/** The SIMD levels and the reference backend in tests: which ones this runtime supports, and how to run on one. */
import { configure, explain, type SimdLevel, Tensor } from "heed";

/** A SIMD level of the wasm backend, or the reference backend. */
export type Level = SimdLevel | "reference";

export const LEVELS: readonly Level[] = ["wide", "relaxed", "strict", "reference"];
export const THREADS: readonly number[] = [1, 2, 3, 7];

const before = configure();

/** The level of a call if `level` is requested. */
function got(level: Level): Level {
  use(level, 1);
  const one = new Tensor(Float32Array.of(1), [1, 1], "float32");
  const { backend, simd } = explain(one, one, one);
  restore();
  return backend === "reference" ? backend : (simd as SimdLevel);
}

/** True if this runtime supports the level. */
export const has = (level: Level): boolean => got(level) === level;

/** Runs all later calls at a level and a number of threads. Warnings about an unsupported level are ignored. */
export function use(level: Level, threads: number): void {
  const engine = level === "reference" ? { backend: level } : { backend: "auto" as const, simd: level };
  configure({ ...engine, threads, onWarning: () => {} });
}

/** Restores the settings. */
export function restore(): void {
  configure(before);
}
