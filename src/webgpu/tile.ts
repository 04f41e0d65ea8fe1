/** Pieces of text that the kernels of attention and of matrix products share: their entry point, a product of a tile, and its operands. */

/** Rows and keys of a tile. */
export const TILE = 32;

/** A tile of the forward pass: its rows, of 32 keys, and those of a thread, which has 4 keys. */
export interface RowTile {
  readonly rows: 16 | 32 | 64 | 128;
  readonly perThread: 4 | 8;
}

/** The tile of all other kernels. */
export const PORTABLE: RowTile = { rows: TILE, perThread: 4 };

/** Threads of a workgroup: 8 for each group of rows. */
export const threadsOf = ({ rows, perThread }: RowTile): number => (rows / perThread) * 8;

/** Lines, one for each number below n. */
export const each = (n: number, line: (i: number) => string): string =>
  Array.from({ length: n }, (_, i) => line(i)).join("\n");

/** The place of group g of the rows of a thread, in arrays with a vector for each 4 rows of a column or key. */
export const ofThread = (column: string, g: number, { rows, perThread }: RowTile): string =>
  perThread === 4 ? `${column} * ${rows / 4} + ty` : `${column} * ${rows / 4} + ty * ${perThread / 4} + ${g}`;

/**
 * How columns of rows and keys are kept in workgroup memory: as float32, as pairs of 16 bits, or as float16 for matrices of subgroups. The
 * 16 bits are read as words of two columns, and are not converted before they are multiplied.
 */
export type TileStorage = "float32" | "float16" | "bfloat16" | "matrices";

/** Vector `at` of an array of a storage, as float32. */
export const readTile = (storage: TileStorage, array: string, at: string): string => {
  if (storage === "float32") return `${array}[${at}]`;
  return storage === "matrices" ? `get_${array}(${at})` : `wide(${array}[${at}])`;
};

const writeTile = (storage: TileStorage, array: string, at: string, x: string): string =>
  storage === "matrices" ? `put_${array}(${at}, ${x});` : `${array}[${at}] = ${x};`;

/** Loads qs[d · rows/4 + r/4] and ks[d · 8 + j/4]: four rows r and keys j of each of the columns d0 … d0 + 31. */
export const loadSlice = (
  left: (i: string, d: string) => string,
  right: (j: string, d: string) => string,
  tile: RowTile,
  storage: TileStorage,
): string => {
  const { rows } = tile;
  const isWide = storage === "float32";
  const across = isWide ? 32 : 16;
  const head = (n: number) =>
    `for (var r = lid / ${across} * 4; r < ${n}; r += ${(threadsOf(tile) / across) * 4}) {`;
  const load = (array: string, n: number, element: typeof left, first: string) => {
    const four = [0, 1, 2, 3].map((y) => element(`${first} + r + ${y}`, "d0 + d")).join(", ");
    const at = `d * ${n / 4} + r / 4`;
    return isWide
      ? writeTile(storage, array, at, `vec4f(${four})`)
      : `let four = vec4u(${four});
        ${writeTile(storage, array, at, "low(four)")}
        ${writeTile(storage, array, `(d + 1) * ${n / 4} + r / 4`, "high(four)")}`;
  };
  return `let d = lid % ${across}${isWide ? "" : " * 2"};
      ${head(rows)}
        ${load("qs", rows, left, "row0")}
      ${rows === 32 && isWide ? "" : `}\n${head(32)}`}
        ${load("ks", 32, right, "key0")}
      }`;
};

/**
 * A product of the rows of a tile and 32 keys over `length` columns: the rows of a thread, keys tx·4 … tx·4 + 3, in NAME0, NAME1 ….
 * `left(i, d)` and `right(j, d)` are elements of a row and a key, or pairs of them. Needs `row0` and `key0`; qs and ks are overwritten.
 */
export const product = (
  name: string,
  length: string,
  left: (i: string, d: string) => string,
  right: (j: string, d: string) => string,
  tile = PORTABLE,
  storage: TileStorage = "float32",
): string => {
  const { perThread } = tile;
  return `
    ${each(perThread, (y) => `var ${name}${y} = vec4f(0);`)}
    for (var d0 = 0; d0 < ${length}; d0 += 32) {
      workgroupBarrier();
      ${loadSlice(left, right, tile, storage)}
      workgroupBarrier();
      let columns = min(32, ${length} - d0);
      for (var c = 0; c < columns; c++) {
        ${each(perThread / 4, (g) => `let x${g || ""} = ${readTile(storage, "qs", ofThread("c", g, tile))};`)}
        let y = ${readTile(storage, "ks", "c * 8 + tx")};
        ${each(perThread, (y) => `${name}${y} += x${y >> 2 || ""}[${y & 3}] * y;`)}
      }
    }`;
};

/** ks[row · 8 + tx] = columns `first` + tx·4 … of 32 rows; `element(row, e)` is an element of row 0 … 31, or a pair. */
export const loadColumns = (
  first: string,
  element: (row: string, e: string) => string,
  tile = PORTABLE,
  storage: TileStorage = "float32",
): string => {
  const columns = storage === "float32" ? [0, 1, 2, 3] : [0, 2];
  const four = columns.map((x) => element("at / 8", `e + ${x}`)).join(", ");
  return `
    for (var at = lid; at < 256; at += ${threadsOf(tile)}) {
      let e = ${first} + tx * 4;
      ${writeTile(storage, "ks", "at", `${storage === "float32" ? "vec4f" : "vec2u"}(${four})`)}
    }`;
};

