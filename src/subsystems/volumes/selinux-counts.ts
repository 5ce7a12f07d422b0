// pure
/** How SELinux contexts of pods and their volumes fit together (KEP-1710). */
import type { SELinuxOptions } from "../../api/generated/types.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { Sample } from "../../kit/metric-text.ts";

/** A volume of a pod. */
export interface LabelledVolume {
  readonly pod: IdentifiedPod;
  /** Name of the volume in the pod's spec. */
  readonly name: string;
  /** Folder of its plugin (`kubernetes.io~secret`). */
  readonly plugin: string;
  /** Claim by which it came, with the access modes of its volume. */
  readonly claim?: string;
  readonly accessModes?: readonly string[];
}

type Outcome =
  | "volumes_admitted"
  | "volume_context_mismatch_errors"
  | "volume_context_mismatch_warnings"
  | "pod_context_mismatch_errors"
  | "pod_context_mismatch_warnings"
  | "container_errors"
  | "container_warnings";

/** Samples by the name of the metric. */
type SelinuxCounts = Readonly<Record<`volume_manager_selinux_${Outcome}_total`, readonly Sample[]>>;

const SHORT: Readonly<Record<string, string>> = {
  ReadWriteOncePod: "RWOP",
  ReadWriteOnce: "RWO",
  ReadWriteMany: "RWX",
  ReadOnlyMany: "ROX",
};
const ONE_POD = "RWOP";

class Counts {
  readonly #samples = new Map<string, { labels: Record<string, string>; value: number }>();

  add(labels: Record<string, string>): void {
    const key = Object.values(labels).join(" ");
    const sample = this.#samples.get(key) ?? { labels, value: 0 };
    this.#samples.set(key, sample);
    sample.value += 1;
  }

  get samples(): readonly Sample[] {
    return [...this.#samples.values()];
  }
}

/** Counts volumes and pods by whether their contexts fit; a volume for one pod at a time has errors, others warnings. */
export function selinuxCounts(volumes: readonly LabelledVolume[]): SelinuxCounts {
  const counts = (): Counts => new Counts();
  const admitted = counts();
  const severity = () => ({ errors: counts(), warnings: counts() });
  const mismatched = { volume: severity(), pod: severity(), container: severity() };
  const contextsOfClaims = new Map<string, Set<string>>();
  for (const volume of volumes) {
    const access_mode = accessModeOf(volume);
    const kind = access_mode === ONE_POD ? "errors" : "warnings";
    const { contexts, incomplete } = contextsOf(volume);
    for (let i = 0; i < incomplete; i += 1) mismatched.container[kind].add({ access_mode });
    if (contexts.size > 1) {
      mismatched.pod[kind].add({ access_mode });
      continue;
    }
    const volume_plugin = volume.plugin.replace("~", "/");
    const key = `${volume.pod.metadata.namespace}/${volume.claim}`;
    const others = volume.claim === undefined ? undefined : contextsOfClaims.get(key);
    const [context = ""] = contexts;
    if (others && !others.has(context)) mismatched.volume[kind].add({ volume_plugin, access_mode });
    else admitted.add({ volume_plugin, access_mode });
    if (volume.claim !== undefined)
      contextsOfClaims.set(key, new Set([...(others ?? []), context]));
  }
  return {
    volume_manager_selinux_volumes_admitted_total: admitted.samples,
    volume_manager_selinux_volume_context_mismatch_errors_total: mismatched.volume.errors.samples,
    volume_manager_selinux_volume_context_mismatch_warnings_total:
      mismatched.volume.warnings.samples,
    volume_manager_selinux_pod_context_mismatch_errors_total: mismatched.pod.errors.samples,
    volume_manager_selinux_pod_context_mismatch_warnings_total: mismatched.pod.warnings.samples,
    volume_manager_selinux_container_errors_total: mismatched.container.errors.samples,
    volume_manager_selinux_container_warnings_total: mismatched.container.warnings.samples,
  };
}

function accessModeOf({ claim, accessModes = [] }: LabelledVolume): string {
  if (claim === undefined) return "inline";
  return accessModes.map((mode) => SHORT[mode] ?? mode).join(",");
}

/** The contexts that the containers with the volume ask for; without a level a context is incomplete. */
function contextsOf({ pod, name }: LabelledVolume): {
  readonly contexts: ReadonlySet<string>;
  readonly incomplete: number;
} {
  const { initContainers = [], containers = [], securityContext } = pod.spec ?? {};
  const contexts = new Set<string>();
  let incomplete = 0;
  for (const container of [...initContainers, ...containers]) {
    if (!container.volumeMounts?.some((mount) => mount.name === name)) continue;
    const own: SELinuxOptions | undefined = container.securityContext?.seLinuxOptions;
    const {
      user = "",
      role = "",
      type = "",
      level = "",
    } = {
      ...securityContext?.seLinuxOptions,
      ...own,
    };
    if (level === "" && `${user}${role}${type}` !== "") incomplete += 1;
    else contexts.add([user, role, type, level].join(":"));
  }
  return { contexts, incomplete };
}
