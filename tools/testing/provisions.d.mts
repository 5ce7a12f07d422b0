/** Types of provisions.mjs, which is plain JavaScript as the runner is. */
export const PROVISION_NAMES: readonly string[];
