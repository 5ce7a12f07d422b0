// pure
import { isIP } from "../api/text/ip.ts";
import type { FeatureGates } from "./gates/feature-gates.ts";
import type { KubeletConfig } from "./kubelet-config.ts";

/** Settings that are valid but questionable; printed once when the agent starts. */
export function adviseOnConfig(config: KubeletConfig, gates: FeatureGates): readonly string[] {
  const advice = [...adviseOnAccess(config)];
  for (const address of config.clusterDNS) {
    if (!isIP(address)) advice.push(`clusterDNS: invalid IP address "${address}" is ignored`);
  }
  for (const path of ["containerRuntimeEndpoint", "imageServiceEndpoint"] as const) {
    if (!config[path].startsWith("/")) continue;
    advice.push(`${path}: a bare path is deprecated, write unix://${config[path]}`);
  }
  const { kubeletCgroups, kubeReservedCgroup } = config;
  if (kubeletCgroups !== "" && kubeReservedCgroup !== "") {
    if (!kubeletCgroups.startsWith(kubeReservedCgroup)) {
      advice.push("unsupported configuration: kubeletCgroups is not within kubeReservedCgroup");
    }
  }
  for (const field of ["evictionHard", "evictionSoft"] as const) {
    for (const signal of Object.keys(config[field])) {
      if (!signal.startsWith("containerfs.")) continue;
      advice.push(`${field}[${signal}] has no effect: containerfs follows nodefs or imagefs`);
    }
  }
  if (Object.keys(config.qosReserved).length > 0 && !gates.isEnabled("QOSReserved")) {
    advice.push("qosReserved has no effect without the feature gate QOSReserved");
  }
  if (config.registerWithTaints.length > 0 && !config.registerNode) {
    advice.push("registerWithTaints has no effect while registerNode is false");
  }
  return advice;
}

function adviseOnAccess(config: KubeletConfig): readonly string[] {
  const advice: string[] = [];
  const open = config.authentication.anonymous.enabled;
  if (open && config.authorization.mode === "AlwaysAllow") {
    advice.push(
      "authentication.anonymous.enabled and authorization.mode AlwaysAllow together let anyone who reaches " +
        "the HTTPS port run commands in every container",
    );
  } else if (config.authorization.mode === "AlwaysAllow") {
    advice.push(
      "authorization.mode AlwaysAllow lets every authenticated caller run commands in every container",
    );
  }
  if (config.readOnlyPort !== 0) {
    advice.push(
      `readOnlyPort ${config.readOnlyPort} shows pods and metrics to anyone who reaches it`,
    );
  }
  return advice;
}
