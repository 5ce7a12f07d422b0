import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonValue } from "../../api/generated/types.ts";
import { formatNanoseconds } from "../../api/text/duration.ts";
import { FIELDS } from "../fields/fields.ts";
import { formatConfigProblem } from "../problem.ts";
import { renderFlagHelp } from "./flag-help.ts";
import { FLAGS, fieldOfFlag, flagNamed } from "./flag-table.ts";
import type { FlagSpec } from "./flag-types.ts";
import { parseFlags } from "./flags.ts";
import { PROBLEMS, SETTINGS } from "./flags.vectors.ts";
import { DEFAULT_FLAGS } from "./kubelet-flags.ts";
import { REMOVED_FLAGS } from "./removed-flags.ts";
import { validateFlags } from "./validate-flags.ts";

test("parseFlags reads what pflag reads", () => {
  assert.ok(SETTINGS.length + PROBLEMS.length >= 110);
  for (const [argv, expected] of SETTINGS) {
    const { settings, problems } = parseFlags(argv);
    assert.deepEqual(problems, [], argv.join(" "));
    const found = Object.fromEntries(settings.map(({ path, value }) => [path, value]));
    assert.deepEqual(found, expected, argv.join(" "));
  }
});

test("parseFlags refuses what pflag refuses, with a way out", () => {
  for (const [argv, expected] of PROBLEMS) {
    const problems = parseFlags(argv).problems.map((problem) => {
      assert.equal(problem.place?.source, "command line");
      const { place: _, ...rest } = problem;
      return formatConfigProblem(rest);
    });
    assert.deepEqual(problems, expected, argv.join(" "));
  }
});

test("flags of their own land in KubeletFlags, all others keep their defaults", () => {
  const { flags, settings } = parseFlags([
    "--config=/c",
    "--config-dir=/d",
    "--kubeconfig=/k",
    "--node-labels=a=b,example.com/c=,flag",
    "--housekeeping-interval=1500ms",
    "--maximum-dead-containers=3",
    "--exit-on-lock-contention",
    "--experimental-bootstrap-kubeconfig=/b",
  ]);
  assert.deepEqual(settings, []);
  assert.deepEqual(flags, {
    ...DEFAULT_FLAGS,
    config: "/c",
    configDir: "/d",
    kubeconfig: "/k",
    nodeLabels: { a: "b", "example.com/c": "", flag: "" },
    housekeepingInterval: 1500,
    maximumDeadContainers: 3,
    exitOnLockContention: true,
    bootstrapKubeconfig: "/b",
  });
});

test("--page needs no value, is off unless given, and can be turned off", () => {
  assert.equal(parseFlags([]).flags.page, "");
  assert.equal(parseFlags(["--page"]).flags.page, "127.0.0.1:10270");
  assert.equal(parseFlags(["--page", "--page=false"]).flags.page, "");
  assert.equal(parseFlags(["--page=10.0.0.1:8443"]).flags.page, "10.0.0.1:8443");
});

test("--inspect needs no value, and is off unless given", () => {
  assert.equal(parseFlags([]).flags.inspect, "");
  assert.equal(parseFlags(["--inspect"]).flags.inspect, "127.0.0.1:9229");
  assert.equal(parseFlags(["--inspect=9230"]).flags.inspect, "9230");
});

test("--help and --version need no value", () => {
  assert.equal(parseFlags(["-h"]).flags.help, true);
  assert.equal(parseFlags(["--help"]).flags.help, true);
  assert.equal(parseFlags(["--version"]).flags.version, "true");
  assert.equal(parseFlags(["--version=raw"]).flags.version, "raw");
  assert.equal(parseFlags(["--version=v1.36.1"]).flags.version, "v1.36.1");
  assert.equal(parseFlags(["--version=false"]).flags.version, "false");
  const both = parseFlags(["-hv3"]);
  assert.equal(both.flags.help, true);
  assert.deepEqual(
    both.settings.map(({ value }) => value),
    [3],
  );
});

/** A flag and the warning that its use gives; none where it is in good standing. */
const WARNINGS: readonly (readonly [argument: string, warnings: readonly string[]])[] = [
  [
    "--max-pods=5",
    ["Flag --max-pods has been deprecated, set maxPods in the file given to --config instead"],
  ],
  ["--v=3", []],
  ["--vmodule=a=1", []],
  ["--log-flush-frequency=1s", []],
  ["--provider-id=x", []],
  ["--seccomp-default", []],
  ["--node-ip=10.0.0.1", []],
  [
    "--maximum-dead-containers=1",
    [
      "Flag --maximum-dead-containers has been deprecated, use evictionHard or evictionSoft in the file given to --config instead",
    ],
  ],
  [
    "--pod-infra-container-image=x",
    [
      "Flag --pod-infra-container-image has no effect, the container runtime pins its own sandbox image; set it there",
    ],
  ],
  [
    "--cni-conf-dir=x",
    ["Flag --cni-conf-dir has no effect, the container runtime sets up the network"],
  ],
  [
    "--container-runtime=remote",
    ["Flag --container-runtime has been deprecated, it was removed from Kubernetes"],
  ],
  [
    "--iptables-drop-bit=1",
    [
      "Flag --iptables-drop-bit has been deprecated, set iptablesDropBit in the file given to --config instead",
    ],
  ],
];

