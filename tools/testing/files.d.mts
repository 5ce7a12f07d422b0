/** Types of files.mjs, which is plain JavaScript as the runner is. */
export function testFiles(): { readonly path: string; readonly kind: string }[];
