/**
 * What a view of the explorer is: one object in a folder of its own. The registry (registry.ts) lists them; the bar, the toolbar,
 * the palette, the keyboard, the address and the legend go through that list and know no view by name.
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
  /** Draws now, without waiting for a frame. */
  draw(): void;
  focus(): void;
  /** Moves what is seen so that the cursor is in it. */
  follow?(): void;
  /** Closer by a factor, or farther; 0: as it was at first. */
  zoomBy?(factor: number): void;
  /** Overviews computed in the background have arrived. */
  overviewed?(): void;
  /** The head so many rows and columns from the cursor's. */
  headAt?(rows: number, columns: number): HeadName | undefined;
}

/** What a picture is made with. */
export interface PaneContext {
  readonly session: Session;
  readonly slices: Slices;
  readonly overviews: Overviews;
  readonly takesWheel: (event: WheelEvent) => boolean;
  /** What a cell, or a head, says to screen readers; `full` where it is the cursor's. */
  readonly describe: (query: number, key: number, full: boolean) => string;
  readonly describeHead: (head: HeadName, full: boolean) => string;
  readonly openHead: () => void;
  /** Shows a head beside the pointer. */
  readonly preview: (
    root: HTMLElement,
    head: HeadName | undefined,
    at: readonly [number, number] | undefined,
  ) => void;
}

type Template = TemplateResult | symbol;

/** What a view draws with, loaded when it is shown for the first time. */
export interface ViewParts {
  /** The picture as an element, made once; or a template of the session in its place. */
  readonly pane?: (context: PaneContext) => Pane;
  readonly content?: (ui: Ui) => TemplateResult;
  /** Controls in the toolbar besides those of all views. */
  readonly controls?: (ui: Ui) => Template;
  readonly legend?: (session: Session, pane: Pane | undefined) => Template;
  /** The sentence before the head's own. */
  readonly caption?: (session: Session) => Template | string;
  /** What is beside the picture in place of the inspector. */
  readonly side?: (ui: Ui) => Template;
}

export interface View {
  /** Its name in the address, in attributes and events. */
  readonly name: State["view"] | State["mode"];
  /** A page of its own, or a way to draw one head. */
  readonly place: "page" | "head";
  readonly label: string;
  /** What is seen, for those who point at its button. */
  readonly hint: string;
  /** What the palette and the sheet of keys call it. */
  readonly command: string;
  readonly key?: string;
  /** The line of keys at the bottom. */
  readonly keys?: string;
  /** Whether it can be shown; by default whenever something is open. */
  readonly when?: (session: Session) => boolean;
  /** The page that Escape leads to. */
  readonly up?: State["view"];
  /** What is around the picture. */
  readonly layout: {
    /** The column of all heads. */
    readonly heads: boolean;
    /** The column beside the picture. */
    readonly side: boolean;
    /** The toolbar of a head. */
    readonly toolbar: boolean;
    /** Caption and legend. */
    readonly foot: boolean;
    /** The page scrolls, not the picture. */
    readonly scrolls?: boolean;
  };
  /** It shows weights whatever the stage of the state is. */
  readonly weightsOnly?: boolean;
  /** Its picture shows the numbers as a table by itself. */
  readonly ownTable?: boolean;
  /** It shows all heads together: the name of the cursor's head is left out. */
  readonly ofAllHeads?: boolean;
  /** The figure an export makes of it; undefined: there is none yet. */
  readonly figure?: "head" | "model" | "row";
  readonly load: () => Promise<ViewParts>;
}
