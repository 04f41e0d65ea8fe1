/**
 * A preview of the head under the pointer: its picture at 220 px, its measures in one sentence. It is a popover next to the pointer
 * and ignores pointer events.
 */
import { html, render } from "lit";
import type { HeadStore } from "../../../src/store/head-store.ts";
import type { HeadMeasures } from "../../../src/store/measures/measures.ts";
import { describeHead } from "../../../src/store/sentences/sentence.ts";
import type { Session } from "../../app/session.ts";
import { numeral } from "../../app/ui.ts";
import { HIDDEN, make, put } from "../../canvas/dom.ts";
import { resizeCanvas } from "../../canvas/drawn-pane.ts";
import { metricOf, metricValue } from "../../state/metrics.ts";
import { type HeadName, sameHead } from "../../state/state.ts";
import { shortName } from "../../state/words.ts";
import type { Overviews } from "./overviews.ts";

/** The size of the picture in pixels. */
const SIDE = 220;

export class Preview {
  readonly root = make("div", "preview", { ...HIDDEN, popover: "manual" });
  readonly #session: Session;
  readonly #overviews: Overviews;
  readonly #canvas = make("canvas");
  #head: HeadName | undefined;
  /** The store and the measures that were drawn. */
  #store: HeadStore | undefined;
  #measures: HeadMeasures | undefined;

  constructor(session: Session, overviews: Overviews) {
    this.#session = session;
    this.#overviews = overviews;
  }

  /** Shows a head next to a point of the window, or hides the preview. */
  show(head: HeadName | undefined, x = 0, y = 0): void {
    if (head === undefined || this.#overviews.get(head) === undefined) {
      this.#head = undefined;
      if (this.root.matches(":popover-open")) this.root.hidePopover();
      return;
    }
    if (this.#head === undefined || !sameHead(this.#head, head)) {
      this.#head = head;
      this.#draw(head);
    }
    if (!this.root.matches(":popover-open")) this.root.showPopover();
    const [width, height] = [SIDE + 26, this.root.offsetHeight];
    const left = x + 16 + width > innerWidth ? x - 16 - width : x + 16;
    const top = Math.min(innerHeight - height - 4, y - 40);
    put(this.root, { left: Math.max(4, left), top: Math.max(4, top) });
  }

  /** Draws again once the measures of the head have arrived; another store hides the preview. */
  update(): void {
    if (this.#head === undefined) return;
    if (this.#session.store !== this.#store) this.show(undefined);
    else if (this.#measures !== this.#session.measures(this.#head)) this.#draw(this.#head);
  }

  #draw(head: HeadName): void {
    const session = this.#session;
    const { block } = session;
    const ratio = devicePixelRatio;
    const picture = this.#overviews.picture(head, SIDE * ratio, SIDE * ratio, session.state.transfer);
    if (block === undefined || picture === undefined) return;
    const tall = block.Nq / Math.max(1, block.Nk);
    const [width, height] = [SIDE * Math.min(1, 1 / tall), SIDE * Math.min(1, Math.max(0.2, tall))];
    resizeCanvas(this.#canvas, width, height, ratio);
    const context = this.#canvas.getContext("2d")!;
    context.clearRect(0, 0, this.#canvas.width, this.#canvas.height);
    context.imageSmoothingEnabled = false;
    context.drawImage(picture, 0, 0, this.#canvas.width, this.#canvas.height);
    const measures = session.measures(head);
    this.#store = session.store;
    this.#measures = measures;
    const sort = metricOf(session.state.sort);
    const value = sort && metricValue(measures, sort.name);
    render(
      html`${this.#canvas}
        <p><b>${shortName(session, head)}</b> ${
          sort && value !== undefined ? html`${sort.label} ${numeral(value, sort.name, sort.options)}` : ""
        }</p>
        ${measures ? html`<p>${describeHead(block, measures)}</p>` : ""}`,
      this.root,
    );
  }
}
