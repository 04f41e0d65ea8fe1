/**
 * The pictures of one element, made once and kept while it lives: which of them is on screen follows from the state. They
 * are told when the session has changed, when colours have, and when the element comes and goes.
 */
import { describeHead } from "../../src/store/measures/sentence.ts";
import type { HeadName } from "../state/state.ts";
import { describeCell, headName } from "../state/words.ts";
import { Atlas } from "../views/atlas/atlas.ts";
import { Overviews } from "../views/atlas/overviews.ts";
import { Preview } from "../views/atlas/preview.ts";
import { Matrix } from "../views/matrix/matrix.ts";
import type { Session } from "./session.ts";
import { Slices } from "./time-slicer.ts";

/** What is loaded behind the first picture. */
export type More = typeof import("./lazy.ts");

/** What panes need of the element. */
export interface PaneHost {
  readonly session: Session;
  readonly takesWheel: (event: WheelEvent) => boolean;
  readonly openHead: () => void;
  /** How much of what is computed in the background is done. */
  readonly progressed: (done: number) => void;
}

interface Pane {
  readonly root: HTMLElement;
  connect(): void;
  disconnect(): void;
  dispose(): void;
  restyle(): void;
  schedule(): void;
  /** Draws now, without waiting for a frame. */
  draw(): void;
  focus(): void;
  /** Moves what is seen so that the cursor is in it. */
  follow?(): void;
  /** Closer by a factor, or farther; 0: as it was at first. */
  zoomBy?(factor: number): void;
}

export class Panes {
  readonly slices = new Slices();
  readonly overviews: Overviews;
  readonly preview: Preview;
  readonly atlas: Atlas;
  readonly large: Atlas;
  readonly matrix: Matrix;
  lines: InstanceType<More["Lines"]> | undefined;
  text: InstanceType<More["TextPane"]> | undefined;
  table: InstanceType<More["TablePane"]> | undefined;
  readonly #session: Session;
  #shown: Pane[] = [];

  constructor(host: PaneHost) {
    const { session } = host;
    this.#session = session;
    this.overviews = new Overviews(session, () => {
      this.atlas.schedule();
      this.large.schedule();
      if (this.matrix.waiting > 0 || session.state.pool === "mean") this.matrix.schedule(true);
      host.progressed(this.overviews.done);
    });
    this.preview = new Preview(session, this.overviews);
    const atlas = {
      session,
      overviews: this.overviews,
      takesWheel: host.takesWheel,
      describe: (head: HeadName, full: boolean) => this.#describe(head, full),
      openHead: host.openHead,
    };
    const preview =
      (of: () => Atlas) =>
      (head: HeadName | undefined, at: readonly [number, number] = [0, 0]) => {
        const box = of().root.getBoundingClientRect();
        this.preview.show(head, box.left - of().root.scrollLeft + at[0], box.top + at[1]);
      };
    this.atlas = new Atlas({ ...atlas, preview: preview(() => this.atlas) }, false);
    this.large = new Atlas({ ...atlas, preview: preview(() => this.large) }, true);
    this.matrix = new Matrix({
      session,
      slices: this.slices,
      takesWheel: host.takesWheel,
      describe: (query, key, full) => describeCell(session, query, key, full),
      failed: (error) => session.failed(error),
      overview: (width, height, fine) =>
        this.overviews.picture(session.state, width, height, session.state.transfer, fine),
      overviewed: () => this.overviews.stateOf(session.state),
    });
    for (const { root } of [this.matrix, this.large]) root.classList.add("cursor-keys");
  }

  /** Makes the panes that came later. */
  set more({ Lines, TextPane, TablePane }: More) {
    const session = this.#session;
    const reading = {
      session,
      slices: this.slices,
      describe: (query: number, key: number, full: boolean) => describeCell(session, query, key, full),
    };
    this.lines = new Lines(reading);
    this.text = new TextPane(reading);
    this.table = new TablePane(session, this.slices);
  }

  /** The picture of the main column; one that is still being loaded leaves the picture before it there. */
  get main(): Pane {
    const { view, mode, table } = this.#session.state;
    if (table && this.table) return this.table;
    return view === "model" ? this.large : (this[mode] ?? this.matrix);
  }

  get #all(): readonly Pane[] {
    const all: readonly (Pane | undefined)[] = [
      this.atlas,
      this.large,
      this.matrix,
      this.lines,
      this.text,
      this.table,
    ];
    return all.filter((pane) => pane !== undefined);
  }

  /** After the page has been rendered: whoever is on it watches and paints, whoever left rests. */
  update(): void {
    const all = this.#all;
    for (const pane of all) {
      const was = this.#shown.includes(pane);
      if (pane.root.isConnected && !was) pane.connect();
      else if (!pane.root.isConnected && was) pane.disconnect();
      if (pane.root.isConnected) pane.schedule();
    }
    this.#shown = all.filter(({ root }) => root.isConnected);
  }

  restyle(): void {
    for (const pane of this.#all) pane.restyle();
  }

  /** Draws what is on screen, now. */
  draw(): void {
    for (const pane of this.#shown) pane.draw();
  }

  disconnect(): void {
    for (const pane of this.#shown) pane.disconnect();
    this.#shown = [];
    this.preview.show(undefined);
    this.slices.clear();
    this.overviews.clear();
  }

  #describe(head: HeadName, full: boolean): string {
    const { block } = this.#session;
    const measures = this.#session.measures(head);
    const name = `layer ${head.layer} head ${head.head}`;
    if (!full || block === undefined || measures === undefined) return name;
    return `${headName(this.#session, head)}. ${describeHead(block, measures)}`;
  }
}
