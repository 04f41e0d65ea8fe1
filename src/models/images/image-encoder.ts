/**
 * The vision transformer (Dosovitskiy et al. 2020, arXiv 2010.11929) with the variations of its relatives: a picture is cut into
 * patches, and every patch attends to all others.
 *
 *     x = [learned tokens, W·patch + b] + position
 *     x = layers(x)                                        transformer.ts
 *
 * Positions are learned for one size, and resampled for another as transformers does; or queries and keys are rotated by the row and
 * the column of their patch (DINOv3).
 */
import { checkCount, OptionError, ShapeError } from "../../core/errors.ts";
import { checkKind, checkOptionNames } from "../../core/option-names.ts";
import { Tensor } from "../../core/tensor.ts";
import { add, concat, type FloatTensor, linear, reshape, rope, slice } from "../../nn/index.ts";
import { layerDropout } from "../../nn/ops/dropout.ts";
import { FORWARD_OPTIONS, type ForwardOptions } from "../transformer/attend.ts";
import { checkTransformerConfig } from "../transformer/config.ts";
import {
  type EmbeddingPart,
  type LayerSteps,
  type ModelStart,
  Transformer,
} from "../transformer/transformer.ts";
import type { ImageEncoderConfig } from "./config.ts";
import { resampleGrid, sharpTaps, smoothTaps } from "./resample.ts";

/**
 * An encoder of pictures that a recipe describes.
 *
 * @example
 * const { model } = await readImageModel("./dinov2-small"); // an ImageEncoder
 */
export class ImageEncoder extends Transformer<ImageEncoderConfig, ForwardOptions, FloatTensor> {
  readonly architecture = "encoder";

  /** A model with the weights given, or with new ones from a seed. */
  constructor(recipe: ImageEncoderConfig, options: ModelStart = {}) {
    checkCount("ImageEncoder", arguments, 2);
    checkTransformerConfig(recipe);
    super(recipe, options, recipe.model_type);
  }

  /** Labels of the learned tokens before the patches: `[CLS]`, … */
  get tokenLabels(): readonly string[] {
    return this.recipe.image.tokens.flatMap(({ labels }) => labels);
  }

  /** Rows and columns of patches in a picture of this size. Throws an OptionError for a size that patches do not fill. */
  gridOf(height: number, width: number): readonly [rows: number, columns: number] {
    checkCount("ImageEncoder.gridOf", arguments, 2);
    const [high, wide] = this.recipe.image.patch;
    for (const [name, x] of Object.entries({ height, width }))
      checkKind("ImageEncoder.gridOf", name, "an integer ≥ 0", x);
    if (!(height >= high && width >= wide))
      throw new OptionError(
        "picture-size",
        `${this.type}: a picture of ${width} × ${height} has no patch of ${wide} × ${high}`,
        { width, height },
      );
    return [Math.floor(height / high), Math.floor(width / wide)];
  }

