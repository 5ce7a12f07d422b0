import assert from "node:assert/strict";
import { test } from "node:test";
import { dumpYaml, parseYamlDocument } from "../api/text/yaml.ts";
import { isTree } from "../kit/json.ts";
import { assembleConfig } from "./assemble.ts";
import { parseFlags } from "./flags/flags.ts";
import {
  type HardeningFinding,
  hardenedFile,
  type NodeFile,
  type NodeFiles,
  reviewFiles,
  reviewHardening,
  reviewService,
} from "./hardening.ts";
import { getAt, type JsonObject } from "./tree.ts";

/** A check of a flag of the command line or else of a field of the file (kube-bench `cis-1.12`, node.yaml). */
interface Check {
  readonly flag: string;
  readonly field?: string;
  readonly holds: (value: string) => boolean;
  /** Whether it holds where neither is set. */
  readonly unset: boolean;
}

const is = (expected: string) => (value: string) => value === expected;
const isSet = () => true;
const SUITES = [
  "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
  "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
  "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
  "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
  "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
  "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
];

/** The checks by their numbers; all that stand under one must hold. */
const CHECKS: Readonly<Record<string, readonly Check[]>> = {
  "4.2.1": [
    {
      flag: "anonymous-auth",
      field: "authentication.anonymous.enabled",
      holds: is("false"),
      unset: false,
    },
  ],
  "4.2.2": [
    {
      flag: "authorization-mode",
      field: "authorization.mode",
      holds: (mode) => !mode.includes("AlwaysAllow"),
      unset: false,
    },
  ],
  "4.2.3": [
    {
      flag: "client-ca-file",
      field: "authentication.x509.clientCAFile",
      holds: isSet,
      unset: false,
    },
  ],
  "4.2.4": [{ flag: "read-only-port", field: "readOnlyPort", holds: is("0"), unset: true }],
  "4.2.5": [
    {
      flag: "streaming-connection-idle-timeout",
      field: "streamingConnectionIdleTimeout",
      holds: (value) => value !== "0",
      unset: true,
    },
  ],
  "4.2.6": [
    {
      flag: "make-iptables-util-chains",
      field: "makeIPTablesUtilChains",
      holds: is("true"),
      unset: true,
    },
  ],
  "4.2.7": [{ flag: "hostname-override", holds: () => false, unset: true }],
  "4.2.8": [
    {
      flag: "event-qps",
      field: "eventRecordQPS",
      holds: (value) => Number(value) >= 0,
      unset: true,
    },
  ],
  "4.2.9": [
    { flag: "tls-cert-file", field: "tlsCertFile", holds: isSet, unset: false },
    { flag: "tls-private-key-file", field: "tlsPrivateKeyFile", holds: isSet, unset: false },
  ],
  "4.2.10": [
    { flag: "rotate-certificates", field: "rotateCertificates", holds: is("true"), unset: true },
  ],
  "4.2.11": [
    {
      flag: "feature-gates",
      field: "featureGates.RotateKubeletServerCertificate",
      holds: (value) =>
        value !== "false" && !value.includes("RotateKubeletServerCertificate=false"),
      unset: true,
    },
  ],
  "4.2.12": [
    {
      flag: "tls-cipher-suites",
      field: "tlsCipherSuites",
      holds: (value) => value.split(",").every((name) => SUITES.includes(name)),
      unset: false,
    },
  ],
  "4.2.13": [{ flag: "pod-max-pids", field: "podPidsLimit", holds: isSet, unset: false }],
  "4.2.14": [{ flag: "seccomp-default", field: "seccompDefault", holds: isSet, unset: false }],
};

/** The checks that fail, as a script finds them that reads the file and the command line. */
function failedChecks(file: string, argv: readonly string[]): readonly string[] {
  const { value } = parseYamlDocument(file);
  assert.ok(isTree(value));
  const settingOf = ({ flag, field }: Check): string | undefined => {
    const given = argv.find((each) => each.startsWith(`--${flag}=`));
    if (given !== undefined) return given.slice(flag.length + 3);
    const found = field === undefined ? undefined : getAt(value as JsonObject, field);
    return found === undefined ? undefined : String(found);
  };
  return Object.entries(CHECKS).flatMap(([id, checks]) => {
    const holds = checks.every((check) => {
      const found = settingOf(check);
      return found === undefined ? check.unset : check.holds(found);
    });
    return holds ? [] : [id];
  });
}

