/** What computes the numbers of each page. The worker loads one with the first request of its page. */
import type { PageComputation } from "./frame/runtime/messages.ts";

// biome-ignore lint/suspicious/noExplicitAny: each page has a state of its own, which only that page reads
type Loader = () => Promise<PageComputation<any, any>>;

/** The computation of each page, in the order of the pages. */
export const COMPUTATIONS: Readonly<Record<string, Loader>> = {
  words: () => import("./words/compute.ts"),
  arrows: () => import("./arrows/compute.ts"),
  becomes: () => import("./becomes/compute.ts"),
  steps: () => import("./steps/compute.ts"),
  scale: () => import("./scale/compute.ts"),
  saturation: () => import("./saturation/compute.ts"),
  masks: () => import("./masks/compute.ts"),
  heads: () => import("./heads/compute.ts"),
  shapes: () => import("./shapes/compute.ts"),
  cost: () => import("./cost/compute.ts"),
  variants: () => import("./variants/compute.ts"),
  scorers: () => import("./scorers/compute.ts"),
  before: () => import("./before/compute.ts"),
  learned: () => import("./learned/compute.ts"),
  explanation: () => import("./explanation/compute.ts"),
};
