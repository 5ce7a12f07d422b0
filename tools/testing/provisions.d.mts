/** Types of provisions.mjs, which is plain JavaScript as the runner is. */
export const NEEDED_PROVISIONS: readonly string[];
