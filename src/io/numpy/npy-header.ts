/**
 * The header of an npy file (NumPy Enhancement Proposal 1, versions 1.0 to 3.0): magic, version, length, and
 * the literal of a Python dict with exactly the keys `descr`, `fortran_order`, `shape`. NumPy evaluates it with
 * `ast.literal_eval`; here a scanner accepts only this dict.
 */
import { dtypeNamed, ELEMENTS, type FileDType } from "../element.ts";
import { extent, MAX_RANK, quote, type Refuse, utf8 } from "../refuse.ts";

/** The fields of an npy header. */
export interface NpyHeader {
  readonly dtype: FileDType;
  readonly bigEndian: boolean;
  readonly fortran: boolean;
  readonly shape: readonly number[];
  /** Byte at which the data begins. */
  readonly start: number;
  /** Bytes of data the header implies. */
  readonly bytes: number;
}

/** Maximum bytes of a header: the limit of version 1, and more than any array of 64 axes needs. */
const MAX_NPY_HEADER = 65_535;

const MAGIC = "\x93NUMPY";

/** Bytes from the start of the file to its data; undefined where `bytes` is too short to say. */
export function npyHeaderEnd(bytes: Uint8Array, refuse: Refuse): number | undefined {
  for (let i = 0; i < MAGIC.length && i < bytes.length; i++)
    if (bytes[i] !== MAGIC.charCodeAt(i))
      refuse("npy-magic", i, "not an npy file: it does not begin with \\x93NUMPY");
  if (bytes.length < 8) return undefined;
  const [major, minor] = [bytes[6], bytes[7]];
  if (major < 1 || major > 3 || minor !== 0)
    refuse("npy-version", 6, `npy version ${major}.${minor}; 1.0, 2.0 and 3.0 are known`);
  const start = major === 1 ? 10 : 12;
  if (bytes.length < start) return undefined;
  const length =
    bytes[8] + bytes[9] * 0x100 + (major === 1 ? 0 : bytes[10] * 0x10000 + bytes[11] * 0x1000000);
  if (length > MAX_NPY_HEADER)
    refuse("npy-header-size", 8, `a header of ${length} bytes; at most ${MAX_NPY_HEADER} are read`);
  return start + length;
}

/** Reads the header of an npy file that begins at byte 0 of `bytes`. */
export function readNpyHeader(bytes: Uint8Array, refuse: Refuse): NpyHeader {
  const end = npyHeaderEnd(bytes, refuse);
  if (end === undefined || end > bytes.length)
    refuse("npy-truncated", bytes.length, `the file ends inside its header${end ? ` of ${end} bytes` : ""}`);
  const from = bytes[6] === 1 ? 10 : 12;
  const { descr, fortran, shape } = scanDict(bytes.subarray(from, end), from, refuse);
  const { dtype, bigEndian } = readDescr(descr.text, descr.at, refuse);
  const size = extent(shape.axes, ELEMENTS[dtype].bytes);
  if (size === undefined)
    refuse("npy-size", shape.at, `shape [${shape.axes.join(", ")}] of ${dtype} is more than 2^53 bytes`);
  return { dtype, bigEndian, fortran, shape: shape.axes, start: end, bytes: size };
}

/** The dtype a `descr` such as `<f4` names. */
function readDescr(descr: string, at: number, refuse: Refuse): { dtype: FileDType; bigEndian: boolean } {
  if (/^[<>|=]?O/.test(descr))
    refuse("npy-object", at, "an object array holds pickled Python; it is never read");
  const match = /^([<>|])([a-z]\d+)$/.exec(descr);
  const dtype = match ? dtypeNamed("npy", match[2]) : undefined;
  if (dtype === undefined || (match?.[1] === "|" && ELEMENTS[dtype].bytes > 1))
    refuse(
      "npy-dtype",
      at,
      `dtype ${quote(descr)}; expected < > or | and one of b1, i1 … i8, u1 … u8, f2, f4, f8`,
    );
  return { dtype, bigEndian: match?.[1] === ">" };
}

interface Dict {
  descr: { text: string; at: number };
  fortran: boolean;
  shape: { axes: number[]; at: number };
}

/** Scans `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`. `base` is where `bytes` begins in the file. */
export function scanDict(bytes: Uint8Array, base: number, refuse: Refuse): Dict {
  const text = utf8(bytes) ?? "";
  // Only ASCII may appear, and then characters and bytes are the same.
  const notAscii = bytes.findIndex((b) => b >= 0x7f);
  if (notAscii >= 0) refuse("npy-header", base + notAscii, "a byte that is not ASCII in the header");
  let at = 0;
  const bad = (expected: string): never =>
    refuse("npy-header", base + at, `expected ${expected}, got ${quote(text.slice(at, at + 12))}`);
  const space = () => {
    while (text[at] === " " || text[at] === "\n" || text[at] === "\t") at++;
  };
  const accept = (token: string) => {
    space();
    if (!text.startsWith(token, at)) bad(token);
    at += token.length;
  };
  const takeIf = (token: string): boolean => {
    space();
    if (!text.startsWith(token, at)) return false;
    at += token.length;
    return true;
  };
  const string = (): string => {
    space();
    const mark = text[at];
    if (mark !== "'" && mark !== '"') bad("a quoted string");
    const end = text.indexOf(mark, at + 1);
    const inner = end < 0 ? "\\" : text.slice(at + 1, end);
    if (/[\\\n]/.test(inner)) bad("a quoted string on one line, without a backslash");
    at = end + 1;
    return inner;
  };
  const integer = (): number => {
    space();
    const start = at;
    while (text[at] >= "0" && text[at] <= "9") at++;
    const digits = text.slice(start, at);
    if (!/^(0|[1-9]\d{0,15})$/.test(digits) || !Number.isSafeInteger(Number(digits))) {
      at = start;
      bad("an integer from 0 to 2^53");
    }
    if (text[at] === "L") at++; // The suffix of a long integer in Python 2.
    return Number(digits);
  };
  const tuple = (): number[] => {
    const axes: number[] = [];
    accept("(");
    while (!takeIf(")")) {
      if (axes.length === MAX_RANK) bad(`at most ${MAX_RANK} axes`);
      axes.push(integer());
      if (takeIf(",")) continue;
      if (axes.length === 1) bad('"," after the only axis of a tuple');
      accept(")");
      break;
    }
    return axes;
  };

  const dict: Partial<Dict> = {};
  accept("{");
  while (!takeIf("}")) {
    space();
    const start = at;
    const key = string();
    const name = key === "fortran_order" ? "fortran" : key;
    if (name in dict) refuse("npy-header", base + start, `the key ${quote(key)} appears twice`);
    accept(":");
    space();
    const valueAt = base + at;
    if (key === "descr") {
      if (text[at] === "[") refuse("npy-dtype", valueAt, "a structured array; only plain numbers are read");
      dict.descr = { text: string(), at: valueAt };
    } else if (key === "fortran_order") {
      dict.fortran = takeIf("True");
      if (!dict.fortran) accept("False");
    } else if (key === "shape") dict.shape = { axes: tuple(), at: valueAt };
    else refuse("npy-header", base + start, `the key ${quote(key)}; expected descr, fortran_order, shape`);
    if (takeIf(",")) continue;
    accept("}");
    break;
  }
  space();
  if (at < text.length) bad("the end of the header");
  const { descr, fortran, shape } = dict;
  if (descr === undefined || fortran === undefined || shape === undefined)
    return refuse("npy-header", base, "the header needs descr, fortran_order and shape");
  return { descr, fortran, shape };
}
