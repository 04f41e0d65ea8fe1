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
 * A product of the rows of a tile and 32 keys over `length` columns: the rows of a thread, keys tx·4 … tx·4 + 3, in NAME0, NAME1 ….
 * `left(i, d)` and `right(j, d)` are elements of a row and a key. Needs `row0` and `key0`; qs and ks are overwritten.
 */
export const product = (
  name: string,
  length: string,
  left: (i: string, d: string) => string,
  right: (j: string, d: string) => string,
  tile = PORTABLE,
): string => {
  const { rows, perThread } = tile;
  const fours = rows / 4;
  const step = threadsOf(tile) / 8;
  const head = (n: number) => `for (var r = lid / 32 * 4; r < ${n}; r += ${step}) {`;
  const groups = perThread / 4;
  const loadRows = `qs[d * ${fours} + r / 4] = vec4f(${[0, 1, 2, 3].map((y) => left(`row0 + r + ${y}`, "d0 + d")).join(", ")});`;
  const loadKeys = `ks[d * 8 + r / 4] = vec4f(${[0, 1, 2, 3].map((y) => right(`key0 + r + ${y}`, "d0 + d")).join(", ")});`;
  return `
    ${each(perThread, (y) => `var ${name}${y} = vec4f(0);`)}
    for (var d0 = 0; d0 < ${length}; d0 += 32) {
      workgroupBarrier();
      let d = lid % 32;
      ${head(rows)}
        ${loadRows}
      ${rows === 32 ? "" : `}\n${head(32)}`}
        ${loadKeys}
      }
      workgroupBarrier();
      let columns = min(32, ${length} - d0);
      for (var c = 0; c < columns; c++) {
        ${each(groups, (g) => `let x${g || ""} = qs[${ofThread("c", g, tile)}];`)}
        let y = ks[c * 8 + tx];
        ${each(perThread, (y) => `${name}${y} += x${y >> 2 || ""}[${y & 3}] * y;`)}
      }
    }`;
};

/** ks[row · 8 + tx] = columns `first` + tx·4 … of 32 rows; `element(row, e)` is an element of row 0 … 31. */
export const loadColumns = (
  first: string,
  element: (row: string, e: string) => string,
  tile = PORTABLE,
): string => `
    for (var at = lid; at < 256; at += ${threadsOf(tile)}) {
      let e = ${first} + tx * 4;
      ks[at] = vec4f(${[0, 1, 2, 3].map((x) => element("at / 8", `e + ${x}`)).join(", ")});
    }`;

/** True where the cells of a tile are stored over the columns of its rows: three arrays of it would not fit 32 KiB. */
export const isShared = ({ rows }: RowTile): boolean => rows > 64;

/** Vectors of each array in workgroup memory: columns of its rows and keys, and its cells. */
export const arraysOf = (tile: RowTile): Readonly<Record<string, number>> => ({
  qs: 8 * tile.rows,
  ks: 256,
  ...(!isShared(tile) && { ps: 8 * tile.rows }),
});

/** The declarations of arrays of vectors. */
export const declare = (arrays: Readonly<Record<string, number>>): string =>
  Object.entries(arrays)
    .map(([name, length]) => `var<workgroup> ${name}: array<vec4f, ${length}>;`)
    .join("\n");

/** Workgroup memory of the portable tile. */
export const TILES = declare(arraysOf(PORTABLE));

/**
 * The entry point: a thread has the rows ty·4 … and the keys tx·4 … of the tile `tile` of `tiles` of the head h and batch entry b of
 * `heads`, and the part `part` of the columns. `batch`: how b follows from `head`, where more than b is counted.
 */
export const entry = (tiles: string, heads: string, batch = `head / ${heads}`, threads = 64): string => `
@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) thread: u32) {
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

/** Elements of rows of q and k. */
export const ROWS = elementOf("q", "Nq()", "dk()") + elementOf("k", "Nk()", "dk()");

/** The same of q, k and v. */
export const OPERANDS = ROWS + elementOf("v", "Nk()", "dv()");
