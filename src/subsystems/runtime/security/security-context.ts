// pure
import type {
  AppArmorProfile,
  Container,
  Pod,
  SELinuxOptions,
  SeccompProfile,
  SecurityContext,
} from "../../../api/generated/types.ts";
import { annotationOf } from "../../../api/pod/pod.ts";
import type { ImageUser } from "../../../api/present-image.ts";
import type { ContainerConfig, DeepPartial, PodSandboxConfig } from "../../../outside/cri/cri.ts";
import {
  NamespaceMode,
  type SecurityProfile,
  SecurityProfile_ProfileType,
  SupplementalGroupsPolicy,
  type UserNamespace,
} from "../../../outside/cri/generated/api.ts";

/** Kernel files a container does not see, or cannot write (OCI defaults, pkg/securitycontext). */
const MASKED_PATHS = [
  "/proc/asound",
  "/proc/acpi",
  "/proc/interrupts",
  "/proc/kcore",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/timer_list",
  "/proc/timer_stats",
  "/proc/sched_debug",
  "/proc/scsi",
  "/sys/firmware",
  "/sys/devices/virtual/powercap",
] as const;
const READONLY_PATHS = [
  "/proc/bus",
  "/proc/fs",
  "/proc/irq",
  "/proc/sys",
  "/proc/sysrq-trigger",
] as const;

/** Largest id of a user (apimachinery validation IsValidUserID). */
const MAX_USER_ID = 2_147_483_647n;

const APPARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/";

/** Inputs of a security context beside the pod's spec. */
export interface SecurityParts {
  /** Profile of containers that ask for none: the runtime's default, or none at all. */
  readonly seccompDefault: boolean;
  /** Folders of the machine that are hidden beside the usual ones. */
  readonly thermalThrottleFolders: readonly string[];
  /** Folder that local seccomp profiles are named beneath. */
  readonly seccompRoot: string;
  readonly imageUser: ImageUser;
  /** Groups that volumes bring. */
  readonly volumeGroups: readonly number[];
  /** Ids of the pod's own, where it has them. */
  readonly userNamespace?: DeepPartial<UserNamespace> | undefined;
}

type CriContainerSecurity = NonNullable<
  NonNullable<DeepPartial<ContainerConfig>["linux"]>["securityContext"]
>;
type CriSandboxSecurity = NonNullable<
  NonNullable<DeepPartial<PodSandboxConfig>["linux"]>["securityContext"]
>;

/** A container's own settings over those of its pod (securitycontext DetermineEffectiveSecurityContext). */
function effectiveSecurity(
  pod: Pod,
  container: Pick<Container, "securityContext">,
): SecurityContext {
  const { runAsUser, runAsGroup, runAsNonRoot, seLinuxOptions } = pod.spec?.securityContext ?? {};
  return {
    ...(runAsUser === undefined ? {} : { runAsUser }),
    ...(runAsGroup === undefined ? {} : { runAsGroup }),
    ...(runAsNonRoot === undefined ? {} : { runAsNonRoot }),
    ...(seLinuxOptions === undefined ? {} : { seLinuxOptions }),
    ...container.securityContext,
  };
}

/**
 * Why the container must not be started as it is; `undefined` when it may. Asked before every start, also
 * of an image that is there already (CVE-2019-11245; kuberuntime verifyRunAsNonRoot).
 */
export function nonRootViolation(
  pod: Pod,
  container: Container,
  user: ImageUser,
): string | undefined {
  const { runAsNonRoot, runAsUser } = effectiveSecurity(pod, container);
  if (runAsNonRoot !== true) return undefined;
  const { name, namespace, uid } = pod.metadata ?? {};
  const where = `(pod: "${name}_${namespace}(${uid})", container: ${container.name})`;
  if (runAsUser !== undefined) {
    return runAsUser === 0 ? `container's runAsUser breaks non-root policy ${where}` : undefined;
  }
  if (user.uid === 0n || (user.uid === undefined && user.username === "")) {
    return `container has runAsNonRoot and image will run as root ${where}`;
  }
  if (user.uid !== undefined) return userIdFault(user.uid, where);
  return `container has runAsNonRoot and image has non-numeric user (${user.username}), cannot verify user is non-root ${where}`;
}

