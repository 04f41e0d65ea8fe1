/** Exports, loaded on use: the picture as an SVG file with its colors, and the table as CSV. */
import { saveFile } from "../../../ui/save.ts";
import type { LabTable } from "../page.ts";

/** Properties of the style sheet that become attributes. */
const PAINTED = (
  "fill fill-opacity stroke stroke-width stroke-opacity stroke-dasharray stroke-linecap " +
  "font-family font-size font-weight text-anchor opacity"
).split(" ");

/** Saves the picture as a file of its own: what the style sheet says is written into attributes. */
export function saveSvg(svg: SVGSVGElement, name: string): void {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const [from, to] = [svg, copy].map((one) => [one, ...one.querySelectorAll("*")]);
  for (const [i, element] of from.entries()) {
    const style = getComputedStyle(element);
    const written = to[i];
    for (const { name } of [...written.attributes])
      if (/^(?:class|tabindex|role|aria-|data-)/.test(name)) written.removeAttribute(name);
    for (const name of PAINTED) {
      const value = style.getPropertyValue(name);
      if (value !== "" && value !== "none" ? true : name === "fill") written.setAttribute(name, value);
    }
  }
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const { width, height } = svg.viewBox.baseVal;
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  paper.setAttribute("width", String(width));
  paper.setAttribute("height", String(height));
  paper.setAttribute("fill", getComputedStyle(svg).getPropertyValue("--paper").trim() || "#fff");
  copy.prepend(paper);
  const file = new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
  saveFile(file, `${name}.svg`);
}

/** Saves a table as CSV (RFC 4180). */
export function saveCsv({ columns, rows }: LabTable, name: string): void {
  const cell = (value: string | number) => {
    const text = String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [columns, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`);
  saveFile(new Blob(lines, { type: "text/csv;charset=utf-8" }), `${name}.csv`);
}
