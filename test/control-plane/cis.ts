/**
 * The checks of the CIS benchmark for control planes, by their numbers in kube-bench's `cis-1.12` (sections 1, 2 and 3): what each asks of
 * the manifests and files that kubeadm has written. Those of section 3.1, and three others, can be judged by nobody but the operator.
 */
import { parseYaml } from "../../src/api/text/yaml.ts";
import { yamlAt } from "../../src/cli/control-plane/kubeadm-config.ts";
import type { Box } from "../box/box.ts";

/** What is on the machine. */
interface Facts {
  /** Values of the flags of a component; one that is there twice counts with its last value. */
  readonly flags: (component: string) => ReadonlyMap<string, string>;
  /** Mode and owner of all files that match, like `600 root:root`. */
  readonly files: (pattern: string) => readonly string[];
}

/** The result of a check; `operator`: only the operator can say. */
export type CisState = "holds" | "open" | "operator";

type Judge = (facts: Facts) => boolean;

const MANIFESTS = "/etc/kubernetes/manifests";
const PKI = "/etc/kubernetes/pki";
const API = "kube-apiserver";
const MANAGER = "kube-controller-manager";
const SCHEDULER = "kube-scheduler";
const STRONG =
  /^TLS_(?:AES_(?:128|256)_GCM|CHACHA20_POLY1305|ECDHE_(?:ECDSA|RSA)_WITH_(?:AES_(?:128|256)_GCM|CHACHA20_POLY1305))(?:_SHA(?:256|384))?$/;

const mode =
  (pattern: string, most: number): Judge =>
  ({ files }) => {
    const found = files(pattern);
    return (
      found.length > 0 &&
      found.every((line) => (Number.parseInt(line.split(" ")[0] ?? "", 8) & ~most) === 0)
    );
  };
const owner =
  (pattern: string, name = "root:root"): Judge =>
  ({ files }) =>
    files(pattern).length > 0 && files(pattern).every((line) => line.endsWith(` ${name}`));
const set =
  (component: string, ...names: readonly string[]): Judge =>
  ({ flags }) =>
    names.every((name) => (flags(component).get(name) ?? "") !== "");
const unset =
  (component: string, name: string): Judge =>
  ({ flags }) =>
    !flags(component).has(name);
const equals =
  (component: string, name: string, value: string): Judge =>
  ({ flags }) =>
    flags(component).get(name) === value;
const has =
  (component: string, name: string, value: string): Judge =>
  ({ flags }) =>
    (flags(component).get(name) ?? "").split(",").includes(value);
const excludes =
  (component: string, name: string, value: string): Judge =>
  (facts) =>
    !has(component, name, value)(facts);
const atLeast =
  (component: string, name: string, least: number): Judge =>
  ({ flags }) =>
    Number(flags(component).get(name) ?? "0") >= least;
const notTrue =
  (component: string, name: string): Judge =>
  ({ flags }) =>
    (flags(component).get(name) ?? "false") === "false";
const plugins = "enable-admission-plugins";

