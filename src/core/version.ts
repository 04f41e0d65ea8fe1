/** The version of the package. */

/** The version in package.json, which ranks of a cluster must share; a test compares the two. */
export const VERSION = "0.1.0";