/** Our own findings for the same file and command line. */
function review(file: string, argv: readonly string[]): readonly HardeningFinding[] {
  const flags = parseFlags(["--config=/config.yaml", ...argv]);
  const base = { path: "/config.yaml", text: file };
  const loaded = assembleConfig({ flags, base, dropIns: [], cwd: "/" });
  assert.deepEqual(loaded.problems, []);
  return reviewHardening(loaded.config, loaded.flags, loaded.gates);
}

const idsOf = (findings: readonly HardeningFinding[], holds: HardeningFinding["holds"]) =>
  findings.filter((finding) => finding.holds === holds).map(({ id }) => id);

const PLACES = { clientCaFile: "/ca.crt", certDir: "/var/lib/kubelet/pki" };
const HARDENED = dumpYaml(hardenedFile({ maxPods: 20 }, PLACES));
const EMPTY = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
const CLUSTER = ["--kubeconfig=/etc/kubernetes/kubelet.conf"];

test("the hardened configuration passes every check, and `config review` agrees", () => {
  assert.deepEqual(failedChecks(HARDENED, CLUSTER), []);
  const findings = review(HARDENED, CLUSTER);
  assert.deepEqual(
    findings.map(({ id }) => id),
    Object.keys(CHECKS),
  );
  assert.deepEqual(idsOf(findings, "yes"), Object.keys(CHECKS));
  assert.match(HARDENED, /^maxPods: 20$/m);
});

test("a file without settings fails where a node must decide, and `config review` agrees", () => {
  // A script that reads the file only does not see defaults: anonymous callers and authorization are as they should be.
  const seen = failedChecks(EMPTY, CLUSTER);
  assert.deepEqual(seen, ["4.2.1", "4.2.2", "4.2.3", "4.2.9", "4.2.12", "4.2.13", "4.2.14"]);
  // rotateCertificates is off where it is not set, whatever the benchmark's script believes.
  assert.deepEqual(idsOf(review(EMPTY, CLUSTER), "no"), [
    "4.2.3",
    "4.2.9",
    "4.2.10",
    "4.2.12",
    "4.2.13",
    "4.2.14",
  ]);
});

/** The findings for a command line without a configuration file. */
function reviewFlags(argv: readonly string[]): readonly HardeningFinding[] {
  const loaded = assembleConfig({ flags: parseFlags(argv), dropIns: [], cwd: "/" });
  assert.deepEqual(loaded.problems, []);
  return reviewHardening(loaded.config, loaded.flags, loaded.gates);
}

test("a node that is given nothing follows every recommendation, also with a flag or two", () => {
  for (const argv of [
    [],
    ["--v=4"],
    ["--root-dir=/srv/kubelet", "--pod-manifest-path=/srv/pods"],
  ]) {
    const findings = reviewFlags(argv);
    assert.equal(findings.length, 14);
    assert.deepEqual(idsOf(findings, "no"), []);
    // Nobody signs for its clients or for itself.
    assert.deepEqual(idsOf(findings, "n/a"), ["4.2.3", "4.2.10"]);
  }
  assert.deepEqual(idsOf(reviewFlags(["--seccomp-default=false"]), "no"), ["4.2.14"]);
  assert.deepEqual(idsOf(reviewFlags(["--pod-max-pids=-1"]), "no"), ["4.2.13"]);
});

test("a node of a cluster that has flags only is what Kubernetes' defaults make it", () => {
  const failing = ["4.2.3", "4.2.9", "4.2.10", "4.2.12", "4.2.13", "4.2.14"];
  assert.deepEqual(idsOf(reviewFlags(CLUSTER), "no"), failing);
  assert.deepEqual(
    idsOf(reviewFlags(["--bootstrap-kubeconfig=/b.conf", ...CLUSTER]), "no"),
    failing,
  );
});

