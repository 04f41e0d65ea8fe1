/**
 * Models of pictures in Hugging Face's layout: config.json, preprocessor_config.json and the weights; from a directory (Node) or from
 * bytes (anywhere). Nothing is ever downloaded.
 */
import { checkArgument, checkCount, FormatError, isMap, UnsupportedError } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { builtin } from "../../io/filesystem/node.ts";
import { sizeLimit } from "../../io/limit.ts";
import type { Pixels } from "../../io/read-png.ts";
import { reshape } from "../../nn/index.ts";
import { refuseQuantized } from "../config/quantization.ts";
import { readFields } from "../families/read-config.ts";
import { missingFiles } from "../files/contents.ts";
import type { ReadModelOptions } from "../files/files.ts";
import { openWeights } from "../files/open-weights.ts";
import { filesOfFolder, filesOfMap, type ModelFiles, readJson } from "../files/sources.ts";
import { checkWeights, locateWeights, type ModelNote, readWeights } from "../files/weights.ts";
import type { LayerAttention } from "../transformer/attend.ts";
import { checkBytes } from "../transformer/parameters.ts";
import { planOf } from "../transformer/plan.ts";
import { IMAGE_MODEL_TYPES, imageRecipe } from "./families.ts";
import { ImageEncoder } from "./image-encoder.ts";
import { type ImageProcessor, pixelsOf, prepared, readProcessor } from "./processor.ts";

/** Options of `readImageModel`. */
export type ReadImageOptions = Pick<ReadModelOptions, "dtype" | "maxBytes" | "name" | "within">;

/** Which tokens of a model are the patches of a picture. */
export interface PatchGrid {
  /** Index of the first patch among the tokens; the others follow it, row by row. */
  readonly first: number;
  readonly rows: number;
  readonly columns: number;
}

/** A picture with the attention of a model on it. */
export interface ImageAttention {
  /** Labels of the tokens: `[CLS]` and the like, then the row and the column of each patch, `0,0` to `rows − 1,columns − 1`. */
  readonly tokens: readonly string[];
  /** True for tokens that are not a patch. */
  readonly special: readonly boolean[];
  readonly grid: PatchGrid;
  /** The picture that the model read: resized and cropped, three bytes a pixel. The grid covers it, but for a rest at the right and below. */
  readonly picture: Pixels;
  /** Query, key, value [H, N, d] and lse [H, N] of each layer, with the options of the call. */
  readonly layers: readonly LayerAttention[];
}

/** A model of pictures, with what turns a picture into its input. */
export interface ImageModel {
  /** Its name. */
  readonly name: string;
  readonly architecture: "encoder";
  readonly layers: number;
  readonly heads: number;
  readonly model: ImageEncoder;
  readonly processor: ImageProcessor;
  /** Facts about the checkpoint that a user should know. */
  readonly notes: readonly ModelNote[];
  /** Runs the model on a picture, as `readPicture` or a canvas (`ImageData`) gives it. Throws an OptionError for what is no picture. */
  attention(picture: Pixels): ImageAttention;
}

/**
 * Opens the model of pictures in a folder (Node): ViT, DeiT, DINOv2, DINOv3, and the towers of CLIP and SigLIP for pictures.
 *
 * @throws FormatError, OptionError or UnsupportedError, before any large allocation
 * @example
 * const model = await readImageModel("./dinov2-small");
 * const { layers, grid } = model.attention(await readPicture(readFileSync("photo.png")));
 * const weights = layerWeights(layers[0]); // [heads, N, N]; rows and columns from grid.first on are patches
 */
export async function readImageModel(directory: string, options: ReadImageOptions = {}): Promise<ImageModel> {
  checkCount("readImageModel", arguments, 2);
  const what = "readImageModel";
  checkOptionNames(what, options, ["dtype", "maxBytes", "name", "within"]);
  const files = await filesOfFolder(what, directory, options.within);
  const { basename, resolve } = builtin<typeof import("node:path")>("node:path")!;
  return openImageModel(files, { name: basename(resolve(directory)), ...options });
}

/**
 * Opens a model of pictures from the bytes of its files, by file name, as in a browser.
 *
 * @throws FormatError, OptionError or UnsupportedError, before any large allocation
 * @example
 * const files = new Map<string, Uint8Array>();
 * for (const name of ["config.json", "preprocessor_config.json", "model.safetensors"])
 *   files.set(name, new Uint8Array(await (await fetch(`/models/${name}`)).arrayBuffer()));
 * const { grid } = (await imageModelFromFiles(files)).attention(context.getImageData(0, 0, 640, 480));
 */
