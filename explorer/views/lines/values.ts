/**
 * The numbers at the ends of the highlighted lines. Elements are reused; numbers that would overlap are skipped. If a line leaves
 * the viewport, its number is at the edge, with the name of the token at its end.
 */

import type { Stage } from "../../../src/store/block.ts";
import { widthOf } from "../../../src/store/text/label.ts";
import { num } from "../../../src/store/text/number.ts";
import { HIDDEN, make, nth } from "../../canvas/dom.ts";
import { setLang } from "../../canvas/labels.ts";
import type { WeightedLink } from "./edges.ts";
import type { Focus } from "./focus.ts";
import { crossing, heightOf, type LinesLayout, outside } from "./layout.ts";

/** The maximum number of values, the minimum distance of two of them, and the width of a character, in pixels. */
const MAX_VALUES = 16;
const PITCH = 14;
const EM = 6.8;
/** Lines weaker than this share of the strongest have no number. */
const FAINT = 0.02;

/** The lines whose numbers are shown. */
export interface ShownLinks {
  readonly layout: LinesLayout;
  readonly links: readonly WeightedLink[];
  /** The highlighted token, at whose opposite ends the numbers are, or one line. */
  readonly kind: Focus["kind"];
  readonly stage: Stage;
  readonly rowName: (place: number) => string;
  readonly columnName: (place: number) => string;
  /** The languages of the names. */
  readonly lang: { readonly query?: string; readonly key?: string };
}

/** The position of a number, its alignment at this position, and the name before it. */
interface Spot {
  readonly x: number;
  readonly y: number;
  readonly anchor: "start" | "middle" | "end";
  readonly name: string;
}

export class LinkNumbers {
  readonly root = make("div", "values", HIDDEN);
  readonly #used: HTMLElement[] = [];

  update(shown: ShownLinks | undefined): void {
    const occupied: (readonly [from: number, to: number, y: number])[] = [];
    let used = 0;
    const links = shown?.links ?? [];
    for (const link of links.slice(0, MAX_VALUES)) {
      if (!(link.weight >= FAINT * links[0].weight)) break;
      const { value, text, source } = num(link.weight, `row ${shown!.stage}`);
      const spot = spotOf(shown!, link);
      const width = widthOf(spot.name + text) * EM + (spot.name === "" ? 6 : 14);
      // At an edge the number is moved inside.
      const { x: start, width: space } = shown!.layout;
      const inside = Math.max(start + width / 2, Math.min(start + space - width / 2, spot.x));
      const x = spot.anchor === "middle" ? inside : spot.x;
      const from = x - (spot.anchor === "start" ? 0 : spot.anchor === "end" ? width : width / 2);
      const y = this.#free(occupied, from, from + width, spot, shown!.layout);
      if (y === undefined) continue;
      occupied.push([from, from + width, y]);
      const element = nth(this.#used, used++, this.root, () =>
        make("span", "value", {}, make("bdi", "token"), make("data", "num")),
      );
      const [name, data] = element.children as unknown as [HTMLElement, HTMLDataElement];
      if (name.textContent !== spot.name) name.textContent = spot.name;
      setLang(name, shown?.kind === "key" ? shown.lang.query : shown?.lang.key);
      if (data.textContent !== text) data.textContent = text;
      data.value = String(value);
      data.dataset.source = source;
      const shift = { start: "0", middle: "-50%", end: "-100%" }[spot.anchor];
      element.style.setProperty(
        "transform",
        `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px) translate(${shift}, -50%)`,
      );
      element.hidden = false;
    }
    for (let n = used; n < this.#used.length; n++) this.#used[n].hidden = true;
  }

  /** A free height: the number's own, or, at an edge, one of the next three further in; undefined if all are occupied. */
  #free(
    occupied: readonly (readonly [number, number, number])[],
    from: number,
    to: number,
    { y, anchor }: Spot,
    { top, height }: LinesLayout,
  ): number | undefined {
    const inward = y < top + height / 2 ? PITCH : -PITCH;
    for (let n = 0; n < (anchor === "middle" ? 4 : 1); n++) {
      const at = y + n * inward;
      if (!occupied.some(([a, b, other]) => Math.abs(other - at) < PITCH && from < b && a < to)) return at;
    }
    return undefined;
  }
}

function spotOf({ layout, kind, rowName, columnName }: ShownLinks, link: WeightedLink): Spot {
  const { arcs, left, right, top, height } = layout;
  const atRow = kind === "key";
  const [column, place] = atRow ? [layout.rows, link.row] : [layout.columns, link.column];
  const out = outside(layout, column, place);
  if (out !== 0) {
    const y = out < 0 ? top + 8 : top + height - 8;
    const name = atRow ? rowName(place) : columnName(place);
    return { x: crossing(layout, link, y), y, anchor: "middle", name };
  }
  const y = heightOf(layout, column, place);
  // Next to the token, on the side of the lines.
  const atEnd = arcs ? link.column > link.row : !atRow;
  if (atEnd) return { x: (arcs ? left : right) - 5, y, anchor: "end", name: "" };
  return { x: (arcs ? right : left) + 5, y, anchor: "start", name: "" };
}
