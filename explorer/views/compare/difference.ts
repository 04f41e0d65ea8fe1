/**
 * The difference of two heads as a store: its rows are the rows of the first head minus those of the second, over the tokens
 * that both texts have. It implements only what a matrix needs. Its stage is `scores`, because the numbers have signs.
 */
import { UnsupportedError } from "../../../src/core/errors.ts";
import type { Block, HeadRef, Stage } from "../../../src/store/block.ts";
import type { HeadStore } from "../../../src/store/head-store.ts";
import { TILE, type Tile } from "../../../src/store/measures/tile.ts";
import { signedCodeOf } from "../../../src/store/measures/transfer.ts";
import { hiddenKeys, type Session } from "../../app/session.ts";
import { shownWeights } from "../../state/words.ts";

/** One of the two heads, and its tokens that have partners. */
export interface HeadSelection {
  readonly session: Session;
  readonly rows: readonly number[];
  readonly columns: readonly number[];
}

/** A row as the comparison shows it: weights without hidden keys, rescaled if the state says so. */
export function shownRow(session: Session, query: number): Float64Array {
  return session.state.stage === "weights"
    ? shownWeights(session, query)
    : session.row(query, session.state.stage);
}

export function differenceStore(first: HeadSelection, second: HeadSelection, stage: Stage): HeadStore {
  const [a, b] = [first.session, second.session];
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
  const numbers = ({ session, rows, columns }: HeadSelection, i: number): Float64Array => {
    const row = shownRow(session, rows[i]);
    return Float64Array.from(columns, (j) => row[j]);
  };
  const row = (i: number): Float64Array => {
    const other = numbers(second, i);
    return numbers(first, i).map((value, j) => value - other[j]);
  };
  const visible = (i: number): Uint8Array => {
    const other = visibleOf(second, i);
    return visibleOf(first, i).map((one, j) => one & other[j]);
  };
  let maximum: number | undefined;
  const largest = () => {
    if (maximum === undefined) {
      maximum = 0;
      for (let i = 0; i < block.Nq; i++) {
        const isVisible = visible(i);
        row(i).forEach((value, j) => {
          if (isVisible[j] && Number.isFinite(value)) maximum = Math.max(maximum!, Math.abs(value));
        });
      }
    }
    return maximum || 1;
  };
  const tile = (level: number, top: number, left: number, domain = largest()): Tile => {
    const pool = 2 ** level;
    const [from, start] = [top * TILE * pool, left * TILE * pool];
    const rows = Math.max(0, Math.min(TILE, Math.ceil((block.Nq - from) / pool)));
    const columns = Math.max(0, Math.min(TILE, Math.ceil((block.Nk - start) / pool)));
    const codes = new Uint8Array(TILE * TILE);
    const marks = new Uint8Array(TILE * TILE).fill(1);
    for (let i = from; i < Math.min(block.Nq, from + rows * pool); i++) {
      const [values, isVisible] = [row(i), visible(i)];
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
    }
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
    tile: async (_ref, { level, i, j, domain }) => tile(level, i, j, domain),
    range: async () => [-largest(), largest()],
    prioritize: () => {},
    dispose: () => {},
    output: none,
    vector: none,
    ledger: none,
    states: none,
    lse: none,
    measures: none,
    overview: none,
    column: none,
    link: none,
    picture: none,
    weights: none,
    bundleSize: none,
    bundle: none,
  };
}
