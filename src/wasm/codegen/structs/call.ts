/** Words of a call, read by all of its tasks. */

/** Factor of Q. */
export const scale = 0;
/** Number of keys; columns from here on are padding. */
export const keys = 4;
export const queryRow = 8;
export const keyRow = 12;
export const valueRow = 16;
export const outRow = 20;
export const dropThreshold = 24;
export const dropScale = 28;
/** Byte strides from head to head (queries, output, lse), for rows of several heads in one decode task. */
export const queryHead = 32;
export const outHead = 36;
/** Rows of each head in such a task. */
export const headRows = 40;
export const lseHead = 44;
/** Factors of a score in the exponents of 2 and of e: 2^(s·exponent) = e^(s·unit). */
export const exponent = 48;
export const unit = 52;
/** Factor from q·k to the score: the scale of the call. */
export const factor = 56;
/** Lists of positions for dropout, of rows and of keys, and bytes from batch entry to batch entry. */
export const queryPositions = 60;
export const queryPositionsBatch = 64;
export const keyPositions = 68;
export const keyPositionsBatch = 72;
/** Byte stride of the row of each mask tensor, up to 8. */
export const tensorRow = 80;
/** Constants and tables of the mask and score expressions. */
export const pool = 112;
