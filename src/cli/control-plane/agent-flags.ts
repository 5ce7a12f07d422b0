// pure
/** The flags that a user has given for the agent of a node of a cluster; they are kept with what is noted of the cluster. */

const COMPAT = "--compat";

/** The release whose kubelet the agent behaves like, like `1.36`; undefined for its own. */
export function compatOf(flags: readonly string[]): string | undefined {
  const at = flags.findLastIndex((flag) => flag === COMPAT || flag.startsWith(`${COMPAT}=`));
  const flag = flags[at];
  return flag === COMPAT ? flags[at + 1] : flag?.slice(COMPAT.length + 1);
}

/** The others. */
export function withoutCompat(flags: readonly string[]): readonly string[] {
  return flags.filter(
    (flag, at) => flag !== COMPAT && !flag.startsWith(`${COMPAT}=`) && flags[at - 1] !== COMPAT,
  );
}
