/**
 * The store itself: exact answers about single rows at once, long ones through `compute`, each asked once however many
 * wait for it. It holds the heads that were last looked at; everything else is recomputed when it is wanted.
 */
import { formatValue, OptionError } from "../core/errors.ts";
import type { Asked, Compute } from "./compute/compute.ts";
import { gone } from "./compute/compute.ts";
import { Head, type HeadData } from "./compute/head.ts";
import { bytesOf } from "./compute/messages.ts";
import { Shared } from "./compute/single-flight.ts";
import type { PassAnswer } from "./compute/work.ts";
import { type HeadSource, layerOf } from "./layout/source.ts";
import { ledgerOf } from "./measures/ledger.ts";
import type { Asking, Edits, HeadRef, HeadStore, LoadReport, Stage, Tile } from "./types.ts";

/** Bytes of heads that are kept. */
const HELD = 96 * 2 ** 20;
/** Rows that are kept: the one under the cursor is asked for again and again. */
const ROWS = 16;
/** Pooled size of a pass nobody asked a picture of: thumbnails' size, so that measures and picture are one pass. */
const SIZE = 128;
/** Overviews of different size that are kept of a head. */
const SIZES = 4;
/** Weights that are given at once as a matrix: 2,048 × 2,048, 32 MiB. */
const MATRIX = 2 ** 22;
/** Priority offset of what is not on screen: this many visible heads come first. */
const LATER = 1e6;

