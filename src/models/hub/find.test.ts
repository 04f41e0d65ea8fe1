import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { OptionError, UnsupportedError } from "../../core/errors.ts";
import { locateShipped, modelToFiles, readModel } from "../index.ts";
import { findModel, knownModels } from "./find.ts";
import { hubCache, readHubName } from "./names.ts";

const root = mkdtempSync(join(tmpdir(), "heed-hub-"));
afterAll(() => rmSync(root, { recursive: true }));
const env = { HF_HUB_CACHE: join(root, "hub") };
const COMMIT = "0123456789abcdef0123456789abcdef01234567";

/** Puts a model into the cache as Python does: blobs, links to them, and a reference. */
function put(id: string, files: ReadonlyMap<string, Uint8Array>, ref = "main"): string {
  const folder = join(root, "hub", `models--${id.replace("/", "--")}`);
  const snapshot = join(folder, "snapshots", COMMIT);
  for (const path of [join(folder, "blobs"), snapshot, dirname(join(folder, "refs", ref))])
    mkdirSync(path, { recursive: true });
  let n = 0;
  for (const [name, bytes] of files) {
    const blob = join(folder, "blobs", `etag${n++}`);
    writeFileSync(blob, bytes);
    symlinkSync(relative(snapshot, blob), join(snapshot, name));
  }
  writeFileSync(join(folder, "refs", ref), `${COMMIT}\n`);
  return snapshot;
}

describe("readHubName", () => {
  test.each([
    ["gpt2", { id: "gpt2", revision: "main" }],
    [
      "sentence-transformers/all-MiniLM-L6-v2",
      { id: "sentence-transformers/all-MiniLM-L6-v2", revision: "main" },
    ],
    ["org/name@refs/pr/1", { id: "org/name", revision: "refs/pr/1" }],
    ["org/name.v1_2@v1.0", { id: "org/name.v1_2", revision: "v1.0" }],
  ])("%s is a name", (text, name) => expect(readHubName(text)).toEqual(name));
  test.each([
    "",
    "a/b/c",
    "../x",
    "a/..",
    "/etc",
    "a b",
    "a--b",
    "a/b@",
    "a/b@../../x",
    "a/b@x@y",
    "a\\b",
    "-a/b",
  ])("%j is none", (text) => expect(readHubName(text)).toBeUndefined());
});

test("the cache is that of Python's library", () => {
  const home = { HOME: "/home/me" };
  expect(hubCache(home)).toBe(join("/home/me", ".cache", "huggingface", "hub"));
  expect(hubCache({ ...home, XDG_CACHE_HOME: "/xdg" })).toBe(join("/xdg", "huggingface", "hub"));
  expect(hubCache({ ...home, HF_HOME: "~/hf" })).toBe(join("/home/me", "hf", "hub"));
  expect(hubCache({ ...home, HF_HOME: "/hf", HF_HUB_CACHE: "/cache" })).toBe("/cache");
  expect(hubCache({ ...home, HUGGINGFACE_HUB_CACHE: "/old" })).toBe("/old");
});

