// pure

/** What plugins give for the devices of a container. */
interface DeviceParts {
  readonly cdiDevices: readonly string[];
  readonly devices: readonly unknown[];
  readonly mounts: readonly unknown[];
  readonly env: readonly unknown[];
  readonly annotations: Readonly<Record<string, string>>;
}

/** Annotations of the agent itself. */
const OWN_ANNOTATIONS = "io.nodelet.";

/**
 * What to say of devices that a container does not get: a plugin gives them by their CDI names only, and the runtime leaves
 * those out without a word. `undefined` where the container gets all. It starts all the same, as with the Go kubelet.
 */
export function missingDevices(
  container: string,
  { cdiDevices, devices, mounts, env, annotations }: DeviceParts,
  features: { readonly cdiDevices?: boolean },
): string | undefined {
  if (cdiDevices.length === 0 || features.cdiDevices !== false) return undefined;
  const others = Object.keys(annotations).filter((name) => !name.startsWith(OWN_ANNOTATIONS));
  if (devices.length + mounts.length + env.length + others.length > 0) return undefined;
  return `container ${container} starts without its devices ${cdiDevices.join(", ")}: the device plugin gives them by CDI names only, which this container runtime does not read; use containerd 1.7 (with enable_cdi) or later`;
}
