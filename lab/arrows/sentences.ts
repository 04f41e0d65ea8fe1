/** The text that word2vec reads, and the words whose vectors are shown. */
export const TEXT =
  "the cat drank milk the dog drank water the king ruled land the queen ruled towns the cat slept the dog slept the king spoke the queen spoke".split(
    " ",
  );
export const READ = ["cat", "dog", "king", "queen", "drank"] as const;
