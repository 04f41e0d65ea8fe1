/**
 * The panes of one element, each created once; the state decides which are on screen. They are notified when the session or the
 * colors change, and when they are connected or disconnected.
 */
import { describeHead } from "../../src/store/sentences/sentence.ts";
import { ablatedHead } from "../state/causes/ablation.ts";
import type { HeadName } from "../state/state.ts";
import { describeCell, headName } from "../state/words.ts";
import { Atlas } from "../views/atlas/atlas.ts";
import { Overviews } from "../views/atlas/overviews.ts";
import { Preview } from "../views/atlas/preview.ts";
import { VIEWS, viewOf } from "../views/registry.ts";
import type { Pane, PaneContext, View, ViewParts } from "../views/view.ts";
import type { Session } from "./session.ts";
import { Slices } from "./time-slicer.ts";

/** The modules that are loaded after the first picture. */
export type More = typeof import("./lazy.ts");

/** What panes need of the element. */
export interface PaneHost {
  readonly session: Session;
  readonly takesWheel: (event: WheelEvent) => boolean;
  readonly openHead: () => void;
  /** The share of background work that is done. */
  readonly progressed: (done: number) => void;
  /** A view has been loaded. */
  readonly loaded: () => void;
}

export class Panes {
  readonly slices = new Slices();
  readonly overviews: Overviews;
  readonly preview: Preview;
  /** Thumbnails of all heads, next to the picture. */
  readonly atlas: Atlas;
  #table: InstanceType<More["TablePane"]> | undefined;
  readonly #session: Session;
  readonly #context: PaneContext;
  readonly #loaded: () => void;
  readonly #parts = new Map<View, ViewParts>();
  readonly #loading = new Map<View, Promise<void>>();
  readonly #panes = new Map<View, Pane>();
  #shown: Pane[] = [];
  /** The last view on screen; it stays until the next one has been loaded. */
  #last: View | undefined;

  constructor(host: PaneHost) {
    const { session } = host;
    this.#session = session;
    this.#loaded = host.loaded;
    this.overviews = new Overviews(session, () => {
      this.atlas.schedule();
      for (const pane of this.#panes.values()) pane.overviewed?.();
      host.progressed(this.overviews.done);
    });
    this.preview = new Preview(session, this.overviews);
    this.#context = {
      session,
      slices: this.slices,
      overviews: this.overviews,
      takesWheel: host.takesWheel,
      describe: (query, key, full) => describeCell(session, query, key, full),
      describeHead: (head, full) => this.#describe(head, full),
      openHead: host.openHead,
      preview: (root, head, at = [0, 0]) => {
        const box = root.getBoundingClientRect();
        this.preview.show(head, box.left - root.scrollLeft + at[0], box.top + at[1]);
      },
    };
    const atlas: Atlas = new Atlas(
      {
        ...this.#context,
        describe: this.#context.describeHead,
        preview: (head, at) => this.#context.preview(atlas.root, head, at),
      },
      false,
    );
    this.atlas = atlas;
  }

  /** Creates the table from the modules that are loaded later. */
  set more({ TablePane, rowsTable }: More) {
    const table = () => (this.shown.parts?.table ?? rowsTable)(this.#session);
    this.#table = new TablePane(this.#session, this.slices, table);
  }

  /** Loads a view; its pane is created when it is needed. */
  load(view: View): Promise<void> {
    let loading = this.#loading.get(view);
    if (loading === undefined) {
      loading = view.load().then((parts) => {
        this.#parts.set(view, parts);
        this.#loaded();
      });
      this.#loading.set(view, loading);
      loading.catch((error) => {
        this.#loading.delete(view);
        this.#session.failed(error);
      });
    }
    return loading;
  }

  /** Loads all views, so that switching is immediate. */
  loadAll(): void {
    for (const view of VIEWS) void this.load(view);
  }

  /** The view of the state with its parts; while it is loading, the previous view. */
  get shown(): { readonly view: View; readonly parts: ViewParts | undefined } {
    const wanted = viewOf(this.#session.state);
    if (!this.#parts.has(wanted)) void this.load(wanted);
    const view = this.#parts.has(wanted) ? wanted : (this.#last ?? wanted);
    this.#last = view;
    return { view, parts: this.#parts.get(view) };
  }

  /** The pane of the main column; undefined if the view is a template or has not been loaded. */
  get main(): Pane | undefined {
    if (this.#session.state.table && this.#table && !this.shown.view.ownTable) return this.#table;
    return this.paneOf(this.shown.view);
  }

  paneOf(view: View): Pane | undefined {
    const make = this.#parts.get(view)?.pane;
    let pane = this.#panes.get(view);
    if (pane === undefined && make) {
      pane = make(this.#context);
      this.#panes.set(view, pane);
    }
    return pane;
  }

  get #all(): readonly Pane[] {
    return [this.atlas, ...this.#panes.values(), ...(this.#table ? [this.#table] : [])];
  }

  /** Called after the page has been rendered: connects panes that were added, disconnects panes that were removed. */
  update(): void {
    this.slices.afterFrame();
    const all = this.#all;
    for (const pane of all) {
      const was = this.#shown.includes(pane);
      if (pane.root.isConnected && !was) pane.connect();
      else if (!pane.root.isConnected && was) pane.disconnect();
      if (pane.root.isConnected) pane.schedule();
    }
    this.#shown = all.filter(({ root }) => root.isConnected);
    this.preview.update();
  }

  restyle(): void {
    for (const pane of this.#all) pane.restyle();
  }

  /** Draws the panes on screen immediately. */
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
    const isOff = this.#session.model !== undefined && ablatedHead(this.#session.state, head) !== undefined;
    const off = isOff ? ", switched off" : "";
    if (!full || block === undefined || measures === undefined)
      return `layer ${head.layer} head ${head.head}${off}`;
    return `${headName(this.#session, head)}${off}. ${describeHead(block, measures)}`;
  }
}
