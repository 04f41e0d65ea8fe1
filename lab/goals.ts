/** What a reader can do after each page, as the map and the teacher’s notes say it. */
export const GOALS: Readonly<Record<string, string>> = {
  words: "say where a word looks, test that with a control sentence, and tell when a head rests.",
  arrows: "turn a query until another key wins, and say why the length of a key counts, too.",
  becomes: "measure what a sentence makes of a word, and show which head causes it.",
  steps: "compute attention by hand: scores, scale, mask, softmax, output.",
  scale: "say why scores are divided by √dₖ, and why not by dₖ.",
  saturation: "tell when softmax gives everything to one key, and why such a row stops learning.",
  masks: "write a causal and a padding mask, and say what a row that sees nothing returns.",
  heads: "tell heads apart, and put their outputs together as a layer does.",
  shapes: "give the shape of every array, and find a product that fits and is wrong.",
  cost: "estimate work and memory of attention for any number of words.",
  variants: "choose between Flash, a window and random features by their errors and costs.",
  scorers: "choose how to score a pair, and say what it costs in parameters, time and memory.",
  before: "train a network that aligns two sequences, and read its alignment.",
  learned: "say how training turns a head toward a word, and when it does not.",
  explanation: "test whether a word with a large weight matters for the model’s answer.",
};
