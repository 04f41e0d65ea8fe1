/** The sentence that runs through all pages: one for everybody, until a reader writes another. Kept in the browser. */

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
  const said = text.trim().replace(/\s+/gu, " ").slice(0, 120);
  try {
    if (said === "" || said === SENTENCE) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, said);
  } catch {
    // A browser that keeps nothing: the sentence lasts as long as the page's address.
  }
}