test("deprecated and removed flags say what to use instead, once", () => {
  for (const [argument, warnings] of WARNINGS) {
    assert.deepEqual(parseFlags([argument, argument]).warnings, warnings, argument);
  }
});

test("the table is sound", () => {
  assert.equal(new Set(FLAGS.map(({ name }) => name)).size, FLAGS.length);
  for (const { name, about } of FLAGS) {
    assert.match(name, /^[a-z][a-z0-9-]*$/);
    assert.notEqual(about, "", name);
  }
  assert.equal(flagNamed("__proto__"), undefined);
  assert.equal(fieldOfFlag("pod-manifest-path"), "staticPodPath");
  assert.equal(fieldOfFlag("kubeconfig"), undefined);
});

/** Flags of the 1.36 kubelet by its documentation, those of cAdvisor and removed ones left out. */
const KUBELET_FLAGS = `
  address allowed-unsafe-sysctls anonymous-auth authentication-token-webhook
  authentication-token-webhook-cache-ttl authorization-mode authorization-webhook-cache-authorized-ttl
  authorization-webhook-cache-unauthorized-ttl bootstrap-kubeconfig cert-dir cgroup-driver cgroup-root
  cgroups-per-qos client-ca-file cloud-provider cluster-dns cluster-domain config config-dir
  container-log-max-files container-log-max-size container-runtime-endpoint contention-profiling
  cpu-cfs-quota cpu-cfs-quota-period cpu-manager-policy cpu-manager-policy-options
  cpu-manager-reconcile-period enable-controller-attach-detach enable-debugging-handlers enable-server
  enforce-node-allocatable event-burst event-qps eviction-hard eviction-max-pod-grace-period
  eviction-minimum-reclaim eviction-pressure-transition-period eviction-soft eviction-soft-grace-period
  exit-on-lock-contention experimental-allocatable-ignore-eviction experimental-mounter-path fail-swap-on
  feature-gates file-check-frequency hairpin-mode healthz-bind-address healthz-port help
  hostname-override housekeeping-interval http-check-frequency image-credential-provider-bin-dir
  image-credential-provider-config image-gc-high-threshold image-gc-low-threshold image-service-endpoint
  kernel-memcg-notification kube-api-burst kube-api-content-type kube-api-qps kube-reserved
  kube-reserved-cgroup kubeconfig kubelet-cgroups local-storage-capacity-isolation lock-file
  log-flush-frequency log-json-info-buffer-size log-json-split-stream log-text-info-buffer-size
  log-text-split-stream logging-format make-iptables-util-chains manifest-url manifest-url-header
  max-open-files max-pods maximum-dead-containers maximum-dead-containers-per-container
  memory-manager-policy minimum-container-ttl-duration minimum-image-ttl-duration node-ip node-labels
  node-status-max-images node-status-update-frequency oom-score-adj pod-cidr pod-manifest-path
  pod-max-pids pods-per-core port protect-kernel-defaults provider-id qos-reserved read-only-port
  register-node register-schedulable register-with-taints registry-burst registry-qps reserved-cpus
  reserved-memory resolv-conf root-dir rotate-certificates rotate-server-certificates runonce
  runtime-cgroups runtime-request-timeout seccomp-default serialize-image-pulls
  streaming-connection-idle-timeout sync-frequency system-cgroups system-reserved
  system-reserved-cgroup tls-cert-file tls-cipher-suites tls-min-version tls-private-key-file
  topology-manager-policy topology-manager-policy-options topology-manager-scope v version vmodule
  volume-plugin-dir volume-stats-agg-period`;

test("every flag of the kubelet is known and does something", () => {
  const removed = new Set(REMOVED_FLAGS.map(({ name }) => name));
  for (const name of KUBELET_FLAGS.trim().split(/\s+/)) {
    assert.ok(flagNamed(name) !== undefined && !removed.has(name), name);
  }
});

