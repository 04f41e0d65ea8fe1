/**
 * The interface of a view of the explorer: one object in its own folder. The registry (registry.ts) lists them; the bar, the
 * toolbar, the palette, the keyboard, the address, the table, the export and the legend use that list and contain no names of views.
 */
import type { TemplateResult } from "lit";
import type { Block } from "../../src/store/block.ts";
import type { FigureView } from "../../src/view/figure/options.ts";
import type { Session } from "../app/session.ts";
import type { Slices } from "../app/time-slicer.ts";
import type { Ui } from "../app/ui.ts";
import type { HeadName, State } from "../state/state.ts";
import type { NumberTable } from "../state/tables.ts";
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
  readonly inspector?: (ui: Ui) => Template;
  /** Its numbers as a table; by default, the rows of the cursor's head. */
  readonly table?: (session: Session) => NumberTable;
}

export interface View {
  /** Its name in the address, in attributes and events: lower-case letters. */
  readonly name: string;
  /** Whether it is a page, or draws one head on the page of one head. */
  readonly place: "page" | "head";
  readonly label: string;
  /** The tooltip of its button. */
  readonly hint: string;
  /** Its name in the palette and in the list of shortcuts. */
  readonly command: string;
  readonly key?: string;
  /** What the picture shows, for readers who see one for the first time: whole sentences. */
  readonly meaning: string;
  /** The shortcuts in the status bar. */
  readonly keys?: string;
  /** Whether it can be shown; by default whenever a file is open. */
  readonly when?: (session: Session) => boolean;
  /** Of a drawing: the blocks that it can draw, which it is the first picture of; by default it can draw all. */
  readonly fits?: (block: Block) => boolean;
  /** Settings with which it is the first picture. */
  readonly start?: Partial<State>;
  /** The pages that Escape and Enter open; by default, Escape does nothing and Enter pins the cell. */
  readonly up?: string;
  readonly down?: string;
  /** The parts of the page around the picture. */
  readonly layout: {
    /** The left column with the atlas. */
    readonly heads: boolean;
    /** The right column. */
    readonly inspector: boolean;
    /** The toolbar of a head. */
    readonly toolbar: boolean;
    /** Caption and legend. */
    readonly foot: boolean;
    /** The page scrolls, not the picture. */
    readonly scrolls?: boolean;
  };
  /** The height that its picture needs for legible tokens, as a CSS length; by default 520 pixels. */
  readonly height?: (block: Block) => string;
  /** The figure of an export; by default that of the drawing of the cursor's head. */
  readonly figure?: FigureView;
  /** The numbers of its row can be changed (what if). */
  readonly editable?: boolean;
  /** It shows weights at every stage. */
  readonly weightsOnly?: boolean;
  /** Its pane shows its own table. */
  readonly ownTable?: boolean;
  /** It shows all heads together, so the name of the cursor's head is not shown. */
  readonly ofAllHeads?: boolean;
  readonly load: () => Promise<ViewParts>;
}

/** How a matrix is read. */
export const ROWS =
  "Each row is a word that looks, each column a word it looks at; the stronger the color, the more.";

/**
 * The height of a picture of square cells, which the width of the element limits.
 *
 * @param limits the smallest and the largest height in pixels
 * @param margin the pixels that are no cells
 */
export function squareHeight(
  [low, high]: readonly [low: number, high: number],
  margin: number,
  rows: number,
  columns: number,
): string {
  const ratio = (rows / Math.max(1, columns)).toFixed(4);
  return `clamp(${low}px, ${margin}px + (100cqi - ${margin + 8}px) * ${ratio}, ${high}px)`;
}
