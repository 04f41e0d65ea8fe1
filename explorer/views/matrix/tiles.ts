/**
 * The tiles of a head's picture, 128 × 128 cells each. Colored tiles are cached, at most 16 MiB of them; the least recently used
 * ones are evicted. A missing tile is requested; until it arrives, a coarser one is drawn.
 *
 * The store's workers compute most tiles. If each row has its own factor (weights renormalized after keys are hidden, or colors
 * relative to each row's maximum), tiles are computed here, row by row: a pooled tile does not record the row of a value.
 */

import type { HeadRef, Stage } from "../../../src/store/block.ts";
import type { HeadStore } from "../../../src/store/head-store.ts";
import { TILE, type Tile } from "../../../src/store/measures/tile.ts";
import type { TileTransfer } from "../../../src/store/measures/transfer.ts";
import { codeOf, isSigned, signedCodeOf } from "../../../src/store/measures/transfer.ts";
import type { Slices } from "../../app/time-slicer.ts";
import { NOT_A_WEIGHT, wordOf } from "../../canvas/colors.ts";
import { Lru } from "../../canvas/lru.ts";
import { factsOf } from "../../state/facts.ts";

/** The data and the colors of a picture. */
export interface TilePlan {
  readonly store: HeadStore;
  readonly ref: HeadRef;
  readonly stage: Stage;
  readonly transfer: TileTransfer;
  /** The value at full color; undefined: the store chooses it. */
  readonly domain?: number;
  /** 256 colors as words; see colors.ts. */
  readonly colors: Uint32Array;
  /** The hidden keys, and whether the other weights of each row are rescaled to sum to 1. */
  readonly hidden: readonly number[];
  readonly renormalize: boolean;
  /** Colors are relative to the maximum of each row. */
  readonly rowMax: boolean;
}

/** The capacities in bytes of the caches of colored tiles and of their codes, which give a tile new colors without a request. */
const MAX_BYTES = 16 * 2 ** 20;
const MAX_CODE_BYTES = 4 * 2 ** 20;
const BYTES = TILE * TILE * 4;
/** The maximum number of tiles of a head that are prefetched. */
const MAX_AHEAD = 32;
const nonFinite = wordOf(NOT_A_WEIGHT);

type Address = readonly [level: number, i: number, j: number];

/** A colored tile, and how many of its rows and columns are inside the head. */
export interface Drawn {
  readonly canvas: HTMLCanvasElement;
  readonly rows: number;
  readonly columns: number;
  readonly domain: number;
}

export class Tiles {
  readonly #drawn = new Lru<Drawn>(MAX_BYTES);
  readonly #codes = new Lru<Tile>(MAX_CODE_BYTES);
  readonly #requests = new Map<string, AbortController>();
  /** Requests of `prefetch` that no painting has asked for yet. */
  readonly #ahead = new Map<string, AbortController>();
  readonly #wanted = new Set<string>();
  /** Addresses of the tiles of the current painting, and of the last one: level, i, j. */
  #visible: Address[] = [];
  #settled: readonly Address[] = [];
  readonly #slices: Slices;
  readonly #arrived: () => void;
  readonly #failed: (error: unknown) => void;
  /** The store of all cached and requested tiles. */
  #store: HeadStore | undefined;

  constructor(slices: Slices, arrived: () => void, failed: (error: unknown) => void) {
    this.#slices = slices;
    this.#arrived = arrived;
    this.#failed = failed;
  }

  /** How many tiles have been requested and have not arrived. */
  get waiting(): number {
    return this.#requests.size;
  }

