/** The sentence of all pages: the common one, or the reader's own, which the browser stores. */

/** The sentence of the pages as they are built. */
export const SENTENCE = "The cat sat on the mat because it was tired";

const KEY = "heed-lab-sentence";

/** The reader's sentence, or the common one. */
export function sentence(): string {
  try {
    return localStorage.getItem(KEY) ?? SENTENCE;
  } catch {
    return SENTENCE;
  }
}

/** Keeps a sentence; an empty one brings the common one back. */
export function keepSentence(text: string): void {
  const cleaned = text.trim().replace(/\s+/gu, " ").slice(0, 120);
  try {
    if (cleaned === "" || cleaned === SENTENCE) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, cleaned);
  } catch {
    // Storage is unavailable: the sentence is in the address only.
  }
}