/** Checks by their numbers. */
const CHECKS: Readonly<Record<string, Judge | "operator">> = {
  "1.1.1": mode(`${MANIFESTS}/${API}.yaml`, 0o600),
  "1.1.2": owner(`${MANIFESTS}/${API}.yaml`),
  "1.1.3": mode(`${MANIFESTS}/${MANAGER}.yaml`, 0o600),
  "1.1.4": owner(`${MANIFESTS}/${MANAGER}.yaml`),
  "1.1.5": mode(`${MANIFESTS}/${SCHEDULER}.yaml`, 0o600),
  "1.1.6": owner(`${MANIFESTS}/${SCHEDULER}.yaml`),
  "1.1.7": mode(`${MANIFESTS}/etcd.yaml`, 0o600),
  "1.1.8": owner(`${MANIFESTS}/etcd.yaml`),
  "1.1.9": mode("/var/lib/nodelet/cni/cluster.d/*", 0o600),
  "1.1.10": owner("/var/lib/nodelet/cni/cluster.d/*"),
  "1.1.11": mode("/var/lib/etcd", 0o700),
  "1.1.12": owner("/var/lib/etcd", "etcd:etcd"),
  "1.1.13": mode("/etc/kubernetes/*admin.conf", 0o600),
  "1.1.14": owner("/etc/kubernetes/*admin.conf"),
  "1.1.15": mode("/etc/kubernetes/scheduler.conf", 0o600),
  "1.1.16": owner("/etc/kubernetes/scheduler.conf"),
  "1.1.17": mode("/etc/kubernetes/controller-manager.conf", 0o600),
  "1.1.18": owner("/etc/kubernetes/controller-manager.conf"),
  "1.1.19": owner(`${PKI} ${PKI}/* ${PKI}/*/*`),
  "1.1.20": mode(`${PKI}/*.crt ${PKI}/*/*.crt`, 0o644),
  "1.1.21": mode(`${PKI}/*.key ${PKI}/*/*.key`, 0o600),
  "1.2.1": equals(API, "anonymous-auth", "false"),
  "1.2.2": unset(API, "token-auth-file"),
  "1.2.3": has(API, plugins, "DenyServiceExternalIPs"),
  "1.2.4": set(API, "kubelet-client-certificate", "kubelet-client-key"),
  "1.2.5": set(API, "kubelet-certificate-authority"),
  "1.2.6": excludes(API, "authorization-mode", "AlwaysAllow"),
  "1.2.7": has(API, "authorization-mode", "Node"),
  "1.2.8": has(API, "authorization-mode", "RBAC"),
  "1.2.9": has(API, plugins, "EventRateLimit"),
  "1.2.10": excludes(API, plugins, "AlwaysAdmit"),
  "1.2.11": has(API, plugins, "AlwaysPullImages"),
  "1.2.12": excludes(API, "disable-admission-plugins", "ServiceAccount"),
  "1.2.13": excludes(API, "disable-admission-plugins", "NamespaceLifecycle"),
  "1.2.14": has(API, plugins, "NodeRestriction"),
  "1.2.15": equals(API, "profiling", "false"),
  "1.2.16": set(API, "audit-log-path"),
  "1.2.17": atLeast(API, "audit-log-maxage", 30),
  "1.2.18": atLeast(API, "audit-log-maxbackup", 10),
  "1.2.19": atLeast(API, "audit-log-maxsize", 100),
  "1.2.20": "operator",
  "1.2.21": ({ flags }) => (flags(API).get("service-account-lookup") ?? "true") === "true",
  "1.2.22": set(API, "service-account-key-file"),
  "1.2.23": set(API, "etcd-certfile", "etcd-keyfile"),
  "1.2.24": set(API, "tls-cert-file", "tls-private-key-file"),
  "1.2.25": set(API, "client-ca-file"),
  "1.2.26": set(API, "etcd-cafile"),
  "1.2.27": set(API, "encryption-provider-config"),
  "1.2.28": "operator",
  "1.2.29": ({ flags }) =>
    (flags(API).get("tls-cipher-suites") ?? "none").split(",").every((name) => STRONG.test(name)),
  "1.2.30": equals(API, "service-account-extend-token-expiration", "false"),
  "1.3.1": set(MANAGER, "terminated-pod-gc-threshold"),
  "1.3.2": equals(MANAGER, "profiling", "false"),
  "1.3.3": ({ flags }) =>
    (flags(MANAGER).get("use-service-account-credentials") ?? "false") === "true",
  "1.3.4": set(MANAGER, "service-account-private-key-file"),
  "1.3.5": set(MANAGER, "root-ca-file"),
  "1.3.6": excludes(MANAGER, "feature-gates", "RotateKubeletServerCertificate=false"),
  "1.3.7": ({ flags }) => (flags(MANAGER).get("bind-address") ?? "127.0.0.1") === "127.0.0.1",
  "1.4.1": equals(SCHEDULER, "profiling", "false"),
  "1.4.2": ({ flags }) => (flags(SCHEDULER).get("bind-address") ?? "127.0.0.1") === "127.0.0.1",
  "2.1": set("etcd", "cert-file", "key-file"),
  "2.2": equals("etcd", "client-cert-auth", "true"),
  "2.3": notTrue("etcd", "auto-tls"),
  "2.4": set("etcd", "peer-cert-file", "peer-key-file"),
  "2.5": equals("etcd", "peer-client-cert-auth", "true"),
  "2.6": notTrue("etcd", "peer-auto-tls"),
  // An authority of its own: not the one that signs for users of the API server.
  "2.7": ({ flags }) => {
    const own = flags("etcd").get("trusted-ca-file");
    return own !== undefined && own !== flags(API).get("client-ca-file");
  },
  "3.1.1": "operator",
  "3.1.2": "operator",
  "3.1.3": "operator",
  "3.2.1": set(API, "audit-policy-file"),
  "3.2.2": "operator",
};

/** Judges the machine. */
export async function judgeCis(box: Box): Promise<ReadonlyMap<string, CisState>> {
  const flags = new Map<string, ReadonlyMap<string, string>>();
  for (const component of [API, MANAGER, SCHEDULER, "etcd"])
    flags.set(component, flagsOf(await box.run(["cat", `${MANIFESTS}/${component}.yaml`])));
  const patterns = new Set<string>();
  const collect: Facts = {
    flags: (component) => flags.get(component) ?? new Map(),
    files: (pattern) => {
      patterns.add(pattern);
      return [];
    },
  };
  const judges = Object.entries(CHECKS);
  for (const [, judge] of judges) if (judge !== "operator") judge(collect);
  const files = new Map<string, readonly string[]>();
  for (const pattern of patterns) {
    const { stdout } = await box.exec(["sh", "-c", `stat -c '%a %U:%G' ${pattern}`]);
    files.set(
      pattern,
      stdout
        .trim()
        .split("\n")
        .filter((line) => line !== ""),
    );
  }
  const facts: Facts = { ...collect, files: (pattern) => files.get(pattern) ?? [] };
  return new Map(
    judges.map(([id, judge]) => [
      id,
      judge === "operator" ? judge : judge(facts) ? "holds" : "open",
    ]),
  );
}

function flagsOf(manifest: string): ReadonlyMap<string, string> {
  const containers = yamlAt(parseYaml(manifest)[0]?.value, ["spec", "containers"]);
  const command = yamlAt(Array.isArray(containers) ? containers[0] : undefined, ["command"]);
  const words = Array.isArray(command) ? command.map(String) : [];
  return new Map(
    words.flatMap((word) => {
      const [, name, value] = /^--([^=]+)=(.*)$/s.exec(word) ?? [];
      return name === undefined || value === undefined ? [] : [[name, value] as const];
    }),
  );
}
