/** NumPy's files of strings, for tests: heed reads them but does not write them. */

/** An npy file of strings, as `numpy.save` writes `numpy.array(["the", "naïve", "𝔸"])` (`kind` U) or its bytes (S). */
export function textNpy(
  texts: readonly string[],
  kind: "U" | "S",
  shape = `(${texts.length},)`,
  order = "<",
): Uint8Array {
  const encoder = new TextEncoder();
  const units = texts.map((text) =>
    kind === "U" ? [...text].map((c) => c.codePointAt(0)!) : [...encoder.encode(text)],
  );
  const width = Math.max(1, ...units.map(({ length }) => length));
  const head = `{'descr': '${kind === "U" ? order : "|"}${kind}${width}', 'fortran_order': False, 'shape': ${shape}, }`;
  const padded = `${head.padEnd(117)}\n`;
  const size = kind === "U" ? 4 : 1;
  const bytes = new Uint8Array(10 + padded.length + texts.length * width * size);
  bytes.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, padded.length, 0]);
  bytes.set(encoder.encode(padded), 10);
  const view = new DataView(bytes.buffer, 10 + padded.length);
  units.forEach((codes, n) => {
    codes.forEach((code, c) => {
      if (kind === "S") view.setUint8(n * width + c, code);
      else view.setUint32(4 * (n * width + c), code, order === "<");
    });
  });
  return bytes;
}
