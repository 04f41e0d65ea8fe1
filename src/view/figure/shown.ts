/**
 * The data of a head in a figure: the tokens along its edges, and the numbers of a row after hiding keys, with their codes
 * (0 … 255) on the color scale. Rows are read from the store one at a time; no matrix is stored.
 */

import type { Block } from "../../store/block.ts";
import { hideKeys } from "../../store/measures/aggregate.ts";
import { codeOf, isSigned, signedCodeOf } from "../../store/measures/transfer.ts";
import { distinctLabels } from "../../store/text/label.ts";
import { type Pieces, piecesOf, visible } from "../../store/text/tokens.ts";
import type { Figure } from "./options.ts";

/** The marks of cells; `value` is a plain number. */
export const MARK = { value: 0, masked: 1, notNumber: 2, hidden: 3 } as const;

/** One row along the keys shown. */
export interface ShownRow {
  readonly values: Float64Array;
  readonly marks: Uint8Array;
}

/** The data of a head to draw. */
export interface Shown {
  /** Tokens along the edges, by index. */
  readonly queries: readonly number[];
  readonly keys: readonly number[];
  /** Names of all tokens for sentences, with equal ones numbered, and labels for axes. */
  readonly queryNames: readonly string[];
  readonly keyNames: readonly string[];
  readonly queryLabels: readonly string[];
  readonly keyLabels: readonly string[];
  readonly hiddenKeys: ReadonlySet<number>;
  /** True for scores: numbers around 0. */
  readonly signed: boolean;
  /** A row by its index in `queries`. */
  row(place: number): ShownRow;
  /** The codes of a row on the color scale; masked and hidden cells are 0. */
  codes(row: ShownRow): Uint8Array;
  /** The value of full color; undefined if it differs between rows. */
  readonly domain: number | undefined;
}

/** Loads the head of a figure into memory and finds the value of full color. */
export async function shownHead(figure: Figure): Promise<Shown> {
  const { store, ref, block, stage, domain } = figure;
  await store.load(ref);
  const queries = indices(block.Nq, segmentsOf(block, figure.querySegments, "query"));
  const keys = indices(block.Nk, segmentsOf(block, figure.keySegments, "key"));
  const signed = isSigned(stage);
  const hiddenKeys = signed ? new Set<number>() : hiddenOf(figure);

  const row = (place: number): ShownRow => {
    const i = queries[place];
    const all = store.row(
      ref,
      i,
      stage,
      figure.view === "row" && i === figure.query ? figure.whatIf : undefined,
    );
    const visible = store.visible(ref, i);
    const values = new Float64Array(keys.length);
    const marks = new Uint8Array(keys.length);
    // Only weights have a row sum that can be kept.
    const how = figure.renormalize && stage === "weights" ? "renormalize" : "gap";
    const left = hiddenKeys.size > 0 ? hideKeys(all, (j) => hiddenKeys.has(j), how) : undefined;
    // Stages before the mask have a score for every pair; later stages have none for masked cells.
    const masks = stage !== "scores" && stage !== "scaled";
    for (let n = 0; n < keys.length; n++) {
      const j = keys[n];
      if (masks && visible[j] === 0) marks[n] = MARK.masked;
      else if (hiddenKeys.has(j)) marks[n] = MARK.hidden;
      else if (!Number.isFinite(all[j])) marks[n] = MARK.notNumber;
      else values[n] = left === undefined ? all[j] : left.row[j];
    }
    return { values, marks };
  };
  const largest = (values: Float64Array) => values.reduce((largest, x) => Math.max(largest, Math.abs(x)), 0);

  let fullColor: number | undefined;
  if (domain === "head") {
    fullColor = 0;
    for (let place = 0; place < queries.length; place++)
      fullColor = Math.max(fullColor, largest(row(place).values));
  } else if (domain === "absolute") {
    const range = stage === "weights" ? [0, 1] : await store.range(ref, stage);
    fullColor = Math.max(Math.abs(range[0]), Math.abs(range[1]));
  }
  const named = namesOf(block);
  return {
    queries,
    keys,
    ...named,
    hiddenKeys,
    signed,
    row,
    codes({ values, marks }) {
      const codes = new Uint8Array(values.length);
      const full = fullColor ?? largest(values);
      for (let n = 0; n < codes.length; n++)
        if (marks[n] === MARK.value)
          codes[n] = signed ? signedCodeOf(values[n], full) : codeOf(values[n], figure.transfer, full);
      return codes;
    },
    domain: fullColor,
  };
}

/** Keys that are hidden for all queries. */
function hiddenOf({ block, hide, hidden }: Pick<Figure, "block" | "hide" | "hidden">): Set<number> {
  if (hide === "chosen") return new Set(hidden);
  if (hide === "first") return new Set(block.Nk > 0 ? [0] : []);
  const special = block.special.key;
  return new Set(hide === "special" ? [...special.keys()].filter((j) => special[j]) : []);
}

/** Ranges of the chosen segments, of queries or keys. */
function segmentsOf(
  block: Block,
  chosen: readonly number[],
  edge: "query" | "key",
): readonly (readonly [number, number])[] | undefined {
  if (chosen.length === 0) return undefined;
  return Array.from(chosen).flatMap((n) => (block.segments[n][edge] ? [block.segments[n][edge]] : []));
}

/** All indices below `count`, or those in any of the ranges, each once, ascending. */
function indices(count: number, ranges?: readonly (readonly [number, number])[]): number[] {
  const all = Array.from({ length: count }, (_, i) => i);
  return ranges === undefined ? all : all.filter((i) => ranges.some(([from, to]) => i >= from && i < to));
}

/** The names of tokens: distinct ones for sentences, short ones for axes. */
function namesOf(block: Block): Pick<Shown, "queryNames" | "keyNames" | "queryLabels" | "keyLabels"> {
  const [query, key] = [block.queryTokens, block.keyTokens].map((tokens) => {
    const pieces = piecesOf(tokens);
    const labels = tokens.map((token) => label(token, pieces));
    return { names: distinctLabels(labels), labels };
  });
  return { queryNames: query.names, keyNames: key.names, queryLabels: query.labels, keyLabels: key.labels };
}

/** A token's label on an axis: without the mark of a word's start, but with the mark of a continuation. */
function label(token: string, pieces: Pieces): string {
  const bare =
    pieces === "sentencepiece" || pieces === "byte-level" ? token.replace(/^[▁Ġ](?=.)/u, "") : token;
  return visible(pieces === "spaced" ? bare.replace(/^ (?=\S)/, "") : bare, pieces, 40);
}
