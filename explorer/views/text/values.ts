/**
 * The numbers of a tinted text: the weight that each of its units gets from the chosen queries, or gives to the chosen keys.
 *
 *     over a word    weights: the sum over its keys, the mean over its queries; scores: the mean over both
 *     several chosen their mean, sum or maximum, as the state says
 *
 * Rows are read synchronously; columns are requested, and the result is undefined until they arrive.
 */

import type { Block, Stage } from "../../../src/store/block.ts";
import { combineRows, hideKeys, type Span } from "../../../src/store/measures/aggregate.ts";
import { isSigned } from "../../../src/store/measures/transfer.ts";
import { hiddenKeys, type Session } from "../../app/session.ts";
import type { Slices } from "../../app/time-slicer.ts";
import { StoreAnswers } from "../../state/answers.ts";
import { HeadFacts } from "../../state/facts.ts";

/** Whether a unit has a value, or why it has none. */
export const MARK = { value: 0, masked: 1, hidden: 2, nonFinite: 3 } as const;

/** The values of a text, one for each unit. */
export interface UnitValues {
  readonly values: Float64Array;
  readonly marks: Uint8Array;
  /** The share of hidden keys in the chosen rows (only for `from`). */
  readonly missing: number;
}

/** The chosen units, and the units whose values are computed. */
export interface Question {
  readonly direction: "from" | "to";
  readonly stage: Stage;
  readonly chosen: readonly Span[];
  readonly over: readonly Span[];
  readonly aggregate: "mean" | "sum" | "max";
}

/** The maximum number of cached columns. */
const MAX_COLUMNS = 48;

export class TextValues {
  readonly #session: Session;
  readonly #slices: Slices;
  readonly #changed: () => void;
  readonly #columns: StoreAnswers<Float64Array>;
  #facts: { key: string; facts: HeadFacts } | undefined;
  #store: unknown;

  constructor(session: Session, slices: Slices, changed: () => void) {
    this.#session = session;
    this.#slices = slices;
    this.#changed = changed;
    this.#columns = new StoreAnswers(session, changed, MAX_COLUMNS);
  }

  /** The values; undefined while columns are loading. */
  ask(block: Block, question: Question): UnitValues | undefined {
    this.#fresh();
    return question.direction === "from" ? this.#from(block, question) : this.#to(block, question);
  }

  /** Stops collecting facts until the next call of `ask`. */
  stop(): void {
    this.#facts = undefined;
  }

  /** Drops the facts if the store has changed. */
  #fresh(): void {
    if (this.#store === this.#session.store) return;
    this.#store = this.#session.store;
    this.#facts = undefined;
  }

