/** Types of packages-step.mjs, which is plain JavaScript so that any Node can run it. */
export function neededPackages(
  profile: string,
  options: { readonly whole: boolean },
): readonly { readonly debian: string }[];
