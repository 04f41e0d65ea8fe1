/** Sizes of the page on cost: a small model's layer, and the lengths that are measured. */
export const HEADS = 12;
export const WIDTH = 64;
export const LAYERS = 12;
export const SMALL = [64, 128, 256, 512, 1024] as const;
export const LARGE = 4096;