  #from(block: Block, { stage, chosen, over, aggregate }: Question): UnitValues {
    const session = this.#session;
    const { store, ref, state } = session;
    const hidden = hiddenKeys(block, { ...state, stage });
    const hides = new Set(hidden);
    const signed = isSigned(stage);
    const visibleKeys = new Uint8Array(block.Nk);
    let missing = 0;
    const rowOf = (query: number): Float64Array => {
      const visible = store!.visible(ref, query);
      const row = session.row(query, stage);
      for (let j = 0; j < visibleKeys.length; j++) if (visible[j] === 1) visibleKeys[j] = 1;
      if (signed) return stage === "masked" ? row.map((x, j) => (visible[j] === 1 ? x : 0)) : row;
      if (hidden.length === 0) return row;
      const how = state.renormalize && stage === "weights" ? "renormalize" : "gap";
      const remaining = hideKeys(row, (key) => hides.has(key), how);
      missing += remaining.missing;
      return remaining.row;
    };
    let queries = 0;
    const rows = chosen.map(({ start, end }) => {
      queries += end - start;
      return combineRows(
        Array.from({ length: end - start }, (_, n) => rowOf(start + n)),
        "mean",
      );
    });
    const row = combineRows(rows, aggregate);
    const masks = stage !== "scores" && stage !== "scaled";
    return {
      ...this.#over(row, over, !signed, (j) => {
        if (hides.has(j)) return MARK.hidden;
        return masks && visibleKeys[j] === 0 ? MARK.masked : MARK.value;
      }),
      missing: missing / Math.max(1, queries),
    };
  }

  #to(block: Block, { stage, chosen, over, aggregate }: Question): UnitValues | undefined {
    const { state } = this.#session;
    const hidden = hiddenKeys(block, { ...state, stage });
    const hides = new Set(hidden);
    const signed = isSigned(stage);
    const masks = stage !== "scores" && stage !== "scaled" && block.stages.includes("masked");
    const keys = chosen.flatMap(({ start, end }) => Array.from({ length: end - start }, (_, n) => start + n));
    const columns = keys.map((key) => this.#column(key, stage));
    const scores = masks ? keys.map((key) => this.#column(key, "masked")) : [];
    const shared = state.renormalize && stage === "weights" && hidden.length > 0;
    const facts = shared ? this.#hiddenShares(hidden) : undefined;
    if ([...columns, ...scores].includes(undefined) || (shared && !facts?.isComplete)) return undefined;
    const visibleQueries = new Uint8Array(block.Nq);
    for (let i = 0; i < visibleQueries.length; i++)
      visibleQueries[i] = !masks || scores.some((column) => column![i] !== Number.NEGATIVE_INFINITY) ? 1 : 0;
    const columnOf = (key: number): Float64Array => {
      const column = columns[keys.indexOf(key)]!;
      if (!signed && hides.has(key)) return new Float64Array(column.length);
      if (stage === "masked") return column.map((x) => (x === Number.NEGATIVE_INFINITY ? 0 : x));
      if (facts === undefined) return column;
      return column.map((x, i) => (facts.hidden[i] < 1 ? x / (1 - facts.hidden[i]) : x));
    };
    const all = chosen.map(({ start, end }) =>
      combineRows(
        Array.from({ length: end - start }, (_, n) => columnOf(start + n)),
        signed ? "mean" : "sum",
      ),
    );
    const allHidden = !signed && keys.every((key) => hides.has(key));
    const mark = (i: number) =>
      allHidden ? MARK.hidden : visibleQueries[i] === 0 ? MARK.masked : MARK.value;
    return { ...this.#over(combineRows(all, aggregate), over, false, mark), missing: 0 };
  }

  /** The sum or mean of the values of each unit, with its mark. */
  #over(
    values: Float64Array,
    over: readonly Span[],
    sum: boolean,
    markOf: (index: number) => number,
  ): { values: Float64Array; marks: Uint8Array } {
    const marks = new Uint8Array(over.length);
    const out = Float64Array.from(over, ({ start, end }, n) => {
      let [total, mark] = [0, markOf(start)];
      for (let index = start; index < end; index++) {
        total += values[index];
        const unitMark = markOf(index);
        if (unitMark === MARK.value) mark = unitMark;
      }
      const value = sum ? total : total / (end - start);
      marks[n] = mark === MARK.value && !Number.isFinite(value) ? MARK.nonFinite : mark;
      return value;
    });
    return { values: out, marks };
  }

  /** A cached column; if it is not cached, it is requested and undefined is returned. */
  #column(key: number, stage: Stage): Float64Array | undefined {
    const { ref } = this.#session;
    const name = `${ref.block} ${ref.layer} ${ref.head} ${stage} ${key}`;
    return this.#columns.get(name, (store) => store.column(ref, key, stage));
  }

  /** The share of hidden keys in each row, collected in idle slices. */
  #hiddenShares(hidden: readonly number[]): HeadFacts {
    const { store, ref } = this.#session;
    const key = `${ref.block} ${ref.layer} ${ref.head} ${hidden.join()}`;
    if (this.#facts?.key !== key) {
      const facts = new HeadFacts(store!, ref, hidden);
      this.#facts = { key, facts };
      this.#slices.add(() => {
        if (this.#facts?.facts !== facts) return false;
        const more = facts.step();
        if (!more) this.#changed();
        return more;
      });
    }
    return this.#facts.facts;
  }
}
