// pure
import type { IdentifiedPod } from "../pod-identity.ts";

const HOSTNAME_MAX = 63;
/** Longest host name of the kernel (HOST_NAME_MAX). */
const KERNEL_NAME_MAX = 64;

/** How a pod calls itself. */
interface PodHostname {
  readonly hostname: string;
  /** `<subdomain>.<namespace>.svc.<cluster domain>`; empty when the pod has no subdomain. */
  readonly domain: string;
}

/**
 * The pod's name and domain: as given or its name, cut to what fits a label without a trailing dot or
 * dash (kubelet GeneratePodHostNameAndDomain).
 */
export function podHostname(pod: IdentifiedPod, clusterDomain: string): PodHostname {
  const { hostname = "", hostnameOverride = "", subdomain = "" } = pod.spec ?? {};
  if (hostnameOverride !== "") return { hostname: hostnameOverride, domain: "" };
  const wanted = hostname || pod.metadata.name;
  const namespace = pod.metadata.namespace;
  return {
    hostname:
      wanted.length <= HOSTNAME_MAX ? wanted : wanted.slice(0, HOSTNAME_MAX).replace(/[.-]+$/, ""),
    domain: subdomain === "" ? "" : `${subdomain}.${namespace}.svc.${clusterDomain}`,
  };
}

/** The name the kernel gets, or why there is none that fits (kubelet util GetNodenameForKernel). */
export function kernelHostname(
  pod: IdentifiedPod,
  clusterDomain: string,
):
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "fault"; readonly message: string } {
  const { hostname, domain } = podHostname(pod, clusterDomain);
  if (pod.spec?.setHostnameAsFQDN !== true || domain === "")
    return { kind: "name", name: hostname };
  const name = `${hostname}.${domain}`;
  if (name.length <= KERNEL_NAME_MAX) return { kind: "name", name };
  const message = `failed to construct FQDN from pod hostname and cluster domain, FQDN ${name} is too long (${KERNEL_NAME_MAX} characters is the max, ${name.length} characters requested)`;
  return { kind: "fault", message };
}
