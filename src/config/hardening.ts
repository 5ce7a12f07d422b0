// pure

import type { KubeletFlags } from "./flags/kubelet-flags.ts";
import type { FeatureGates } from "./gates/feature-gates.ts";
import type { KubeletConfig } from "./kubelet-config.ts";
import { STRONG_CIPHER_SUITES } from "./validation/tls-names.ts";

/** One recommendation of the CIS benchmark and whether the configuration follows it. */
export interface HardeningFinding {
  /** Number of the check in kube-bench `cis-1.12`. */
  readonly id: string;
  readonly holds: boolean;
  /** The recommended setting. */
  readonly advice: string;
}

/**
 * Judges the configuration by section 4.2 of the CIS benchmark for Kubernetes nodes. Advice only: the
 * defaults of Kubernetes hold no certificate paths, no pid limit and no seccomp default.
 */
export function reviewHardening(
  config: KubeletConfig,
  flags: KubeletFlags,
  gates: FeatureGates,
): readonly HardeningFinding[] {
  const finding = (id: string, holds: boolean, advice: string) => ({ id, holds, advice });
  const ownCertificate = config.tlsCertFile !== "" && config.tlsPrivateKeyFile !== "";
  const suites = config.tlsCipherSuites;
  return [
    finding(
      "4.2.1",
      !config.authentication.anonymous.enabled,
      "authentication.anonymous.enabled: false",
    ),
    finding("4.2.2", config.authorization.mode !== "AlwaysAllow", "authorization.mode: Webhook"),
    finding(
      "4.2.3",
      config.authentication.x509.clientCAFile !== "",
      "set authentication.x509.clientCAFile",
    ),
    finding("4.2.4", config.readOnlyPort === 0, "readOnlyPort: 0"),
    finding(
      "4.2.5",
      config.streamingConnectionIdleTimeout !== 0,
      "streamingConnectionIdleTimeout: 4h",
    ),
    finding("4.2.6", config.makeIPTablesUtilChains, "makeIPTablesUtilChains: true"),
    finding("4.2.7", flags.hostnameOverride === "", "do not use --hostname-override"),
    finding("4.2.8", config.eventRecordQPS >= 5, "eventRecordQPS: 5 or more"),
    finding(
      "4.2.9",
      ownCertificate || config.serverTLSBootstrap,
      "set tlsCertFile and tlsPrivateKeyFile, or serverTLSBootstrap: true",
    ),
    finding("4.2.10", config.rotateCertificates, "rotateCertificates: true"),
    finding(
      "4.2.11",
      gates.isEnabled("RotateKubeletServerCertificate"),
      "leave the feature gate RotateKubeletServerCertificate on",
    ),
    finding(
      "4.2.12",
      suites.length > 0 && suites.every((name) => STRONG_CIPHER_SUITES.includes(name)),
      `tlsCipherSuites: ${STRONG_CIPHER_SUITES.join(", ")}`,
    ),
    finding("4.2.13", config.podPidsLimit > 0, "set podPidsLimit"),
    finding("4.2.14", config.seccompDefault, "seccompDefault: true"),
  ];
}