describe("findModel", () => {
  test("a model of the cache by name, by branch and by commit, with weights in shards that are links", async () => {
    const shipped = await readModel(locateShipped("decoder"));
    const files = new Map(modelToFiles(shipped.model, shipped.tokenizer, { dtype: "float32" }));
    // One file of weights with an index is a sharded model.
    files.set("shard-1.safetensors", files.get("model.safetensors") as Uint8Array<ArrayBuffer>);
    files.delete("model.safetensors");
    const names = [...shipped.model.parameters().keys()];
    const index = {
      metadata: {},
      weight_map: Object.fromEntries(names.map((name) => [name, "shard-1.safetensors"])),
    };
    files.set("model.safetensors.index.json", new TextEncoder().encode(JSON.stringify(index)));
    const snapshot = put("org/shards", files);
    for (const name of ["org/shards", "org/shards@main", `org/shards@${COMMIT}`]) {
      const folder = findModel(name, env);
      expect(folder.directory).toBe(snapshot);
      expect(folder.name).toBe("org/shards");
      const model = await readModel(folder.directory, folder);
      expect(model.name).toBe("org/shards");
      expect(model.tokenize("the whale").ids).toEqual(shipped.tokenize("the whale").ids);
    }
  });

  test("the package's own models and folders come first", () => {
    expect(findModel("encoder", env).directory).toBe(locateShipped("encoder"));
    const folder = locateShipped("decoder");
    expect(findModel(folder, env)).toEqual({ directory: folder, name: "decoder", within: folder });
    const named = join(root, "minilm", "model");
    cpSync(folder, named, { recursive: true });
    expect(findModel(named, env).name).toBe("minilm/model");
  });

  test("a missing model is an error with the places searched and what to do", () => {
    const look = (name: string) => () => findModel(name, env);
    expect(look("org/none")).toThrow(UnsupportedError);
    expect(look("org/none")).toThrow(
      `there is no folder org/none, and Hugging Face's cache (${env.HF_HUB_CACHE}) has no org/none; "heed pull org/none" downloads it`,
    );
    put("org/other", new Map());
    expect(look("org/other@v2")).toThrow("has org/other, but not its revision v2");
    expect(look("./none")).toThrow("there is no folder ./none. A model is encoder, decoder or translator");
    expect(look("a/b/c")).toThrow("there is no folder a/b/c");
    expect(look("")).toThrow(OptionError);
  });

  test("a file, and a folder without a model, are errors that say what to do", () => {
    const folder = join(root, "bin");
    mkdirSync(folder);
    writeFileSync(join(folder, "config.json"), "{}");
    expect(() => findModel(join(folder, "config.json"), env)).toThrow(/is a file; .*name the folder/);
    writeFileSync(join(folder, "config.json"), '{"model_type": "swin"}');
    expect(() => findModel(folder, env)).toThrow(
      /\/config\.json: model_type is "swin".*heed capture --python/,
    );
    const bert = {
      vocab_size: 8,
      hidden_size: 4,
      num_hidden_layers: 1,
      num_attention_heads: 1,
      intermediate_size: 4,
      max_position_embeddings: 8,
    };
    writeFileSync(join(folder, "config.json"), JSON.stringify({ model_type: "bert", ...bert }));
    writeFileSync(join(folder, "tf_model.h5"), "");
    expect(() => findModel(folder, env)).toThrow(
      /has no tokenizer\.json, no model\.safetensors; .*this one has config\.json, tf_model\.h5\. .*TensorFlow/,
    );
    writeFileSync(join(folder, "model.onnx"), "");
    expect(() => findModel(folder, env)).toThrow(/has the weights as ONNX only/);
    // Files of earlier versions are enough.
    for (const name of ["pytorch_model.bin", "vocab.txt"]) writeFileSync(join(folder, name), "");
    expect(findModel(folder, env).directory).toBe(folder);
    const empty = join(root, "empty");
    mkdirSync(empty);
    expect(() => findModel(empty, env)).toThrow(/this one has nothing/);
    put("org/half", new Map([["tokenizer.json", new Uint8Array(2)]]));
    expect(() => findModel("org/half", env)).toThrow(/"heed pull org\/half" downloads what is missing/);
  });

  test("a reference to another folder is refused", () => {
    put("org/bad", new Map());
    writeFileSync(join(root, "hub", "models--org--bad", "refs", "main"), "../../../elsewhere");
    expect(() => findModel("org/bad", env)).toThrow(/must hold a commit/);
  });
});

test("the known models are those of the package and of the cache", () => {
  put("org/listed", new Map([["config.json", new TextEncoder().encode("{}")]]));
  const names = knownModels(env);
  expect(names.slice(0, 3)).toEqual(["encoder", "decoder", "translator"]);
  expect(names).toContain("org/listed");
  expect(knownModels({ HF_HUB_CACHE: join(root, "none") })).toEqual(["encoder", "decoder", "translator"]);
  // A cache that cannot be listed: a file in its place.
  writeFileSync(join(root, "file"), "");
  expect(knownModels({ HF_HUB_CACHE: join(root, "file") })).toEqual(["encoder", "decoder", "translator"]);
});
