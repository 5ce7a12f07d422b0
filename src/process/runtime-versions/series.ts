// pure
/** Whether a containerd is of the series 2 or newer, which Kubernetes needs from 1.38 on; false where the version is not known. */
export function isContainerd2(version: string | undefined): boolean {
  return Number(/^v?(\d+)\./.exec(version ?? "")?.[1]) >= 2;
}