/** Runtimes cut larger ids to 32 bits, and 2^32 is root then (CVE-2024-40635). */
function userIdFault(uid: bigint, where: string): string | undefined {
  if (uid > 0n && uid <= MAX_USER_ID) return undefined;
  return `container has runAsNonRoot and image has an invalid user id (${uid}). (Must be 1-(${MAX_USER_ID})): must be between 0 and ${MAX_USER_ID}, inclusive ${where}`;
}

/**
 * A profile of a type that is none, or a local one that has no name: the Go kubelet once ran such containers unconfined
 * (CVE-2023-2431).
 */
export function seccompViolation(pod: Pod, container: Container): string | undefined {
  const profile =
    container.securityContext?.seccompProfile ?? pod.spec?.securityContext?.seccompProfile;
  if (profile && !Object.hasOwn(PROFILE_TYPES, profile.type))
    return `unknown seccompProfile type ${JSON.stringify(profile.type)}: must be one of ${Object.keys(PROFILE_TYPES).join(", ")}`;
  return profile?.type === "Localhost" && !profile.localhostProfile
    ? "localhostProfile must be set if seccompProfile type is Localhost."
    : undefined;
}

/** CRI security context of a container (kuberuntime determineEffectiveSecurityContext). */
export function containerSecurity(
  pod: Pod,
  container: Container,
  parts: SecurityParts,
): CriContainerSecurity {
  const effective = effectiveSecurity(pod, container);
  const unmasked = effective.procMount === "Unmasked";
  const user = runAs(effective, parts.imageUser);
  return {
    ...user,
    namespaceOptions: namespaceOptions(pod, parts.userNamespace),
    privileged: effective.privileged === true,
    readonlyRootfs: effective.readOnlyRootFilesystem === true,
    noNewPrivs: effective.allowPrivilegeEscalation === false,
    capabilities: {
      addCapabilities: [...(effective.capabilities?.add ?? [])],
      dropCapabilities: [...(effective.capabilities?.drop ?? [])],
    },
    maskedPaths: unmasked ? [] : [...MASKED_PATHS, ...parts.thermalThrottleFolders],
    readonlyPaths: unmasked ? [] : [...READONLY_PATHS],
    ...selinux(effective.seLinuxOptions),
    seccomp: seccompOf(
      effective.seccompProfile ?? pod.spec?.securityContext?.seccompProfile,
      parts,
    ),
    ...apparmorOf(pod, container),
    ...groupsOf(pod, parts.volumeGroups),
  };
}

/** CRI security context of the sandbox; its own process always runs under the default profile. */
export function sandboxSecurity(
  pod: Pod,
  userNamespace?: DeepPartial<UserNamespace>,
): CriSandboxSecurity {
  const { runAsUser, runAsGroup, seLinuxOptions } = pod.spec?.securityContext ?? {};
  const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
  return {
    namespaceOptions: namespaceOptions(pod, userNamespace),
    privileged: containers.some(({ securityContext }) => securityContext?.privileged === true),
    readonlyRootfs: false,
    seccomp: { profileType: SecurityProfile_ProfileType.RuntimeDefault, localhostRef: "" },
    ...(runAsUser === undefined ? {} : { runAsUser: { value: BigInt(runAsUser) } }),
    ...(runAsGroup === undefined ? {} : { runAsGroup: { value: BigInt(runAsGroup) } }),
    ...selinux(seLinuxOptions),
    ...groupsOf(pod, []),
  };
}

/** Which namespaces of the pod are the node's, the pod's or each container's own. */
export function namespaceOptions(
  pod: Pod,
  userNamespace?: DeepPartial<UserNamespace>,
): {
  network: NamespaceMode;
  pid: NamespaceMode;
  ipc: NamespaceMode;
  usernsOptions?: DeepPartial<UserNamespace>;
} {
  const { hostNetwork, hostPID, hostIPC, shareProcessNamespace } = pod.spec ?? {};
  return {
    network: hostNetwork ? NamespaceMode.NODE : NamespaceMode.POD,
    pid: hostPID
      ? NamespaceMode.NODE
      : shareProcessNamespace
        ? NamespaceMode.POD
        : NamespaceMode.CONTAINER,
    ipc: hostIPC ? NamespaceMode.NODE : NamespaceMode.POD,
    ...(userNamespace ? { usernsOptions: userNamespace } : {}),
  };
}

