/** The model view: a thumbnail of each head of a block, sorted and filtered by measures. */
import { thumbnailShape } from "../atlas/shape.ts";
import { ROWS, squareHeight, type View } from "../view.ts";

export const model: View = {
  name: "model",
  place: "page",
  label: "Model",
  hint: "All heads at a glance",
  command: "Model: all heads",
  meaning: `Each square is one of its heads. ${ROWS}`,
  keys: "←↑↓→ head · Enter open · Shift+click or P pin · + − 0 zoom · T table · ? keyboard",
  layout: { heads: false, inspector: true, toolbar: false, foot: true },
  down: "head",
  height: (block) => {
    const [width, height] = thumbnailShape(block);
    return squareHeight([100, 520], 34, block.layers.length * height, block.heads * width);
  },
  figure: "atlas",
  weightsOnly: true,
  load: async () => (await import("./parts.ts")).parts,
};
