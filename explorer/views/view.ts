/**
 * The interface of a view of the explorer: one object in its own folder. The registry (registry.ts) lists them; the bar, the
 * toolbar, the palette, the keyboard, the address and the legend use that list and contain no names of views.
 */
import type { TemplateResult } from "lit";
import type { Session } from "../app/session.ts";
import type { Slices } from "../app/time-slicer.ts";
import type { Ui } from "../app/ui.ts";
import type { HeadName, State } from "../state/state.ts";
import type { Overviews } from "./atlas/overviews.ts";

/** A picture: an element that draws itself when it is notified of a change. */
export interface Pane {
  readonly root: HTMLElement;
  connect(): void;
  disconnect(): void;
  dispose(): void;
  restyle(): void;
  schedule(repaint?: boolean): void;
  /** Draws immediately, without waiting for a frame. */
  draw(): void;
  focus(): void;
  /** Scrolls or pans to the cursor. */
  follow?(): void;
  /** Zooms by a factor; 0 resets the camera. */
  zoomBy?(factor: number): void;
  /** Called when overviews have been computed in the background. */
  overviewed?(): void;
  /** The head at an offset from the cursor's, in rows and columns. */
  headAt?(rows: number, columns: number): HeadName | undefined;
}

/** The arguments of a pane. */
export interface PaneContext {
  readonly session: Session;
  readonly slices: Slices;
  readonly overviews: Overviews;
  readonly takesWheel: (event: WheelEvent) => boolean;
  /** The text of a cell or a head for screen readers; `full` for the cursor's. */
  readonly describe: (query: number, key: number, full: boolean) => string;
  readonly describeHead: (head: HeadName, full: boolean) => string;
  readonly openHead: () => void;
  /** Shows a preview of a head next to the pointer. */
  readonly preview: (
    root: HTMLElement,
    head: HeadName | undefined,
    at: readonly [number, number] | undefined,
  ) => void;
}

type Template = TemplateResult | symbol;

/** The implementation of a view, loaded when it is shown for the first time. */
export interface ViewParts {
  /** The picture as an element that is created once; or, instead, a template of the session. */
  readonly pane?: (context: PaneContext) => Pane;
  readonly content?: (ui: Ui) => TemplateResult;
  /** Additional controls in the toolbar. */
  readonly controls?: (ui: Ui) => Template;
  readonly legend?: (session: Session, pane: Pane | undefined) => Template;
  /** The start of the caption, before the sentence of the head. */
  readonly caption?: (session: Session) => Template | string;
  /** The content of the right column instead of the inspector. */
  readonly side?: (ui: Ui) => Template;
}

export interface View {
  /** Its name in the address, in attributes and events. */
  readonly name: State["view"] | State["mode"];
  /** Whether it is a page, or draws one head on the page of one head. */
  readonly place: "page" | "head";
  readonly label: string;
  /** The tooltip of its button. */
  readonly hint: string;
  /** Its name in the palette and in the list of shortcuts. */
  readonly command: string;
  readonly key?: string;
  /** The shortcuts in the status bar. */
  readonly keys?: string;
  /** Whether it can be shown; by default whenever a file is open. */
  readonly when?: (session: Session) => boolean;
  /** The page that Escape opens. */
  readonly up?: State["view"];
  /** The parts of the page around the picture. */
  readonly layout: {
    /** The left column with the atlas. */
    readonly heads: boolean;
    /** The right column. */
    readonly side: boolean;
    /** The toolbar of a head. */
    readonly toolbar: boolean;
    /** Caption and legend. */
    readonly foot: boolean;
    /** The page scrolls, not the picture. */
    readonly scrolls?: boolean;
  };
  /** It shows weights at every stage. */
  readonly weightsOnly?: boolean;
  /** Its pane shows its own table. */
  readonly ownTable?: boolean;
  /** It shows all heads together, so the name of the cursor's head is not shown. */
  readonly ofAllHeads?: boolean;
  readonly load: () => Promise<ViewParts>;
}