test("the help text names every flag, aligned, without colour, within 100 columns", () => {
  const help = renderFlagHelp("nodelet run");
  assert.match(help, /^Usage: nodelet run \[flags\]\n/);
  for (const { name } of FLAGS) assert.ok(help.includes(`--${name}`), name);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it matches escape codes
  assert.doesNotMatch(help, /\u001b/);
  for (const line of help.split("\n")) assert.ok(line.length <= 100, line);
  assert.match(help, /^ {2}-v, --v level$/m);
  assert.match(
    help,
    /^ {6}--max-pods number\n {8}Maximum number of pods on this node\. Default 110\./m,
  );
});

/** A value of the flag's type in file form, and the arguments that say it. */
function arbitraryFor(
  flag: FlagSpec,
): fc.Arbitrary<readonly [JsonValue, readonly string[]]> | undefined {
  const word = fc.stringMatching(/^[a-z][a-z0-9./-]{0,8}$/);
  const one = (value: JsonValue, text: string) => [value, [`--${flag.name}=${text}`]] as const;
  const pairs = (separator: string) =>
    fc
      .uniqueArray(fc.tuple(word, word), { minLength: 1, maxLength: 4, selector: ([k]) => k })
      .map((entries) =>
        one(Object.fromEntries(entries), entries.map(([k, v]) => `${k}${separator}${v}`).join(",")),
      );
  switch (flag.type) {
    case "bool":
      return fc.boolean().map((value) => one(value, String(value)));
    case "string":
      return fc.string().map((value) => one(value, value));
    case "int32":
      return fc.integer().map((value) => one(value, String(value)));
    case "int64":
      return fc.maxSafeInteger().map((value) => one(value, String(value)));
    case "level":
      return fc.nat().map((value) => one(value, String(value)));
    case "duration":
      return fc.bigInt({ min: -(1n << 62n), max: 1n << 62n }).map((ns) => {
        const text = formatNanoseconds(ns);
        return one(text, text);
      });
    case "strings":
      return fc
        .array(fc.string(), { minLength: 1 })
        .map((values) => [
          values,
          values.map((value) => `--${flag.name}="${value.replaceAll('"', '""')}"`),
        ]);
    case "int32s":
      return fc.array(fc.integer(), { minLength: 1 }).map((v) => one(v, v.join(",")));
    case "map":
      return pairs("=");
    case "thresholds":
      return pairs("<");
    default:
      return undefined;
  }
}

test("what is written as arguments is read back, for every simple flag that sets a field", () => {
  const simple = FLAGS.filter(({ target }) => target.kind === "config").flatMap((flag) => {
    const arbitrary = arbitraryFor(flag);
    return arbitrary === undefined ? [] : [arbitrary];
  });
  assert.ok(simple.length > 90, String(simple.length));
  for (const arbitrary of simple) {
    fc.assert(
      fc.property(arbitrary, ([value, argv]) => {
        const { settings, problems } = parseFlags(argv);
        assert.deepEqual(problems, []);
        assert.deepEqual(
          settings.map((setting) => setting.value),
          [value],
        );
      }),
      { numRuns: 20 },
    );
  }
});

test("any arguments at all are read without an exception", () => {
  const argument = fc.oneof(
    fc.string(),
    fc.constantFrom("--", "-", "-v", "--v", "--__proto__=1", "--constructor", "--max-pods"),
    fc
      .constantFrom(...FLAGS.map(({ name }) => `--${name}`))
      .chain((name) => fc.string().map((value) => `${name}=${value}`)),
  );
  fc.assert(
    fc.property(fc.array(argument, { maxLength: 12 }), (argv) => {
      const { problems, flags } = parseFlags(argv);
      for (const problem of problems) assert.notEqual(formatConfigProblem(problem), "");
      assert.deepEqual(Object.keys(flags).length, Object.keys(DEFAULT_FLAGS).length);
    }),
  );
  const many = parseFlags(Array(50_000).fill("x"));
  assert.ok(many.problems.length <= 10_000);
});

