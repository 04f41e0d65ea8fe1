/**
 * The highlighted lines: those of the token or line under the pointer, else of the token with the keyboard focus, else of the
 * selection, else of the pinned cell; and the cell that each of them refers to.
 */
import type { TokenPair } from "../../app/session.ts";
import { type Axis, indexAt, placeOf } from "../../canvas/axis.ts";
import type { State } from "../../state/state.ts";
import type { Keep, Links, WeightedLink } from "./edges.ts";
import { MAX_OVER } from "./paint.ts";

/** A token of one column by its place, or a line. */
export type Focus =
  | { readonly kind: "query" | "key"; readonly place: number }
  | { readonly kind: "link"; readonly link: WeightedLink };

/** The maximum number of lines of a selection. */
const MAX_SELECTED = 256;

/** The highlighted links, the strongest first, and how many more are not drawn. */
export interface Over {
  readonly links: readonly WeightedLink[];
  readonly more: number;
}

export interface LinesPicture {
  readonly links: Links;
  readonly keep: Keep;
  readonly rows: Axis;
  readonly columns: Axis;
}

const capped = (links: readonly WeightedLink[], max: number): Over => ({
  links: links.slice(0, max),
  more: Math.max(0, links.length - max),
});

/** The links of a token, or one link. */
export function linksOver({ links, keep }: LinesPicture, focus: Focus): Over {
  if (focus.kind === "link") return { links: [focus.link], more: 0 };
  const all = focus.kind === "query" ? links.outgoing(focus.place, keep) : links.incoming(focus.place, keep);
  return capped(all, MAX_OVER);
}

/** The links of the selection, or of the pinned cell's query; undefined if there is neither. */
export function linksChosen({ links, keep, rows, columns }: LinesPicture, state: State): Over | undefined {
  const places = (axis: Axis, indices: readonly number[]) =>
    indices.map((index) => placeOf(axis, index)).filter((place) => place !== undefined);
  if (state.rows.length + state.columns.length === 0) {
    const place = state.pinned === null ? undefined : placeOf(rows, state.pinned[0]);
    return place === undefined ? undefined : capped(links.outgoing(place, keep), MAX_OVER);
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
    MAX_SELECTED,
  );
}

/** The cell of a token or link: of a token, its strongest link; of a key, the link from the chosen query, if any. */
export function cellOf({ links, keep, rows, columns }: LinesPicture, focus: Focus, state: State): TokenPair {
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
