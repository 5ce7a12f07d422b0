/** Builds dist/ when a source has changed since; with `types` what is published, too. Throws when it cannot be built. */
export function buildStep(options: { readonly types: boolean }): Promise<void>;
