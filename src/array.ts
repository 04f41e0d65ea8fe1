/**
 * Array operations, one call each, so that a program bundles those that it uses: on the CPU in the loops of
 * reference/array.ts, on another device by its backend, which dispatch/ finds.
 */
import { runArray } from "./dispatch/array.ts";
import * as loops from "./reference/array.ts";

export type { ElementFunction } from "./backend/array.ts";

type Run<F> = F extends (operation: infer O) => void ? (operation: O) => void : never;

/** y = a ∘ b, broadcast. */
export const binary: Run<typeof loops.binary> = (operation) => runArray(operation, loops.binary);
/** y = condition ? a : b, broadcast. */
export const where: Run<typeof loops.where> = (operation) => runArray(operation, loops.where);
/** y = factor·x. */
export const scale: Run<typeof loops.scale> = (operation) => runArray(operation, loops.scale);
/** y = f(x). */
export const elementwise: Run<typeof loops.elementwise> = (operation) =>
  runArray(operation, loops.elementwise);
/** dx = f′(x)·dy. */
export const elementwiseBackward: Run<typeof loops.elementwiseBackward> = (operation) =>
  runArray(operation, loops.elementwiseBackward);
/** y = Σ x. */
export const sum: Run<typeof loops.sum> = (operation) => runArray(operation, loops.sum);
/** The largest or smallest element of each row, and where it is. */
export const extreme: Run<typeof loops.extreme> = (operation) => runArray(operation, loops.extreme);
/** dx = dy at the positions of an `extreme`. */
export const extremeBackward: Run<typeof loops.extremeBackward> = (operation) =>
  runArray(operation, loops.extremeBackward);
/** y = softmax(x) over the last axis. */
export const softmax: Run<typeof loops.softmax> = (operation) => runArray(operation, loops.softmax);
/** dx = y·(dy − Σ dy·y). */
export const softmaxBackward: Run<typeof loops.softmaxBackward> = (operation) =>
  runArray(operation, loops.softmaxBackward);
/** Copies x, broadcast, into the view y. */
export const assign: Run<typeof loops.assign> = (operation) => runArray(operation, loops.assign);
/** y = rows of a table. */
export const embedding: Run<typeof loops.embedding> = (operation) => runArray(operation, loops.embedding);
/** dTable = the sum of the rows of dy that read each row. */
export const embeddingBackward: Run<typeof loops.embeddingBackward> = (operation) =>
  runArray(operation, loops.embeddingBackward);
/** y = x with pairs of columns turned by the angles of their row's position. */
export const rope: Run<typeof loops.rope> = (operation) => runArray(operation, loops.rope);
/** y = x/(1 − p) where an element is kept, else 0. */
export const dropout: Run<typeof loops.dropout> = (operation) => runArray(operation, loops.dropout);
/** The state over the keys of all states. */
export const mergeStates: Run<typeof loops.mergeStates> = (operation) =>
  runArray(operation, loops.mergeStates);