const CARELESS: Readonly<Record<string, string>> = {
  "--anonymous-auth=true": "4.2.1",
  "--authorization-mode=AlwaysAllow": "4.2.2",
  "--read-only-port=10255": "4.2.4",
  "--streaming-connection-idle-timeout=0": "4.2.5",
  "--make-iptables-util-chains=false": "4.2.6",
  "--hostname-override=other": "4.2.7",
  "--rotate-certificates=false": "4.2.10",
  "--tls-cipher-suites=TLS_RSA_WITH_AES_128_CBC_SHA": "4.2.12",
};

for (const [flag, id] of Object.entries(CARELESS))
  test(`${flag} fails check ${id}, and \`config review\` agrees`, () => {
    const argv = [...CLUSTER, flag];
    assert.deepEqual(failedChecks(HARDENED, argv), [id]);
    assert.deepEqual(idsOf(review(HARDENED, argv), "no"), [id]);
  });

test("a setting about what the node does not have is neither followed nor not", () => {
  const file = dumpYaml({ ...hardenedFile({}, PLACES), enableServer: false });
  const findings = review(file, []);
  assert.deepEqual(idsOf(findings, "no"), []);
  assert.deepEqual(idsOf(findings, "n/a"), [
    ...["4.2.1", "4.2.2", "4.2.3", "4.2.5", "4.2.9", "4.2.10", "4.2.11", "4.2.12"],
  ]);
});

const NO_FILES: NodeFiles = {
  service: [],
  proxyKubeconfig: [],
  kubeconfig: [],
  clientAuthorities: [],
  config: [],
  serviceText: "",
};
const file = (mode: number, uid = 0, gid = 0): readonly NodeFile[] => [
  { path: "/f", mode, uid, gid },
];

const FILES: readonly (readonly [string, Partial<NodeFiles>, Readonly<Record<string, string>>])[] =
  [
    ["a private configuration", { config: file(0o600) }, { "4.1.9": "yes", "4.1.10": "yes" }],
    ["a stricter one", { config: file(0o400) }, { "4.1.9": "yes", "4.1.10": "yes" }],
    ["one that all may read", { config: file(0o644) }, { "4.1.9": "no", "4.1.10": "yes" }],
    ["one that the group may read", { config: file(0o640) }, { "4.1.9": "no", "4.1.10": "yes" }],
    ["one of another user", { config: file(0o600, 7) }, { "4.1.9": "yes", "4.1.10": "no" }],
    ["one of another group", { config: file(0o600, 0, 7) }, { "4.1.9": "yes", "4.1.10": "no" }],
    ["a kubeconfig", { kubeconfig: file(0o644) }, { "4.1.5": "no", "4.1.6": "yes" }],
    ["authorities", { clientAuthorities: file(0o644) }, { "4.1.7": "yes", "4.1.8": "yes" }],
    ["authorities to write", { clientAuthorities: file(0o664) }, { "4.1.7": "no", "4.1.8": "yes" }],
    ["a service file", { service: file(0o644) }, { "4.1.1": "no", "4.1.2": "yes" }],
    [
      "one of two",
      { config: [...file(0o600), ...file(0o755)] },
      { "4.1.9": "no", "4.1.10": "yes" },
    ],
  ];

for (const [what, files, expected] of FILES)
  test(`reviewFiles: ${what}`, () => {
    const findings = reviewFiles({ ...NO_FILES, ...files });
    assert.equal(findings.length, 10);
    const judged = findings.filter(({ holds }) => holds !== "n/a");
    assert.deepEqual(Object.fromEntries(judged.map(({ id, holds }) => [id, holds])), expected);
  });

test("reviewService: who may connect is named", () => {
  const holds = (serviceText: string) =>
    reviewService({ ...NO_FILES, service: file(0o600), serviceText }).holds;
  assert.equal(holds("[Service]\nIPAddressDeny=any\nIPAddressAllow=10.0.0.0/8\n"), "yes");
  assert.equal(holds("[Service]\n# IPAddressDeny=any\n"), "no");
  assert.equal(reviewService(NO_FILES).holds, "n/a");
});
