/** The colors of explorer and Lab: custom properties that a page may set, with one value for light and one for dark pages. */

/** The name of each color, and its values on light and dark pages. */
export const COLORS: readonly (readonly [name: string, light: string, dark: string])[] = [
  ["paper", "#fbfaf7", "#14151a"],
  ["raised", "#ffffff", "#1d1f26"],
  ["line", "#e4e1d8", "#343741"],
  ["ink", "#1b1a17", "#eceae3"],
  ["second", "#55534e", "#b7b4ab"],
  ["third", "#716e66", "#97948c"],
  ["query", "#12299c", "#42acff"],
  ["key", "#7d2900", "#fe9932"],
  ["value", "#00827c", "#5fb09a"],
  ["weight", "#3f0538", "#fed4fc"],
  ["badge", "#8a5a00", "#e0aa3e"],
  ["hatch", "#87837a", "#6f6c66"],
  ["hover", "#f3f0e8", "#262932"],
];

/** The colors as declarations of a style sheet. */
export const colorProperties: string = COLORS.map(
  ([name, light, dark]) => `--${name}:var(--heed-${name},light-dark(${light},${dark}));`,
).join("");
