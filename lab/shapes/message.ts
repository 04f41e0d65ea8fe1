/** The message of a call that heed refuses. */
import { HeedError } from "../../src/core/errors.ts";

/** The message of a HeedError; any other error is a defect of this page and is thrown again. */
export function messageOf(error: unknown): string {
  if (error instanceof HeedError) return error.message;
  throw error;
}
