/**
 * A picture for keyboards and screen readers, after the ARIA grid pattern: the full row and column counts, and elements for the
 * 8 × 8 cells around the cursor, one of which is focusable. The focused cell covers its cell in the picture, so that screen
 * magnifiers follow it. Key events bubble to the element, which moves the cursor.
 */
import type { PixelBox } from "../views/matrix/frame.ts";
import { make, put } from "./dom.ts";
import { setLang } from "./labels.ts";

/** Rows and columns of the cells that have elements. */
const SIDE = 8;

/** The content of a grid. Rows and columns are places in the picture. */
export interface Gridded {
  readonly label: string;
  readonly rows: number;
  readonly columns: number;
  readonly row: number;
  readonly column: number;
  /** Whether the cursor's cell is pinned. */
  readonly selected: boolean;
  /** Changes when the rows or columns get other names. */
  readonly key: string;
  /** Changes when the cells get other texts. */
  readonly version: string;
  readonly corner: string;
  /** The languages of the names, if they are tokens. */
  readonly lang?: { readonly query?: string; readonly key?: string };
  readonly rowName: (row: number) => string;
  readonly columnName: (column: number) => string;
  /** The text of a cell, "" if there is none; `full` for the cursor's cell. */
  readonly text: (row: number, column: number, full: boolean) => string;
  /** The box of the cursor's cell, relative to the grid. */
  readonly box: PixelBox | undefined;
}

export class Grid {
  readonly root = make("div", "grid", { role: "grid" });
  readonly #read: () => Gridded | undefined;
  #cells: HTMLElement[][] = [];
  #block = "";
  #version = "";
  #current: HTMLElement | undefined;

  constructor(read: () => Gridded | undefined) {
    this.#read = read;
    // A dialog that closes gives the focus back to the cell that had it, which may not be the cursor's any more.
    this.root.addEventListener("focusin", ({ target }) => {
      if (this.#current && target !== this.#current) this.#current.focus({ preventScroll: true });
    });
  }

  focus(): void {
    this.update();
    this.#current?.focus({ preventScroll: true });
  }

  update(): void {
    const content = this.#read();
    if (content === undefined || content.rows === 0 || content.columns === 0) return;
    const [top, left] = [content.row, content.column].map((place) => Math.floor(place / SIDE) * SIDE);
    const active = this.root.contains((this.root.getRootNode() as ShadowRoot).activeElement);
    this.root.setAttribute("aria-rowcount", String(content.rows + 1));
    this.root.setAttribute("aria-colcount", String(content.columns + 1));
    this.root.setAttribute("aria-label", content.label);
    const key = `${content.key} ${content.rows} ${content.columns} ${top} ${left}`;
    if (key !== this.#block) {
      this.#block = key;
      this.#build(content, top, left);
    }
    const current = this.#cells[content.row - top]?.[content.column - left];
    if (current === undefined) return;
    const write = (cell: HTMLElement, r: number, c: number, full: boolean) => {
      const text = content.text(top + r, left + c, full);
      if (cell.textContent !== text) cell.textContent = text;
    };
    const stale = content.version !== this.#version;
    this.#version = content.version;
    for (const [r, cells] of this.#cells.entries())
      for (const [c, cell] of cells.entries())
        if (cell !== current && (stale || cell === this.#current)) write(cell, r, c, false);
    write(current, content.row - top, content.column - left, true);
    if (current !== this.#current) {
      this.#current?.setAttribute("tabindex", "-1");
      this.#current?.removeAttribute("aria-selected");
      // Without its box, the last cell cannot frame what is there now.
      this.#current?.removeAttribute("style");
      current.setAttribute("tabindex", "0");
      this.#current = current;
    }
    current.setAttribute("aria-selected", String(content.selected));
    const { box } = content;
    if (box) {
      const [width, height] = [Math.max(1, box.width), Math.max(1, box.height)];
      put(current, { left: box.x, top: box.y, width, height });
    }
    if (active) current.focus({ preventScroll: true });
  }

  #build({ rows, columns, corner, rowName, columnName, lang }: Gridded, top: number, left: number): void {
    const places = (from: number, count: number) =>
      Array.from({ length: Math.min(SIDE, count - from) }, (_, i) => from + i);
    const cellOf = (role: string, column: number) =>
      make("div", "", { role, "aria-colindex": String(column) });
    const rowOf = (row: number, cells: readonly HTMLElement[]) =>
      make("div", "", { role: "row", "aria-rowindex": String(row) }, ...cells);
    const named = (role: string, column: number, text: string, elementLang?: string) => {
      const element = cellOf(role, column);
      element.textContent = text;
      setLang(element, elementLang);
      return element;
    };
    const head = rowOf(1, [
      named("columnheader", 1, corner),
      ...places(left, columns).map((place) => named("columnheader", place + 2, columnName(place), lang?.key)),
    ]);
    this.#cells = [];
    const body = places(top, rows).map((place) => {
      const cells = places(left, columns).map((at) => {
        const cell = cellOf("gridcell", at + 2);
        cell.setAttribute("tabindex", "-1");
        return cell;
      });
      this.#cells.push(cells);
      return rowOf(place + 2, [named("rowheader", 1, rowName(place), lang?.query), ...cells]);
    });
    this.#current = undefined;
    this.#version = "";
    this.root.replaceChildren(head, ...body);
  }
}
