/**
 * The matrix for keyboards and screen readers, after the ARIA grid pattern: true row and column counts, and a block of
 * real cells about the cursor, eight by eight, one of which can take the focus. The cell with the focus lies over its
 * square on the canvas, so that magnifiers follow it. Moving is the element's business (keys.ts): the keys bubble.
 */
import { type Axis, indexAt, placeOf } from "./axis.ts";
import { type Axes, boxOf, type Frame } from "./frame.ts";
import type { Host } from "./matrix.ts";

const SIDE = 8;

export class Grid {
  readonly root = document.createElement("div");
  readonly #host: Host;
  readonly #frame: () => Frame | undefined;
  readonly #axes: () => Axes;
  #cells: HTMLElement[][] = [];
  #block = "";
  #current: HTMLElement | undefined;

  constructor(host: Host, frame: () => Frame | undefined, axes: () => Axes) {
    this.#host = host;
    this.#frame = frame;
    this.#axes = axes;
    this.root.className = "grid";
    this.root.setAttribute("role", "grid");
    this.root.addEventListener("focusin", () => this.update());
  }

  focus(): void {
    this.update();
    this.#current?.focus({ preventScroll: true });
  }

  update(): void {
    const { session } = this.#host;
    const { block, state } = session;
    const frame = this.#frame();
    if (block === undefined || frame === undefined) return;
    const axes = this.#axes();
    const { rows, columns } = axes;
    const [row, column] = [placeOf(rows, state.query) ?? 0, placeOf(columns, state.key) ?? 0];
    const [top, left] = [row, column].map((place) => Math.floor(place / SIDE) * SIDE);
    const key = `${state.block} ${rows.count} ${columns.count} ${top} ${left}`;
    const active = this.root.contains((this.root.getRootNode() as ShadowRoot).activeElement);
    this.root.setAttribute("aria-rowcount", String(rows.count + 1));
    this.root.setAttribute("aria-colcount", String(columns.count + 1));
    this.root.setAttribute(
      "aria-label",
      `Layer ${state.layer}, head ${state.head}: ${state.stage}. Rows are queries, columns are keys.`,
    );
    if (key !== this.#block) {
      this.#block = key;
      this.#build(axes, top, left);
    }
    const current = this.#cells[row - top]?.[column - left];
    if (current === undefined) return;
    // Of the block only the cursor's cell is described in full: the others are looked up when they are reached.
    for (const [r, cells] of this.#cells.entries())
      for (const [c, cell] of cells.entries()) {
        const [query, index] = [indexAt(rows, top + r), indexAt(columns, left + c)];
        if (query === undefined || index === undefined) continue;
        const text = this.#host.describe(query, index, cell === current);
        if (cell.textContent !== text) cell.textContent = text;
      }
    if (current !== this.#current) {
      this.#current?.setAttribute("tabindex", "-1");
      this.#current?.removeAttribute("aria-selected");
      current.setAttribute("tabindex", "0");
      this.#current = current;
    }
    current.setAttribute("aria-selected", String(state.held !== null));
    const box = boxOf(frame, axes, state.query, state.key);
    if (box) {
      const within = (value: number, most: number) => Math.max(0, Math.min(most - 1, value));
      current.style.setProperty("left", `${within(box.x - frame.left, frame.usedWidth)}px`);
      current.style.setProperty("top", `${within(box.y - frame.top, frame.usedHeight)}px`);
      current.style.setProperty("width", `${Math.max(1, box.width)}px`);
      current.style.setProperty("height", `${Math.max(1, box.height)}px`);
    }
    if (active) current.focus({ preventScroll: true });
  }

  #build({ rows, columns }: Axes, top: number, left: number): void {
    const { session } = this.#host;
    const names = session.labels(session.block!);
    const places = (axis: Axis, from: number) =>
      Array.from({ length: Math.min(SIDE, axis.count - from) }, (_, i) => from + i);
    const make = (role: string, inside: readonly HTMLElement[] = []) => {
      const element = document.createElement("div");
      element.setAttribute("role", role);
      element.append(...inside);
      return element;
    };
    const head = make("row", [
      make("columnheader"),
      ...places(columns, left).map((place) => {
        const header = make("columnheader");
        header.textContent = names.key[indexAt(columns, place)!];
        header.setAttribute("aria-colindex", String(place + 2));
        return header;
      }),
    ]);
    head.setAttribute("aria-rowindex", "1");
    head.firstElementChild!.textContent = "query";
    head.firstElementChild!.setAttribute("aria-colindex", "1");
    this.#cells = [];
    const body = places(rows, top).map((place) => {
      const header = make("rowheader");
      header.textContent = names.query[indexAt(rows, place)!];
      header.setAttribute("aria-colindex", "1");
      const cells = places(columns, left).map((at) => {
        const cell = make("gridcell");
        cell.setAttribute("aria-colindex", String(at + 2));
        cell.setAttribute("tabindex", "-1");
        return cell;
      });
      this.#cells.push(cells);
      const line = make("row", [header, ...cells]);
      line.setAttribute("aria-rowindex", String(place + 2));
      return line;
    });
    this.#current = undefined;
    this.root.replaceChildren(head, ...body);
  }
}
