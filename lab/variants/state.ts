/** The first state of the page on variants, and names that its drawings share. */
import type { View } from "../frame/page.ts";
import { number, percent, superscript } from "../frame/words.ts";
import type { Variants, VariantsNumbers } from "./compute.ts";

/** What the drawing functions get. */
export type PageView = View<Variants, VariantsNumbers>;

/** Kinds of data: made, and two trained heads. */
export const KINDS = ["random", "local", "sink", "previous", "average"];
/** Their names on buttons and rows. */
export const KIND_NAMES = ["random", "local", "one sink", "trained A", "trained B"];
/** Where something holds, at the start of a sentence. */
export const KIND_PLACES = [
  "On random data",
  "On local data",
  "On data with one sink",
  "In trained head A",
  "In trained head B",
];
/** What each is. */
export const KIND_NOTES = [
  "normal numbers, no structure",
  "every word looks nearby",
  "every word looks at word 0",
  "looks at the previous word",
  "takes an average of the text",
];
/** The four ways. */
export const WAYS = ["Whole matrix", "Flash", "Longformer", "Performer"] as const;
/** Their names where there is little space. */
export const SHORT = ["matrix", "Flash", "Longf.", "Perf."] as const;
/** Their colors. */
export const COLORS = ["second", "w", "k", "v"] as const;
/** Rows and columns of a map. */
export const BANDS = 16;
/** Tiles of a row. */
export const TILES = 8;

/** The first state. */
export const initial: Variants = {
  data: "random",
  seen: [0, 1, 2],
  spread: 1,
  budget: 1,
  band: 8,
  column: 3,
  show: "errors",
  tile: 0,
  n: 2048,
  race: 0,
  guess4: -1,
};

/** Index of the chosen kind. */
export const kindOf = ({ state }: PageView) => KINDS.indexOf(state.data);
/** A factor of the scores as a fraction. */
export const spreadText = (spread: number) => (spread === 1 ? "1" : spread === 0.5 ? "½" : "¼");
/** An error as a share of the output: 180 %, 2.4 %, 3·10⁻⁷. */
export const wrong = (error: number) =>
  error >= 1e-4
    ? percent(error)
    : `${number(error * 10 ** -Math.floor(Math.log10(error)), 2)}·10${superscript(Math.floor(Math.log10(error)))}`;
/** Names with their errors, the most exact first. */
export const ranking = ({ numbers: n }: PageView) => [2, 3].sort((a, b) => n.ways[a].error - n.ways[b].error);