  /** The tile; if it is not cached, it is requested and undefined is returned. */
  get(plan: TilePlan, level: number, i: number, j: number): Drawn | undefined {
    this.#keepOnly(plan.store);
    const key = `${keyOf(plan)} ${level} ${i} ${j}`;
    this.#wanted.add(key);
    this.#visible.push([level, i, j]);
    const canvas = this.#drawn.get(key) ?? this.#recolored(plan, level, i, j);
    if (canvas !== undefined || this.#requests.has(key)) return canvas;
    const ahead = this.#ahead.get(key);
    if (ahead === undefined) this.#request(plan, key, level, i, j);
    else {
      this.#ahead.delete(key);
      this.#requests.set(key, ahead);
    }
    return undefined;
  }

  /** The tile if it is cached. */
  peek(plan: TilePlan, level: number, i: number, j: number): Drawn | undefined {
    this.#keepOnly(plan.store);
    return this.#drawn.get(`${keyOf(plan)} ${level} ${i} ${j}`) ?? this.#recolored(plan, level, i, j);
  }

  /** Evicts the tiles of any other store: a cache key names a head, not its data. */
  #keepOnly(store: HeadStore): void {
    if (store !== this.#store) this.clear();
    this.#store = store;
  }

  #recolored(plan: TilePlan, level: number, i: number, j: number): Drawn | undefined {
    const tile = this.#codes.get(`${nameOf(plan)} ${level} ${i} ${j}`);
    return tile && this.#keep(tile, plan, level, i, j);
  }

