/** What computes the numbers of each page. The worker loads one with the first request of its page. */
import type { Computation } from "./frame/runtime/messages.ts";

// biome-ignore lint/suspicious/noExplicitAny: each page has a state of its own, which only that page reads
const of = (module: Promise<Computation<any, any>>): Promise<Computation> => module as Promise<Computation>;

export const COMPUTATIONS: Readonly<Record<string, () => Promise<Computation>>> = {
  words: () => of(import("./words/compute.ts")),
  arrows: () => of(import("./arrows/compute.ts")),
  steps: () => of(import("./steps/compute.ts")),
  scale: () => of(import("./scale/compute.ts")),
  masks: () => of(import("./masks/compute.ts")),
  saturation: () => of(import("./saturation/compute.ts")),
  shapes: () => of(import("./shapes/compute.ts")),
  cost: () => of(import("./cost/compute.ts")),
  before: () => of(import("./before/compute.ts")),
  variants: () => of(import("./variants/compute.ts")),
  learned: () => of(import("./learned/compute.ts")),
  scorers: () => of(import("./scorers/compute.ts")),
  explanation: () => of(import("./explanation/compute.ts")),
  heads: () => of(import("./heads/compute.ts")),
};