/** The types of arrays, and the bytes of an element. */
const BYTES = { vec4f: 16, vec2u: 8, f16: 2, f32: 4, "atomic<u32>": 4 } as const;

/** Arrays of workgroup memory: their types and lengths. */
export type TileArrays = Readonly<Record<string, readonly [type: keyof typeof BYTES, length: number]>>;

/** True where the cells of a tile are stored over the columns of its rows: three arrays of it would not fit 32 KiB. */
export const isShared = ({ rows }: RowTile, storage: TileStorage): boolean =>
  rows > 64 && storage === "float32";

/**
 * The arrays of columns of rows and keys, and of cells, which are float32. Matrices have more: the second parts of the weights, of which the first
 * replace the columns of rows, products, and whether a number was not finite.
 */
export function arraysOf(tile: RowTile, storage: TileStorage = "float32"): TileArrays {
  const cells = TILE * tile.rows;
  const ps = { ps: ["vec4f", cells / 4] } as const;
  if (storage === "matrices")
    return { ...ps, qs: ["f16", cells], ks: ["f16", 1024], rests: ["f16", cells], products: ["f32", cells], wild: ["atomic<u32>", 1] }; // biome-ignore format: a row
  const type = storage === "float32" ? "vec4f" : "vec2u";
  return { qs: [type, cells / 4], ks: [type, 256], ...(!isShared(tile, storage) && ps) };
}

/** Bytes of arrays. */
export const bytesOf = (arrays: TileArrays): number =>
  Object.values(arrays).reduce((sum, [type, length]) => sum + BYTES[type] * length, 0);

/** The declarations of arrays. */
export const declare = (arrays: TileArrays): string =>
  Object.entries(arrays)
    .map(([name, [type, length]]) => `var<workgroup> ${name}: array<${type}, ${length}>;`)
    .join("\n");

/** Workgroup memory of the portable tile. */
export const TILES = declare(arraysOf(PORTABLE));

/** Functions of the tiles of 16 bits: the first and second halves of four words, and four numbers of 16 bits as float32. */
export const halves = (storage: TileStorage): string =>
  storage === "float32"
    ? ""
    : `
fn low(x: vec4u) -> vec2u { return (x.xz & vec2u(0xffffu)) | (x.yw << vec2u(16u)); }
fn high(x: vec4u) -> vec2u { return (x.xz >> vec2u(16u)) | (x.yw & vec2u(0xffff0000u)); }
fn wide(x: vec2u) -> vec4f { return ${storage === "bfloat16" ? "bitcast<vec4f>(vec4u(x.x << 16u, x.x & 0xffff0000u, x.y << 16u, x.y & 0xffff0000u))" : "vec4f(unpack2x16float(x.x), unpack2x16float(x.y))"}; }`;

/**
 * The entry point: a thread has the rows ty·4 … and the keys tx·4 … of the tile `tile` of `tiles` of the head h and batch entry b of
 * `heads`, and the part `part` of the columns. `batch`: how b follows from `head`, where more than b is counted.
 */
export const entry = (
  tiles: string,
  heads: string,
  batch = `head / ${heads}`,
  threads = 64,
  builtins = "",
): string => `
@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) thread: u32${builtins}) {
  let task = workgroupOf(id);
  if (task >= workgroups()) { return; }
  let lid = i32(thread);
  let tx = lid % 8;
  let ty = lid / 8;
  let part = task % parts();
  let tile = task / parts() % ${tiles};
  let head = task / parts() / ${tiles};
  let h = head % ${heads};
  let b = ${batch};`;

/** The first elements of a head of q, k and v. */
export const ORIGINS = `
  let qAt = q_at(b, h);
  let kAt = k_at(b, h / G());
  let vAt = v_at(b, h / G());`;

/** A function `NAMEOf(origin, i, d)`: an element of row i of an operand, from the index of its first element; 0 past the end. */
export const elementOf = (name: string, rows: string, columns: string): string => `
fn ${name}Of(origin: i32, i: i32, d: i32) -> f32 {
  let x = load_${name}(origin + min(i, ${rows} - 1) * ${name}_row() + min(d, ${columns} - 1) * ${name}_column());
  return select(0.0, x, i < ${rows} && d < ${columns});
}
`;

/** A function `NAMEPair(origin, i, d)`: the word of the elements d and d + 1 of row i of an operand of 16 bits; 0 past the end. */
const pairOf = (name: string, rows: string, columns: string): string => `
fn ${name}Pair(origin: i32, i: i32, d: i32) -> u32 {
  let x = word_${name}[(origin + min(i, ${rows} - 1) * ${name}_row() + min(d, ${columns} - 2)) / 2];
  return select(0u, x, i < ${rows} && d < ${columns});
}
`;

/** Pairs of elements of q, k and v. */
export const PAIRS = pairOf("q", "Nq()", "dk()") + pairOf("k", "Nk()", "dk()") + pairOf("v", "Nk()", "dv()");

/** Elements of rows of q and k. */
export const ROWS = elementOf("q", "Nq()", "dk()") + elementOf("k", "Nk()", "dk()");

/** The same of q, k and v. */
export const OPERANDS = ROWS + elementOf("v", "Nk()", "dv()");
