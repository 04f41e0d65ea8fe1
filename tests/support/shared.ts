/**
 * Paths of golden data. Data made for this project is in tests/golden/pytorch. Conformance files and model weights of other
 * projects are read from `../shared`, beside the repository; tests that need them are skipped if they are absent.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type DType, Tensor } from "heed";
import { readSafetensors } from "heed/io";

/** A path inside tests/golden/pytorch. */
export const golden = (...path: string[]): string => join(import.meta.dirname, "../golden/pytorch", ...path);

/** A JSON file of the golden data. */
export const readGolden = <T>(...path: string[]): T => JSON.parse(readFileSync(golden(...path), "utf8"));

/** A path inside `../shared`. */
export const shared = (...path: string[]): string => join(import.meta.dirname, "../../../shared", ...path);

/** True if the folder exists. */
export const hasShared = (...path: string[]): boolean => existsSync(shared(...path));

/** A JSON file, or `otherwise` if the data is absent. */
export const readJson = <T>(path: string, otherwise: T): T =>
  existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : otherwise;

/** The tensors of a safetensors file by name. */
export function readTensors(path: string): Map<string, Tensor> {
  const { tensors } = readSafetensors(readFileSync(path));
  return new Map(
    [...tensors].map(([name, t]) => [name, new Tensor(t.data as Tensor["data"], t.shape, t.dtype as DType)]),
  );
}

/** The largest difference of two lists of numbers of one length; NaN if one is NaN. */
export function worst(got: ArrayLike<number>, want: ArrayLike<number>): number {
  if (got.length !== want.length) throw new Error(`${got.length} numbers, expected ${want.length}`);
  let worst = 0;
  for (let i = 0; i < got.length; i++) worst = Math.max(worst, Math.abs(got[i] - want[i]));
  return worst;
}

/** The largest difference as a share of 1 + |want|. */
export function worstShare(got: ArrayLike<number>, want: ArrayLike<number>): number {
  return worst(
    Array.from(got, (x, i) => x / (1 + Math.abs(want[i]))),
    Array.from(want, (x) => x / (1 + Math.abs(x))),
  );
}
