// pure

import { forbidden, invalid, required, tooLong, unsupported } from "../decode/field-problem.ts";
import type {
  AppArmorProfile,
  PodSecurityContext,
  PodSpec,
  SeccompProfile,
  SecurityContext,
} from "../generated/types.ts";
import { byteLength, inclusiveRange } from "../text/names.ts";
import { child, descendingPath, eachOf, FINE, faultsAt, ifSet, type Problems } from "./fields.ts";
import { windowsOptionsProblems } from "./windows.ts";

const MAX_ID = 2 ** 31 - 1;
const MAX_PROFILE_BYTES = 4095;
const MAX_SYSCTL_LENGTH = 253;

/** Profile types of seccomp and AppArmor. */
const PROFILE_TYPES = ["Localhost", "RuntimeDefault", "Unconfined"] as const;

const idProblems = (path: string, id: number | undefined): Problems =>
  id !== undefined && (id < 0 || id > MAX_ID)
    ? faultsAt(path, id, [inclusiveRange(0, MAX_ID)])
    : FINE;

const oneOf = (path: string, value: string | undefined, supported: readonly string[]): Problems =>
  value === undefined || supported.includes(value) ? FINE : [unsupported(path, value, supported)];

function seccompProblems(profile: SeccompProfile, path: string): Problems {
  const { type, localhostProfile } = profile;
  const at = child(path, "localhostProfile");
  const local =
    type === "Localhost"
      ? localhostProfile === undefined
        ? [required(at, "must be set when seccomp type is Localhost")]
        : descendingPath(at, localhostProfile)
      : localhostProfile === undefined
        ? FINE
        : [invalid(at, profile, "can only be set when seccomp type is Localhost")];
  return [
    ...(type === ""
      ? [required(child(path, "type"), "type is required when seccompProfile is set")]
      : oneOf(child(path, "type"), type, PROFILE_TYPES)),
    ...local,
  ];
}

function localAppArmorProblems(profile: string | undefined, path: string): Problems {
  if (profile === undefined || profile === "")
    return [required(path, "must be set when AppArmor type is Localhost")];
  return [
    ...(profile.trim() === profile
      ? []
      : [invalid(path, profile, "must not be padded with whitespace")]),
    ...(byteLength(profile) > MAX_PROFILE_BYTES ? [tooLong(path, MAX_PROFILE_BYTES)] : []),
  ];
}

function appArmorProblems({ type, localhostProfile }: AppArmorProfile, path: string): Problems {
  const at = child(path, "localhostProfile");
  if (type === "Localhost") return localAppArmorProblems(localhostProfile, at);
  if (type === "")
    return [required(child(path, "type"), "type is required when appArmorProfile is set")];
  if (!(PROFILE_TYPES as readonly string[]).includes(type))
    return [unsupported(child(path, "type"), type, PROFILE_TYPES)];
  return localhostProfile === undefined
    ? FINE
    : [invalid(at, localhostProfile, "can only be set when AppArmor type is Localhost")];
}

/** Security context of a container. */
export function securityContextProblems(
  context: SecurityContext,
  path: string,
  options: { readonly allowPrivileged: boolean; readonly hostUsers: boolean },
): Problems {
  const { privileged, procMount, allowPrivilegeEscalation: escalation } = context;
  const admin = (context.capabilities?.add ?? []).includes("CAP_SYS_ADMIN");
  return [
    ...(privileged === true && !options.allowPrivileged
      ? [forbidden(child(path, "privileged"), "disallowed by cluster policy")]
      : []),
    ...idProblems(child(path, "runAsUser"), context.runAsUser),
    ...idProblems(child(path, "runAsGroup"), context.runAsGroup),
    ...oneOf(child(path, "procMount"), procMount, ["Default", "Unmasked"]),
    ...(options.hostUsers && procMount === "Unmasked"
      ? [
          invalid(
            child(path, "procMount"),
            procMount,
            "`hostUsers` must be false to use `Unmasked`",
          ),
        ]
      : []),
    ...ifSet(context.seccompProfile, (profile) =>
      seccompProblems(profile, child(path, "seccompProfile")),
    ),
    ...(escalation === false && privileged === true
      ? [
          invalid(
            path,
            context,
            "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
          ),
        ]
      : []),
    ...(escalation === false && admin
      ? [
          invalid(
            path,
            context,
            "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
          ),
        ]
      : []),
    ...ifSet(context.windowsOptions, (windows) =>
      windowsOptionsProblems(windows, child(path, "windowsOptions")),
    ),
    ...ifSet(context.appArmorProfile, (profile) =>
      appArmorProblems(profile, child(path, "appArmorProfile")),
    ),
  ];
}

