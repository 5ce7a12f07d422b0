/** The address of a pod's view. */
export function podHref(namespace: string, name: string): string {
  return `#/pod/${encodeURIComponent(`${namespace}/${name}`)}`;
}