/** The spec's user, else the image's, set explicitly so that every start gets the same one. */
function runAs(
  effective: SecurityContext,
  image: ImageUser,
): Pick<CriContainerSecurity, "runAsUser" | "runAsUsername" | "runAsGroup"> {
  const group =
    effective.runAsGroup === undefined
      ? {}
      : { runAsGroup: { value: BigInt(effective.runAsGroup) } };
  if (effective.runAsUser !== undefined)
    return { runAsUser: { value: BigInt(effective.runAsUser) }, ...group };
  if (image.uid !== undefined) return { runAsUser: { value: image.uid }, ...group };
  return { runAsUsername: image.username, ...group };
}

function groupsOf(
  pod: Pod,
  volumeGroups: readonly number[],
): { supplementalGroups: bigint[]; supplementalGroupsPolicy: SupplementalGroupsPolicy } {
  const {
    fsGroup,
    supplementalGroups = [],
    supplementalGroupsPolicy,
  } = pod.spec?.securityContext ?? {};
  const groups = [
    ...(fsGroup === undefined ? [] : [fsGroup]),
    ...supplementalGroups,
    ...volumeGroups,
  ];
  return {
    supplementalGroups: [...new Set(groups)].map(BigInt),
    supplementalGroupsPolicy:
      supplementalGroupsPolicy === "Strict"
        ? SupplementalGroupsPolicy.Strict
        : SupplementalGroupsPolicy.Merge,
  };
}

function selinux(options: SELinuxOptions | undefined): {
  selinuxOptions?: { user: string; role: string; type: string; level: string };
} {
  if (!options) return {};
  const { user = "", role = "", type = "", level = "" } = options;
  return { selinuxOptions: { user, role, type, level } };
}

const PROFILE_TYPES: Readonly<Record<string, SecurityProfile_ProfileType>> = {
  RuntimeDefault: SecurityProfile_ProfileType.RuntimeDefault,
  Unconfined: SecurityProfile_ProfileType.Unconfined,
  Localhost: SecurityProfile_ProfileType.Localhost,
};

/** A local profile without a name was refused by validation; here it confines rather than not (CVE-2023-2431). */
function seccompOf(
  profile: SeccompProfile | undefined,
  { seccompDefault, seccompRoot }: SecurityParts,
): SecurityProfile {
  const type = profile?.type ?? (seccompDefault ? "RuntimeDefault" : "Unconfined");
  if (type === "Localhost" && !profile?.localhostProfile) {
    return { profileType: SecurityProfile_ProfileType.RuntimeDefault, localhostRef: "" };
  }
  const localhostRef = type === "Localhost" ? `${seccompRoot}/${profile?.localhostProfile}` : "";
  return {
    profileType: PROFILE_TYPES[type] ?? SecurityProfile_ProfileType.RuntimeDefault,
    localhostRef,
  };
}

/** Field of the container, field of the pod, then the annotation of older clusters; none leaves it to the runtime. */
function apparmorOf(
  pod: Pod,
  container: Container,
): { apparmor?: SecurityProfile; apparmorProfile?: string } {
  const profile =
    container.securityContext?.appArmorProfile ??
    pod.spec?.securityContext?.appArmorProfile ??
    apparmorFromAnnotation(annotationOf(pod, APPARMOR_ANNOTATION + container.name));
  if (!profile) return {};
  const localhostRef = profile.localhostProfile ?? "";
  const spelled = {
    RuntimeDefault: "runtime/default",
    Unconfined: "unconfined",
    Localhost: `localhost/${localhostRef}`,
  };
  return {
    apparmor: {
      profileType: PROFILE_TYPES[profile.type] ?? SecurityProfile_ProfileType.RuntimeDefault,
      localhostRef,
    },
    apparmorProfile: spelled[profile.type as keyof typeof spelled] ?? "runtime/default",
  };
}

function apparmorFromAnnotation(value: string | undefined): AppArmorProfile | undefined {
  if (value === undefined || value === "") return undefined;
  if (value === "runtime/default") return { type: "RuntimeDefault" };
  if (value === "unconfined") return { type: "Unconfined" };
  return value.startsWith("localhost/")
    ? { type: "Localhost", localhostProfile: value.slice("localhost/".length) }
    : undefined;
}
