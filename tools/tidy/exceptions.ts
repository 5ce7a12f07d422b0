// pure
/** Where a rule of size does not hold, and why. Everything else is mended, not listed. */

/** Files that may be longer, with the reason. */
export const LONG_FILES: Readonly<Record<string, string>> = {};

/** Functions that may be longer or take more parameters, as `path name`, with the reason. */
export const LARGE_FUNCTIONS: Readonly<Record<string, string>> = {};
