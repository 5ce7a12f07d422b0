// pure
/** The log of the suite's own API server and etcd. */

/** With what Go ended them; undefined if they did not end so. A handler's panic is logged, not at the beginning of a line. */
export function servicesFault(log: string): string | undefined {
  return /^(?:fatal error|panic): .*$/m.exec(log)?.[0];
}
