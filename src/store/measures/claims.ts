/**
 * Describes a head by disjoint shares of its attention: "64 % on the key “cat”, 20 % of the rest on the previous token".
 * Each cell of a row is grouped by the set of its habits, so the share of one habit without the cells of another is an exact sum.
 * Every share is compared with even attention, where each row attends equally to its visible keys.
 *
 *     share = Σ weight ÷ rows      even = Σ 1/visible(row) ÷ rows      claimed only where share ≥ 2 · even
 */
import type { FloatArray } from "../../rows/head-rows.ts";

export type Habit =
  | "diagonal"
  | "previous"
  | "next"
  | "sameToken"
  | "induction"
  | "special"
  | "key"
  | "near"
  | "aligned"
  | "reversed";

/** A share of a head's attention that is at least twice the share under even attention. */
export interface Claim {
  readonly habit: Habit;
  /** Mean over all rows that are not fully masked, 0 to 1. A second claim excludes the cells of the first. */
  readonly share: number;
  /** The share of the same cells if each row attended equally to every unmasked key. */
  readonly even: number;
  /** The key, for the habit `key`. */
  readonly key?: number;
}

/** Bits of the habits that depend on the row. */
const BITS = { diagonal: 1, previous: 2, next: 4, sameToken: 8, induction: 16 } as const;
/** A habit is claimed if its share is at least this, and at least this multiple of even attention. */
const SMALLEST = 0.1;
const LIFT = 2;
/** With a first claim of at least this share, a second one adds nothing. */
const ONLY = 0.95;
/** A special token with at least this share of the attention on special tokens is named alone. */
const ALONE = 0.9;

/** Weights and even weights by key. */
interface Columns {
  readonly weight: Float64Array;
  readonly even: Float64Array;
}

/** Two sums over rows. */
interface Shares {
  weight: number;
  even: number;
}

/** Collects rows and chooses the claims that their weights support. */
export class Claims {
  private readonly Nk: number;
  /** Weights by key; even weights as differences, which are summed at the end. */
  private readonly columns: Columns;
  /** Sums over cells with a habit, by key, for each set of habits (its bits). */
  private readonly cells = new Map<number, Columns>();
  /** Habits of each key in the row that is being added, as bits, and the keys that have any. */
  private readonly habits: Uint8Array;
  private readonly noted: number[] = [];
  private readonly near: Shares = { weight: 0, even: 0 };
  private readonly forward: Shares = { weight: 0, even: 0 };
  private readonly backward: Shares = { weight: 0, even: 0 };
  private visible = 0;
  private rows = 0;

  constructor(Nk: number) {
    this.Nk = Nk;
    this.columns = { weight: new Float64Array(Nk), even: new Float64Array(Nk + 1) };
    this.habits = new Uint8Array(Nk);
  }

  /** Mean number of unmasked keys per row. */
  get visibleKeys(): number {
    return this.rows === 0 ? Number.NaN : this.visible / this.rows;
  }

  /** Notes a habit of a visible key in the row that `add` adds next. */
  note(key: number, habit: keyof typeof BITS): void {
    if (this.habits[key] === 0) this.noted.push(key);
    this.habits[key] |= BITS[habit];
  }

  /** Adds a row with the habits noted for it. */
  add(weights: FloatArray, runs: readonly number[], visible: number): void {
    this.rows++;
    this.visible += visible;
    const { weight, even } = this.columns;
    const share = 1 / visible;
    for (let n = 0; n < runs.length; n += 2) {
      const end = runs[n + 1];
      for (let j = runs[n]; j < end; j++) weight[j] += weights[j];
      even[runs[n]] += share;
      even[end] -= share;
    }
    for (const key of this.noted) {
      const bits = this.habits[key];
      this.habits[key] = 0;
      let columns = this.cells.get(bits);
      if (!columns) {
        columns = { weight: new Float64Array(this.Nk), even: new Float64Array(this.Nk) };
        this.cells.set(bits, columns);
      }
      columns.weight[key] += weights[key];
      columns.even[key] += share;
    }
    this.noted.length = 0;
  }

  /** Adds a row's weight on near keys. */
  addNear(weight: number, even: number): void {
    this.near.weight += weight;
    this.near.even += even;
  }

  /** Adds a row's weight on the keys at the query's relative position, from the start and from the end (cross-attention). */
  addAligned(forward: Shares, backward: Shares): void {
    for (const [sum, one] of [
      [this.forward, forward],
      [this.backward, backward],
    ] as const) {
      sum.weight += one.weight;
      sum.even += one.even;
    }
  }

