// pure
/** What static pods of a control plane say of themselves by their flags, as kubeadm writes them. */
import type { Pod } from "../../api/generated/types.ts";
import {
  annotationOf,
  CONFIG_SOURCE_ANNOTATION,
  controlPlaneComponent,
  podDisplayName,
} from "../../api/pod/pod.ts";

/** A static pod of the control plane. */
export interface ControlPlaneComponent {
  /** Like `kube-apiserver`. */
  readonly component: string;
  /** Its pod, like `kube-system/kube-apiserver-node`. */
  readonly pod: string;
}

/** The component that a pod is; undefined for all others. */
export function componentOf(pod: Pod): ControlPlaneComponent | undefined {
  const component = controlPlaneComponent(pod);
  if (component === undefined || annotationOf(pod, CONFIG_SOURCE_ANNOTATION) !== "file")
    return undefined;
  return { component, pod: podDisplayName(pod) };
}

/** Files with certificates that its flags name: of themselves, or in a kubeconfig. */
export function certificateFiles(pod: Pod): readonly string[] {
  const paths = flagsOf(pod)
    .map(([, value]) => value)
    .filter((value) => /^\/\S+\.(?:crt|conf)$/.test(value));
  return [...new Set(paths)];
}

/** Where an etcd answers on the machine without a certificate; undefined for one that does not. */
export function metricsAddress(pod: Pod): string | undefined {
  const [, urls = ""] = flagsOf(pod).find(([name]) => name === "--listen-metrics-urls") ?? [];
  return urls.split(",").find((url) => url.startsWith("http://"));
}

function flagsOf({ spec }: Pod): readonly (readonly [name: string, value: string])[] {
  const words = (spec?.containers ?? []).flatMap(({ command = [], args = [] }) => [
    ...command,
    ...args,
  ]);
  return words.map((word) => {
    const at = word.indexOf("=");
    return at < 0 ? [word, ""] : [word.slice(0, at), word.slice(at + 1)];
  });
}

/** Certificates in base64 that a kubeconfig holds. */
export function embeddedCertificates(kubeconfig: string): readonly string[] {
  const found = kubeconfig.matchAll(/^\s*client-certificate-data:\s*(\S+)\s*$/gm);
  return [...found].map(([, data = ""]) => data);
}

/** Sizes by etcd's page of metrics; undefined where it has none. */
export function etcdSizes(
  metrics: string,
): { readonly bytes: number; readonly quotaBytes: number | undefined } | undefined {
  const sample = (name: string) => {
    const [, text] = new RegExp(`^${name} (\\S+)$`, "m").exec(metrics) ?? [];
    return text === undefined ? undefined : Number(text);
  };
  const bytes = sample("etcd_mvcc_db_total_size_in_bytes");
  if (bytes === undefined) return undefined;
  return { bytes, quotaBytes: sample("etcd_server_quota_backend_bytes") };
}

/** Alarms by etcd's own answer to whether it is healthy, like `NOSPACE`. */
export function etcdAlarms(health: string): readonly string[] {
  return [...health.matchAll(/ALARM (\w+)/g)].map(([, name = ""]) => name);
}