const SYSCTL = "([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const SYSCTL_RE = new RegExp(`^${SYSCTL}$`);

const isSysctlName = (name: string): boolean =>
  name.length <= MAX_SYSCTL_LENGTH && SYSCTL_RE.test(name);

/**
 * A sysctl's name with dots, whichever of `.` and `/` it was written with; the other one is then part of a name, as of
 * the interface in `net/ipv4/conf/eno2.100/rp_filter` (component-helpers sysctl.NormalizeName).
 */
export function dottedSysctl(name: string): string {
  const separator = name.search(/[./]/);
  return separator >= 0 && name.charAt(separator) === "/"
    ? name.replace(/[./]/g, (c) => (c === "/" ? "." : "/"))
    : name;
}

/** The kernel namespace a sysctl belongs to, if it has one. */
export function sysctlNamespace(name: string): "net" | "ipc" | "uts" | "user" | undefined {
  const dotted = dottedSysctl(name);
  if (dotted.startsWith("net.")) return "net";
  if (dotted.startsWith("user.")) return "user";
  if (dotted === "kernel.domainname") return "uts";
  const ipc = ["kernel.shm", "kernel.msg", "fs.mqueue."].some((prefix) =>
    dotted.startsWith(prefix),
  );
  return ipc || dotted === "kernel.sem" ? "ipc" : undefined;
}

function sysctlProblems(spec: PodSpec, path: string): Problems {
  const seen = new Set<string>();
  return eachOf(spec.securityContext?.sysctls, path, ({ name }, at) => {
    const namePath = child(at, "name");
    const again = seen.has(name);
    seen.add(name);
    const own =
      name === ""
        ? [required(namePath)]
        : !isSysctlName(name)
          ? [
              invalid(
                namePath,
                name,
                `must have at most ${MAX_SYSCTL_LENGTH} characters and match regex ^${SYSCTL}$`,
              ),
            ]
          : again
            ? [{ path: namePath, kind: "duplicate", value: name, message: "" } as const]
            : [];
    const namespace = sysctlNamespace(name);
    const shared =
      namespace === "net" && spec.hostNetwork === true
        ? "hostNetwork"
        : namespace === "ipc" && spec.hostIPC === true
          ? "hostIPC"
          : undefined;
    return shared === undefined
      ? own
      : [...own, invalid(namePath, name, `may not be specified when '${shared}' is true`)];
  });
}

/** Security context of a pod. */
export function podSecurityContextProblems(spec: PodSpec): Problems {
  const path = "spec.securityContext";
  const context: PodSecurityContext = spec.securityContext ?? {};
  return [
    ...idProblems(child(path, "fsGroup"), context.fsGroup),
    ...idProblems(child(path, "runAsUser"), context.runAsUser),
    ...idProblems(child(path, "runAsGroup"), context.runAsGroup),
    ...eachOf(context.supplementalGroups, child(path, "supplementalGroups"), (id, at) =>
      idProblems(at, id),
    ),
    ...(spec.shareProcessNamespace === true && spec.hostPID === true
      ? [
          invalid(
            "spec.shareProcessNamespace",
            true,
            "ShareProcessNamespace and HostPID cannot both be enabled",
          ),
        ]
      : []),
    ...sysctlProblems(spec, child(path, "sysctls")),
    ...oneOf(child(path, "fsGroupChangePolicy"), context.fsGroupChangePolicy, [
      "Always",
      "OnRootMismatch",
    ]),
    ...ifSet(context.seccompProfile, (profile) =>
      seccompProblems(profile, child(path, "seccompProfile")),
    ),
    ...ifSet(context.windowsOptions, (windows) =>
      windowsOptionsProblems(windows, child(path, "windowsOptions")),
    ),
    ...ifSet(context.appArmorProfile, (profile) =>
      appArmorProblems(profile, child(path, "appArmorProfile")),
    ),
    ...oneOf(child(path, "supplementalGroupsPolicy"), context.supplementalGroupsPolicy, [
      "Merge",
      "Strict",
    ]),
    ...oneOf(child(path, "seLinuxChangePolicy"), context.seLinuxChangePolicy, [
      "MountOption",
      "Recursive",
    ]),
  ];
}
