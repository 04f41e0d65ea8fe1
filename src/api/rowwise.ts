/** `rowwise` runs a row-wise operation: dispatch/ chooses the backend, which fills the storage named in the operation. */
import type { RowwiseOperation } from "../backend/rowwise.ts";
import { rowwiseBackend } from "./dispatch/rowwise.ts";

export type { AdamWScalars, MapName, RowwiseOperation } from "../backend/rowwise.ts";

/**
 * Runs a row-wise operation on the backend of its storage. Arrays are row-major and their sizes are trusted. Results have the
 * same bits for any number of threads; with `simd: "strict"` also on every JavaScript engine.
 */
export function rowwise(operation: RowwiseOperation): void {
  rowwiseBackend({ kind: "rowwise", operation }).rowwise(operation);
}