  /** At most two claims, the larger first; the second excludes the cells of the first. */
  result(special: Uint8Array): Claim[] {
    if (this.rows === 0) return [];
    const even = this.columns.even.slice(0, this.Nk);
    for (let j = 1; j < this.Nk; j++) even[j] += even[j - 1];
    const columns = { weight: this.columns.weight, even };
    const rest: Columns = { weight: columns.weight.slice(), even: even.slice() };
    for (const cells of this.cells.values())
      for (let j = 0; j < this.Nk; j++) {
        rest.weight[j] -= cells.weight[j];
        rest.even[j] -= cells.even[j];
      }
    const groups: [bits: number, columns: Columns][] = [[0, rest], ...this.cells];
    const all = Array.from(rest.weight.keys());
    const claimOf = ({ habit, key, bits, keys = all }: Candidate, except?: Candidate): Claim => {
      let share = 0;
      let evenShare = 0;
      for (const [group, { weight, even }] of groups) {
        if ((bits !== undefined && (group & bits) === 0) || (except?.bits ?? 0) & group) continue;
        for (const j of keys) {
          if (except?.keys?.includes(j)) continue;
          share += weight[j];
          evenShare += even[j];
        }
      }
      return {
        habit,
        share: share / this.rows,
        even: evenShare / this.rows,
        ...(key === undefined ? {} : { key }),
      };
    };
    const candidates = [...byRow(), ...byKey(columns.weight, special)];
    const best = (except?: Candidate): { claim: Claim; candidate: Candidate } | undefined => {
      let match: { claim: Claim; candidate: Candidate } | undefined;
      for (const candidate of candidates) {
        if (candidate === except) continue;
        const claim = claimOf(candidate, except);
        const holds = claim.share >= SMALLEST && claim.share >= LIFT * claim.even;
        if (holds && claim.share > (match?.claim.share ?? 0)) match = { claim, candidate };
      }
      return match;
    };
    const first = best();
    const wide = this.wide();
    if (first === undefined || (wide && wide.habit !== "near" && wide.share > first.claim.share))
      return wide ? [wide] : [];
    if (first.claim.share >= ONLY) return [first.claim];
    const second = best(first.candidate);
    // A single small claim says less than the range of most of the attention.
    if (!second && wide && first.claim.share < 0.25) return [wide];
    return second ? [first.claim, second.claim] : [first.claim];
  }

  /** The claim of at least half of the attention near the query's position, or at its relative position in the other text. */
  private wide(): Claim | undefined {
    const all: [Habit, Shares][] = [
      ["near", this.near],
      ["aligned", this.forward],
      ["reversed", this.backward],
    ];
    return all
      .map(([habit, { weight, even }]) => ({ habit, share: weight / this.rows, even: even / this.rows }))
      .filter(({ share, even }) => share >= 0.5 && share >= LIFT * even)
      .sort((a, b) => b.share - a.share)[0];
  }
}

/** Cells that a claim could be about: those with a habit, or those of some keys. */
interface Candidate {
  readonly habit: Habit;
  /** The only key, if the claim names it. */
  readonly key?: number;
  /** The habit's bit; undefined: cells with any habits or none. */
  readonly bits?: number;
  /** The keys; undefined: all. */
  readonly keys?: readonly number[];
}

/** The habits whose cells depend on the row. */
function byRow(): Candidate[] {
  return (Object.keys(BITS) as (keyof typeof BITS)[]).map((habit) => ({ habit, bits: BITS[habit] }));
}

/** Keys that get attention from all rows: the special tokens (or the one with nearly all of their attention), and the other key with the most attention. */
function byKey(weight: Float64Array, special: Uint8Array): Candidate[] {
  const specials: number[] = [];
  let [topSpecial, topOther, sum] = [-1, -1, 0];
  for (let j = 0; j < weight.length; j++)
    if (special[j]) {
      specials.push(j);
      sum += weight[j];
      if (topSpecial < 0 || weight[j] > weight[topSpecial]) topSpecial = j;
    } else if (topOther < 0 || weight[j] > weight[topOther]) topOther = j;
  const one = (key: number): Candidate => ({ habit: "key", key, keys: [key] });
  const candidates: Candidate[] = [];
  if (topSpecial >= 0)
    candidates.push(
      weight[topSpecial] >= ALONE * sum ? one(topSpecial) : { habit: "special", keys: specials },
    );
  if (topOther >= 0) candidates.push(one(topOther));
  return candidates;
}