/** Builds a store over a source. */
export function createStore(source: HeadSource, report: LoadReport, compute: Compute): HeadStore {
  const blocks = source.blocks.map(({ block }) => block);
  const heads = new Map<string, Head>();
  const rows = new Map<string, Float64Array>();
  const order = new Map<string, number>();
  /** Passes over each head, by the size of their overview. */
  const passes = new Map<string, Map<number, PassAnswer>>();
  const shared = new Shared<PassAnswer>();
  let disposed = false;

  const keyOf = (ref: HeadRef) => `${ref.block}.${ref.layer}.${ref.head}`;
  const check = (ref: HeadRef): string => {
    if (disposed) throw gone();
    layerOf(source.blocks, ref);
    return keyOf(ref);
  };
  const keep = (key: string, data: HeadData): Head => {
    const head = heads.get(key) ?? new Head(data);
    heads.delete(key);
    heads.set(key, head);
    let bytes = 0;
    for (const one of heads.values()) bytes += bytesOf(one.data);
    for (const [oldest, one] of heads) {
      if (bytes <= HELD || oldest === key) break;
      heads.delete(oldest);
      bytes -= bytesOf(one.data);
    }
    return head;
  };
  const dataOf = (ref: HeadRef): HeadData | Promise<HeadData> =>
    heads.get(keyOf(ref))?.data ?? source.head(ref);

  /** The head, or an error that says to load it first. */
  const headNow = (ref: HeadRef): Head => {
    const key = check(ref);
    const known = heads.get(key);
    if (known) return known;
    if (!source.bag.inMemory)
      throw new OptionError(
        "not-loaded",
        `HeadStore: layer ${ref.layer}, head ${ref.head} is not in memory; await store.load(ref) first`,
        { ...ref },
      );
    return keep(key, source.head(ref) as HeadData);
  };

  const inside = (what: "i" | "j", n: number, count: number) => {
    if (!(Number.isInteger(n) && n >= 0 && n < count))
      throw new OptionError(
        "cell",
        `HeadStore: ${what} must be an integer from 0 to ${count - 1}, got ${formatValue(n)}`,
        { [what]: n },
      );
  };
  const hasStage = (ref: HeadRef, stage: Stage) => {
    const { stages, name } = blocks[ref.block];
    if (!stages.includes(stage))
      throw new OptionError(
        "stage",
        `HeadStore: \`${name}\` has the stages ${stages.join(", ")}, got ${formatValue(stage)}`,
        { stage },
      );
  };
  const checkEdits = (head: Head, edits: Edits) => {
    const { d, Nk } = head.data;
    if (!head.scored && (edits.query || edits.key || edits.scale !== undefined))
      throw new OptionError(
        "edits",
        "HeadStore: weights that were given have no query, key or scale to edit",
      );
    if (edits.query && edits.query.length !== d)
      throw new OptionError(
        "edits",
        `HeadStore: an edited query needs ${d} numbers, got ${edits.query.length}`,
      );
    if (edits.key) {
      inside("j", edits.key.index, Nk);
      if (edits.key.values.length !== d)
        throw new OptionError(
          "edits",
          `HeadStore: an edited key needs ${d} numbers, got ${edits.key.values.length}`,
        );
    }
    if (edits.scale !== undefined && typeof edits.scale !== "number")
      throw new OptionError(
        "edits",
        `HeadStore: an edited scale must be a number, got ${formatValue(edits.scale)}`,
      );
  };

  /** A row as it is kept: not to be handed out. */
  const rowHeld = (ref: HeadRef, i: number, stage: Stage): Float64Array => {
    const head = headNow(ref);
    hasStage(ref, stage);
    inside("i", i, head.data.Nq);
    const key = `${keyOf(ref)} ${i} ${stage}`;
    const known = rows.get(key);
    if (known) return known;
    const row = head.row(i, stage);
    rows.set(key, row);
    for (const oldest of rows.keys()) {
      if (rows.size <= ROWS) break;
      rows.delete(oldest);
    }
    return row;
  };

  const asked = (ref: HeadRef, sooner = 0): Asked => {
    const key = keyOf(ref);
    return {
      key,
      data: () => dataOf(ref),
      places: source.blocks[ref.block].places,
      urgency: () => (order.get(key) ?? LATER) - sooner,
    };
  };
  /** Questions about what is looked at right now go before passes over heads. */
  const urgent = (ref: HeadRef) => asked(ref, 2 * LATER);

  const pass = async (ref: HeadRef, size: number | undefined, asking: Asking = {}): Promise<PassAnswer> => {
    const key = check(ref);
    const known = passes.get(key) ?? new Map<number, PassAnswer>();
    const cached = size === undefined ? known.values().next().value : known.get(size);
    if (cached) return cached;
    const wanted = size ?? SIZE;
    const under = size === undefined ? shared.any(key) : undefined;
    const name = under ?? `${key} ${wanted}`;
    const answer = await shared.ask(name, asking, async (whole) => {
      const found = (await compute.ask(asked(ref), { what: "pass", size: wanted }, whole)) as PassAnswer;
      passes.set(key, known.set(wanted, found));
      for (const oldest of known.keys()) if (known.size > SIZES) known.delete(oldest);
      return found;
    });
    return answer;
  };

  return {
    blocks,
    report,
    ready(ref) {
      const key = check(ref);
      return source.bag.inMemory || heads.has(key);
    },
    async load(ref) {
      const key = check(ref);
      if (!heads.has(key)) keep(key, await source.head(ref));
    },
    row(ref, i, stage, edits) {
      if (!edits) return rowHeld(ref, i, stage).slice();
      const head = headNow(ref);
      hasStage(ref, stage);
      inside("i", i, head.data.Nq);
      checkEdits(head, edits);
      return head.row(i, stage, edits);
    },
    cell(ref, i, j, stage) {
      const row = rowHeld(ref, i, stage);
      inside("j", j, row.length);
      return row[j];
    },
    visible(ref, i) {
      const head = headNow(ref);
      inside("i", i, head.data.Nq);
      const out = new Uint8Array(head.data.Nk);
      const runs = head.runs(i);
      for (let n = 0; n < runs.length; n += 2) out.fill(1, runs[n], runs[n + 1]);
      return out;
    },
    output(ref, i, edits) {
      const head = headNow(ref);
      inside("i", i, head.data.Nq);
      if (!head.data.value)
        throw new OptionError("values", `HeadStore: \`${blocks[ref.block].name}\` has no values`);
      if (edits) checkEdits(head, edits);
      return head.output(i, edits);
    },
    vector(ref, what, index) {
      const { data } = headNow(ref);
      const array = data[what];
      const [count, width, side] =
        what === "query"
          ? [data.Nq, data.d, "i" as const]
          : [data.Nk, what === "key" ? data.d : data.dv, "j" as const];
      if (!array)
        throw new OptionError("vector", `HeadStore: \`${blocks[ref.block].name}\` has no ${what} vectors`);
      inside(side, index, count);
      return Float64Array.from(array.subarray(index * width, (index + 1) * width));
    },
    ledger(ref, i, j, edits) {
      const head = headNow(ref);
      inside("i", i, head.data.Nq);
      inside("j", j, head.data.Nk);
      if (edits) checkEdits(head, edits);
      return ledgerOf(head, ref, i, j, edits);
    },
    lse: async (ref, asking) => (await pass(ref, undefined, asking)).lse.slice(),
    measures: async (ref, asking) => (await pass(ref, undefined, asking)).measures,
    async overview(ref, size, asking) {
      if (!(Number.isInteger(size) && size >= 1 && size <= 1024))
        throw new OptionError(
          "size",
          `HeadStore.overview: size must be an integer from 1 to 1024, got ${formatValue(size)}`,
          { size },
        );
      return (await pass(ref, size, asking)).overview;
    },
    async column(ref, j, stage, asking) {
      check(ref);
      hasStage(ref, stage);
      inside("j", j, blocks[ref.block].Nk);
      return (await compute.ask(urgent(ref), { what: "column", stage, j }, asking)) as Float64Array;
    },
    async tile(ref, address, asking) {
      check(ref);
      hasStage(ref, address.stage);
      const { level, i, j, domain } = address;
      for (const [name, n] of Object.entries({ level, i, j }))
        if (!(Number.isInteger(n) && n >= 0 && n < 2 ** 24))
          throw new OptionError(
            "tile",
            `HeadStore.tile: ${name} must be an integer from 0, got ${formatValue(n)}`,
            {
              [name]: n,
            },
          );
      if (domain !== undefined && !(domain > 0 && domain < Infinity))
        throw new OptionError(
          "tile",
          `HeadStore.tile: domain must be a number above 0, got ${formatValue(domain)}`,
          { domain },
        );
      return (await compute.ask(urgent(ref), { what: "tile", address }, asking)) as Tile;
    },
    async range(ref, stage, asking) {
      check(ref);
      hasStage(ref, stage);
      return (await compute.ask(urgent(ref), { what: "range", stage }, asking)) as readonly [number, number];
    },
    async link(ref, queries, keys, asking) {
      check(ref);
      const { Nq, Nk } = blocks[ref.block];
      for (const i of queries) inside("i", i, Nq);
      for (const j of keys) inside("j", j, Nk);
      const found = await compute.ask(asked(ref), { what: "link", queries, keys }, asking);
      const [weight, even, rows, key, largest, evenOfKey] = found as Float64Array;
      return {
        weight,
        even,
        rows,
        strongest: key < 0 ? undefined : { key, weight: largest, even: evenOfKey },
      };
    },
    async weights(ref, asking) {
      check(ref);
      const { Nq, Nk } = blocks[ref.block];
      if (Nq * Nk > MATRIX)
        throw new OptionError(
          "size",
          `HeadStore.weights: a head of ${Nq} × ${Nk} has ${Nq * Nk} weights, more than the ${MATRIX} that are given at once; use row, tile or overview`,
          { Nq, Nk },
        );
      return (await compute.ask(asked(ref), { what: "weights" }, asking)) as Float64Array;
    },
    prioritize(refs) {
      order.clear();
      refs.forEach((ref, n) => order.set(keyOf(ref), n));
      compute.reorder();
    },
    // Few who look also write: the writer is loaded when it is wanted.
    bundleSize: async (options) =>
      (await import("./formats/bundle.ts")).bundleSize(source.bag, source.blocks, options),
    bundle: async (options) =>
      (await import("./formats/bundle.ts")).writeBag(source.bag, source.blocks, options),
    dispose() {
      if (disposed) return;
      disposed = true;
      compute.dispose();
      heads.clear();
      rows.clear();
      passes.clear();
      void source.close();
    },
  };
}
