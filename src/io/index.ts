/**
 * Tensors in files: npy, npz and safetensors, from bytes or read in part; files are written atomically.
 * @module
 */

// Safetensors in memory

export {
  readSafetensors,
  type Safetensors,
  type WriteSafetensorsOptions,
  writeSafetensors,
} from "./safetensors/safetensors.ts";

// Safetensors read in part

export type { TensorInfo } from "./safetensors/header.ts";
export { type OpenOptions, openSafetensors } from "./safetensors/open.ts";
export type { ReadOptions, SafetensorsFile } from "./tensor-file.ts";

// Files of other programs: GGUF, and checkpoints of PyTorch

export type { GgufValue } from "./gguf/header.ts";
export { type GgufFile, openGguf } from "./gguf/open.ts";
export { openTorch } from "./torch/open.ts";

// NumPy's files

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

// Elements of files, where bytes come from and go to, and pictures

export type { FileData, FileDType, FileTensor, NamedTensors } from "./element.ts";
export { type Contents, saveFile } from "./filesystem/save.ts";
export type { SizeLimit } from "./limit.ts";
export { type PngOptions, type PngWriter, writePng } from "./png.ts";
export { type Pixels, readPng } from "./read-png.ts";
export type { ByteSource, Handle, SourceLike } from "./source.ts";
