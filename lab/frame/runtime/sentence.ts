/** The sentence of the pages: their own, or the reader's, which the browser stores. */

/** The sentence of most pages as they are built. */
export const SENTENCE = "The cat sat on the mat because it was tired";

const KEY = "heed-lab-sentence";

/** The reader's sentence; "" where there is none. */
export function sentence(): string {
  try {
    return localStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

/** Keeps a sentence; an empty one brings those of the pages back. */
export function keepSentence(text: string): void {
  const cleaned = text.trim().replace(/\s+/gu, " ").slice(0, 120);
  try {
    if (cleaned === "") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, cleaned);
  } catch {
    // Storage is unavailable: the sentence is in the address only.
  }
}
