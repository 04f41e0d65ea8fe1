/** GGUF files, read in part: the header immediately, a tensor or some of its rows on request, unpacked to float32. */
import { checkCount, checkMethods, UnsupportedError } from "../../core/errors.ts";
import { Tensor } from "../../core/tensor.ts";
import { ELEMENTS, type FileTensor, fromBytes } from "../element.ts";
import { parseStart } from "../growing.ts";
import { MAX_BYTES, type SizeLimit, sizeLimit } from "../limit.ts";
import { refuser } from "../refuse.ts";
import { openSource, type SourceLike } from "../source.ts";
import { type SafetensorsFile, tensorFile } from "../tensor-file.ts";
import { type GgufHeader, readGgufHeader } from "./header.ts";

const WHAT = "openGguf";
/** Largest header that is read: the tokenizer is in it. */
const MAX_HEADER = 2 ** 28;
/** Bytes of blocks that are unpacked at a time. */
const SLICE = 2 ** 20;

/** A GGUF file: tensors as in safetensors, and the values of its header by key. */
export interface GgufFile extends SafetensorsFile {
  readonly values: GgufHeader["values"];
  /** How each tensor is stored: "Q4_K", "float16" … */
  storage(name: string): string;
}

/**
 * Opens a GGUF file: a path, a file handle, a Blob, bytes, or `{ size, read }`. Tensors of F32, F16 and BF16 are read as they are;
 * Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K and Q6_K are unpacked to float32.
 *
 * @throws FormatError for a malformed file, or a kind of numbers that heed does not have; UnsupportedError beyond `maxBytes`
 * @example
 * const file = await openGguf("model-Q4_K_M.gguf");
 * file.values.get("general.architecture"); // "llama"
 * await file.close();
 */
export async function openGguf(from: SourceLike, options: SizeLimit = {}): Promise<GgufFile> {
  checkCount("openGguf", arguments, 2);
  const maxBytes = sizeLimit(WHAT, options, MAX_BYTES);
  const source = await openSource(WHAT, from);
  try {
    const refuse = refuser(WHAT);
    const { values, tensors } = await parseStart(WHAT, "its header", source, MAX_HEADER, (bytes) =>
      readGgufHeader(bytes, source.size, refuse),
    );
    if ((values.get("split.count") ?? 1) !== 1)
      throw new UnsupportedError(
        "gguf-split",
        `${WHAT}: the file is part of a model in ${values.get("split.count")} files; join them with "llama-gguf-split --merge"`,
        { count: values.get("split.count") as number },
      );
    const file = tensorFile(
      WHAT,
      { tensors },
      maxBytes,
      async (_, { dtype, start, block }, { shape, first: from, count }, into): Promise<FileTensor> => {
        if (!block) {
          const width = ELEMENTS[dtype].bytes;
          return fromBytes(dtype, shape, await source.read(start + from * width, count * width, into));
        }
        // Blocks lie within rows; of a tensor of one axis the numbers asked for may begin inside one.
        const [head, tail] = [Math.floor(from / block.length), Math.ceil((from + count) / block.length)];
        const out = new Float32Array((tail - head) * block.length);
        const step = Math.max(1, Math.floor(SLICE / block.bytes));
        for (let n = head; n < tail; n += step) {
          const blocks = Math.min(step, tail - n);
          const bytes = await source.read(start + n * block.bytes, blocks * block.bytes, into);
          const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
          for (let i = 0; i < blocks; i++)
            block.unpack(view, i * block.bytes, out, (n - head + i) * block.length);
        }
        const skipped = from - head * block.length;
        const numbers = out.length === count ? out : out.slice(skipped, skipped + count);
        return new Tensor(numbers, shape, "float32") as FileTensor;
      },
      () => source.close(),
    );
    const storage = (name: string) => tensors.get(name)?.block?.name ?? tensors.get(name)?.dtype ?? "";
    return { ...file, values, ...checkMethods(WHAT, { storage }, { storage: 1 }) };
  } catch (error) {
    await source.close();
    throw error;
  }
}