/** A command line and what is wrong with the flags of their own. */
const FLAG_RULES: readonly (readonly [argv: readonly string[], problems: readonly RegExp[]])[] = [
  [["--node-labels=a=b,node.kubernetes.io/x=y,kubernetes.io/arch=amd64"], []],
  [["--node-labels=foo.node.kubernetes.io/x=y"], []],
  [["--node-labels=kubernetes.io/x=y"], [/unknown 'kubernetes\.io' or 'k8s\.io' label/]],
  [["--node-labels=node-role.kubernetes.io/master="], [/unknown 'kubernetes\.io'/]],
  [["--node-labels=x.k8s.io/y=z"], [/unknown 'kubernetes\.io'/]],
  [["--node-labels=a b=c"], [/name part must consist of alphanumeric/]],
  [["--node-labels=a=b c"], [/a valid label must be an empty string/]],
  [["--node-ip=10.0.0.1"], []],
  [["--node-ip=::"], []],
  [["--node-ip=10.0.0.1,fd00::1"], []],
  [["--node-ip=10.0.0.1,::"], [/dual-stack node IP cannot include '0\.0\.0\.0' or '::'/]],
  [["--node-ip=10.0.0.1,10.0.0.2"], [/single IP or a dual-stack pair/]],
  [["--node-ip=host"], [/--node-ip: Invalid value: "host": must be a valid IP address/]],
  [["--cloud-provider=external"], []],
  [["--event-mode=Reference"], []],
  [["--fine-probe-rate=1", "--keep-probe-leftovers"], []],
  [["--fine-probe-rate=0"], [/--fine-probe-rate: Invalid value: 0: must be at least 1/]],
  [["--device-allocate-timeout=0s"], []],
  [["--device-allocate-timeout=24h"], []],
  [
    ["--device-allocate-timeout=25h"],
    [/--device-allocate-timeout: Invalid value: "25h0m0s": must/],
  ],
  [["--device-allocate-timeout=-1s"], [/--device-allocate-timeout: Invalid value.*write/]],
  [["--page=8443"], []],
  [["--page=[::1]:8443"], []],
  [["--page=0"], [/--page: Invalid value: "0": must be a port or address:port/]],
  [["--page=node-1:8443"], [/--page: Invalid value/]],
  [["--page=[127.0.0.1]:8443"], [/--page: Invalid value/]],
  [["--inspect"], []],
  [["--inspect=0"], []],
  [["--inspect=9230"], []],
  [["--inspect=localhost:9230"], []],
  [["--inspect=127.0.0.2:9230"], []],
  [["--inspect=[::1]:9230"], []],
  [
    ["--inspect=0.0.0.0:9229"],
    [/--inspect: Invalid value: "0\.0\.0\.0:9229": must be .*loopback.*ssh -L/],
  ],
  [["--inspect=[::]:9229"], [/--inspect: Invalid value/]],
  [["--inspect=127.0.0.1.example.com:9229"], [/--inspect: Invalid value/]],
  [["--inspect=node-1:9229"], [/--inspect: Invalid value/]],
  [["--inspect=:9229"], [/--inspect: Invalid value/]],
  [["--inspect=65536"], [/--inspect: Invalid value/]],
  [["--inspect=no"], [/--inspect: Invalid value/]],
  [["--event-mode=none"], [/--event-mode: Unsupported value: "none"/]],
  [["--cloud-provider=aws"], [/--cloud-provider: Unsupported value: "aws"/]],
  [["--image-credential-provider-config=/x"], [/bin-dir: Required value/]],
  [["--exit-on-lock-contention"], [/no lock file specified/]],
  [["--bootstrap-kubeconfig=/x"], [/--kubeconfig: Required value/]],
  [["--bootstrap-kubeconfig=/x", "--kubeconfig=/y"], []],
];

test("validateFlags keeps the rules of flags that are no fields", () => {
  for (const [argv, expected] of FLAG_RULES) {
    const problems = validateFlags(parseFlags(argv).flags).map(formatConfigProblem);
    assert.equal(problems.length, expected.length, `${argv.join(" ")}: ${problems.join("\n")}`);
    expected.forEach((pattern, i) => {
      assert.match(problems[i] ?? "", pattern);
    });
  }
});

test("every field that had a flag in Kubernetes has it here", () => {
  const withFlag = new Set(
    FLAGS.map(({ target }) => (target.kind === "config" ? target.path : "")),
  );
  const without = FIELDS.map(({ path }) => path).filter((path) => !withFlag.has(path));
  assert.deepEqual(without.toSorted(), [
    "configMapAndSecretChangeDetectionStrategy",
    "containerLogMaxWorkers",
    "containerLogMonitorInterval",
    "crashLoopBackOff.maxContainerRestartPeriod",
    "defaultPodSysctls",
    "draManagerReconcilePeriod",
    "enableDebugFlagsHandler",
    "enableProfilingHandler",
    "enableSystemLogHandler",
    "enableSystemLogQuery",
    "imageMaximumGCAge",
    "imagePullCredentialsVerificationPolicy",
    "maxParallelImagePulls",
    "memoryReservationPolicy",
    "memorySwap.swapBehavior",
    "memoryThrottlingFactor",
    "mergeDefaultEvictionSettings",
    "nodeLeaseDurationSeconds",
    "nodeStatusReportFrequency",
    "podLogsDir",
    "preloadedImagesVerificationAllowlist",
    "showHiddenMetricsForVersion",
    "shutdownGracePeriod",
    "shutdownGracePeriodByPodPriority",
    "shutdownGracePeriodCriticalPods",
    "singleProcessOOMKill",
    "tracing.endpoint",
    "tracing.samplingRatePerMillion",
    "userNamespaces.idsPerPod",
  ]);
});
