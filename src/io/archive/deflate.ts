/**
 * DEFLATE (RFC 1951) through the platform's own streams, which Node and browsers share, with a hard cap on
 * what comes out; and the CRC-32 that zip files carry. Input goes in small pieces, so a bomb is noticed after
 * at most one piece more than the cap.
 */
import { UnsupportedError } from "../../core/errors.ts";

/** DEFLATE cannot expand a byte into more than this many: 258 bytes of output take at least 2 bits. */
export const MAX_EXPANSION = 1032;

const PIECE = 16_384;

/** The inflated pieces of `packed`. Throws what the platform throws where the data is broken. */
export function inflate(packed: Uint8Array): AsyncGenerator<Uint8Array> {
  return through(packed, stream("DecompressionStream"));
}

/** `bytes`, deflated. The result may differ between engines, as their zlib does. */
export async function deflate(bytes: Uint8Array): Promise<Uint8Array[]> {
  const out: Uint8Array[] = [];
  for await (const piece of through(bytes, stream("CompressionStream"))) out.push(piece);
  return out;
}

function stream(name: "DecompressionStream" | "CompressionStream"): DecompressionStream | CompressionStream {
  try {
    return new globalThis[name]("deflate-raw");
  } catch {
    throw new UnsupportedError("deflate", `this engine has no ${name} for deflate-raw; stored members work`);
  }
}

async function* through(
  bytes: Uint8Array,
  transform: DecompressionStream | CompressionStream,
): AsyncGenerator<Uint8Array> {
  let at = 0;
  const source = new ReadableStream<BufferSource>(
    {
      pull(controller) {
        if (at >= bytes.length) return controller.close();
        // A copy: the stream may keep the piece, and refuses shared memory.
        controller.enqueue(bytes.slice(at, (at += PIECE)));
      },
    },
    { highWaterMark: 0 },
  );
  const reader = source.pipeThrough(transform as ReadableWritablePair<Uint8Array, BufferSource>).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {}); // Already failed or finished: nothing is left to stop.
  }
}

/** CRC-32 (polynomial 0xEDB88320, as in zip and PNG); continues from `crc`. Eight bytes a step, as in zlib's slicing by 8. */
export function crc32(bytes: Uint8Array, crc = 0): number {
  const [T0, T1, T2, T3, T4, T5, T6, T7] = TABLES;
  const { length } = bytes;
  let c = ~crc;
  let i = 0;
  for (; i + 8 <= length; i += 8) {
    c ^= bytes[i] | (bytes[i + 1] << 8) | (bytes[i + 2] << 16) | (bytes[i + 3] << 24);
    c =
      T7[c & 255] ^
      T6[(c >>> 8) & 255] ^
      T5[(c >>> 16) & 255] ^
      T4[c >>> 24] ^
      T3[bytes[i + 4]] ^
      T2[bytes[i + 5]] ^
      T1[bytes[i + 6]] ^
      T0[bytes[i + 7]];
  }
  for (; i < length; i++) c = T0[(c ^ bytes[i]) & 255] ^ (c >>> 8);
  return ~c >>> 0;
}

/** `TABLES[z][n]`: the CRC of byte n followed by z zeros. */
const TABLES: readonly Int32Array[] = /* @__PURE__ */ (() => {
  const tables = Array.from({ length: 8 }, () => new Int32Array(256));
  for (let n = 0; n < 256; n++) {
    let c = n;
    for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
    tables[0][n] = c;
  }
  for (let z = 1; z < 8; z++)
    for (let n = 0; n < 256; n++) {
      const c = tables[z - 1][n];
      tables[z][n] = tables[0][c & 255] ^ (c >>> 8);
    }
  return tables;
})();
