/** Ranges of a block's positions: segments of its tokens, and pictures whose patches are keys. Those that do not fit are reported. */
import type { PictureGrid, Segment } from "../block.ts";
import type { Problems } from "../formats/metadata.ts";
import { type Bag, shown } from "../formats/tensor-source.ts";

/** The pictures whose tensor and patches fit. */
export function picturesOf(
  bag: Bag,
  block: string,
  pictures: readonly PictureGrid[],
  Nk: number,
  problems: Problems,
): PictureGrid[] {
  return pictures.filter(({ tensor, first, rows, columns }) => {
    const head = bag.tensors.get(tensor);
    const fits =
      head?.dtype === "uint8" && head.shape.length === 3 && head.shape[2] === 3 && !head.shape.includes(0);
    if (!fits)
      problems.add(
        "warning",
        "picture",
        `the picture \`${tensor}\` of \`${block}\` is left out: ${head === undefined ? "it is not in the file" : `it is ${shown(head)}, expected [height, width, 3] uint8`}`,
      );
    else if (first + rows * columns > Nk)
      problems.add(
        "warning",
        "picture",
        `the picture \`${tensor}\` of \`${block}\` is left out: ${rows} × ${columns} patches from position ${first} reach beyond its ${Nk} keys`,
      );
    return fits && first + rows * columns <= Nk;
  });
}

/** The segments that are within the block. */
export function segmentsOf(
  block: string,
  segments: readonly Segment[],
  Nq: number,
  Nk: number,
  problems: Problems,
): Segment[] {
  return segments.filter(({ name, query, key }) => {
    const fits = (query?.[1] ?? 0) <= Nq && (key?.[1] ?? 0) <= Nk;
    if (!fits)
      problems.add(
        "warning",
        "segment",
        `segment ${JSON.stringify(name)} of \`${block}\` reaches beyond its tokens and is left out`,
      );
    return fits;
  });
}

/** Why the rows of terms of content and position do not fit a block and their tensors [heads, S, d]; undefined if they do. */
export function rowsProblem(
  bag: Bag,
  rows: readonly number[],
  names: readonly (string | undefined)[],
  Nq: number,
  Nk: number,
): string | undefined {
  if (rows.length < 2 * Math.max(Nq, Nk) - 1)
    return `its recipe has rows for ${rows.length} distances; ${Nq} queries and ${Nk} keys have more`;
  const short = names.find((name) => name && rows.some((row) => row >= bag.tensors.get(name)!.shape[1]));
  return short && `its recipe has rows that \`${short}\` does not have`;
}
