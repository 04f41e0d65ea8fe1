/** The pages of the Lab. Each is a folder with page.ts, compute.ts and notes.ts, which are loaded when they are needed. */
import type { NamedPage, PageNotes } from "./frame/page.ts";

/** The names of the pages, in the order of reading. */
export const PAGES: readonly string[] = [
  ...["words", "arrows", "becomes", "steps", "scale", "saturation", "masks", "heads", "shapes", "cost"],
  ...["variants", "scorers", "before", "learned", "explanation"],
];

/** What page.ts of a folder defines, with the name of the folder. */
export const loadPage = async (name: string): Promise<NamedPage> => ({
  ...(await import(`./${name}/page.ts`)).page,
  name,
});

/** What notes.ts of a folder defines. */
export const loadNotes = async (name: string): Promise<PageNotes> =>
  (await import(`./${name}/notes.ts`)).notes;