export async function imageModelFromFiles(
  files: ReadonlyMap<string, Uint8Array>,
  options: Omit<ReadImageOptions, "within"> = {},
): Promise<ImageModel> {
  checkCount("imageModelFromFiles", arguments, 2);
  const what = "imageModelFromFiles";
  checkArgument(isMap(files), what, "a Map of bytes by file name", files);
  checkOptionNames(what, options, ["dtype", "maxBytes", "name"]);
  return openImageModel(filesOfMap(what, files), options);
}

async function openImageModel(
  files: ModelFiles,
  { dtype = "float32", maxBytes, name }: ReadImageOptions,
): Promise<ImageModel> {
  const { what } = files;
  const limit = sizeLimit(what, { maxBytes });
  const missing = missingFiles(files.names, false);
  if (missing.length > 0)
    throw new FormatError(
      "model-files",
      `${what}: ${files.label || "the files"}: there is no ${missing.join(", no ")}; a model of pictures has config.json, preprocessor_config.json and model.safetensors`,
      { missing },
    );
  const { recipe, files: fileNames } = await files.inFile("config.json", async () => {
    const fields = readFields(await files.bytes("config.json"));
    refuseQuantized(fields);
    const read = imageRecipe(fields);
    if (read) return read;
    const type = String(fields.value("model_type"));
    throw new UnsupportedError(
      "model-type",
      `config.json: model_type is ${JSON.stringify(type)}; of models that read pictures heed has ${IMAGE_MODEL_TYPES.join(", ")}; readModel opens models of text`,
      { got: type },
    );
  });
  const processor = await processorOf(files);
  return files.inFile(undefined, async () => {
    const file = await openWeights(files);
    try {
      const located = await locateWeights(file, recipe.names, fileNames, false);
      const plan = planOf(recipe, false);
      checkWeights(what, file, located, plan);
      checkBytes(what, plan, dtype, limit, (one) =>
        /^b?float16$/.test(file.tensors.get(located.source.get(one)!)!.dtype),
      );
      const { parameters, notes } = await readWeights(file, located, plan, dtype);
      const model = new ImageEncoder(recipe, { dtype, parameters, hasHead: false });
      return imageModel(model, processor, name ?? model.type, [...located.notes, ...notes]);
    } finally {
      await file.close();
    }
  });
}

/** preprocessor_config.json, or the part of processor_config.json for pictures. */
async function processorOf(files: ModelFiles): Promise<ImageProcessor> {
  const [usual, joint] = ["preprocessor_config.json", "processor_config.json"];
  const name = [usual, joint].find((one) => files.names.includes(one));
  if (name === undefined)
    throw new FormatError(
      "model-files",
      `${files.what}: ${files.label || "the files"}: there is no ${usual}, which says how a picture is resized and normalized; it is in the model's repository`,
      { missing: [usual] },
    );
  const fields = await readJson(files, name);
  const part = name === joint ? fields.image_processor : fields;
  return files.inFile(name, () => readProcessor((part ?? {}) as Record<string, unknown>));
}

function imageModel(
  model: ImageEncoder,
  processor: ImageProcessor,
  name: string,
  notes: readonly ModelNote[],
): ImageModel {
  const { layers, heads } = model.sizes;
  return {
    name,
    architecture: "encoder",
    layers,
    heads,
    model,
    processor,
    notes,
    attention(picture) {
      checkCount("ImageModel.attention", arguments, 1);
      const image = prepared(processor, picture);
      const [rows, columns] = model.gridOf(image.height, image.width);
      const labels = model.tokenLabels;
      const layerAttentions: LayerAttention[] = [];
      model.hidden(pixelsOf(processor, image, model.dtype), {
        onAttention: (_, { query, key, value, lse, output, ...rest }) =>
          void layerAttentions.push({
            query: alone(query), key: alone(key), value: alone(value), lse: alone(lse), output: alone(output), ...rest,
          }), // biome-ignore format: one row
      });
      const patches = Array.from(
        { length: rows * columns },
        (_, n) => `${Math.floor(n / columns)},${n % columns}`,
      );
      const tokens = [...labels, ...patches];
      return {
        tokens,
        special: tokens.map((_, n) => n < labels.length),
        grid: { first: labels.length, rows, columns },
        picture: image,
        layers: layerAttentions,
      };
    },
  };
}

/** A batch of one without its first axis. */
const alone = (x: LayerAttention["query"]): LayerAttention["query"] => reshape(x, x.shape.slice(1));
