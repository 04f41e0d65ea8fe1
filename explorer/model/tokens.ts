/** What tokens are called on screen: the same as in figures drawn without a browser (src/view/tokens.ts). */
export * from "../../src/view/tokens.ts";
