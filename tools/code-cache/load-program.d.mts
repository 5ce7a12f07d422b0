/** Types of load-program.mjs. */
export function loadProgram(name: string, folder: string, require: NodeJS.Require): unknown;
export function cacheDigest(text: Uint8Array, cachedData: Uint8Array): Buffer;
