// pure
import type { Container } from "../../api/generated/types.ts";
import type { MadeVolume } from "./kind.ts";

/** A block volume as a container sees it. */
export interface PlannedDevice {
  readonly containerPath: string;
  /** Its node on the node. */
  readonly hostPath: string;
  /** As CRI writes them: `mrw`, or `r` for a claim that may only be read. */
  readonly permissions: "mrw" | "r";
}

/** All block volumes of a container, or the first that cannot be had. */
type DevicePlan =
  | { readonly kind: "devices"; readonly devices: readonly PlannedDevice[] }
  | { readonly kind: "fault"; readonly message: string };

/** The block volumes of a container (kubelet makeBlockVolumes). */
export function planDevices(
  container: Container,
  made: ReadonlyMap<string, Pick<MadeVolume, "device" | "readOnly">>,
): DevicePlan {
  const devices: PlannedDevice[] = [];
  for (const { name, devicePath } of container.volumeDevices ?? []) {
    if (!devicePath.startsWith("/"))
      return {
        kind: "fault",
        message: `error DevicePath \`${devicePath}\` must be an absolute path`,
      };
    const volume = made.get(name);
    if (volume?.device === undefined) {
      const message = `cannot find volume "${name}" to pass into container "${container.name}"`;
      return { kind: "fault", message };
    }
    const permissions = volume.readOnly ? "r" : "mrw";
    devices.push({ containerPath: devicePath, hostPath: volume.device, permissions });
  }
  return { kind: "devices", devices };
}
