/** The pages of the Lab in their order. Each is loaded when it is opened. */
import type { LabPage, NamedPage } from "./frame/page.ts";

/** A page's name, and how it is loaded. */
export interface PageEntry {
  readonly name: string;
  load(): Promise<NamedPage>;
}

// biome-ignore lint/suspicious/noExplicitAny: each page has a state of its own, which only that page reads
type Loader = () => Promise<{ page: LabPage<any, any> }>;

const entry = (name: string, load: Loader): PageEntry => ({
  name,
  load: async () => ({ ...(await load()).page, name }) as NamedPage,
});

/** Every page, in the order of reading. */
export const PAGES: readonly PageEntry[] = [
  entry("words", () => import("./words/page.ts")),
  entry("arrows", () => import("./arrows/page.ts")),
  entry("becomes", () => import("./becomes/page.ts")),
  entry("steps", () => import("./steps/page.ts")),
  entry("scale", () => import("./scale/page.ts")),
  entry("saturation", () => import("./saturation/page.ts")),
  entry("masks", () => import("./masks/page.ts")),
  entry("heads", () => import("./heads/page.ts")),
  entry("shapes", () => import("./shapes/page.ts")),
  entry("cost", () => import("./cost/page.ts")),
  entry("variants", () => import("./variants/page.ts")),
  entry("scorers", () => import("./scorers/page.ts")),
  entry("before", () => import("./before/page.ts")),
  entry("learned", () => import("./learned/page.ts")),
  entry("explanation", () => import("./explanation/page.ts")),
];
