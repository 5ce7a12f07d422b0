// pure

/** `apiVersion` of the objects of a group and version: `v1`, or `coordination.k8s.io/v1`. */
export function apiVersionOf({
  group,
  version,
}: {
  readonly group: string;
  readonly version: string;
}): string {
  return group === "" ? version : `${group}/${version}`;
}
