/**
 * A list of tokens whose patches lie on their pictures: a grid of options over each picture, the other tokens before, between and
 * after them in their order. A patch with a value has its color; the weaker the value, the more of the picture shows through.
 */
import type { PictureGrid } from "../../../src/store/block.ts";
import type { Session } from "../../app/session.ts";
import { HIDDEN, make, put } from "../../canvas/dom.ts";
import type { Unit } from "../text/flow.ts";
import { type Look, optionOf, Passage, type Passed } from "../text/passage.ts";

/** The smallest side of a patch in pixels. */
const MIN_SIDE = 6;
/** Pixels next to the picture: the heads of the layer, and above it: a line of tokens. */
const BESIDE = 232;
const ABOVE = 44;
/** From this width on, the heads are next to the picture. */
const WIDE = 560;
/** Opacity of the strongest color. */
const OPACITY = 0.85;

/** The end of a picture's patches. */
const endOf = ({ first, rows, columns }: PictureGrid) => first + rows * columns;

export class PhotoPassage extends Passage {
  readonly #session: Session;
  readonly #gridsOf: () => readonly PictureGrid[];
  #grids: readonly PictureGrid[] = [];
  #units: readonly Unit[] = [];
  #store: unknown;
  #options: HTMLElement[] = [];
  #photos: HTMLElement[] = [];

  constructor(session: Session, gridsOf: () => readonly PictureGrid[]) {
    super();
    this.#session = session;
    this.#gridsOf = gridsOf;
    this.root.classList.add("on-photo");
  }

  override lay({ units, direction, lang, width, label }: Passed): void {
    this.root.setAttribute("aria-label", label);
    this.root.dir = direction;
    const grids = this.#gridsOf();
    const { store } = this.#session;
    if (units !== this.#units || grids !== this.#grids || store !== this.#store) {
      this.#units = units;
      this.#grids = grids;
      this.#store = store;
      this.#build(lang);
    }
    this.#size(width);
  }

  /** The elements, in the order of the tokens. */
  #build(lang: string | undefined): void {
    this.#options = this.#units.map((_, unit) => optionOf(unit, this.#units, lang));
    this.#photos = [];
    const parts: HTMLElement[] = [];
    const beside = (from: number, to: number) => {
      if (from >= to) return;
      const options = this.#options.slice(from, to);
      for (const option of options) option.dataset.apart = "true";
      parts.push(make("div", "beside", { role: "none" }, ...options));
    };
    let next = 0;
    this.#grids.forEach((grid, n) => {
      beside(next, grid.first);
      next = endOf(grid);
      const patches = make("div", "patches", { role: "none" });
      for (const option of this.#options.slice(grid.first, next)) {
        // The picture is the text of a patch; its name is for screen readers.
        option.setAttribute("aria-label", option.textContent ?? "");
        option.textContent = "";
        patches.append(option);
      }
      const photo = make("div", "photo", { dir: "ltr", role: "none" }, this.#canvas(n), patches);
      this.#photos.push(photo);
      parts.push(photo);
    });
    beside(next, this.#units.length);
    this.root.replaceChildren(...parts);
  }

  /** The picture, drawn as soon as it has been read. */
  #canvas(n: number): HTMLCanvasElement {
    const canvas = make("canvas", "", HIDDEN);
    const session = this.#session;
    const { store } = session;
    store?.picture(session.ref.block, n).then(
      ({ width, height, data }) => {
        const image = new ImageData(width, height);
        for (let i = 0; i < width * height; i++) {
          image.data.set(data.subarray(3 * i, 3 * i + 3), 4 * i);
          image.data[4 * i + 3] = 255;
        }
        canvas.width = width;
        canvas.height = height;
        canvas.getContext("2d")?.putImageData(image, 0, 0);
        // Its proportions decide the size.
        session.changed();
      },
      (error) => {
        if (store === session.store) session.failed(error);
      },
    );
    return canvas;
  }

  /** The largest size at which the sides of a patch are whole pixels. */
  #size(width: number): void {
    const height = (this.root.parentElement?.clientHeight ?? 0) - ABOVE;
    const widest = width >= WIDE ? width - BESIDE : width;
    put(this.root, { width: widest });
    this.#photos.forEach((photo, n) => {
      const { rows, columns } = this.#grids[n];
      const canvas = photo.firstElementChild as HTMLCanvasElement;
      // The sides of a patch in the picture.
      const ratio = canvas.height / rows / (canvas.width / columns);
      const tall = width >= WIDE ? height / rows / ratio : Number.POSITIVE_INFINITY;
      const length = Math.max(MIN_SIDE, Math.floor(Math.min(widest / columns, tall)));
      photo.style.setProperty("--columns", String(columns));
      const tallest = Math.max(MIN_SIDE, Math.round(length * ratio));
      put(photo, { width: length * columns, height: tallest * rows });
    });
  }

  override show(
    _top: number,
    _bottom: number,
    active: number,
    roving: boolean,
    lookOf: (unit: number) => Look,
  ): void {
    for (const [unit, option] of this.#options.entries()) {
      const look = lookOf(unit);
      const isPatch = this.gridOf(unit) !== undefined;
      this.dress(option, isPatch ? onPicture(look, this.#units[unit].text) : look, roving && unit === active);
    }
  }

  /** The picture that has a token as a patch. */
  gridOf(unit: number): PictureGrid | undefined {
    return this.#grids.find((grid) => unit >= grid.first && unit < endOf(grid));
  }

  override element(unit: number): HTMLElement | undefined {
    return this.#options[unit];
  }

  /** The patch `by` rows below; from the last row, the token after the picture, from the first the one before it. */
  override across(unit: number, by: number): number {
    const grid = this.gridOf(unit);
    const last = this.#units.length - 1;
    if (grid === undefined) return Math.max(0, Math.min(last, unit + by));
    const to = unit + by * grid.columns;
    if (to >= grid.first && to < endOf(grid)) return to;
    const outside = by < 0 ? grid.first - 1 : endOf(grid);
    return outside >= 0 && outside <= last ? outside : unit;
  }

  /** The first and last patch of a row, or token between two pictures. */
  override ends(unit: number): readonly [number, number] {
    const grid = this.gridOf(unit);
    if (grid !== undefined) {
      const start = unit - ((unit - grid.first) % grid.columns);
      return [start, start + grid.columns - 1];
    }
    const before = this.#grids.filter((one) => endOf(one) <= unit).map(endOf);
    const after = this.#grids.filter(({ first }) => first > unit).map(({ first }) => first);
    return [Math.max(0, ...before), Math.min(this.#units.length, ...after) - 1];
  }
}

/** The look of a patch: its color lets the picture through, and a label names it. */
function onPicture({ tint, strength, label, ...rest }: Look, name: string): Look {
  const alpha = Math.round(255 * OPACITY * strength)
    .toString(16)
    .padStart(2, "0");
  return {
    ...rest,
    strength,
    label: label ?? name,
    tint: tint && { ...tint, ground: `${tint.ground}${alpha}` },
  };
}
