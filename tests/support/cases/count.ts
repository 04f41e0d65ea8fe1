/**
 * The size of a sweep: with HEED_ALL=1, as before a release, all of it; otherwise a sample, as in `npm test`. A sweep over random cases takes
 * the first of them; a sweep over a list of states takes another part of it for each commit, so that some commits together see all.
 */
import { turn } from "../../../tools/parts/turn.mjs";

const isAll = process.env.HEED_ALL === "1";

export const sweepSize = (sample: number, all: number): number => (isAll ? all : sample);

/** The same, unless HEED_CASES sets a number. */
export const caseCount = (sample: number, all: number): number =>
  Number(process.env.HEED_CASES ?? sweepSize(sample, all));

/** Whether it is the turn of the element `at` of a list of which each commit sees one part of `parts`. */
export const isItsTurn = (at: number, parts: number): boolean => isAll || (at + turn) % parts === 0;

/** The elements of a list whose turn it is. */
export const inTurn = <T>(list: readonly T[], parts: number): T[] =>
  list.filter((_, at) => isItsTurn(at, parts));

/** The same of the numbers below `count`. */
export const countInTurn = (count: number, parts: number): number[] =>
  inTurn([...Array(count).keys()], parts);
