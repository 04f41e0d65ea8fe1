/**
 * Figures against the store they show: the colors of cells are the table's colors of the store's numbers, masked cells
 * are hatched, what a figure shows is said below it, and the same options give the same bytes.
 */
import { createHash } from "node:crypto";
import { inflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { DEFAULT } from "../../explorer/state/state.ts";
import { storeFrom } from "../../src/store/layout/from.ts";
import { codeOf, signedCodeOf } from "../../src/store/measures/transfer.ts";
import { colorTable, hex } from "../../src/view/color.ts";
import {
  csvLines,
  figureOptions,
  figureTable,
  jsonLines,
  renderFigure,
  renderRaster,
} from "../../src/view/figure/index.ts";
import { random } from "../support/cases/random.ts";
import { madeStore } from "./support/stores.ts";

const REF = { block: 0, layer: 0, head: 0 };

/** The fill of every cell of a vector matrix, by "row column". */
function fillsOf(svg: string): Map<string, string> {
  const fills = new Map<string, string>();
  for (const [, fill, d] of svg.matchAll(/<path fill="([^"]+)" d="(M[^"]+z)"\/>/g))
    for (const [, j, i, wide] of d.matchAll(/M(\d+) (\d+)h([\d.]+)v[\d.]+h-[\d.]+z/g))
      for (let n = 0; n < Math.round(Number(wide)); n++) fills.set(`${i} ${Number(j) + n}`, fill);
  return fills;
}

/** Width, height and colors of a PNG with a palette or with RGBA, row by row; transparent pixels are "". */
function pixelsOf(png: Uint8Array): string[][] {
  const bytes = Buffer.from(png);
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < bytes.length; at += 12 + bytes.readUInt32BE(at))
    chunks.set(
      bytes.toString("latin1", at + 4, at + 8),
      bytes.subarray(at + 8, at + 8 + bytes.readUInt32BE(at)),
    );
  const header = chunks.get("IHDR")!;
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const data = inflateSync(chunks.get("IDAT")!);
  const [palette, alpha] = [chunks.get("PLTE"), chunks.get("tRNS")];
  const size = palette ? 1 : 4;
  const color = (x: number, y: number) => {
    const at = y * (1 + width * size) + 1 + x * size;
    if (palette) {
      const n = data[at];
      return alpha && alpha[n] === 0 ? "" : `#${palette.toString("hex", 3 * n, 3 * n + 3)}`;
    }
    return data[at + 3] === 0 ? "" : `#${data.toString("hex", at, at + 3)}`;
  };
  return Array.from({ length: height }, (_, y) => Array.from({ length: width }, (_, x) => color(x, y)));
}

/** The pictures inside a figure. */
const picturesOf = (svg: string) =>
  [...svg.matchAll(/href="data:image\/png;base64,([^"]+)"/g)].map(([, text]) =>
    pixelsOf(Buffer.from(text, "base64")),
  );

/** The text of a figure, tags taken away. */
const saidIn = (svg: string) => svg.replace(/<[^>]+>/g, " ").replace(/\s+/g, " ");

