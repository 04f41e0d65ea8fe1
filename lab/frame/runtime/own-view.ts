/** The explorer on a reader's own sentence: the small encoder reads it in this page, and the element shows all of its heads. */
import { storeFromModel } from "../../../src/store/layout/from.ts";
import { ownAttention } from "../../head/own.ts";
import { setBase } from "./base.ts";

setBase(import.meta.url);
const search = new URLSearchParams(location.search);
const text = search.get("text") ?? "";
// Pages that have space for few pieces read no more of a sentence.
const pieces = Number(search.get("pieces") ?? Number.POSITIVE_INFINITY);
const problem = document.querySelector<HTMLElement>("[role=alert]")!;
try {
  if (text.trim() === "") throw new Error("The address has no sentence: ?text= is missing.");
  document.querySelector("[data-text]")!.textContent = `“${text}”`;
  const [attention] = await Promise.all([
    ownAttention(text, pieces),
    customElements.whenDefined("attention-view"),
  ]);
  const view = document.querySelector("attention-view") as HTMLElement & { store: unknown };
  view.store = storeFromModel(attention);
} catch (error) {
  problem.textContent = (error as Error).message;
  problem.hidden = false;
}
