/**
 * The table of a picture: an HTML table of any length, of which only the visible rows are rendered. It can be sorted by any
 * column and copied as CSV; arrow keys move the cursor as in the picture.
 */
import { html, render, type TemplateResult } from "lit";
import { formatNumber, type NumberOptions } from "../../../src/store/text/number.ts";
import { css } from "../../../ui/css.ts";
import type { Session } from "../../app/session.ts";
import type { Slices } from "../../app/time-slicer.ts";
import { numeral, token } from "../../app/ui.ts";
import { cached } from "../../canvas/cached.ts";
import { DrawnPane } from "../../canvas/drawn-pane.ts";
import { csvOf, type NumberTable, sortValue, type TableCell, type TableColumn } from "../../state/tables.ts";
import type { Pane } from "../view.ts";

/** The height of a row in pixels, and how many rows are rendered beyond each edge. */
const PITCH = 28;
const OVERSCAN = 6;

export class TablePane extends DrawnPane {
  readonly #session: Session;
  readonly #slices: Slices;
  readonly #tableOf: () => NumberTable | undefined;
  #sort: { readonly column: number; readonly descending: boolean } | undefined;
  #order: { readonly key: string; readonly places: readonly number[] } | undefined;
  #sorting = "";
  #rows = new Map<number, readonly TableCell[]>();
  #key = "";
  #copied = "";

  /** @param tableOf the table to show; undefined while there is none */
  constructor(session: Session, slices: Slices, tableOf: () => NumberTable | undefined) {
    super("tablewrap cursor-keys");
    this.#session = session;
    this.#slices = slices;
    this.#tableOf = tableOf;
    this.root.tabIndex = 0;
    this.root.setAttribute("role", "region");
    this.root.addEventListener("scroll", () => this.schedule(), { passive: true });
  }

  override disconnect(): void {
    super.disconnect();
    this.#rows.clear();
    this.#order = undefined;
  }

  restyle(): void {}

  focus(): void {
    this.root.focus({ preventScroll: true });
  }

  /** Adds the table to the element of a pane, or removes it; the focus stays in the pane. */
  place(host: HTMLElement, on: boolean, picture: Pick<Pane, "root" | "focus">): void {
    if (on !== this.root.isConnected) {
      const focused = (picture.root.getRootNode() as ShadowRoot).activeElement;
      const had = focused !== null && picture.root.contains(focused);
      if (on) host.append(this.root);
      else {
        this.root.remove();
        this.disconnect();
      }
      if (had) picture.focus();
    }
    if (on) this.schedule();
  }

  /** Scrolls to the cursor's row. */
  follow(): void {
    const table = this.#tableOf();
    if (table === undefined) return;
    const at = this.#places(table).findIndex((place) => table.current(place));
    const [top, height] = [at * PITCH, this.root.clientHeight - 3 * PITCH];
    if (top < this.root.scrollTop) this.root.scrollTop = top;
    else if (top > this.root.scrollTop + height) this.root.scrollTop = top - height;
  }

