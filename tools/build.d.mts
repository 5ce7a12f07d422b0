/** Types of build.mjs, which is plain JavaScript so that any Node can run it. */
export function buildAll(options?: {
  readonly types?: boolean;
  readonly say?: (text: string) => void;
}): Promise<void>;
