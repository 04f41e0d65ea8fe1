/**
 * A figure's SVG as one PDF page: only the elements and attributes that figures are made of (sheet.ts), which is why this
 * is a page of code and not a renderer. Lengths are points in both; the page is turned over once, because PDF counts from
 * the bottom.
 */
import { inflate } from "../../io/archive/deflate.ts";
import { rgbOf } from "../figure/cells.ts";
import { type FontName, runsOf } from "./fonts.ts";
import { type Picture, writePdf, zlib } from "./write.ts";

/** A PDF, and the characters its fonts do not have: each is a question mark. */
export interface FigurePdf {
  readonly pdf: Uint8Array;
  readonly missing: readonly string[];
}

type Attributes = Readonly<Record<string, string>>;

/** Attributes that elements inherit from what they are inside of. */
const INHERITED = ["fill", "stroke", "stroke-width", "stroke-linecap", "font-family", "font-size"];
const NOTE = /<(title|desc)>[^<]*<\/\1>/g;
const HATCH =
  /<pattern id="([^"]+)" width="([^"]+)"[^>]*><rect[^>]* fill="([^"]+)"\/><path[^>]* stroke="([^"]+)" stroke-width="([^"]+)"\/><\/pattern>/g;
const TOKEN = /<text([^>]*)>([^<]*)<\/text>|<(\/?)([a-z]+)((?:\s+[\w:-]+="[^"]*")*)\s*(\/?)>/g;

/** Converts a figure drawn by `renderFigure`. */
export async function pdfOfFigure(svg: string, title: string, description: string): Promise<FigurePdf> {
  const box = /viewBox="0 0 ([\d.]+) ([\d.]+)"/.exec(svg)!;
  const [width, height] = [Number(box[1]), Number(box[2])];
  const out: string[] = [`1 0 0 -1 0 ${height} cm`];
  const pictures: Picture[] = [];
  const opacities: number[] = [];
  const missing = new Set<string>();
  const hatches = new Map<string, Hatch>();
  const drawn = svg
    .replace(NOTE, "")
    .replace(HATCH, (_, id: string, size: string, paper: string, ink: string, line: string) => {
      hatches.set(`url(#${id})`, { size: Number(size), paper, ink, line: Number(line) });
      return "";
    });
  /** The attributes of the open groups, each with those it inherits. */
  const groups: Attributes[] = [{}];

  const opacity = (x: number): string => {
    if (x === 1) return "";
    const index = opacities.indexOf(x);
    return `/G${index >= 0 ? index : opacities.push(x) - 1} gs `;
  };
  for (const [, textList, content, close, name, list, self] of drawn.matchAll(TOKEN)) {
    if (close) {
      if (name === "g") out.push("Q");
      groups.pop();
      continue;
    }
    const attributes = attributesOf(textList ?? list);
    const inherited = { ...groups[groups.length - 1], ...attributes };
    if (content !== undefined) out.push(drawText(inherited, unescapeXml(content), missing, opacity));
    else if (name === "g") out.push(`q ${matrixOf(attributes.transform)}`);
    else if (name === "rect" || name === "path") {
      const path = name === "rect" ? rectPath(attributes) : (attributes.d ?? "");
      out.push(drawShape(path, inherited, hatches, opacity));
    } else if (name === "image") {
      pictures.push(await pictureOf(attributes.href));
      const [x, y, w, h] = ["x", "y", "width", "height"].map((key) => Number(attributes[key] ?? 0));
      // A picture fills the unit square from its lower left corner.
      out.push(`q ${fixed(w)} 0 0 ${fixed(-h)} ${fixed(x)} ${fixed(y + h)} cm /P${pictures.length - 1} Do Q`);
    }
    if (content === undefined && !self)
      groups.push(Object.fromEntries(Object.entries(inherited).filter(([key]) => INHERITED.includes(key))));
  }
  const page = out.filter((line) => line !== "").join("\n");
  const pdf = writePdf({ width, height, content: page, pictures, opacities, title, description });
  return { pdf, missing: [...missing] };
}

function attributesOf(list: string): Attributes {
  return Object.fromEntries(
    [...list.matchAll(/([\w:-]+)="([^"]*)"/g)].map(([, key, value]) => [key, unescapeXml(value)]),
  );
}

function unescapeXml(content: string): string {
  return content.replace(
    /&(amp|lt|gt|quot);/g,
    (_, name: string) => ({ amp: "&", lt: "<", gt: ">", quot: '"' })[name]!,
  );
}

function fixed(x: number): string {
  return String(Number(x.toFixed(4)));
}

/** A transform of one step, as a matrix for `cm`. */
function matrixOf(transform: string | undefined): string {
  const [, name, list] = /^(translate|scale|rotate)\(([^)]*)\)$/.exec(transform ?? "") ?? [];
  if (name === undefined) return "";
  const [a, b = name === "scale" ? a : 0, c = 0] = list.split(/[\s,]+/).map(Number);
  if (name === "translate") return `1 0 0 1 ${fixed(a)} ${fixed(b)} cm`;
  if (name === "scale") return `${a} 0 0 ${b} 0 0 cm`;
  const [cos, sin] = [Math.cos((a * Math.PI) / 180), Math.sin((a * Math.PI) / 180)];
  const [e, f] = [b - b * cos + c * sin, c - b * sin - c * cos];
  return `${fixed(cos)} ${fixed(sin)} ${fixed(-sin)} ${fixed(cos)} ${fixed(e)} ${fixed(f)} cm`;
}

