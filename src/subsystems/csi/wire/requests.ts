import {
  CSI_ACCESS_MODE,
  type NodePublishVolumeRequest,
  type NodeStageVolumeRequest,
  type VolumeCapability,
} from "../../../outside/plugins/plugins.ts";

type AccessMode = (typeof CSI_ACCESS_MODE)[keyof typeof CSI_ACCESS_MODE];

/** A volume as requests name it. */
interface RequestedVolume {
  readonly handle: string;
  readonly isBlock: boolean;
  readonly fsType: string;
  readonly mountFlags: readonly string[];
  readonly accessModes: readonly string[];
  readonly attributes: Readonly<Record<string, string>>;
}

type Texts = Readonly<Record<string, string>>;

/** The mode for a driver; only the first of the volume's counts (csi_client.go asCSIAccessModeV1). */
export function accessMode(modes: readonly string[], multiWriter: boolean): AccessMode {
  switch (modes[0] ?? "ReadWriteOnce") {
    case "ReadWriteOnce":
      return multiWriter
        ? CSI_ACCESS_MODE.SINGLE_NODE_MULTI_WRITER
        : CSI_ACCESS_MODE.SINGLE_NODE_WRITER;
    case "ReadWriteOncePod":
      return multiWriter
        ? CSI_ACCESS_MODE.SINGLE_NODE_SINGLE_WRITER
        : CSI_ACCESS_MODE.SINGLE_NODE_WRITER;
    case "ReadOnlyMany":
      return CSI_ACCESS_MODE.MULTI_NODE_READER_ONLY;
    case "ReadWriteMany":
      return CSI_ACCESS_MODE.MULTI_NODE_MULTI_WRITER;
    default:
      return CSI_ACCESS_MODE.UNKNOWN;
  }
}

/** How the volume is to be had: as a block device, or as a file system with the group that is to own it. */
export function volumeCapability(
  { isBlock, fsType, mountFlags, accessModes }: Omit<RequestedVolume, "handle" | "attributes">,
  { multiWriter, group }: { readonly multiWriter: boolean; readonly group?: number | undefined },
): VolumeCapability {
  const mode = { mode: accessMode(accessModes, multiWriter) };
  if (isBlock) return { accessType: { $case: "block", value: {} }, accessMode: mode };
  const volumeMountGroup = group === undefined ? "" : String(group);
  const value = { fsType, mountFlags: [...mountFlags], volumeMountGroup };
  return { accessType: { $case: "mount", value }, accessMode: mode };
}

/** What is said of a volume at each step. */
interface StepTexts {
  readonly capability: VolumeCapability;
  readonly staging: string;
  readonly secrets: Texts;
  readonly publishContext: Texts;
}

/** The request to stage a volume; it says nothing of the pod. */
export function stageRequest(
  { handle, attributes }: RequestedVolume,
  { capability, staging, secrets, publishContext }: StepTexts,
): NodeStageVolumeRequest {
  return {
    volumeId: handle,
    publishContext,
    stagingTargetPath: staging,
    volumeCapability: capability,
    secrets,
    volumeContext: attributes,
  };
}

/** The request to publish a volume to a pod, with what the driver is to know of it. */
export function publishRequest(
  { handle, attributes, readOnly }: RequestedVolume & { readonly readOnly: boolean },
  step: StepTexts & { readonly target: string; readonly ofPod: Texts },
): NodePublishVolumeRequest {
  return {
    volumeId: handle,
    publishContext: step.publishContext,
    stagingTargetPath: step.staging,
    targetPath: step.target,
    volumeCapability: step.capability,
    readonly: readOnly,
    secrets: step.secrets,
    volumeContext: { ...attributes, ...step.ofPod },
  };
}

/** Who gives a volume to the pod's group (csi_mounter.go supportsFSGroup). */
export function groupIsOurs(
  {
    fsType,
    accessModes,
    readOnly,
    isInline,
  }: {
    readonly fsType: string;
    readonly accessModes: readonly string[];
    readonly readOnly: boolean;
    readonly isInline: boolean;
  },
  { policy, group }: { readonly policy: string; readonly group: number | undefined },
): boolean {
  if (group === undefined || policy === "None" || readOnly) return false;
  if (policy === "File") return true;
  if (fsType === "") return false;
  return (
    isInline || accessModes.some((mode) => mode === "ReadWriteOnce" || mode === "ReadWriteOncePod")
  );
}
