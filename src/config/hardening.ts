// pure
/** Section 4 of the CIS benchmark for Kubernetes nodes: what follows it, and the settings that follow all of it. */
import type { JsonValue } from "../api/generated/types.ts";
import type { KubeletFlags } from "./flags/kubelet-flags.ts";
import type { FeatureGates } from "./gates/feature-gates.ts";
import { CONFIG_API_VERSION, CONFIG_KIND, type KubeletConfig } from "./kubelet-config.ts";
import { type JsonObject, setAt } from "./tree.ts";
import { STRONG_CIPHER_SUITES } from "./validation/tls-names.ts";

/** One recommendation of the CIS benchmark and whether the node follows it. */
export interface HardeningFinding {
  /** Number of the check in kube-bench `cis-1.12`; 4.2.15 is one of `cis-1.11`. */
  readonly id: string;
  /** `n/a`: what it is about is not there, whatever the setting says. */
  readonly holds: "yes" | "no" | "n/a";
  /** The recommended setting, or why it has no effect. */
  readonly advice: string;
}

/** A file of the node as the benchmark sees it. */
export interface NodeFile {
  readonly path: string;
  /** Permission bits. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/** Files of the node by the part they play; those that are not there are left out. */
export interface NodeFiles {
  readonly service: readonly NodeFile[];
  readonly proxyKubeconfig: readonly NodeFile[];
  readonly kubeconfig: readonly NodeFile[];
  readonly clientAuthorities: readonly NodeFile[];
  readonly config: readonly NodeFile[];
  /** Text of the service files. */
  readonly serviceText: string;
}

/** Paths of the files for the HTTPS port. */
export interface HardeningPlaces {
  readonly clientCaFile: string;
  readonly certDir: string;
}

/** Most processes of a pod: far more than programs need, and less than the numbers that a kernel has. */
const PIDS_OF_POD = 16_384;

/** Names that the benchmark lists; it does not know those with `_SHA256` behind CHACHA20_POLY1305. */
const BENCHMARK_SUITES: JsonValue & readonly string[] = STRONG_CIPHER_SUITES.filter(
  (name) => !name.endsWith("POLY1305_SHA256"),
);

/**
 * The fields of a KubeletConfiguration that the benchmark is about, by their paths, so that every check holds. The
 * serving certificate is the agent's own, made where it is missing.
 */
function hardenedFields({
  clientCaFile,
  certDir,
}: HardeningPlaces): Readonly<Record<string, JsonValue>> {
  return {
    "authentication.anonymous.enabled": false,
    "authentication.x509.clientCAFile": clientCaFile,
    "authorization.mode": "Webhook",
    readOnlyPort: 0,
    streamingConnectionIdleTimeout: "4h0m0s",
    makeIPTablesUtilChains: true,
    eventRecordQPS: 50,
    tlsCertFile: `${certDir}/kubelet.crt`,
    tlsPrivateKeyFile: `${certDir}/kubelet.key`,
    tlsCipherSuites: BENCHMARK_SUITES,
    rotateCertificates: true,
    "featureGates.RotateKubeletServerCertificate": true,
    podPidsLimit: PIDS_OF_POD,
    seccompDefault: true,
  };
}

/**
 * Defaults of a node that nothing describes, neither a configuration file nor a cluster (docs/adr/0011). Such a node takes
 * the place of none that pods were made for, so that the benchmark decides where Kubernetes' default does not follow it.
 */
export function bareNodeDefaults(certDir: string): JsonObject {
  const hardened = hardenedFields({ clientCaFile: "", certDir });
  return BARE_NODE_FIELDS.reduce<JsonObject>(
    (tree, path) => setAt(tree, path, hardened[path] ?? null),
    {},
  );
}

const BARE_NODE_FIELDS = [
  "tlsCertFile",
  "tlsPrivateKeyFile",
  "tlsCipherSuites",
  "podPidsLimit",
  "seccompDefault",
];

/** A configuration file with these fields in the place of its own. */
export function hardenedFile(file: JsonObject, places: HardeningPlaces): JsonObject {
  const named: JsonObject = { apiVersion: CONFIG_API_VERSION, kind: CONFIG_KIND, ...file };
  return Object.entries(hardenedFields(places)).reduce(
    (tree, [path, value]) => setAt(tree, path, value),
    named,
  );
}

/** Modes that the benchmark allows at most. */
const PRIVATE = 0o600;
const READABLE = 0o644;

/** Judges files by section 4.1. */
export function reviewFiles(files: NodeFiles): readonly HardeningFinding[] {
  return [
    ...judgeFiles(["4.1.1", "4.1.2"], files.service, PRIVATE, "service files"),
    ...judgeFiles(["4.1.3", "4.1.4"], files.proxyKubeconfig, PRIVATE, "kubeconfig of kube-proxy"),
    ...judgeFiles(["4.1.5", "4.1.6"], files.kubeconfig, PRIVATE, "--kubeconfig"),
    ...judgeFiles(["4.1.7", "4.1.8"], files.clientAuthorities, READABLE, "clientCAFile"),
    ...judgeFiles(["4.1.9", "4.1.10"], files.config, PRIVATE, "--config and drop-in files"),
  ];
}

function judgeFiles(
  [modeId, ownerId]: readonly [string, string],
  files: readonly NodeFile[],
  allowed: number,
  what: string,
): readonly HardeningFinding[] {
  if (files.length === 0)
    return [modeId, ownerId].map((id) => ({ id, holds: "n/a", advice: `${what}: there is none` }));
  const loose = files.filter(({ mode }) => isLooser(mode, allowed));
  const foreign = files.filter(({ uid, gid }) => uid !== 0 || gid !== 0);
  const paths = (found: readonly NodeFile[]) =>
    (found.length > 0 ? found : files).map(({ path }) => path).join(" ");
  return [
    finding(modeId, loose.length === 0, `chmod ${allowed.toString(8)} ${paths(loose)}`),
    finding(ownerId, foreign.length === 0, `chown root:root ${paths(foreign)}`),
  ];
}

/** Whether a mode allows what `allowed` does not. */
export function isLooser(mode: number, allowed: number): boolean {
  return (mode & 0o777 & ~allowed) !== 0;
}

const finding = (id: string, holds: boolean, advice: string): HardeningFinding => ({
  id,
  holds: holds ? "yes" : "no",
  advice,
});

/** Judges the configuration by section 4.2. A setting about something that the node does not have is neither yes nor no. */
export function reviewHardening(
  config: KubeletConfig,
  flags: KubeletFlags,
  gates: FeatureGates,
): readonly HardeningFinding[] {
  const ofServer = (id: string, holds: boolean, advice: string): HardeningFinding =>
    config.enableServer
      ? finding(id, holds, advice)
      : { id, holds: "n/a", advice: "enableServer: false: nothing is served" };
  const ownCertificate = config.tlsCertFile !== "" && config.tlsPrivateKeyFile !== "";
  const suites = config.tlsCipherSuites;
  const { anonymous, x509 } = config.authentication;
  return [
    ofServer("4.2.1", !anonymous.enabled, "authentication.anonymous.enabled: false"),
    ofServer("4.2.2", config.authorization.mode !== "AlwaysAllow", "authorization.mode: Webhook"),
    x509.clientCAFile === "" && flags.kubeconfig === "" && flags.bootstrapKubeconfig === ""
      ? { id: "4.2.3", holds: "n/a", advice: "no --kubeconfig: no authority signs for clients" }
      : ofServer("4.2.3", x509.clientCAFile !== "", "set authentication.x509.clientCAFile"),
    finding("4.2.4", config.readOnlyPort === 0, "readOnlyPort: 0"),
    ofServer(
      "4.2.5",
      config.streamingConnectionIdleTimeout !== 0,
      "streamingConnectionIdleTimeout: 4h",
    ),
    finding("4.2.6", config.makeIPTablesUtilChains, "makeIPTablesUtilChains: true"),
    finding("4.2.7", flags.hostnameOverride === "", "do not use --hostname-override"),
    finding(
      "4.2.8",
      config.eventRecordQPS === 0 || config.eventRecordQPS >= 5,
      "eventRecordQPS: 5 or more, or 0 for no limit",
    ),
    ofServer(
      "4.2.9",
      ownCertificate || config.serverTLSBootstrap,
      "set tlsCertFile and tlsPrivateKeyFile, or serverTLSBootstrap: true",
    ),
    flags.kubeconfig === ""
      ? { id: "4.2.10", holds: "n/a", advice: "no --kubeconfig: no certificate to rotate" }
      : finding("4.2.10", config.rotateCertificates, "rotateCertificates: true"),
    ofServer(
      "4.2.11",
      gates.isEnabled("RotateKubeletServerCertificate"),
      "leave the feature gate RotateKubeletServerCertificate on",
    ),
    ofServer(
      "4.2.12",
      suites.length > 0 && suites.every((name) => STRONG_CIPHER_SUITES.includes(name)),
      `tlsCipherSuites: ${BENCHMARK_SUITES.join(", ")}`,
    ),
    finding("4.2.13", config.podPidsLimit > 0, "set podPidsLimit"),
    finding("4.2.14", config.seccompDefault, "seccompDefault: true"),
  ];
}

/** 4.2.15: the service takes connections of named addresses only. */
export function reviewService({ service, serviceText }: NodeFiles): HardeningFinding {
  if (service.length === 0)
    return { id: "4.2.15", holds: "n/a", advice: "service files: there are none" };
  const holds = /^\s*IPAddressDeny\s*=\s*any\s*$/m.test(serviceText);
  return finding(
    "4.2.15",
    holds,
    "IPAddressDeny=any in the service, and IPAddressAllow= with those who may connect",
  );
}