function rectPath({ x = "0", y = "0", width = "0", height = "0" }: Attributes): string {
  return `M${x} ${y}h${width}v${height}h-${width}z`;
}

interface Path {
  readonly code: string;
  readonly box: readonly [left: number, top: number, right: number, bottom: number];
}

/** A path of M, h, v, H, V, L, C and z as PDF's operators, and the box around its points. */
function pathOf(d: string): Path {
  const parts = d.match(/[MhvHVLCzZ]|-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?/g) ?? [];
  const code: string[] = [];
  let [x, y, left, top, right, bottom] = [0, 0, Infinity, Infinity, -Infinity, -Infinity];
  let at = 0;
  const next = () => Number(parts[at++]);
  const reach = () => {
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = Math.max(bottom, y);
  };
  let command = "";
  while (at < parts.length) {
    if (/[A-Za-z]/.test(parts[at])) command = parts[at++];
    if (command === "z" || command === "Z") code.push("h");
    else if (command === "C") {
      const [a, b, c, e] = [next(), next(), next(), next()];
      [x, y] = [next(), next()];
      code.push(`${[a, b, c, e, x, y].map(fixed).join(" ")} c`);
    } else {
      if (command === "M" || command === "L") [x, y] = [next(), next()];
      else if (command === "h") x += next();
      else if (command === "v") y += next();
      else if (command === "H") x = next();
      else y = next();
      code.push(`${fixed(x)} ${fixed(y)} ${command === "M" ? "m" : "l"}`);
    }
    reach();
  }
  return { code: code.join(" "), box: [left, top, right, bottom] };
}

interface Hatch {
  readonly size: number;
  readonly paper: string;
  readonly ink: string;
  readonly line: number;
}

function color(name: string, stroke: boolean): string {
  return `${rgbOf(name)
    .map((x) => fixed(x / 255))
    .join(" ")} ${stroke ? "RG" : "rg"}`;
}

function drawShape(
  d: string,
  attributes: Attributes,
  patterns: ReadonlyMap<string, Hatch>,
  opacity: (x: number) => string,
): string {
  const { fill = "#1b1a17", stroke = "none", "stroke-width": wide = "1", "stroke-linecap": cap } = attributes;
  const fillOpacity = Number(attributes["fill-opacity"] ?? 1);
  const strokeOpacity = Number(attributes["stroke-opacity"] ?? 1);
  const { code, box } = pathOf(d);
  if (code === "") return "";
  const hatch = patterns.get(fill);
  const lines: string[] = [];
  if (hatch) lines.push(`q ${code} W n ${hatchLines(hatch, box)} Q`);
  else if (fill !== "none" && fillOpacity > 0)
    lines.push(`q ${opacity(fillOpacity)}${color(fill, false)} ${code} f Q`);
  if (stroke !== "none" && strokeOpacity > 0)
    lines.push(
      `q ${opacity(strokeOpacity)}${color(stroke, true)} ${wide} w ${cap === "round" ? "1 J " : ""}${code} S Q`,
    );
  return lines.join("\n");
}

