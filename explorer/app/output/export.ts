/**
 * Exports the current picture as SVG (by the figure renderer, the same bytes as on the command line), PNG, a table, or one HTML
 * file. Nothing is uploaded: the page creates the files.
 */
import { checkInteger, UnsupportedError } from "../../../src/core/errors.ts";
import { checkObject } from "../../../src/store/check.ts";
import type { DrawnFigure } from "../../../src/view/figure/drawn.ts";
import { renderFigure } from "../../../src/view/figure/figure.ts";
import { type FigureOptions, figureOptions } from "../../../src/view/figure/options.ts";
import { renderRaster } from "../../../src/view/figure/raster.ts";
import { csvLines, figureTable, jsonLines } from "../../../src/view/figure/table.ts";
import { htmlFile } from "../../../src/view/html.ts";
import { encode } from "../../state/url.ts";
import { editsOf } from "../../state/whatif.ts";
import { viewOf } from "../../views/registry.ts";
import type { Session } from "../session.ts";
import { build } from "../workers.ts";

/** The figure options of the current picture. */
export function optionsOf(session: Session, more: FigureOptions = {}): FigureOptions {
  const { state, dark } = session;
  // With the direction "to", the figure shows the selected keys.
  const rows = state.direction === "to" ? state.columns : state.rows;
  const shown = { ...state, rows, descending: undefined };
  const { figure: view } = viewOf(state);
  return figureOptions(shown, {
    ...(view && { view }),
    theme: dark ? "dark" : "light",
    whatIf: editsOf(session),
    ...more,
  });
}

export async function figureOf(session: Session, more: FigureOptions = {}): Promise<DrawnFigure> {
  checkObject("attention-view", "options of a figure as an object, { width: 170 }", more);
  const theme = session.dark ? ("dark" as const) : ("light" as const);
  return session.exports
    ? session.exports.figure({ theme, ...more })
    : renderFigure(opened(session), optionsOf(session, more));
}

/** The figure as PNG, drawn by the browser; if the page's policy forbids that, only its cells. */
export async function pngOf(
  session: Session,
  more: FigureOptions = {},
  scale: 1 | 2 | 3 | 4 = 2,
): Promise<Blob> {
  checkInteger("attention-view.toPNG", "scale", scale, 1, 4);
  const { svg, width, height } = await figureOf(session, more);
  const pixels = (millimeters: number) => Math.round((millimeters / 25.4) * 96 * scale);
  const image = new Image(pixels(width), pixels(height));
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  try {
    await image.decode();
  } catch (error) {
    // Only pictures of one head or of all heads can be drawn without the browser.
    if (session.exports) throw error;
    const bytes = await renderRaster(opened(session), optionsOf(session, more), { scale });
    return new Blob([bytes as BlobPart], { type: "image/png" });
  }
  const canvas = document.createElement("canvas");
  canvas.width = image.width;
  canvas.height = image.height;
  canvas.getContext("2d")!.drawImage(image, 0, 0, image.width, image.height);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) =>
      blob === null
        ? reject(
            new UnsupportedError("png", "attention-view: the browser could not create a PNG of this size"),
          )
        : resolve(blob),
    ),
  );
}

/** The numbers of the current picture, in full precision. */
export async function tableOf(session: Session, kind: "csv" | "json"): Promise<Blob> {
  const table = await (session.exports
    ? session.exports.table()
    : figureTable(opened(session), optionsOf(session)));
  const lines = kind === "csv" ? csvLines(table) : jsonLines(table);
  return new Blob([...lines], { type: kind === "csv" ? "text/csv;charset=utf-8" : "application/json" });
}

/** The explorer, this data and this state as one file that makes no requests. */
export async function htmlOf(session: Session): Promise<string> {
  const store = opened(session);
  const { name } = store.report;
  return htmlFile({
    module: await build().module(),
    data: await store.bundle(),
    name: /\.safetensors$/.test(name) ? name : `${name}.safetensors`,
    title: name,
    hash: encode(session.state),
  });
}

function opened({ store }: Session) {
  if (store === undefined)
    throw new UnsupportedError("empty", "attention-view: nothing is open, so there is nothing to export");
  return store;
}

export { saveFile } from "../../../ui/save.ts";
