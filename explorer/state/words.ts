/**
 * The sentences of the page about cells, rows and the selection. `num` formats the numbers; tokens are in single guillemets, as
 * in ‹sat›.
 */

import type { Block, Stage } from "../../src/store/block.ts";
import type { Edits } from "../../src/store/head-store.ts";
import { comparedStep } from "../../src/store/measures/key-sums.ts";
import { isSigned } from "../../src/store/measures/transfer.ts";
import { num } from "../../src/store/text/number.ts";
import { hiddenKeys, isRescaled, type Session } from "../app/session.ts";
import { factsOf, rankOf } from "./facts.ts";
import type { HeadName, State } from "./state.ts";

export const STAGE_NAMES: Readonly<Record<Stage, string>> = {
  scores: "q·k",
  scaled: "scaled",
  masked: "masked",
  weights: "weights",
  contribution: "w·‖v‖",
  contrast: "w − others",
};

/** The meaning of a value of each stage. */
export const STAGE_MEANINGS: Readonly<Record<Stage, string>> = {
  scores: "q·k: how well the query and the key match",
  scaled: "the score, q·k ÷ √d_k",
  masked: "the score after bias and mask",
  weights: "the share of attention",
  contribution: "the share times the length of the value: the size of its contribution",
  contrast: "the share minus the mean share that the other rows give the same key",
};

export const TRANSFER_NAMES = { sqrt: "√", linear: "linear", log: "log" } as const;

/** "Layer 4 · Head 7", with the block if there are several. */
export function headName(session: Session, { block, layer, head }: HeadName = session.state): string {
  const label = session.block?.headNames?.[head];
  const of = (session.store?.blocks.length ?? 0) > 1 ? `${block} · ` : "";
  return `${of}Layer ${layer} · Head ${head}${label === undefined ? "" : ` (${label})`}`;
}

/** "L4 H7". */
export function shortName(session: Session, { block, layer, head }: HeadName = session.state): string {
  const of = (session.store?.blocks.length ?? 0) > 1 ? `${block} ` : "";
  return `${of}L${layer} H${head}`;
}

/** The effect of keys that are left out on a row of weights: their share, and the divisor of the others. */
export function leftOut(
  block: Block,
  state: State,
  weights: ArrayLike<number>,
): { missing: number; by: number } {
  const hidden = hiddenKeys(block, state);
  const missing = hidden.length === 0 ? 0 : factsOf(weights, hidden).hidden;
  return { missing, by: isRescaled(state) && missing > 0 ? 1 - missing : 1 };
}

/** The value of a cell as the page shows it. */
export function cellValue(session: Session, query: number, key: number): number {
  const { state, block } = session;
  const value = session.row(query, state.stage)[key];
  if (block === undefined || state.hide === "none" || state.stage !== "weights") return value;
  return value / leftOut(block, state, session.row(query, "weights")).by;
}

/** The state by which weights are shown next to a stage: scores have no hidden keys, but their weights do. */
export const stateOfWeights = (state: State): State =>
  isSigned(state.stage) ? { ...state, stage: "weights" } : state;

/** A row of weights as the page shows it: 0 for keys that are left out, the others rescaled if the state says so. */
export function shownWeights(session: Session, query: number, edits?: Edits): Float64Array {
  const { state, block, store, ref } = session;
  const row = (edits ? store!.row(ref, query, "weights", edits) : session.row(query, "weights")).slice();
  const { by } = leftOut(block!, stateOfWeights(state), row);
  for (const key of hiddenKeys(block!, stateOfWeights(state))) row[key] = 0;
  return by === 1 ? row : row.map((weight) => weight / by);
}

/** Whether the mask lets the query attend to the key. */
export function isVisible(session: Session, query: number, key: number): boolean {
  return session.store!.visible(session.ref, query)[key] === 1;
}