/** The ground of a hatch and its lines at 45°, over a box. */
function hatchLines({ size, paper, ink, line }: Hatch, [left, top, right, bottom]: Path["box"]): string {
  const lines = [
    `${color(paper, false)} ${fixed(left)} ${fixed(top)} ${fixed(right - left)} ${fixed(bottom - top)} re f`,
  ];
  const step = size * Math.SQRT2;
  lines.push(`${color(ink, true)} ${fixed(line / 2)} w`);
  // Lines on which x + y is a multiple of the step.
  for (let sum = Math.ceil((left + top) / step) * step; sum <= right + bottom; sum += step)
    lines.push(`${fixed(sum - top)} ${fixed(top)} m ${fixed(sum - bottom)} ${fixed(bottom)} l S`);
  return lines.join(" ");
}

function drawText(
  attributes: Attributes,
  text: string,
  missing: Set<string>,
  opacity: (x: number) => string,
): string {
  const size = Number(attributes["font-size"] ?? 8);
  const mono = /mono|courier|consolas/i.test(attributes["font-family"] ?? "");
  const bold = Number(attributes["font-weight"] ?? 400) >= 600;
  const base: Exclude<FontName, "F4"> = mono ? "F3" : bold ? "F2" : "F1";
  const runs = runsOf(text, base, missing);
  const natural = (runs.reduce((sum, { width }) => sum + width, 0) / 1000) * size;
  if (natural === 0) return "";
  const length = Number(attributes.textLength ?? natural);
  const stretch = length / natural;
  const anchor = attributes["text-anchor"];
  const [x, y] = [Number(attributes.x ?? 0), Number(attributes.y ?? 0)];
  let at = x - (anchor === "end" ? length : anchor === "middle" ? length / 2 : 0);
  const fill = attributes.fill ?? "#1b1a17";
  const lines = [
    `q ${opacity(Number(attributes["fill-opacity"] ?? 1))}${matrixOf(attributes.transform)} BT ${color(fill, false)} ${fixed(100 * stretch)} Tz`,
  ];
  for (const run of runs) {
    const hex = run.codes.map((code) => code.toString(16).padStart(2, "0")).join("");
    lines.push(
      `/${run.font} ${fixed(size * run.size)} Tf 1 0 0 -1 ${fixed(at)} ${fixed(y - run.rise * size)} Tm <${hex}> Tj`,
    );
    at += (run.width / 1000) * size * stretch;
  }
  return `${lines.join(" ")} ET Q`;
}

/** A PNG out of `writePng` as a picture: a palette as it is, RGBA as color and opacity. */
async function pictureOf(href: string): Promise<Picture> {
  const text = atob(href.slice(href.indexOf(",") + 1));
  const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const chunks = new Map<string, Uint8Array>();
  for (let at = 8; at < bytes.length; ) {
    const length = view.getUint32(at);
    chunks.set(
      String.fromCharCode(...bytes.subarray(at + 4, at + 8)),
      bytes.subarray(at + 8, at + 8 + length),
    );
    at += length + 12;
  }
  const [width, height] = [view.getUint32(16), view.getUint32(20)];
  const size = `/Width ${width} /Height ${height} /BitsPerComponent 8 /Filter /FlateDecode`;
  const data = chunks.get("IDAT")!;
  const palette = chunks.get("PLTE");
  if (palette) {
    const alpha = chunks.get("tRNS");
    const clear = alpha ? alpha.indexOf(0) : -1;
    const hex = Array.from(palette, (x) => x.toString(16).padStart(2, "0")).join("");
    const space = `/ColorSpace [/Indexed /DeviceRGB ${palette.length / 3 - 1} <${hex}>]`;
    const predictor = `/DecodeParms << /Predictor 15 /Colors 1 /BitsPerComponent 8 /Columns ${width} >>`;
    return {
      entries: `${size} ${space} ${predictor}${clear >= 0 ? ` /Mask [${clear} ${clear}]` : ""}`,
      data,
    };
  }
  const rgb = new Uint8Array(3 * width * height);
  const alpha = new Uint8Array(width * height);
  let [place, row] = [0, -1];
  // A zlib stream is raw DEFLATE between two bytes and four; each row begins with its filter, which is none.
  for await (const piece of inflate(data.subarray(2, -4)))
    for (const byte of piece) {
      if (place % (4 * width + 1) === 0) row++;
      else {
        const n = place - row * (4 * width + 1) - 1;
        const pixel = row * width + (n >> 2);
        if ((n & 3) === 3) alpha[pixel] = byte;
        else rgb[3 * pixel + (n & 3)] = byte;
      }
      place++;
    }
  return {
    entries: `${size} /ColorSpace /DeviceRGB`,
    data: zlib(rgb),
    mask: { entries: `${size} /ColorSpace /DeviceGray`, data: zlib(alpha) },
  };
}
