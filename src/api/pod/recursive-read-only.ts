// pure
import type { VolumeMount } from "../generated/types.ts";

/** Whether a mount is read-only with all that is mounted beneath, or why it cannot be as it asks. */
type RecursiveReadOnly =
  | { readonly kind: "resolved"; readonly enabled: boolean }
  | { readonly kind: "fault"; readonly message: string };

/** Resolves `recursiveReadOnly` of a mount (kubelet_pods.go resolveRecursiveReadOnly). */
export function resolveRecursiveReadOnly(
  mount: VolumeMount,
  supported: boolean,
): RecursiveReadOnly {
  const { name, readOnly, mountPropagation = "None", recursiveReadOnly = "Disabled" } = mount;
  if (recursiveReadOnly === "Disabled") return { kind: "resolved", enabled: false };
  const fault = (why: string): RecursiveReadOnly => ({
    kind: "fault",
    message: `volume "${name}" requested recursive read-only mode, but it is ${why}`,
  });
  if (readOnly !== true) return fault("not read-only");
  if (mountPropagation !== "None")
    return fault(`not compatible with propagation "${mountPropagation}"`);
  if (recursiveReadOnly === "IfPossible" || supported)
    return { kind: "resolved", enabled: supported };
  return fault("not supported by the runtime");
}
