/**
 * A PDF file (ISO 32000-1, version 1.4) from numbered objects: catalog, one page, its content, fonts, pictures. Streams are
 * deflated by heed's own compressor, so the same figure gives the same bytes everywhere.
 */
import { deflater } from "../../io/archive/compress.ts";
import { FONTS } from "./fonts.ts";

/** A picture on the page: bytes of an image stream and the entries of its dictionary. */
export interface Picture {
  readonly entries: string;
  readonly data: Uint8Array;
  /** A grayscale picture of the same size that says how opaque each pixel is. */
  readonly mask?: { readonly entries: string; readonly data: Uint8Array };
}

/** A page ready to write. Lengths in points. */
export interface PdfPage {
  readonly width: number;
  readonly height: number;
  readonly content: string;
  readonly pictures: readonly Picture[];
  /** Opacities that the content uses as G0, G1 …: for lines and fills alike. */
  readonly opacities: readonly number[];
  readonly title: string;
  readonly description: string;
}

/** Bytes as a zlib stream (RFC 1950), which is what FlateDecode reads. */
export function zlib(bytes: Uint8Array): Uint8Array {
  const body = deflater();
  body.push(bytes);
  const packed = body.finish();
  let [a, b] = [1, 0];
  for (let at = 0; at < bytes.length; ) {
    for (const end = Math.min(bytes.length, at + 3800); at < end; at++) b += a += bytes[at];
    a %= 65_521;
    b %= 65_521;
  }
  const out = new Uint8Array(packed.length + 6);
  out.set([0x78, 0x9c]);
  out.set(packed, 2);
  out.set([b >> 8, b & 255, a >> 8, a & 255], packed.length + 2);
  return out;
}

/** The file. */
export function writePdf(page: PdfPage): Uint8Array {
  const latin = (text: string) => Uint8Array.from(text, (c) => c.charCodeAt(0) & 255);
  const parts: Uint8Array[] = [latin("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")];
  let length = parts[0].length;
  const offsets: number[] = [];
  const add = (bytes: Uint8Array) => {
    parts.push(bytes);
    length += bytes.length;
  };
  const object = (number: number, body: string, stream?: Uint8Array) => {
    offsets[number] = length;
    add(latin(`${number} 0 obj\n`));
    if (stream === undefined) add(latin(`${body}\nendobj\n`));
    else {
      add(latin(`<< ${body} /Length ${stream.length} >>\nstream\n`));
      add(stream);
      add(latin("\nendstream\nendobj\n"));
    }
  };
  // 1 catalog, 2 pages, 3 page, 4 content, 5 information, then fonts, opacities in the page, pictures and their masks.
  const fonts = Object.entries(FONTS);
  const firstPicture = 6 + fonts.length;
  const place = (n: number) => firstPicture + 2 * n;
  const resources = [
    `/Font << ${fonts.map(([name], n) => `/${name} ${6 + n} 0 R`).join(" ")} >>`,
    page.pictures.length > 0
      ? `/XObject << ${page.pictures.map((_, n) => `/P${n} ${place(n)} 0 R`).join(" ")} >>`
      : "",
    page.opacities.length > 0
      ? `/ExtGState << ${page.opacities.map((x, n) => `/G${n} << /CA ${x} /ca ${x} >>`).join(" ")} >>`
      : "",
  ].join(" ");
  object(1, `<< /Type /Catalog /Pages 2 0 R /Lang (en) /ViewerPreferences << /DisplayDocTitle true >> >>`);
  object(2, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>");
  object(
    3,
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${page.width} ${page.height}] /Contents 4 0 R /Resources << ${resources} >> >>`,
  );
  object(4, "/Filter /FlateDecode", zlib(latin(page.content)));
  object(5, `<< /Title ${utf16(page.title)} /Subject ${utf16(page.description)} /Producer (heed) >>`);
  fonts.forEach(([, name], n) => {
    const encoding = name === "Symbol" ? "" : " /Encoding /WinAnsiEncoding";
    object(6 + n, `<< /Type /Font /Subtype /Type1 /BaseFont /${name}${encoding} >>`);
  });
  page.pictures.forEach(({ entries, data, mask }, n) => {
    const masked = mask ? ` /SMask ${place(n) + 1} 0 R` : "";
    object(place(n), `/Type /XObject /Subtype /Image ${entries}${masked}`, data);
    object(place(n) + 1, mask ? `/Type /XObject /Subtype /Image ${mask.entries}` : "null", mask?.data);
  });
  const start = length;
  const rows = offsets.slice(1).map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`);
  add(latin(`xref\n0 ${offsets.length}\n0000000000 65535 f \n${rows.join("")}`));
  add(latin(`trailer\n<< /Size ${offsets.length} /Root 1 0 R /Info 5 0 R >>\nstartxref\n${start}\n%%EOF\n`));
  const file = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    file.set(part, at);
    at += part.length;
  }
  return file;
}

/** A text as PDF's UTF-16 with its byte order mark. */
function utf16(text: string): string {
  const units = Array.from({ length: text.length }, (_, n) =>
    text.charCodeAt(n).toString(16).padStart(4, "0"),
  );
  return `<feff${units.join("")}>`;
}