/** The text of a cell for screen readers: the number, the two tokens, and, if `full`, rank, layer and head. */
export function describeCell(session: Session, query: number, key: number, full: boolean): string {
  const { block, state } = session;
  if (block === undefined || !session.ready) return "";
  const names = session.labels(block);
  const pair = `${names.query[query]} to ${names.key[key]}`;
  const unmasked = state.stage === "scores" || state.stage === "scaled";
  if (!unmasked && !isVisible(session, query, key)) return `masked, ${pair}`;
  const text = num(cellValue(session, query, key), `row ${state.stage}`).text;
  if (!full) return `${text}, ${pair}`;
  return `${text}, ${pair}, ${rankText(session, query, key)}. Layer ${state.layer} head ${state.head}.`;
}

/** "rank 2 of 7": among the keys that the mask lets the query attend to and that are not left out. */
function rankText(session: Session, query: number, key: number): string {
  const { block, state, store, ref } = session;
  const hidden = hiddenKeys(block!, state);
  if (hidden.includes(key)) return "left out";
  const row = session.row(query, state.stage);
  const isMasked = state.stage !== "scores" && state.stage !== "scaled";
  const counts = isMasked ? store!.visible(ref, query).slice() : new Uint8Array(row.length).fill(1);
  for (const one of hidden) counts[one] = 0;
  const { rank, of } = rankOf(row, key, counts);
  return `rank ${num(rank, "rankOf").text} of ${num(of, "rankOf").text}`;
}

/** The values of the cursor's cell at each stage, for screen readers (key D). */
export function detailCell(session: Session): string {
  const { query, key } = session.state;
  const { block } = session;
  if (block === undefined || !session.ready) return "";
  const parts = block.stages
    .filter((stage) => stage !== "weights")
    .map((stage) => {
      if (stage === "masked") return isVisible(session, query, key) ? "unmasked" : "masked";
      return `${stage === "scores" ? "raw" : stage} ${num(session.row(query, stage)[key], `row ${stage}`).text}`;
    });
  return parts.join(", ");
}

/** The total weight from the selected queries to the selected keys, aggregated over the queries as the state says. */
export function selection(session: Session): { text: string; value: number } | undefined {
  const { block, state } = session;
  if (block === undefined || !session.ready || (state.rows.length === 0 && state.columns.length === 0))
    return undefined;
  const rows = state.rows.length > 0 ? state.rows : [session.shown.query];
  const columns = state.columns.length > 0 ? state.columns : undefined;
  let [sum, maximum] = [0, Number.NEGATIVE_INFINITY];
  for (const query of rows) {
    if (query >= block.Nq) continue;
    const row = session.row(query, "weights");
    let mass = 0;
    if (columns === undefined) for (const weight of row) mass += weight;
    else for (const key of columns) if (key < block.Nk) mass += row[key];
    sum += mass;
    maximum = Math.max(maximum, mass);
  }
  const value = state.aggregate === "max" ? maximum : state.aggregate === "sum" ? sum : sum / rows.length;
  const queries = rows.length === 1 ? "1 query gives" : `${state.aggregate} of ${rows.length} queries`;
  const keys = columns === undefined ? "all keys" : columns.length === 1 ? "1 key" : `${columns.length} keys`;
  return { text: `${queries}${rows.length === 1 ? "" : ", given"} to ${keys}`, value };
}

/** One badge for each setting that changes the numbers or colors on screen. */
export function badges(session: Session): string[] {
  const { state, block } = session;
  if (block === undefined) return [];
  const hidden = hiddenKeys(block, state).length;
  const texts: string[] = [];
  if (hidden > 0 && isRescaled(state))
    texts.push(`rescaled without ${hidden} ${hidden === 1 ? "token" : "tokens"}`);
  else if (hidden > 0)
    texts.push(
      `${hidden} ${hidden === 1 ? "token" : "tokens"} left out${state.stage === "weights" ? " (rows no longer sum to 1)" : ""}`,
    );
  if (state.domain === "row") texts.push("full color at each row's largest");
  if (state.domain === "head") texts.push("full color at this head's largest");
  const step = comparedStep(block);
  if (state.stage === "contrast" && step > 1) texts.push(`one in ${step} of the other rows compared`);
  if (state.temperature !== 1 && session.isEditable(state)) texts.push("temperature changed");
  return texts;
}
