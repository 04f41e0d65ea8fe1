/**
 * Reads the links of a head: visible rows within the current frame, the rest in idle slices. They are read again when the head,
 * the stage, the hidden keys or the shown tokens change.
 */
import type { Block } from "../../../src/store/block.ts";
import { axesOf, hiddenKeys, isRescaled, type Session } from "../../app/session.ts";
import type { Slices } from "../../app/time-slicer.ts";
import { axisOf, indexAt, placeOf } from "../../canvas/axis.ts";
import type { HeadName } from "../../state/state.ts";
import { Links, linksOf, NO_LINKS, stageOf, type WeightedLink } from "./edges.ts";
import type { LinesPicture } from "./focus.ts";

/** The milliseconds of a frame for reading rows, and between two drawings while more rows are read. */
const FRAME_BUDGET = 8;
const REDRAW_INTERVAL = 150;

export class LinksReader {
  /** Incremented when more rows have been read. */
  version = 0;
  readonly #session: Session;
  readonly #slices: Slices;
  readonly #changed: () => void;
  /** The head to read; undefined: the cursor's. */
  readonly #head: HeadName | undefined;
  #key = "";
  #store: unknown;
  #links: Links | undefined;
  #reading: (() => boolean) | undefined;

  constructor(session: Session, slices: Slices, changed: () => void, head?: HeadName) {
    this.#head = head;
    this.#session = session;
    this.#slices = slices;
    this.#changed = changed;
  }

  /** Stops reading until the next call of `read`. */
  stop(): void {
    if (this.#reading) this.#slices.drop(this.#reading);
    this.#reading = undefined;
  }

  /** The links to draw, with their axes. With arcs, both axes are the same and have the tokens of both. */
  picture(block: Block, arcs: boolean): LinesPicture {
    const { state } = this.#session;
    const ref = this.#session.refOf(this.#head ?? state);
    const store = this.#session.store!;
    const axes = axesOf(block, state);
    let { rows, columns } = axes;
    if (arcs) {
      const runs = [...rows.runs, ...columns.runs].map(({ start, end }) => [start, end] as const);
      rows = axisOf(block.Nk, runs);
      columns = rows;
    }
    const stage = stageOf(state);
    const hidden = hiddenKeys(block, { ...state, stage });
    const isShared = isRescaled({ ...state, stage });
    const key = JSON.stringify([ref, stage, hidden, isShared, axes, arcs]);
    if (key !== this.#key || this.#store !== store || this.#links === undefined) {
      this.stop();
      this.#key = key;
      this.#store = store;
      this.version++;
      this.#links = new Links(rows, columns, (query) =>
        placeOf(axes.rows, query) === undefined
          ? NO_LINKS
          : linksOf(store.row(ref, query, stage), columns, hidden, isShared, axes.columns),
      );
    }
    const keep = { keep: state.keep, top: state.top, mass: state.mass };
    return { links: this.#links, keep, rows, columns };
  }

  /** Reads the rows of a range of places first, then all others. */
  read(links: Links, from: number, to: number): void {
    if (links.isComplete) return;
    links.prefer(from, to);
    const end = performance.now() + FRAME_BUDGET;
    let more = true;
    const before = links.done;
    while (more && links.preferring && performance.now() < end) more = links.step();
    if (links.done > before) this.version++;
    if (this.#reading !== undefined || links.isComplete) return;
    let reportedAt = performance.now();
    this.#reading = () => {
      if (links !== this.#links) return false;
      const left = links.step();
      if (!left || performance.now() - reportedAt > REDRAW_INTERVAL) {
        reportedAt = performance.now();
        this.version++;
        this.#changed();
      }
      if (!left) this.#reading = undefined;
      return left;
    };
    this.#slices.add(this.#reading);
  }

  /** The link of two places with its weight, whether it is drawn or not. */
  linkOf({ links, rows, columns }: LinesPicture, row: number, column: number): WeightedLink {
    const { places, weights } = links.row(row);
    const n = places.indexOf(column);
    const query = indexAt(rows, row) ?? 0;
    const key = indexAt(columns, column) ?? 0;
    const { state, store } = this.#session;
    const rest = () => store!.row(this.#session.refOf(this.#head ?? state), query, stageOf(state))[key];
    const weight = n >= 0 ? weights[n] : rest();
    return { row, column, weight };
  }
}
