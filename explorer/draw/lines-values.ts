/** Numbers at the ends of the lines that stand out: elements that are used again, none over another. */
import { num } from "../../src/view/number.ts";
import type { Stage } from "../../src/view/store/types.ts";
import type { Link } from "./lines-edges.ts";
import type { Focus } from "./lines-focus.ts";
import { type Column, heightOf, type Layout, outside } from "./lines-layout.ts";

/** Numbers shown at most, and pixels between two of them at least. */
const MOST = 16;
const PITCH = 14;

export class Values {
  readonly root = document.createElement("div");
  readonly #used: HTMLDataElement[] = [];

  constructor() {
    this.root.className = "values";
    this.root.setAttribute("aria-hidden", "true");
  }

  /** At the end that is not the token pointed at; of a line, at its key. */
  update(layout: Layout | undefined, links: readonly Link[], focus: Focus | undefined, stage: Stage): void {
    const taken: (readonly [side: number, y: number])[] = [];
    let used = 0;
    for (const link of layout === undefined || focus === undefined ? [] : links.slice(0, MOST)) {
      const atRow = focus!.kind === "key" || outside(layout!, layout!.columns, link.column) !== 0;
      const column: Column = atRow ? layout!.rows : layout!.columns;
      const place = atRow ? link.row : link.column;
      if (outside(layout!, column, place) !== 0) continue;
      const y = heightOf(layout!, column, place);
      const ahead = layout!.arcs ? link.column > link.row : !atRow;
      if (taken.some(([side, other]) => side === Number(ahead) && Math.abs(other - y) < PITCH)) continue;
      taken.push([Number(ahead), y]);
      const element = this.#element(used++);
      const { value, text, source } = num(link.weight, `row ${stage}`);
      if (element.textContent !== text) element.textContent = text;
      element.value = String(value);
      element.dataset.source = source;
      // Beside the token, towards the lines.
      const x = ahead
        ? layout![layout!.arcs ? "left" : "right"] - 5
        : layout![layout!.arcs ? "right" : "left"] + 5;
      element.style.setProperty(
        "transform",
        `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px) translate(${ahead ? "-100%" : "0"}, -50%)`,
      );
      element.hidden = false;
    }
    for (let n = used; n < this.#used.length; n++) this.#used[n].hidden = true;
  }

  #element(n: number): HTMLDataElement {
    let element = this.#used[n];
    if (element === undefined) {
      element = document.createElement("data");
      element.className = "num";
      this.#used.push(element);
      this.root.append(element);
    }
    return element;
  }
}