  /** @internal */
  *steps(pixels: FloatTensor, options: ForwardOptions): LayerSteps {
    checkOptionNames(this.type, options, FORWARD_OPTIONS);
    const { names, image, embd_pdrop = 0 } = this.recipe;
    const [{ rows: patches }, ...positions] = this.embeddingParts(pixels);
    const [B, N] = patches.shape;
    const learned = (placed: boolean) =>
      image.tokens.filter((one) => one.placed === placed).map(({ name }) => this.#repeated(name, B));
    let x = concat([...learned(true), patches], 1);
    for (const { rows } of positions) x = add(x, rows);
    // Registers are between the other tokens and the patches.
    const after = x.shape[1] - N;
    const registers = learned(false);
    if (registers.length > 0)
      x = concat([slice(x, 1, 0, after), ...registers, slice(x, 1, after, after + N)].filter(isFilled), 1);
    if (names.embeddingNorm) x = this.norm(names.embeddingNorm, x);
    const rotate = this.#rotation(this.gridOf(pixels.shape[2], pixels.shape[3]), x.shape[1] - N);
    return yield* this.encodedSteps(layerDropout(x, embd_pdrop), { rotate }, options);
  }

  /** The patches W·patch + b, [B, rows·columns, C]; then the positions of all placed tokens and of the patches, [n, C]. */
  embeddingParts(pixels: FloatTensor): EmbeddingPart[] {
    checkCount("ImageEncoder.embeddingParts", arguments, 1);
    const { names, image, hidden_size: C } = this.recipe;
    const shape = (pixels as Partial<Tensor>)?.shape ?? [];
    if (
      !(
        pixels instanceof Tensor &&
        shape.length === 4 &&
        shape[1] === image.channels &&
        pixels.dtype === this.dtype
      )
    )
      throw new ShapeError(
        "pixels",
        `${this.type}: pixels must be [B, ${image.channels}, height, width] ${this.dtype}, got ${pixels instanceof Tensor ? `[${shape.join(", ")}] ${pixels.dtype}` : typeof pixels}`,
        { got: shape },
      );
    const [B, , height, width] = shape;
    const grid = this.gridOf(height, width);
    const matrix = reshape(this.weights.get(`${names.embedding}.weight`), [C, -1]);
    const bias = image.patch_bias ? this.weights.get(`${names.embedding}.bias`) : undefined;
    const patches = linear(patchesOf(pixels, grid, image.patch), matrix, bias);
    const parts: EmbeddingPart[] = [{ kind: "word", rows: reshape(patches, [B, grid[0] * grid[1], C]) }];
    if (image.positions) parts.push({ kind: "position", rows: this.#positions(grid) });
    return parts;
  }

  /** Learned tokens [n, C] for each picture of a batch, [B, n, C]. */
  #repeated(name: string, B: number): FloatTensor {
    const rows = reshape(this.weights.get(name), [1, -1, this.sizes.width]);
    return B === 1
      ? rows
      : concat(
          Array.from({ length: B }, () => rows),
          0,
        );
  }

  /** The positions of the placed tokens, then of the patches, resampled where the grid is not that of the table. */
  #positions([rows, columns]: readonly [number, number]): FloatTensor {
    const { image, hidden_size: C } = this.recipe;
    const { name, resampling } = image.positions!;
    const table = reshape(this.weights.get(name), [-1, C]);
    const [fromRows, fromColumns] = image.grid;
    if (rows === fromRows && columns === fromColumns) return table;
    const placed = table.shape[0] - fromRows * fromColumns;
    const taps = (from: number, to: number) =>
      resampling === "sharp" ? sharpTaps(from, to) : smoothTaps(from, to, 3);
    const data = resampleGrid(
      slice(table, 0, placed, table.shape[0]).toFloat64(),
      C,
      fromColumns,
      taps(fromRows, rows),
      taps(fromColumns, columns),
      fromRows,
    );
    const numbers = this.dtype === "float64" ? data : Float32Array.from(data);
    const patches = new Tensor(numbers, [rows * columns, C], this.dtype);
    return placed === 0 ? patches : concat([slice(table, 0, 0, placed), patches], 0);
  }

  /**
   * DINOv3's rotation: the first half of the pairs turns with the row, the second with the column, by 2π·(their center in −1 … 1)·
   * base^(−4i/d); the learned tokens do not turn.
   */
  #rotation(
    [rows, columns]: readonly [number, number],
    learned: number,
  ): ((x: FloatTensor) => FloatTensor) | undefined {
    const { rotary_base: base } = this.recipe.image;
    if (base === undefined) return undefined;
    const quarter = this.sizes.headSize / 4;
    const angles = Array.from({ length: quarter }, (_, i) => 2 * Math.PI * base ** (-i / quarter));
    const still = new Array<number>(quarter).fill(0);
    const center = (n: number, count: number) => (2 * (n + 0.5)) / count - 1;
    const places = (of: (n: number) => number) =>
      Float64Array.from({ length: learned + rows * columns }, (_, n) => (n < learned ? 0 : of(n - learned)));
    const byRow = {
      positions: places((n) => center(Math.floor(n / columns), rows)),
      frequencies: [...angles, ...still],
    };
    const byColumn = {
      positions: places((n) => center(n % columns, columns)),
      frequencies: [...still, ...angles],
    };
    return (x) => rope(rope(x, byRow), byColumn);
  }
}

const isFilled = ({ shape }: FloatTensor): boolean => shape[1] > 0;

/** The numbers of each patch, [B·rows·columns, channels·height·width], in the order of the weights. */
function patchesOf(
  pixels: FloatTensor,
  [rows, columns]: readonly [number, number],
  [high, wide]: readonly [number, number],
): FloatTensor {
  const [B, channels, height, width] = pixels.shape;
  const dense = pixels.dense();
  const from = (dense.data as Float32Array).subarray(dense.offset, dense.offset + dense.size);
  const size = channels * high * wide;
  const count = B * rows * columns;
  const data = pixels.dtype === "float64" ? new Float64Array(count * size) : new Float32Array(count * size);
  let at = 0;
  for (let b = 0; b < B; b++)
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++)
        for (let c = 0; c < channels; c++)
          for (let y = 0; y < high; y++, at += wide) {
            const start = ((b * channels + c) * height + row * high + y) * width + column * wide;
            data.set(from.subarray(start, start + wide), at);
          }
  return new Tensor(data, [count, size], pixels.dtype);
}