  protected paint(): void {
    const session = this.#session;
    if (!session.ready) return;
    const table = this.#tableOf();
    if (table === undefined) return;
    const { ref, state } = session;
    const { view, hide, hidden, renormalize, stage, querySegments } = state;
    const { sort, descending, sortHow, flipped } = state;
    const order = [sort, descending, sortHow, flipped];
    const key = [ref, hide, hidden, renormalize, stage, order, querySegments, session.opened, table.key];
    const text = `${view} ${JSON.stringify(key)}`;
    if (text !== this.#key) {
      if (this.#key.split(" ")[0] !== view) this.#sort = undefined;
      this.#key = text;
      this.#rows.clear();
    }
    this.root.setAttribute("aria-label", table.caption);
    render(this.#table(table), this.root);
  }

  #row(table: NumberTable, at: number): readonly TableCell[] {
    if (table.growing) return table.row(at);
    return cached(this.#rows, at, () => table.row(at));
  }

  /** The indices of the rows in the order they are shown; while they are being sorted, in the previous order. */
  #places(table: NumberTable): readonly number[] {
    const plain = Array.from({ length: table.count }, (_, at) => at);
    const sort = this.#sort;
    if (sort === undefined) return plain;
    const half = table.growing ? Math.floor(performance.now() / 500) : 0;
    const key = `${this.#key} ${sort.column} ${sort.descending} ${half}`;
    if (this.#order?.key === key) return this.#order.places;
    if (this.#sorting !== key) {
      this.#sorting = key;
      let next = 0;
      this.#slices.add(() => {
        if (this.#sorting !== key || !this.root.isConnected) return false;
        if (next < table.count) this.#row(table, next++);
        if (next < table.count) return true;
        const values = plain.map((at) => sortValue(this.#row(table, at)[sort.column]));
        const sign = sort.descending ? -1 : 1;
        const compare = (a: number | string, b: number | string) =>
          typeof a === "string" || typeof b === "string" ? String(a).localeCompare(String(b)) : a - b || 0;
        this.#order = { key, places: plain.sort((a, b) => sign * compare(values[a], values[b]) || a - b) };
        this.#sorting = "";
        this.schedule();
        return false;
      });
    }
    return this.#order?.places.length === table.count ? this.#order.places : plain;
  }

  #table(table: NumberTable): TemplateResult {
    const places = this.#places(table);
    const first = Math.max(0, Math.floor(this.root.scrollTop / PITCH) - OVERSCAN);
    const last = Math.min(
      table.count,
      Math.ceil((this.root.scrollTop + this.root.clientHeight) / PITCH) + OVERSCAN,
    );
    const sorted = (i: number) =>
      this.#sort?.column === i ? (this.#sort.descending ? "descending" : "ascending") : "none";
    const like = table.count > 0 ? this.#row(table, places[Math.min(first, table.count - 1)]) : [];
    return html`<p class="tools"><span>${table.caption}</span>
        <button type="button" class="bordered" @click=${() => void this.#copy(table)}>Copy as CSV</button> <span role="status">${this.#copied}</span></p>
      <table aria-rowcount=${table.count + 1}>
      <thead><tr aria-rowindex="1">${table.columns.map(
        ({ name }, i) =>
          html`<th scope="col" class=${classOf(table, like[i], i)} aria-sort=${sorted(i)}><button type="button" class="link" tabindex="-1" @click=${() => this.#by(i)}>${name}<span aria-hidden="true">${
            { ascending: " ↑", descending: " ↓", none: "" }[sorted(i)]
          }</span></button></th>`,
      )}</tr></thead>
      <tbody><tr class="space" ${css({ height: first * PITCH })}></tr>
      ${places.slice(first, last).map((at, i) => this.#line(table, at, first + i))}
      <tr class="space" ${css({ height: (table.count - last) * PITCH })}></tr></tbody></table>`;
  }

  #line(table: NumberTable, at: number, shown: number): TemplateResult {
    const cells = this.#row(table, at);
    const current = table.current(at);
    return html`<tr aria-rowindex=${shown + 2} class=${current ? "current" : ""} aria-current=${current ? "true" : "false"}
      @click=${() => this.#session.set(table.go(at))}>${cells.map((cell, i) =>
        i === 0
          ? html`<th scope="row" class=${classOf(table, cell, i)}>${content(cell, table.columns[i])}</th>`
          : html`<td class=${classOf(table, cell, i)}>${content(cell, table.columns[i])}</td>`,
      )}</tr>`;
  }

  #by(column: number): void {
    const again = this.#sort?.column === column;
    this.#sort = { column, descending: again ? !this.#sort!.descending : column > 1 };
    this.root.scrollTop = 0;
    this.schedule();
  }

  async #copy(table: NumberTable): Promise<void> {
    try {
      await navigator.clipboard.writeText([...csvOf(table, this.#places(table))].join(""));
      this.#copied = "Copied.";
    } catch (error) {
      this.#copied = `Not copied: ${(error as Error).message}`;
    }
    this.schedule();
  }
}

function content(
  { token: text, lang, value }: TableCell,
  { source, options }: TableColumn,
): TemplateResult | string {
  if (value === undefined) return text === undefined ? "" : html`${token(text, lang)}`;
  const number = html`<span class="num" ${css({ "padding-inline-end": `${afterPoint(value, source, options)}ch` })}>${numeral(value, source || "index", options)}</span>`;
  return text === undefined ? number : html`<span class="pair">${token(text, lang)} ${number}</span>`;
}

/** Cells with only a number are right-aligned. The first columns, which name the row, stay in place while the others scroll. */
function classOf({ columns }: NumberTable, cell: TableCell | undefined, at: number): string {
  const figures = cell?.value !== undefined && cell.token === undefined;
  const names = columns.slice(0, at + 1).every(({ source }) => source === "" || source === "index");
  return `${figures ? "figures" : ""}${names ? " stays" : ""}`;
}

/** The digits after the decimal point that a column has space for. */
const DECIMALS = 4;

/** The padding in characters that aligns the decimal points of a column; 0 for indices, percentages and units. */
function afterPoint(value: number, source: string, options: NumberOptions | undefined): number {
  if (source === "" || source === "index" || options?.style === "percent" || options?.unit) return 0;
  const [, decimals] = /^[^.]*(\.?\d*)$/.exec(formatNumber(value, options)) ?? [];
  const after = decimals?.startsWith(".") ? decimals.length : 0;
  return decimals === undefined ? 0 : Math.max(0, DECIMALS + 1 - after);
}
