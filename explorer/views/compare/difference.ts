/**
 * The difference of two heads as a store: its rows are the rows of the first head minus those of the second, over the tokens
 * that both texts have. It implements only what a matrix needs. Its stage is `scores`, because the numbers have signs. Rows are computed
 * in slices of time: those of two long heads take seconds.
 */
import { UnsupportedError } from "../../../src/core/errors.ts";
import type { Block, HeadRef, Stage } from "../../../src/store/block.ts";
import type { HeadStore } from "../../../src/store/head-store.ts";
import { TILE, type Tile } from "../../../src/store/measures/tile.ts";
import { TimeSlices } from "../../../src/store/measures/time-slices.ts";
import { signedCodeOf } from "../../../src/store/measures/transfer.ts";
import { hiddenKeys, type Session } from "../../app/session.ts";
import { shownWeights } from "../../state/words.ts";

/** One of the two heads, and its tokens that have partners. */
export interface HeadSelection {
  readonly session: Session;
  readonly rows: readonly number[];
  readonly columns: readonly number[];
}

/** What a difference does not have. */
const REFUSED = ["output", "vector", "ledger", "states", "lse", "measures", "overview", "column", "link", "picture", "weights", "bundleSize", "bundle"] as const; // biome-ignore format: a list

type Refused = Record<(typeof REFUSED)[number], () => never>;
type RowVisitor = (i: number, row: Float64Array, visible: Uint8Array) => void;

/** A row as the comparison shows it: weights without hidden keys, rescaled if the state says so. */
export function shownRow(session: Session, query: number): Float64Array {
  return session.state.stage === "weights"
    ? shownWeights(session, query)
    : session.row(query, session.state.stage);
}

/** The head as it is now: the session moves on while rows are computed in slices. */
function frozen(one: HeadSelection): HeadSelection {
  const { state, block, store, ref } = one.session;
  const row = (query: number, stage: Stage) => store!.row(ref, query, stage);
  return { ...one, session: { state, block, store, ref, row } as Session };
}

export function differenceStore(
  firstHead: HeadSelection,
  secondHead: HeadSelection,
  stage: Stage,
): HeadStore {
  const [a, b] = [firstHead.session, secondHead.session];
  const [first, second] = [frozen(firstHead), frozen(secondHead)];
  const name = (one: string, other: string) => (one === other ? one : `${one}|${other}`);
  const label = (axis: "query" | "key", places: "rows" | "columns") =>
    first[places].map((at, n) =>
      name(a.labels(a.block!)[axis][at], b.labels(b.block!)[axis][second[places][n]]),
    );
  const block: Block = {
    ...a.block!,
    name: "difference",
    layers: [0],
    heads: 1,
    keyHeads: 1,
    Nq: first.rows.length,
    Nk: first.columns.length,
    queryTokens: label("query", "rows"),
    keyTokens: label("key", "columns"),
    queryOffset: 0,
    segments: [],
    special: {
      query: first.rows.map((at) => a.block!.special.query[at]),
      key: first.columns.map((at) => a.block!.special.key[at]),
    },
    states: [],
    evidence: [],
    stages: ["scores"],
  };
  const visibleOf = ({ session, rows, columns }: HeadSelection, i: number): Uint8Array => {
    const visible = session.store!.visible(session.ref, rows[i]);
    const hidden = new Set(hiddenKeys(session.block!, session.state));
    return Uint8Array.from(columns, (j) =>
      stage === "scores" || stage === "scaled" ? 1 : hidden.has(j) ? 0 : visible[j],
    );
  };
  const row = (i: number): Float64Array => {
    const [one, other] = [first, second].map(({ session, rows }) => shownRow(session, rows[i]));
    return Float64Array.from(first.columns, (j, n) => one[j] - other[second.columns[n]]);
  };
  const visible = (i: number): Uint8Array => {
    const other = visibleOf(second, i);
    return visibleOf(first, i).map((one, j) => one & other[j]);
  };
  const slices = new TimeSlices();
  let isDisposed = false;
  const visit = async (from: number, to: number, each: RowVisitor) => {
    for (let i = from; i < to; i++) {
      if (slices.over) await slices.pause();
      if (isDisposed) return;
      each(i, row(i), visible(i));
    }
  };
  let maximum: Promise<number> | undefined;
  const computeMaximum = async () => {
    let maximumValue = 0;
    await visit(0, block.Nq, (_, values, isVisible) =>
      values.forEach((value, j) => {
        if (isVisible[j] && Number.isFinite(value)) maximumValue = Math.max(maximumValue, Math.abs(value));
      }),
    );
    return maximumValue || 1;
  };
  const largest = () => (maximum ??= computeMaximum());
  const tile = async (level: number, top: number, left: number, limit?: number): Promise<Tile> => {
    const domain = limit ?? (await largest());
    const pool = 2 ** level;
    const [from, start] = [top * TILE * pool, left * TILE * pool];
    const rows = Math.max(0, Math.min(TILE, Math.ceil((block.Nq - from) / pool)));
    const columns = Math.max(0, Math.min(TILE, Math.ceil((block.Nk - start) / pool)));
    const codes = new Uint8Array(TILE * TILE);
    const marks = new Uint8Array(TILE * TILE).fill(1);
    await visit(from, Math.min(block.Nq, from + rows * pool), (i, values, isVisible) => {
      for (let j = start; j < Math.min(block.Nk, start + columns * pool); j++) {
        const at = Math.floor((i - from) / pool) * TILE + Math.floor((j - start) / pool);
        if (!isVisible[j]) continue;
        if (!Number.isFinite(values[j])) {
          marks[at] = 2;
          continue;
        }
        const code = signedCodeOf(values[j], domain);
        if (marks[at] === 1 || Math.abs(code - 128) > Math.abs(codes[at] - 128)) codes[at] = code;
        if (marks[at] === 1) marks[at] = 0;
      }
    });
    return { rows, columns, codes, marks, domain, signed: true };
  };
  const none = (): never => {
    throw new UnsupportedError("difference", "a difference of two heads has rows and tiles only");
  };
  return {
    blocks: [block],
    report: { name: "difference", format: "memory", bytes: 0, sentences: [], problems: [] },
    ready: () => a.ready && b.ready,
    load: async () => {},
    row: (_ref: HeadRef, i: number) => row(i),
    cell: (_ref: HeadRef, i: number, j: number) => row(i)[j],
    visible: (_ref: HeadRef, i: number) => visible(i),
    tile: (_ref, { level, i, j, domain }) => tile(level, i, j, domain),
    range: async () => [-(await largest()), await largest()],
    prioritize: () => {},
    dispose: () => void (isDisposed = true),
    ...(Object.fromEntries(REFUSED.map((name) => [name, none])) as Refused),
  };
}
