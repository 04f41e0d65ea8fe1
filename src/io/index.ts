/**
 * Tensors in files: npy, npz and safetensors, from bytes or read in part; files are written atomically.
 * @module
 */

// The formats

export type { FileData, FileDType, FileTensor, NamedTensors } from "./element.ts";
export { readNpy, writeNpy } from "./numpy/npy.ts";
export {
  type NpzEntry,
  type NpzFile,
  openNpz,
  type ReadNpzOptions,
  readNpz,
  type WriteNpzOptions,
  writeNpz,
} from "./numpy/npz.ts";
export type { TensorInfo } from "./safetensors/header.ts";
export {
  type OpenOptions,
  openSafetensors,
  type ReadOptions,
  type SafetensorsFile,
} from "./safetensors/open.ts";
export {
  readSafetensors,
  type Safetensors,
  type WriteSafetensorsOptions,
  writeSafetensors,
} from "./safetensors/safetensors.ts";

// Where bytes come from and go to, and pictures

export { type Contents, saveFile } from "./filesystem/save.ts";
export type { SizeLimit } from "./limit.ts";
export { type PngOptions, type PngWriter, writePng } from "./png.ts";
export type { ByteSource, Handle, SourceLike } from "./source.ts";
