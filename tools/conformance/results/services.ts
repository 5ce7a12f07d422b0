// pure
/** The log of the suite's own API server and etcd. */

/** The message with which Go ended one of them; undefined if none ended so. A panic that a handler survives is logged within a line. */
export function servicesFault(log: string): string | undefined {
  return /^(?:fatal error|panic): .*$/m.exec(log)?.[0];
}
