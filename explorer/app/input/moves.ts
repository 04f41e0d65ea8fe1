/** The keys that move the cursor, the same in every view, and the order of heads. */
import type { Block } from "../../../src/store/block.ts";
import type { HeadName } from "../../state/state.ts";

/** The head so many places after another in the order of the block, layer by layer; undefined if there is none. */
export function headBeside(block: Block, from: HeadName, by: number): HeadName | undefined {
  const at = block.layers.indexOf(from.layer) * block.heads + from.head + by;
  if (at < 0 || at >= block.layers.length * block.heads) return undefined;
  return { block: block.name, layer: block.layers[Math.floor(at / block.heads)], head: at % block.heads };
}

/** By how many rows and columns a key moves the cursor; undefined for other keys. */
export function moveOf(event: KeyboardEvent): readonly [rows: number, columns: number] | undefined {
  const far = Number.MAX_SAFE_INTEGER;
  const control = event.ctrlKey || event.metaKey;
  switch (event.key) {
    case "ArrowLeft":
      return [0, -1];
    case "ArrowRight":
      return [0, 1];
    case "ArrowUp":
      return [-1, 0];
    case "ArrowDown":
      return [1, 0];
    case "PageUp":
      return [-16, 0];
    case "PageDown":
      return [16, 0];
    case "Home":
      return control ? [-far, -far] : [0, -far];
    case "End":
      return control ? [far, far] : [0, far];
    default:
      return undefined;
  }
}
