/** `heed/io`: tensors in files. npy, npz and safetensors, over bytes, lazily, and saved whole or not at all. */
export type { FileData, FileDType, FileTensor, NamedTensors } from "./element.ts";
export { readNpy, writeNpy } from "./npy.ts";
export { readNpz, type WriteNpzOptions, writeNpz } from "./npz.ts";
export { type OpenOptions, openSafetensors, type ReadOptions, type SafetensorsFile } from "./open.ts";
export { type PngOptions, type PngWriter, writePng } from "./png.ts";
export {
  readSafetensors,
  type Safetensors,
  type WriteSafetensorsOptions,
  writeSafetensors,
} from "./safetensors.ts";
export type { TensorInfo } from "./safetensors-header.ts";
export { type Contents, saveFile } from "./save.ts";
export type { ByteSource, Handle, SourceLike } from "./source.ts";
