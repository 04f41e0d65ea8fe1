/**
 * What stands out among the lines: what is pointed at, else where the keyboard is, else what is selected, else what is
 * pinned; and which cell each of them is about.
 */
import type { Cell } from "../../app/session.ts";
import { type Axis, indexAt, placeOf } from "../../canvas/axis.ts";
import type { State } from "../../state/state.ts";
import type { Keep, Link, Links } from "./edges.ts";
import { MOST_OVER } from "./paint.ts";

/** A token of one of the columns by its place, or a line. */
export type Focus =
  | { readonly kind: "query" | "key"; readonly place: number }
  | { readonly kind: "link"; readonly link: Link };

/** Lines drawn for a selection, at most. */
const MOST_SELECTED = 256;

/** Which links stand out, the strongest first, and how many more there are of them. */
export interface Over {
  readonly links: readonly Link[];
  readonly more: number;
}

export interface Picture {
  readonly links: Links;
  readonly keep: Keep;
  readonly rows: Axis;
  readonly columns: Axis;
}

const capped = (links: readonly Link[], most: number): Over => ({
  links: links.slice(0, most),
  more: Math.max(0, links.length - most),
});

/** The links of what is pointed at. */
export function linksOver({ links, keep }: Picture, focus: Focus): Over {
  if (focus.kind === "link") return { links: [focus.link], more: 0 };
  const all = focus.kind === "query" ? links.outgoing(focus.place, keep) : links.incoming(focus.place, keep);
  return capped(all, MOST_OVER);
}

/** The links of the selection, or of the pinned cell's query; undefined where nothing is chosen. */
export function linksChosen({ links, keep, rows, columns }: Picture, state: State): Over | undefined {
  const places = (axis: Axis, indices: readonly number[]) =>
    indices.map((index) => placeOf(axis, index)).filter((place) => place !== undefined);
  if (state.rows.length + state.columns.length === 0) {
    const place = state.pinned === null ? undefined : placeOf(rows, state.pinned[0]);
    return place === undefined ? undefined : capped(links.outgoing(place, keep), MOST_OVER);
  }
  const ends = new Set(places(columns, state.columns));
  const all =
    state.rows.length === 0
      ? [...ends].flatMap((place) => links.incoming(place, keep))
      : places(rows, state.rows)
          .flatMap((place) => links.outgoing(place, keep))
          .filter(({ column }) => state.columns.length === 0 || ends.has(column));
  return capped(
    all.sort((a, b) => b.weight - a.weight),
    MOST_SELECTED,
  );
}

/** The cell that pointing there is about: the strongest link of the token, unless a query is chosen already. */
export function cellOf({ links, keep, rows, columns }: Picture, focus: Focus, state: State): Cell {
  if (focus.kind === "link")
    return {
      query: indexAt(rows, focus.link.row) ?? state.query,
      key: indexAt(columns, focus.link.column) ?? state.key,
    };
  if (focus.kind === "query") {
    const [best] = links.outgoing(focus.place, keep);
    return {
      query: indexAt(rows, focus.place) ?? state.query,
      key: (best && indexAt(columns, best.column)) ?? state.key,
    };
  }
  const chosen = state.pinned?.[0] ?? state.rows[0];
  const [best] = chosen === undefined ? links.incoming(focus.place, keep) : [];
  return {
    query: chosen ?? (best && indexAt(rows, best.row)) ?? state.query,
    key: indexAt(columns, focus.place) ?? state.key,
  };
}
