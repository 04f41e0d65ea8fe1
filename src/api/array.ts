/**
 * Array operations, one function each, so that a program bundles only those that it calls. On the CPU they run in the loops of
 * reference/array.ts and order.ts, on another device in its backend, which dispatch/ chooses.
 */
import type { ArrayOperation } from "../backend/array.ts";
import * as loops from "../reference/array.ts";
import * as ordered from "../reference/order.ts";
import { runArray } from "./dispatch/array.ts";

export type { Comparison, ElementFunction } from "../backend/array.ts";

/** A public call of an array operation: `loops` run it on the CPU. */
const calls =
  <O extends ArrayOperation>(loops: (operation: O) => void) =>
  (operation: O): void =>
    runArray(operation, loops);

/** y = a ∘ b, broadcast. */
export const binary = /* @__PURE__ */ calls(loops.binary);
/** y = condition ? a : b, broadcast. */
export const where = /* @__PURE__ */ calls(loops.where);
/** y = a^b, broadcast. */
export const power = /* @__PURE__ */ calls(loops.power);
/** y = whether a ∘ b, broadcast. */
export const compare = /* @__PURE__ */ calls(ordered.compare);
/** y = running sums. */
export const cumsum = /* @__PURE__ */ calls(ordered.cumsum);
/** The elements in order, and their indices before. */
export const sort = /* @__PURE__ */ calls(ordered.sort);
/** db = −dy·y/b: the gradient of a quotient y = a/b. */
export const divideBackward = /* @__PURE__ */ calls(loops.divideBackward);
/** y = x in the dtype of y. */
export const cast = /* @__PURE__ */ calls(loops.cast);
/** y = factor·x. */
export const scale = /* @__PURE__ */ calls(loops.scale);
/** y = f(x). */
export const elementwise = /* @__PURE__ */ calls(loops.elementwise);
/** dx = f′(x)·dy. */
export const elementwiseBackward = /* @__PURE__ */ calls(loops.elementwiseBackward);
/** y = Σ x. */
export const sum = /* @__PURE__ */ calls(loops.sum);
/** The largest or smallest element of each row, and its index. */
export const extreme = /* @__PURE__ */ calls(ordered.extreme);
/** dx = dy at the positions of an `extreme`. */
export const extremeBackward = /* @__PURE__ */ calls(ordered.extremeBackward);
/** y = softmax(x) over the last axis. */
export const softmax = /* @__PURE__ */ calls(loops.softmax);
/** dx = y·(dy − Σ dy·y). */
export const softmaxBackward = /* @__PURE__ */ calls(loops.softmaxBackward);
/** Copies x, broadcast, into the view y. */
export const assign = /* @__PURE__ */ calls(loops.assign);
/** y = rows of a table. */
export const embedding = /* @__PURE__ */ calls(loops.embedding);
/** dTable = the sum of the rows of dy that read each row. */
export const embeddingBackward = /* @__PURE__ */ calls(loops.embeddingBackward);
/** y = x with pairs of columns rotated by the angles of their row's position. */
export const rope = /* @__PURE__ */ calls(loops.rope);
/** y = x/(1 − p) where an element is kept, else 0. */
export const dropout = /* @__PURE__ */ calls(loops.dropout);
/** The state over the keys of all states. */
export const mergeStates = /* @__PURE__ */ calls(loops.mergeStates);