describe("a matrix", () => {
  it("every cell has the color of its weight, masked ones are hatched, over random heads, transfers and sizes", async () => {
    const draw = random(11);
    for (let n = 0; n < 24; n++) {
      const [Nq, Nk] = [draw.size(60), draw.size(60)];
      const recipe = draw.pick([
        { mask: "causal" },
        {},
        { mask: { window: 3, causal: false } },
        { keyLengths: 2 },
      ] as const);
      const store = madeStore({ Nq, Nk, seed: n, recipe, layers: 1, heads: 1 });
      const transfer = draw.pick(["sqrt", "linear", "log"] as const);
      const stage = draw.pick(["weights", "contribution", "masked", "scaled", "scores"] as const);
      const theme = draw.pick(["light", "dark"] as const);
      const { svg } = await renderFigure(store, { transfer, stage, theme });
      const fills = fillsOf(svg);
      expect(fills.size).toBe(Nq * Nk);
      const signed = stage !== "weights" && stage !== "contribution";
      const table = colorTable(
        signed ? (theme === "dark" ? "signed-dark" : "signed") : theme === "dark" ? "plum-dark" : "plum",
      );
      const [low, high] = stage === "weights" ? [0, 1] : await store.range(REF, stage);
      const domain = Math.max(Math.abs(low), Math.abs(high));
      for (let i = 0; i < Nq; i++) {
        const [row, visible] = [store.row(REF, i, stage), store.visible(REF, i)];
        for (let j = 0; j < Nk; j++) {
          const masked = visible[j] === 0 && stage !== "scores" && stage !== "scaled";
          const code = signed ? signedCodeOf(row[j], domain) : codeOf(row[j], transfer, domain);
          const fill = fills.get(`${i} ${j}`);
          if (masked) expect(fill).toMatch(/^url\(#heed-masked/);
          else expect(fill, `${stage} ${transfer} ${i} ${j}: ${row[j]}`).toBe(hex(table[code]));
        }
      }
    }
  });

  it("beyond 128 tokens is one picture with a pixel a cell, in the same colors", async () => {
    for (const [input, options] of [
      [{ Nq: 150, Nk: 150 }, {}],
      [
        { Nq: 20, Nk: 200, recipe: {} },
        { ramp: "cividis", hide: "first" },
      ],
      [{ Nq: 140, Nk: 140 }, { stage: "masked" }],
      [
        { Nq: 200, Nk: 30, recipe: {} },
        { theme: "dark", domain: "row" },
      ],
    ] as const) {
      const store = madeStore({ ...input, layers: 1, heads: 1 });
      const { svg } = await renderFigure(store, options);
      const [pixels] = picturesOf(svg);
      const { stage = "weights", domain, ramp, theme } = options as Record<string, string>;
      expect([pixels.length, pixels[0].length]).toEqual([input.Nq, input.Nk]);
      const table = colorTable(
        stage === "masked" ? "signed" : ramp === "cividis" ? "cividis" : theme ? "plum-dark" : "plum",
      );
      const range = await store.range(REF, "masked");
      for (let i = 0; i < input.Nq; i += 7) {
        const [row, visible] = [store.row(REF, i, stage as "weights"), store.visible(REF, i)];
        for (let j = 0; j < input.Nk; j++) {
          if (ramp === "cividis" && j === 0) {
            expect(pixels[i][j]).toBe("#e4e1d8");
            continue;
          }
          const full = domain === "row" ? Math.max(...row) : 1;
          const code =
            stage === "masked"
              ? signedCodeOf(row[j], Math.max(-range[0], range[1]))
              : codeOf(row[j], "sqrt", full);
          expect(pixels[i][j], `${i} ${j}`).toBe(visible[j] === 1 ? hex(table[code]) : "");
        }
      }
      expect(svg.includes("heed-masked")).toBe(!("recipe" in input));
    }
  });

  it("prints numbers where they are wanted and fit, and names every cell of a small one", async () => {
    const store = madeStore({ tokens: ["sat", 'a<b>&"c', "sat"], Nq: 3 });
    const { svg } = await renderFigure(store, { values: true, query: 1, key: 0 });
    const weight = store.cell(REF, 1, 0, "weights");
    expect(saidIn(svg)).toContain(` ${weight.toFixed(2).replace(/^0/, "")} `);
    expect(svg).toContain("<title>a&lt;b&gt;&amp;&quot;c to sat ");
    expect(svg).toContain("<title>sat₂ to ");
    expect(svg).toContain("sat₂ masked</title>");
    expect((await renderFigure(store, { query: 0, key: 1 })).alt).toMatch(
      /The chosen cell: sat to .*, masked\.$/,
    );
  });

  it("hides keys, and leaves a gap or divides by what is left", async () => {
    const tokens = ["[CLS]", "cat", "sat", "[SEP]"];
    const store = madeStore({ tokens, Nq: 4, recipe: {}, layers: 1, heads: 1 });
    const { columns, rows } = await figureTable(store, { hide: "special", renormalize: true });
    expect(columns).toEqual(["query", ...tokens]);
    for (const [, first, second, third, last] of rows) {
      expect([first, last]).toEqual(["hidden", "hidden"]);
      expect(Number(second) + Number(third)).toBeCloseTo(1, 12);
    }
    const gaps = await renderFigure(store, { hide: "special" });
    expect(gaps.caption).toContain("special tokens hidden (2 keys), gaps left");
    expect([...fillsOf(gaps.svg)].filter(([, fill]) => fill === "#e4e1d8").map(([at]) => at)).toEqual(
      expect.arrayContaining(["0 0", "3 3"]),
    );
    const chosen = await renderFigure(store, { hide: "chosen", hidden: [1, 2, 3], renormalize: true });
    expect(chosen.caption).toContain("chosen tokens hidden (3 keys), rows renormalized");
  });

  it("shows the requested segments, and no others", async () => {
    const segments = [
      { name: "A", query: [0, 3], key: [0, 3] },
      { name: "B", query: [3, 8], key: [3, 8] },
    ] as const;
    const store = madeStore({ Nq: 8, recipe: {}, segments });
    const { columns, rows } = await figureTable(store, { querySegments: [0], keySegments: [1] });
    expect(columns).toEqual(["query", "t3", "t4", "t5", "t6", "t7"]);
    expect([...rows].map(([token]) => token)).toEqual(["t0", "t1", "t2"]);
  });

  it("draws nothing for no tokens, one token, and fully masked rows", async () => {
    for (const input of [{ Nq: 1 }, { Nq: 3, Nk: 1, recipe: { keyLengths: 0 } }])
      for (const view of ["matrix", "lines", "text", "atlas", "row"] as const)
        expect((await renderFigure(madeStore(input), { view })).svg).toMatch(/^<svg [^>]+>[\s\S]*<\/svg>\n$/);
  });
});

describe("the other views", () => {
  it("lines keep the strongest keys, or a share of the mass, and say what that leaves out", async () => {
    const store = madeStore({ Nq: 12, layers: 1, heads: 1 });
    const top = await figureTable(store, { view: "lines", top: 2 });
    const edges = [...top.rows];
    expect(edges.length).toBe(1 + 2 * 11);
    for (const [i, , j, , weight] of edges) {
      const row = store.row(REF, Number(i), "weights");
      expect(weight).toBe(row[Number(j)]);
      expect([...row].filter((other) => other > Number(weight)).length).toBeLessThan(2);
    }
    const sum = edges.reduce((total, edge) => total + Number(edge[4]), 0) / 12;
    const { caption, svg } = await renderFigure(store, { view: "lines", top: 2 });
    expect(caption).toContain(
      `the 2 strongest keys of each query: 23 of 78 links, ${Math.round(100 * sum)}\u202f% of all attention`,
    );
    expect(svg.match(/<path d="M[\d.]+ [\d.]+C/g)?.length).toBe(23);
    const mass = await figureTable(store, { view: "lines", keep: "mass", mass: 0.9 });
    const shares = new Map<number, number>();
    for (const [i, , , , weight] of mass.rows)
      shares.set(Number(i), (shares.get(Number(i)) ?? 0) + Number(weight));
    for (const [, share] of shares) expect(share).toBeGreaterThanOrEqual(0.9);
  });

  it("text reads from queries and to keys, several by mean, sum and maximum", async () => {
    const store = madeStore({ Nq: 6, layers: 1, heads: 1 });
    const rows = [2, 4].map((i) => store.row(REF, i, "weights"));
    const read = async (options: object) =>
      [...(await figureTable(store, { view: "text", ...options })).rows].map(([, , value]) => value);
    expect(await read({ query: 3 })).toEqual([
      ...store.row(REF, 3, "weights").slice(0, 4),
      "masked",
      "masked",
    ]);
    expect(await read({ rows: [2, 4], aggregate: "sum" })).toEqual(
      [0, 1, 2, 3, 4].map((j) => rows[0][j] + rows[1][j]).concat("masked" as never),
    );
    expect(await read({ rows: [2, 4], aggregate: "max" })).toEqual(
      [0, 1, 2, 3, 4].map((j) => Math.max(rows[0][j], rows[1][j])).concat("masked" as never),
    );
    expect((await read({ rows: [2, 4] }))[1]).toBeCloseTo((rows[0][1] + rows[1][1]) / 2, 15);
    expect(await read({ direction: "to", rows: [1] })).toEqual([
      "masked",
      ...[1, 2, 3, 4, 5].map((i) => store.cell(REF, i, 1, "weights")),
    ]);
  });

  it("a row shows the store's ledger and its strongest keys", async () => {
    const store = madeStore({ Nq: 7 });
    const { svg } = await renderFigure(store, { view: "row", query: 5, key: 2, width: 170 });
    const ledger = store.ledger({ block: 0, layer: 0, head: 0 }, 5, 2);
    for (const { name, value } of ledger.lines) {
      expect(saidIn(svg)).toContain(` ${name} `);
      expect(saidIn(svg)).toContain(` ${value.text} `);
    }
    const { rows } = await figureTable(store, { view: "row", query: 5, key: 2 });
    expect([...rows].map((row) => row[5])).toEqual(ledger.lines.map(({ value }) => value.value));
  });

  it("the atlas shows every head's overview, and its table every head's measures", async () => {
    const store = madeStore({ Nq: 80, layers: 3, heads: 4 });
    const { svg } = await renderFigure(store, { view: "atlas" });
    const pictures = picturesOf(svg);
    expect(pictures.length).toBe(12);
    const overview = await store.overview({ block: 0, layer: 1, head: 2 }, 64);
    const table = colorTable("plum");
    const pixels = pictures[6].flat();
    pixels.forEach((color, n) =>
      expect(color).toBe(overview.marks[n] === 1 ? "" : hex(table[overview.max[n]])),
    );
    const { columns, rows } = await figureTable(store, { view: "atlas" });
    const all = [...rows];
    expect(all.length).toBe(12);
    const measures = await store.measures({ block: 0, layer: 2, head: 1 });
    expect(all[9][columns.indexOf("entropy")]).toBe(measures.entropy);
  });
});

describe("a figure", () => {
  it("has the same bytes every time, with no style sheet, script, handler or address", async () => {
    for (const view of ["matrix", "lines", "text", "atlas", "row"] as const) {
      const draw = () => renderFigure(madeStore({ Nq: 33 }), { view, query: 3, key: 1 });
      const [first, second] = [await draw(), await draw()];
      expect(first.svg).toBe(second.svg);
      expect(first.svg).not.toMatch(/<style|<script|\sstyle=|\son[a-z]+=|(?:href|src)="(?!data:image\/png)/);
      expect(first.svg.match(/https?:[^"<\s]+/g)).toEqual(["http://www.w3.org/2000/svg"]);
    }
  });

  it("is as wide as asked, in millimeters, in one column and two", async () => {
    for (const width of [85, 170]) {
      const { svg, height } = await renderFigure(madeStore(), { width });
      const [, wide, high, box] = /width="([\d.]+)mm" height="([\d.]+)mm" viewBox="0 0 ([\d.]+) /.exec(svg)!;
      expect(Number(wide)).toBe(width);
      expect(Number(high)).toBeCloseTo(height, 1);
      expect(Number(box)).toBeCloseTo((width * 72) / 25.4, 1);
    }
  });

  it("keeps its bytes from version to version, until somebody means to change them", async () => {
    const digest: Record<string, string> = {};
    for (const view of ["matrix", "lines", "text", "atlas", "row"] as const) {
      const { svg } = await renderFigure(madeStore({ Nq: 10 }), {
        view,
        query: 4,
        key: 2,
        layer: 1,
        head: 1,
      });
      // The description has the store's own sentence, which may find better words.
      const drawn = svg.replace(/<desc>[^<]*<\/desc>/, "");
      digest[view] = createHash("sha256").update(drawn).digest("hex").slice(0, 16);
    }
    expect(digest).toMatchInlineSnapshot(`
      {
        "atlas": "47556889ea256759",
        "lines": "7f18a9b9cfffc071",
        "matrix": "3ab8047b82ee9bc3",
        "row": "4a8eac06276bfc46",
        "text": "de60f5b786d6b1d2",
      }
    `);
  });

  it("takes tokens as text only, whatever they hold", async () => {
    const tokens = [
      "</text><script>alert(1)</script>",
      "</svg>",
      '"><image href="x">',
      "\u202eright to left\u202c",
      "\ud800",
      "\0\x07\x1b[31m",
      "x".repeat(10_000),
      "]]>",
      "&amp;",
    ];
    for (const view of ["matrix", "lines", "text", "row"] as const) {
      const { svg, alt } = await renderFigure(madeStore({ tokens, Nq: tokens.length }), {
        view,
        query: 8,
        key: 0,
      });
      expect(svg).not.toMatch(/<script|<\/svg>(?!\n$)|<image href="x"/);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      expect(svg + alt).not.toMatch(/[\u202a-\u202e\u2066-\u2069\0-\x08\x0b\x0e-\x1f\ud800]/u);
      expect(svg.length).toBeLessThan(80_000);
    }
  });

  it("names its axes on the axes, and fills its sheet", async () => {
    const { svg } = await renderFigure(madeStore({ Nq: 8, Nk: 8 }), { width: 170 });
    expect(svg).toMatch(/>query<\/text>/);
    expect(svg).toMatch(/>key: what is attended to<\/text>/);
    expect(svg).toMatch(/<g transform="scale\((4[0-9]|[5-9]\d)/);
    expect(svg).toContain('fill="#ffffff"');
  });

  it("the atlas names its axes on the axes, and lines fill their sheet", async () => {
    const store = madeStore({ Nq: 8, Nk: 8 });
    const { svg } = await renderFigure(store, { view: "atlas" });
    expect(svg).toMatch(/text-anchor="middle">head<\/text>/);
    expect(svg).toMatch(/transform="rotate\(-90 [^"]+">layer<\/text>/);
    expect(svg).not.toContain("rows: layers");
    // 170 mm are 482 points: the curves reach from the names at the left to those at the right.
    const lines = (await renderFigure(store, { view: "lines", width: 170 })).svg;
    const ends = [...lines.matchAll(/C[\d. ]+ ([\d.]+) [\d.]+"/g)].map(([, x]) => Number(x));
    expect(Math.max(...ends)).toBeGreaterThan(400);
  });

  it("is included by LaTeX: a PDF by its name, an SVG by the package svg", async () => {
    const { latex } = await renderFigure(madeStore());
    expect(latex("fig")).toContain("\\includegraphics[width=85mm]{fig}");
    expect(latex("fig.svg")).toContain("\\includesvg[width=85mm]{fig}");
  });

  it("says in LaTeX what it shows, special characters set as text", async () => {
    const figure = await renderFigure(madeStore({ tokens: ["50%", "a_b"], Nq: 2 }), {
      view: "text",
      query: 1,
    });
    expect(figure.latex("fig_1")).toBe(
      [
        "\\begin{figure}",
        "  \\centering",
        "  \\includegraphics[width=85mm]{fig_1}",
        "  \\caption{Layer 0, head 0; attention weights; square-root scale; full color = 1; 2 queries $\\times$ 2 keys; from ``a\\_b''; no token hidden.}",
        "  \\label{fig:fig_1}",
        "\\end{figure}",
        "",
      ].join("\n"),
    );
  });

  it("refuses what is not there before any work", async () => {
    const store = madeStore();
    for (const [options, code] of [
      [{ layer: 2 }, "layer"],
      [{ head: 2 }, "head"],
      [{ block: "dec" }, "block"],
      [{ view: "pie" }, "view"],
      [{ width: 1 }, "width"],
      [{ query: 9, key: 0 }, "query"],
      [{ hidden: [99] }, "hidden"],
      [{ querySegments: [0] }, "querySegments"],
      [{ top: 0 }, "top"],
      [{ mass: 2 }, "mass"],
    ] as const)
      await expect(renderFigure(store, options as object)).rejects.toMatchObject({
        name: "OptionError",
        code,
      });
    await expect(renderRaster(store, { view: "lines" })).rejects.toMatchObject({ code: "raster" });
  });

  it("shows a state of the explorer", async () => {
    const store = madeStore({ Nq: 12, layers: 2 });
    const state = { ...DEFAULT, layer: 1, head: 1, mode: "lines", top: 2, pinned: [4, 2] } as const;
    expect(figureOptions(state)).toMatchObject({
      view: "lines",
      layer: 1,
      head: 1,
      top: 2,
      query: 4,
      key: 2,
    });
    const wanted = await renderFigure(store, { view: "lines", layer: 1, head: 1, top: 2, query: 4, key: 2 });
    expect((await renderFigure(store, figureOptions({ ...state }))).svg).not.toBe("");
    expect((await renderFigure(store, figureOptions({ ...state, terms: "size", mass: 0.8 }))).caption).toBe(
      wanted.caption,
    );
    expect(figureOptions({ ...DEFAULT, view: "model" }).view).toBe("atlas");
  });
});

describe("tables and pictures", () => {
  it("CSV quotes what needs it, JSON reads back, both in full precision", async () => {
    const tokens = ['say "hi"', "a,b", "line\nbreak"];
    const store = madeStore({ tokens, Nq: 3, recipe: {}, layers: 1, heads: 1 });
    const csv = [...csvLines(await figureTable(store))].join("");
    expect(csv.startsWith('query,"say ""hi""","a,b","line\nbreak"\r\n')).toBe(true);
    const { columns, rows } = JSON.parse([...jsonLines(await figureTable(store))].join(""));
    expect(columns).toEqual(["query", ...tokens]);
    rows.forEach((row: unknown[], i: number) =>
      expect(row.slice(1)).toEqual([...store.row(REF, i, "weights")]),
    );
  });

  it("a picture of a matrix has squares of its colors, hatched where masked, at 1× and 2×", async () => {
    const store = madeStore({ Nq: 16, layers: 1, heads: 1 });
    for (const scale of [1, 2] as const) {
      const pixels = pixelsOf(await renderRaster(store, {}, { scale }));
      expect(pixels.length).toBe(512 * scale);
      const cell = 32 * scale;
      for (const [i, j] of [
        [0, 0],
        [7, 3],
        [15, 15],
      ])
        expect(pixels[i * cell + 5][j * cell + 5]).toBe(
          hex(colorTable("plum")[codeOf(store.cell(REF, i, j, "weights"), "sqrt", 1)]),
        );
      const corner = new Set(pixels[2].slice(15 * cell));
      expect([...corner].sort()).toEqual(["#87837a", "#ffffff"]);
    }
  });

  it("a long head's picture is pooled by its largest weight: a line one token thick stays", async () => {
    const store = madeStore({ Nq: 1, Nk: 5000, recipe: {}, layers: 1, heads: 1, sharp: 8 });
    const { svg, caption } = await renderFigure(store, { everyCell: true });
    expect(caption).toContain("each pixel the largest of 2 × 2 cells");
    const [[pixels]] = picturesOf(svg);
    const row = store.row(REF, 0, "weights");
    expect(pixels.length).toBe(2500);
    pixels.forEach((color, c) =>
      expect(color).toBe(hex(colorTable("plum")[codeOf(Math.max(row[2 * c], row[2 * c + 1]), "sqrt", 1)])),
    );
  });

  it("a long head is pooled to 150 pixels per inch, so that its diagonal is visible at any size", async () => {
    const n = 3000;
    const weights = new Float32Array(n * n);
    for (let i = 0; i < n; i++) weights[i * n + i] = 1;
    const tokens = Array.from({ length: n }, (_, i) => String(i));
    const store = storeFrom({
      blocks: [{ tokens, layers: [{ weights: { data: weights, shape: [1, n, n] } }] }],
    });
    const { svg, caption } = await renderFigure(store, { width: 85 });
    expect(caption).toContain("each pixel the largest of 6 × 6 cells");
    const [pixels] = picturesOf(svg);
    expect(pixels.length).toBe(500);
    const dark = hex(colorTable("plum")[255]);
    for (let i = 0; i < 500; i += 7) expect(pixels[i][i]).toBe(dark);
    // A viewer that scales it down must average, not sample every n-th pixel.
    expect(svg).not.toContain("pixelated");
    // Ticks at round numbers.
    const ticks = [...svg.matchAll(/>(\d+)<\/text>/g)].map(([, label]) => Number(label));
    const step = ticks.find((x) => x > 1)!;
    expect(String(step)).toMatch(/^[125]0*$/);
    expect(ticks.filter((x) => x > 1).every((x) => x % step === 0)).toBe(true);
  });

  it("CSV gives a spreadsheet no formula and no control character; numbers stay numbers", async () => {
    const tokens = ["=cmd|calc!A0", "+1", "-2", "@x", "a\x1b[31m\u202e"];
    const store = madeStore({ tokens, Nq: 5, recipe: {}, layers: 1, heads: 1 });
    const csv = [...csvLines(await figureTable(store, { stage: "scores" }))].join("");
    expect(csv.split("\r\n")[0]).toBe("query,'=cmd|calc!A0,'+1,'-2,'@x,a�[31m�");
    expect(csv).toMatch(/\r\n'=cmd\|calc!A0,-?\d/);
    expect(csv).toMatch(/,-\d/);
  });
});

/** The objects of a PDF by number, streams inflated; throws where the cross-reference table does not lead to them. */
function objectsOf(pdf: Uint8Array): Map<number, { body: string; stream?: Buffer }> {
  const bytes = Buffer.from(pdf);
  const text = bytes.toString("latin1");
  const start = Number(/startxref\n(\d+)\n%%EOF\n$/.exec(text)![1]);
  const [, count, rows] = /^xref\n0 (\d+)\n([\s\S]*?)trailer/.exec(text.slice(start))!;
  const offsets = rows.match(/\d{10} \d{5} [nf] \n/g)!.map((row) => Number(row.slice(0, 10)));
  expect(offsets.length).toBe(Number(count));
  const objects = new Map<number, { body: string; stream?: Buffer }>();
  for (let n = 1; n < offsets.length; n++) {
    const here = text.slice(offsets[n]);
    expect(here.startsWith(`${n} 0 obj\n`), `object ${n}`).toBe(true);
    const body = here.slice(here.indexOf("\n") + 1, here.search(/\nstream\n|\nendobj\n/));
    const at = /^[^\n]*\n[^\n]*\nstream\n/.exec(here);
    const length = Number(/\/Length (\d+)/.exec(body)?.[1] ?? 0);
    const stream = at
      ? bytes.subarray(offsets[n] + at[0].length, offsets[n] + at[0].length + length)
      : undefined;
    objects.set(n, { body, stream: stream && inflateSync(stream) });
  }
  return objects;
}

describe("a PDF", () => {
  it("is a whole file for every view: each object where the table says, text as text, the same bytes each time", async () => {
    const store = madeStore({ Nq: 9 });
    for (const view of ["matrix", "lines", "text", "atlas", "row"] as const) {
      const draw = async () => (await renderFigure(store, { view, query: 4, key: 2, values: true })).pdf();
      const { pdf, missing } = await draw();
      expect(missing).toEqual([]);
      expect(Buffer.from(pdf).equals(Buffer.from((await draw()).pdf))).toBe(true);
      const objects = objectsOf(pdf);
      expect(objects.get(3)!.body).toMatch(/\/MediaBox \[0 0 240\.94 \d/);
      const content = objects.get(4)!.stream!.toString("latin1");
      // Every q has its Q, and every BT its ET.
      for (const [open, close] of [
        [/\bq\b/g, /\bQ\b/g],
        [/\bBT\b/g, /\bET\b/g],
      ])
        expect(content.match(open)!.length).toBe(content.match(close)!.length);
      expect(content).not.toMatch(/NaN|undefined|Infinity/);
      // The caption is text, in the fonts' codes.
      const caption = view === "atlas" ? "All heads" : "Layer 0";
      expect(content.includes(Buffer.from(caption).toString("hex")), view).toBe(true);
    }
  });

  it("has the cells' colors, and lines over masked cells", async () => {
    const store = madeStore({ Nq: 6, layers: 1, heads: 1 });
    const { pdf } = await (await renderFigure(store)).pdf();
    const content = objectsOf(pdf).get(4)!.stream!.toString("latin1");
    const [r, g, b] = colorTable("plum")[codeOf(store.cell(REF, 3, 1, "weights"), "sqrt", 1)];
    const share = (x: number) => String(Number((x / 255).toFixed(4)));
    expect(content).toContain(`${share(r)} ${share(g)} ${share(b)} rg`);
    expect(content).toMatch(/W n .* l S Q/);
  });

  it("holds a long head's picture, masked cells transparent", async () => {
    const store = madeStore({ Nq: 150, Nk: 150, layers: 1, heads: 1 });
    const { svg, pdf } = await renderFigure(store);
    const [pixels] = picturesOf(svg);
    const objects = [...objectsOf((await pdf()).pdf).values()];
    const picture = objects.find(({ body }) => /Subtype \/Image .*(Indexed|DeviceRGB)/.test(body))!;
    expect(picture.body).toContain("/Width 150 /Height 150");
    const indexed = /Indexed \/DeviceRGB \d+ <([0-9a-f]+)>/.exec(picture.body);
    const mask = objects.find(({ body }) => body.includes("DeviceGray"));
    for (const [i, j] of [
      [0, 0],
      [90, 40],
      [10, 120],
    ]) {
      const at = i * 150 + j;
      const n = indexed ? picture.stream![i * 151 + 1 + j] : 0;
      const color = indexed
        ? indexed[1].slice(6 * n, 6 * n + 6)
        : picture.stream!.toString("hex", 3 * at, 3 * at + 3);
      const clear = indexed ? picture.body.includes(`/Mask [${n} ${n}]`) : mask!.stream![at] === 0;
      expect(clear ? "" : `#${color}`).toBe(pixels[i][j]);
    }
  });

  it("reports the characters that its fonts do not have", async () => {
    const store = madeStore({ tokens: ["naïve", "日本", "x₂"], Nq: 3 });
    const { missing } = await (await renderFigure(store)).pdf();
    expect(missing).toEqual(["日", "本"]);
  });
});

describe("the titles of a figure's axes", () => {
  it("do not touch the labels of a long picture, whose labels are farther from it", async () => {
    const N = 300;
    const tokens = Array.from({ length: N }, (_, i) => `${2000 + i}`);
    const data = Float32Array.from({ length: N * 4 }, (_, i) => Math.sin(i));
    const layer = { query: { data, shape: [1, N, 4] }, key: { data, shape: [1, N, 4] } };
    const store = storeFrom({ blocks: [{ tokens, layers: [layer] }] });
    const { svg } = await renderFigure(store, { width: 240 });
    store.dispose();
    const [, x] = /transform="rotate\(-90 ([\d.]+) [\d.]+\)"[^>]*>query</.exec(svg) ?? [];
    // The labels' group starts at the left edge of the cells.
    const first = svg.indexOf('text-anchor="end"');
    const left = Number([...svg.slice(0, first).matchAll(/<g transform="translate\(([\d.]+) /g)].at(-1)?.[1]);
    const labels = [...svg.matchAll(/<text x="(-[\d.]+)" y="[\d.-]+"[^>]*text-anchor="end"[^>]*>(\d+)</g)];
    expect(labels.length).toBeGreaterThan(3);
    const size = Number(/font-size="([\d.]+)"[^>]*>query</.exec(svg)?.[1] ?? 7);
    for (const [, at, text] of labels) {
      // A digit is 0.6 em wide; "q" and "y" go 0.25 em below their line.
      const start = left + Number(at) - 0.61 * size * text.length;
      expect(Number(x) + 0.25 * size, text).toBeLessThan(start);
    }
  });
});

describe("a caption with the text and its model", () => {
  it("begins with what the file names of them, and without the option it has neither", async () => {
    const data = Float32Array.from({ length: 12 }, (_, i) => Math.sin(i));
    const layers = [{ query: { data, shape: [1, 3, 4] }, key: { data, shape: [1, 3, 4] } }];
    const captionOf = async (more: { readonly text?: string; readonly model?: string }, about?: boolean) => {
      const store = storeFrom({ ...more, blocks: [{ tokens: ["the", "old", "ship"], layers }] });
      const { caption } = await renderFigure(store, { about });
      store.dispose();
      return caption;
    };
    const both = { text: "the old ship", model: "tiny" };
    expect(await captionOf(both, true)).toMatch(
      /^“the old ship” read by tiny · Layer 0, head 0 · attention weights ·/i,
    );
    expect(await captionOf({ model: "tiny" }, true)).toMatch(/^model tiny · /i);
    expect(await captionOf({ text: "the old ship" }, true)).toMatch(/^“the old ship” · Layer 0/);
    expect(await captionOf({ text: "x".repeat(300) }, true)).toMatch(/^“x{119}…” · Layer 0/);
    for (const about of [undefined, false])
      expect(await captionOf(both, about)).toMatch(/^Layer 0, head 0 · /);
    expect(await captionOf({}, true)).toMatch(/^Layer 0, head 0 · /);
  });
});
