/**
 * From a picture to the numbers that a model reads, as its preprocessor_config.json says: resized, cropped, scaled, normalized. The
 * result is that of transformers' processors over Pillow, byte for byte before the scale. Their default is torchvision, whose bytes
 * differ from Pillow's by at most 1 of 255 in a few pixels (docs/pictures.md).
 */
import { FormatError, formatValue, UnsupportedError } from "../../core/errors.ts";
import { Tensor } from "../../core/tensor.ts";
import type { Pixels } from "../../io/read-png.ts";
import type { FloatTensor, Precision } from "../../nn/index.ts";
import { rgbOf } from "./decode.ts";
import { isKernel, resizePicture } from "./resample.ts";

/** A preprocessor_config.json, read. */
export interface ImageProcessor {
  /** To this height and width; or until the shorter side has this length; undefined: not resized. */
  readonly resize?: { readonly height: number; readonly width: number } | { readonly shortest: number };
  /** Pillow's number of the kernel: 0 nearest, 1 Lanczos, 2 bilinear, 3 bicubic, 4 box. */
  readonly resample: number;
  /** The middle of this size, with black around it where the picture is smaller; undefined: not cropped. */
  readonly crop?: { readonly height: number; readonly width: number };
  /** A byte is multiplied by this; then the mean of its channel is subtracted, and the rest divided by the deviation. */
  readonly scale: number;
  readonly mean: readonly number[];
  readonly deviation: readonly number[];
}

/** Largest height and width after resizing. */
const MAX_SIDE = 8192;

/** Processors whose `size`, where it is one number, is that of the shorter side. */
const BY_SHORTER = /^(?:CLIP|Bit|DINOv2)/i;

/**
 * Reads a preprocessor_config.json. Throws a FormatError that names a field with a wrong value, an UnsupportedError for a step that
 * heed does not have.
 */
export function readProcessor(fields: Record<string, unknown>): ImageProcessor {
  const name = String(fields.image_processor_type ?? fields.feature_extractor_type ?? "");
  const refuse = (field: string, text: string): never => {
    throw new FormatError(
      "preprocessor",
      `preprocessor_config.json: ${field} must be ${text}, got ${formatValue(fields[field])}`,
      { field },
    );
  };
  const flag = (field: string, otherwise: boolean): boolean => {
    const value = fields[field] ?? otherwise;
    return typeof value === "boolean" ? value : refuse(field, "true or false");
  };
  const isSide = (value: unknown): value is number =>
    Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_SIDE;
  for (const field of [
    "do_pad",
    "do_split_image",
    "do_image_splitting",
    "do_reduce_labels",
    "do_flip_channel_order",
  ])
    if (fields[field] === true)
      throw new UnsupportedError(
        "preprocessor",
        `preprocessor_config.json: ${field} is not a step that heed has`,
        { field },
      );
  const resample = fields.resample ?? 2;
  const resizes = flag("do_resize", true);
  if (resizes && !isKernel(resample)) refuse("resample", "0 to 4, Pillow's number of a kernel");
  const sizeOf = (field: "size" | "crop_size") => {
    const value = fields[field];
    const { height, width, shortest_edge: shortest } = (value ?? {}) as Record<string, unknown>;
    if (isSide(value))
      return field === "size" && BY_SHORTER.test(name)
        ? { shortest: value }
        : { height: value, width: value };
    if (isSide(height) && isSide(width)) return { height, width };
    if (field === "size" && isSide(shortest)) return { shortest };
    return refuse(
      field,
      `a number of pixels, { height, width }${field === "size" ? " or { shortest_edge }" : ""}, each from 1 to ${MAX_SIDE}`,
    );
  };
  const channels = (field: string): number[] => {
    const value = fields[field];
    const list = Array.isArray(value) ? value : [value, value, value];
    const isRight = list.length === 3 && list.every((one) => typeof one === "number" && Number.isFinite(one));
    return isRight ? list : refuse(field, "three numbers, for red, green and blue");
  };
  const normalizes = flag("do_normalize", true);
  const scale = flag("do_rescale", true) ? (fields.rescale_factor ?? 1 / 255) : 1;
  if (typeof scale !== "number" || !(scale > 0 && scale < Infinity))
    refuse("rescale_factor", "a number above 0");
  const deviation = normalizes ? channels("image_std") : [1, 1, 1];
  if (deviation.some((one) => one === 0)) refuse("image_std", "numbers other than 0");
  const crops = flag("do_center_crop", fields.crop_size !== undefined && fields.crop_size !== null);
  return {
    ...(resizes && { resize: sizeOf("size") }),
    resample: resample as number,
    ...(crops && { crop: sizeOf("crop_size") as { height: number; width: number } }),
    scale: scale as number,
    mean: normalizes ? channels("image_mean") : [0, 0, 0],
    deviation,
  };
}

/** The picture as the model reads it, before its bytes become numbers: RGB, resized and cropped. */
export function prepared(processor: ImageProcessor, picture: Pixels): Pixels {
  let image = rgbOf("attention", picture);
  const { resize, crop, resample } = processor;
  if (resize) {
    const { width, height } = image;
    const [short, long] = [Math.min(width, height), Math.max(width, height)];
    const shorter = "shortest" in resize ? resize.shortest : 0;
    const longer = Math.trunc((shorter * long) / short);
    const to =
      "shortest" in resize
        ? width <= height
          ? [shorter, longer]
          : [longer, shorter]
        : [resize.width, resize.height];
    if (Math.max(...to) > MAX_SIDE)
      throw new UnsupportedError(
        "picture-size",
        `attention: a picture of ${width} × ${height} would be resized to ${to.join(" × ")}; at most ${MAX_SIDE} are read`,
        { width, height },
      );
    image = resizePicture(image, to[0], to[1], resample);
  }
  return crop ? cropped(image, crop.width, crop.height) : image;
}

/** The middle of a picture, with black around it where the picture is smaller, as transformers' `center_crop` takes it. */
function cropped({ width, height, data }: Pixels, toWidth: number, toHeight: number): Pixels {
  const out = new Uint8Array(3 * toWidth * toHeight);
  // Odd rests: the crop of a larger picture begins at the smaller half, that of a smaller one after the larger half.
  const start = (from: number, to: number) =>
    to <= from ? Math.floor((from - to) / 2) : -Math.ceil((to - from) / 2);
  const [left, top] = [start(width, toWidth), start(height, toHeight)];
  for (let y = Math.max(0, -top); y < toHeight && y + top < height; y++)
    for (let x = Math.max(0, -left); x < toWidth && x + left < width; x++) {
      const from = 3 * ((y + top) * width + x + left);
      out.set(data.subarray(from, from + 3), 3 * (y * toWidth + x));
    }
  return { width: toWidth, height: toHeight, data: out };
}

/** The numbers of a prepared picture, [1, 3, height, width]. */
export function pixelsOf(
  { scale, mean, deviation }: ImageProcessor,
  { width, height, data }: Pixels,
  dtype: Precision,
): FloatTensor {
  const size = width * height;
  const numbers = dtype === "float64" ? new Float64Array(3 * size) : new Float32Array(3 * size);
  for (let c = 0; c < 3; c++)
    for (let n = 0; n < size; n++) numbers[c * size + n] = (data[3 * n + c] * scale - mean[c]) / deviation[c];
  return new Tensor(numbers, [1, 3, height, width], dtype);
}