  #keep(tile: Tile, plan: TilePlan, level: number, i: number, j: number): Drawn {
    const { rows, columns, domain } = tile;
    const drawn = { canvas: colored(tile, plan.colors), rows, columns, domain };
    this.#drawn.set(`${keyOf(plan)} ${level} ${i} ${j}`, drawn, BYTES);
    this.#codes.set(`${nameOf(plan)} ${level} ${i} ${j}`, tile, 2 * TILE * TILE);
    return drawn;
  }

  /** Ends a painting: aborts the requests that it did not repeat. */
  settle(): void {
    for (const [key, request] of this.#requests)
      if (!this.#wanted.has(key)) {
        request.abort();
        this.#requests.delete(key);
      }
    this.#wanted.clear();
    [this.#settled, this.#visible] = [this.#visible, []];
    // What a painting waits for comes first.
    if (this.#requests.size > 0) this.#dropAhead();
  }

  /**
   * Requests the tiles of the last painting for other heads, so that a switch to one of them draws a sharp picture at once.
   * Only plans whose tiles the workers compute, each without a pass over the head.
   */
  prefetch(plans: readonly TilePlan[]): void {
    this.#dropAhead();
    if (this.#requests.size > 0 || this.#settled.length > MAX_AHEAD) return;
    for (const plan of plans) {
      if (plan.store !== this.#store || inSlices(plan) || isSigned(plan.stage)) continue;
      for (const [level, i, j] of this.#settled) {
        const key = `${keyOf(plan)} ${level} ${i} ${j}`;
        if (!this.#drawn.has(key) && !this.#codes.has(`${nameOf(plan)} ${level} ${i} ${j}`))
          this.#request(plan, key, level, i, j, this.#ahead);
      }
    }
  }

  #dropAhead(): void {
    for (const request of this.#ahead.values()) request.abort();
    this.#ahead.clear();
  }

  /** Aborts all requests and empties the caches. */
  clear(): void {
    for (const request of this.#requests.values()) request.abort();
    this.#requests.clear();
    this.#dropAhead();
    this.#wanted.clear();
    [this.#settled, this.#visible] = [[], []];
    this.#drawn.clear();
    this.#codes.clear();
    this.#store = undefined;
  }

  #request(plan: TilePlan, key: string, level: number, i: number, j: number, of = this.#requests): void {
    const control = new AbortController();
    of.set(key, control);
    /** Whether a painting waits for it. */
    const finish = () => {
      this.#ahead.delete(key);
      return this.#requests.delete(key);
    };
    const arrive = (tile: Tile) => {
      if (control.signal.aborted) return;
      const isAwaited = finish();
      this.#keep(tile, plan, level, i, j);
      if (isAwaited) this.#arrived();
    };
    if (inSlices(plan)) {
      const make = maker(plan, level, i, j);
      this.#slices.add(() => {
        if (control.signal.aborted) return false;
        const tile = make();
        if (tile !== undefined) arrive(tile);
        return tile === undefined;
      });
      return;
    }
    const { store, ref, stage, transfer, domain } = plan;
    store
      .tile(ref, { stage, transfer, level, i, j, domain }, { signal: control.signal })
      .then(arrive, (error) => {
        if (!control.signal.aborted && finish()) this.#failed(error);
      });
  }
}

/** Whether the tiles of a plan are computed on this thread: their rows have factors of their own. */
const inSlices = ({ renormalize, rowMax }: TilePlan) => renormalize || rowMax;

function keyOf(plan: TilePlan): string {
  return `${nameOf(plan)} ${plan.colors[0]} ${plan.colors[255]}`;
}

/** The cache key of a plan without its colors. */
function nameOf({ ref, stage, transfer, domain, hidden, renormalize, rowMax }: TilePlan): string {
  const settings = renormalize || rowMax ? `${hidden.join()} ${renormalize} ${rowMax}` : "";
  return `${ref.block} ${ref.layer} ${ref.head} ${stage} ${transfer} ${domain} ${settings}`;
}

/** The coarsest level, at which one tile contains the whole head. */
export function topLevel(rows: number, columns: number): number {
  return Math.max(0, Math.ceil(Math.log2(Math.max(1, rows, columns) / TILE)));
}

/** The codes of a tile as colors; masked cells are transparent, so that the hatch below shows through. */
function colored({ codes, marks }: Tile, colors: Uint32Array): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = TILE;
  const context = canvas.getContext("2d")!;
  const image = context.createImageData(TILE, TILE);
  const words = new Uint32Array(image.data.buffer);
  for (let c = 0; c < words.length; c++)
    if (marks[c] === 0) words[c] = colors[codes[c]];
    else if (marks[c] === 2) words[c] = nonFinite;
  context.putImageData(image, 0, 0);
  return canvas;
}

/** Computes a tile whose rows have their own factors, one row per call; returns the tile once it is complete. */
function maker(plan: TilePlan, level: number, i: number, j: number): () => Tile | undefined {
  const { store, ref, stage, hidden, renormalize, rowMax } = plan;
  const { Nq, Nk } = store.blocks[ref.block];
  const pool = 2 ** level;
  const [top, left] = [i * TILE * pool, j * TILE * pool];
  const rows = Math.min(TILE, Math.ceil((Nq - top) / pool));
  const columns = Math.min(TILE, Math.ceil((Nk - left) / pool));
  const codes = new Uint8Array(TILE * TILE);
  const marks = new Uint8Array(TILE * TILE).fill(1);
  const isHidden = new Set(hidden);
  const bySign = isSigned(stage);
  const domain = plan.domain ?? 1;
  let query = top;
  return () => {
    const row = store.row(ref, query, stage);
    const visible = store.visible(ref, query);
    const facts = bySign ? undefined : factsOf(store.row(ref, query, "weights"), hidden);
    let factor = renormalize && facts ? 1 / Math.max(Number.MIN_VALUE, facts.sum - facts.hidden) : 1;
    if (rowMax) {
      let maximum = 0;
      for (let key = 0; key < Nk; key++)
        if (visible[key] && !isHidden.has(key) && Math.abs(row[key]) > maximum) maximum = Math.abs(row[key]);
      factor = maximum > 0 ? domain / maximum : 1;
    }
    const r = Math.floor((query - top) / pool) * TILE;
    for (let key = left; key < Math.min(Nk, left + columns * pool); key++) {
      const at = r + Math.floor((key - left) / pool);
      if (!visible[key] && stage !== "scores" && stage !== "scaled") continue;
      if (!Number.isFinite(row[key])) marks[at] = 2;
      else {
        const code = bySign
          ? signedCodeOf(row[key] * factor, domain)
          : codeOf(row[key] * factor, plan.transfer, domain);
        if (marks[at] === 1) {
          marks[at] = 0;
          codes[at] = code;
        } else if (bySign ? Math.abs(code - 128) > Math.abs(codes[at] - 128) : code > codes[at])
          codes[at] = code;
      }
    }
    query++;
    if (query < Math.min(Nq, top + rows * pool)) return undefined;
    return { rows, columns, codes, marks, domain, signed: bySign };
  };
}
