/** Text: the controls of what the tokens are tinted by. The text itself is views/text-pane.ts. */
import { html, type TemplateResult } from "lit";
import { check, choice, type Ui } from "../ui.ts";

/** The controls above the text: which way the weights are read, and pieces or words. */
export function textControls({ session }: Ui): TemplateResult {
  const { state } = session;
  return html`${choice(
    "Weights",
    [
      ["from", "from", "What the chosen queries give to each token"],
      ["to", "to", "What each token gives to the chosen keys"],
    ],
    state.direction,
    (direction) => session.set({ direction }),
  )}
  ${check("words", state.words, (words) => session.set({ words }))}`;
}
