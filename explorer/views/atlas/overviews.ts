/**
 * The overviews of all heads: requested from the store once, visible heads first, and colored at the size they are drawn in.
 * Downsampling takes the maximum, so that a pattern one cell wide is kept.
 */

import type { HeadStore } from "../../../src/store/head-store.ts";
import type { Overview } from "../../../src/store/measures/pool.ts";
import { codeOf } from "../../../src/store/measures/transfer.ts";
import type { Session } from "../../app/session.ts";
import { NOT_A_WEIGHT, rampOf, wordOf, wordsOf } from "../../canvas/colors.ts";
import { Lru } from "../../canvas/lru.ts";
import type { HeadName, TransferName } from "../../state/state.ts";

/** The capacity of the cache of colored pictures, in bytes. */
const MAX_BYTES = 8 * 2 ** 20;
const nonFinite = wordOf(NOT_A_WEIGHT);
/** The size of an overview that is shown in full size. */
const FINE = 512;

export class Overviews {
  readonly #session: Session;
  readonly #overviews = new Map<string, Overview>();
  readonly #fine = new Map<string, Overview | null>();
  readonly #requested = new Set<string>();
  readonly #settled = new Set<string>();
  readonly #painted = new Lru<HTMLCanvasElement>(MAX_BYTES);
  readonly #changed: () => void;
  #store: HeadStore | undefined;
  #stop = new AbortController();

  /** Incremented whenever a picture may have changed. */
  version = 0;

  constructor(session: Session, changed: () => void) {
    this.#session = session;
    this.#changed = () => {
      this.version++;
      changed();
    };
  }

  /** The share of the requested overviews that has been computed. */
  get done(): number {
    if (this.#waiting === 0) return 1;
    let done = 0;
    for (const overview of this.#overviews.values()) done += overview.done;
    return done / this.#requested.size;
  }
  #waiting = 0;

  /** Requests the overviews of heads, in this order. */
  want(names: readonly HeadName[]): void {
    const { store } = this.#session;
    if (store !== this.#store) this.clear();
    this.#store = store;
    if (store === undefined) return;
    const size = names.length > 1500 ? 32 : names.length > 400 ? 64 : 128;
    const fresh = names.filter((name) => !this.#requested.has(keyOf(name)));
    if (fresh.length === 0) return;
    for (const name of fresh) this.#requested.add(keyOf(name));
    this.#waiting += fresh.length;
    this.#changed();
    const { signal } = this.#stop;
    const accept = (name: HeadName, overview: Overview | undefined) => {
      if (signal.aborted || overview === undefined) return;
      this.#overviews.set(keyOf(name), overview);
      this.#changed();
    };
    const settle = (name: HeadName) => {
      this.#waiting--;
      this.#settled.add(keyOf(name));
    };
    for (const name of fresh)
      store
        .overview(this.#session.refOf(name), size, {
          signal,
          onProgress: (_done, overview) => accept(name, overview),
        })
        .then(
          (overview) => {
            if (signal.aborted) return;
            settle(name);
            accept(name, overview);
          },
          (error) => {
            if (signal.aborted) return;
            settle(name);
            this.#changed();
            this.#session.failed(error);
          },
        );
  }

  /** Whether a head's overview is complete; undefined if it was not requested or its computation failed. */
  stateOf(name: HeadName): "under way" | "done" | undefined {
    const key = keyOf(name);
    if (this.#session.store !== this.#store || !this.#requested.has(key)) return undefined;
    if (!this.#settled.has(key)) return "under way";
    return this.#overviews.has(key) ? "done" : undefined;
  }

  get(name: HeadName): Overview | undefined {
    return this.#overviews.get(keyOf(name));
  }

  /** The overview of a head at full size, which is requested if it is not cached; until then, the small one. */
  #finer(name: HeadName): Overview | undefined {
    const key = keyOf(name);
    const fine = this.#fine.get(key);
    if (fine === undefined && this.#store !== undefined) {
      this.#fine.set(key, null);
      const { signal } = this.#stop;
      this.#store.overview(this.#session.refOf(name), FINE, { signal }).then(
        (overview) => {
          this.#fine.set(key, overview);
          this.#changed();
        },
        (error) => {
          if (!signal.aborted) this.#session.failed(error);
        },
      );
    }
    return fine ?? this.get(name);
  }

  /** The picture of a head with at most this size in device pixels; undefined until its overview arrives. */
  picture(
    name: HeadName,
    width: number,
    height: number,
    transfer: TransferName,
    fine = false,
  ): HTMLCanvasElement | undefined {
    const overview = fine ? this.#finer(name) : this.get(name);
    if (overview === undefined) return undefined;
    const { state, dark } = this.#session;
    const ramp = rampOf(state.ramp, false, dark);
    const [w, h] = [stepBelow(width, overview.columns), stepBelow(height, overview.rows)];
    const key = `${keyOf(name)} ${w} ${h} ${ramp} ${transfer} ${state.pool} ${overview.done}`;
    let canvas = this.#painted.get(key);
    if (canvas === undefined) {
      canvas = colored(overview, w, h, lookUp(wordsOf(ramp), transfer), state.pool === "mean");
      this.#painted.set(key, canvas, 4 * w * h);
    }
    return canvas;
  }

  clear(): void {
    this.#stop.abort();
    this.#stop = new AbortController();
    this.#overviews.clear();
    this.#fine.clear();
    this.#requested.clear();
    this.#settled.clear();
    this.#painted.clear();
    this.#waiting = 0;
  }
}

/** The sizes of pictures: zooming colors only a few sizes. */
const STEPS = [512, 384, 256, 192, 128, 96, 64, 48, 32, 24, 16, 12, 8, 4];

/** The size of a picture for a number of pixels, never larger, so that drawing never drops a pixel. */
function stepBelow(pixels: number, max: number): number {
  if (pixels >= max) return max;
  return Math.max(1, STEPS.find((step) => step <= pixels) ?? pixels);
}

const keyOf = ({ block, layer, head }: HeadName) => `${layer} ${head} ${block}`;

/** The colors for the codes of an overview, 255·√w, with another transfer function. */
function lookUp(colors: Uint32Array, transfer: TransferName): Uint32Array {
  if (transfer === "sqrt") return colors;
  return colors.map((_, code) => colors[codeOf((code / 255) ** 2, transfer, 1)]);
}

function colored(
  overview: Overview,
  width: number,
  height: number,
  colors: Uint32Array,
  mean: boolean,
): HTMLCanvasElement {
  const { rows, columns, marks } = overview;
  const codes = mean ? overview.mean : overview.max;
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, width);
  canvas.height = Math.max(1, height);
  const context = canvas.getContext("2d")!;
  const image = context.createImageData(canvas.width, canvas.height);
  const words = new Uint32Array(image.data.buffer);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      let [best, mark] = [0, 1];
      const [bottom, right] = [Math.ceil(((y + 1) * rows) / height), Math.ceil(((x + 1) * columns) / width)];
      for (let r = Math.floor((y * rows) / height); r < bottom; r++)
        for (let c = Math.floor((x * columns) / width); c < right; c++) {
          const at = r * columns + c;
          if (codes[at] > best) best = codes[at];
          if (marks[at] === 2) mark = 2;
          else if (marks[at] === 0 && mark === 1) mark = 0;
        }
      if (mark !== 1) words[y * width + x] = mark === 2 ? nonFinite : colors[best];
    }
  context.putImageData(image, 0, 0);
  return canvas;
}
