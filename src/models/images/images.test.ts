/** Pictures on their way into a model: JPEG, resizing as Pillow does it, preprocessor_config.json, and what is refused. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readTensors } from "../../../tests/support/shared.ts";
import { imageModelFromFiles, modelFromFiles, readPicture } from "../index.ts";
import { prepared, readProcessor } from "./processor.ts";
import { resizePicture } from "./resample.ts";

const golden = join(import.meta.dirname, "../../../tests/golden");
const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const picture = (width: number, height: number, at: (x: number, y: number) => number) => ({
  width,
  height,
  data: Uint8Array.from({ length: 3 * width * height }, (_, i) =>
    at(Math.floor(i / 3) % width, Math.floor(i / 3 / width)),
  ),
});

describe("resizePicture", () => {
  const tensors = readTensors(join(golden, "pictures/resize.safetensors"));
  const [height, width] = tensors.get("source")!.shape;
  const source = { width, height, data: Uint8Array.from(tensors.get("source")!.toFloat64()) };

  test.each([...tensors.keys()].filter((name) => name !== "source"))("%s: every byte is Pillow's", (name) => {
    const [kernel, w, h] = name.split(/[.x]/).map(Number);
    const { data } = resizePicture(source, w, h, kernel);
    expect([...data]).toEqual([...tensors.get(name)!.toFloat64()]);
  });
});

describe("readPicture", () => {
  test.each(["gradient", "turned"])("%s.jpg: within 3 of 255 of libjpeg's bytes, upright", async (name) => {
    const { width, height, data } = await readPicture(readFileSync(join(golden, `pictures/${name}.jpg`)));
    const want = readTensors(join(golden, "pictures/jpeg.safetensors")).get(name)!;
    expect([height, width, 3]).toEqual(want.shape);
    const numbers = want.toFloat64();
    expect(Math.max(...data.map((byte, i) => Math.abs(byte - numbers[i])))).toBeLessThanOrEqual(3);
  });

  test("says what a file is that it does not read", async () => {
    const file = (text: string) => readPicture(new TextEncoder().encode(text));
    await expect(file("RIFF....WEBPVP8 ")).rejects.toThrow("the file is a WebP; heed reads PNG and JPEG");
    await expect(file("GIF89a......")).rejects.toThrow("the file is a GIF");
    await expect(file("hello, world")).rejects.toThrow("which is no picture that heed knows");
    await expect(readPicture(Uint8Array.of(0xff, 0xd8, 0xff, 0xe0, 0, 1, 2))).rejects.toThrow(
      "the JPEG cannot be decoded",
    );
  });
});

describe("readProcessor", () => {
  const ViT = {
    do_resize: true,
    size: 8,
    resample: 2,
    do_normalize: true,
    image_mean: [0.5, 0.4, 0.3],
    image_std: [0.5, 0.5, 0.5],
  };

  test("a number as size is height and width, or the shorter side for CLIP and BiT", () => {
    expect(readProcessor(ViT)).toMatchObject({
      resize: { height: 8, width: 8 },
      scale: 1 / 255,
      mean: [0.5, 0.4, 0.3],
    });
    expect(readProcessor({ ...ViT, image_processor_type: "BitImageProcessor" }).resize).toEqual({
      shortest: 8,
    });
    expect(
      readProcessor({ ...ViT, feature_extractor_type: "CLIPFeatureExtractor", crop_size: 6 }),
    ).toMatchObject({
      resize: { shortest: 8 },
      crop: { height: 6, width: 6 },
    });
  });

  test.each([
    [{ ...ViT, size: { longest_edge: 8 } }, "size must be a number of pixels"],
    [{ ...ViT, size: 100_000 }, "each from 1 to 8192"],
    [{ ...ViT, resample: 9 }, "resample must be 0 to 4"],
    [{ ...ViT, image_std: [1, 1] }, "image_std must be three numbers"],
    [{ ...ViT, image_std: [1, 1, 0] }, "image_std must be numbers other than 0"],
    [{ ...ViT, do_pad: true }, "do_pad is not a step that heed has"],
    [{ ...ViT, do_rescale: "yes" }, "do_rescale must be true or false"],
  ])("refuses %j", (fields, text) => expect(() => readProcessor(fields)).toThrow(text));

  test("the shorter side is resized, the middle is cropped, and alpha is dropped", () => {
    const processor = readProcessor({
      ...ViT,
      size: { shortest_edge: 4 },
      resample: 0,
      crop_size: { height: 4, width: 2 },
    });
    const { width, height, data } = prepared(
      processor,
      picture(16, 8, (x) => x),
    );
    expect([width, height]).toEqual([2, 4]);
    // 16 × 8 becomes 8 × 4, nearest: columns 1, 3, 5, …; its middle two are 7 and 9.
    expect([...data.subarray(0, 6)]).toEqual([7, 7, 7, 9, 9, 9]);
    const rgba = { width: 1, height: 1, data: Uint8Array.of(1, 2, 3, 0) };
    expect([...prepared({ ...processor, resize: undefined, crop: undefined }, rgba).data]).toEqual([1, 2, 3]);
  });

  test("a crop with an odd rest begins at the smaller half, as that of transformers", () => {
    const processor = readProcessor({ ...ViT, do_resize: false, crop_size: { height: 1, width: 2 } });
    const picture = { width: 5, height: 4, data: Uint8Array.from({ length: 60 }, (_, i) => i) };
    const first = 3 * (1 * 5 + 1);
    expect([...prepared(processor, picture).data]).toEqual([0, 1, 2, 3, 4, 5].map((i) => first + i));
  });

  test("a crop of a smaller picture has black around it", () => {
    const processor = readProcessor({ ...ViT, do_resize: false, crop_size: 3 });
    const { data } = prepared(
      processor,
      picture(2, 3, () => 9),
    );
    expect([...data.subarray(0, 9)]).toEqual([0, 0, 0, 9, 9, 9, 9, 9, 9]);
  });
});

describe("imageModelFromFiles", () => {
  const filesOf = (family: string, more: Record<string, unknown> = {}) =>
    new Map<string, Uint8Array>([
      ["config.json", readFileSync(join(golden, "image-models", family, "config.json"))],
      ["model.safetensors", readFileSync(join(golden, "image-models", family, "model.safetensors"))],
      [
        "preprocessor_config.json",
        json({ size: { height: 12, width: 12 }, image_mean: 0.5, image_std: 0.5, ...more }),
      ],
    ]);
  const photo = picture(30, 20, (x, y) => (7 * x + 5 * y) % 256);

  test("tokens are the learned ones, then rows and columns of patches; the picture is what the model read", async () => {
    const model = await imageModelFromFiles(filesOf("dinov2-registers"), { name: "dino" });
    const attention = model.attention(photo);
    expect(model).toMatchObject({ name: "dino", layers: 2, heads: 3, architecture: "encoder" });
    expect(attention.tokens).toEqual([
      "[CLS]",
      "[REG1]",
      "[REG2]",
      "[REG3]",
      "0,0",
      "0,1",
      "0,2",
      "1,0",
      "1,1",
      "1,2",
      "2,0",
      "2,1",
      "2,2",
    ]);
    expect(attention.special.indexOf(false)).toBe(4);
    expect(attention.grid).toEqual({ first: 4, rows: 3, columns: 3 });
    expect(attention.picture).toMatchObject({ width: 12, height: 12 });
    expect(attention.layers.map(({ query }) => query.shape)).toEqual([
      [3, 13, 4],
      [3, 13, 4],
    ]);
  });

  test("a picture that the preprocessor leaves wide has a wide grid", async () => {
    const model = await imageModelFromFiles(filesOf("siglip", { size: { shortest_edge: 12 } }));
    expect(model.attention(photo).grid).toEqual({ first: 0, rows: 3, columns: 4 });
  });

  test("refuses what is no picture, what is smaller than a patch, and files that are missing", async () => {
    const model = await imageModelFromFiles(filesOf("vit", { do_resize: false }));
    expect(() => model.attention({ width: 2, height: 2, data: new Uint8Array(5) })).toThrow(
      "3 or 4 bytes a pixel",
    );
    expect(() => model.attention(undefined as never)).toThrow("the picture must be { width, height, data }");
    expect(() => model.attention(picture(3, 9, () => 0))).toThrow("a picture of 3 × 9 has no patch of 4 × 4");
    const files = filesOf("vit");
    files.delete("preprocessor_config.json");
    await expect(imageModelFromFiles(files)).rejects.toThrow("there is no preprocessor_config.json");
    await expect(imageModelFromFiles(new Map())).rejects.toThrow(
      "there is no config.json, no model.safetensors",
    );
    await expect(modelFromFiles(filesOf("vit"))).rejects.toThrow(
      "a vit reads pictures, not text: open it with readImageModel",
    );
    const bert = new Map([...filesOf("vit"), ["config.json", json({ model_type: "bert" })]] as [
      string,
      Uint8Array,
    ][]);
    await expect(imageModelFromFiles(bert)).rejects.toThrow(
      'model_type is "bert"; of models that read pictures heed has vit, deit',
    );
  });
});
