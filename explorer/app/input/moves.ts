/** The keys that move the cursor, the same in every view, and the order of heads. */
import type { Block } from "../../../src/store/block.ts";
import type { HeadName } from "../../state/state.ts";

/** The head so many places after another in the order of the block, layer by layer; undefined if there is none. */
export function headBeside(block: Block, from: HeadName, by: number): HeadName | undefined {
  const at = block.layers.indexOf(from.layer) * block.heads + from.head + by;
  if (at < 0 || at >= block.layers.length * block.heads) return undefined;
  return { block: block.name, layer: block.layers[Math.floor(at / block.heads)], head: at % block.heads };
}

const MOVES: Readonly<Record<string, readonly [rows: number, columns: number]>> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  PageUp: [-16, 0],
  PageDown: [16, 0],
};

/** By how many rows and columns a key moves the cursor; undefined for other keys. */
export function moveOf({ key, ctrlKey, metaKey }: KeyboardEvent): (typeof MOVES)[string] | undefined {
  if (key !== "Home" && key !== "End") return Object.hasOwn(MOVES, key) ? MOVES[key] : undefined;
  const far = key === "End" ? Number.MAX_SAFE_INTEGER : -Number.MAX_SAFE_INTEGER;
  return [ctrlKey || metaKey ? far : 0, far];
}
