// pure
/** docs/conformance.md, written from the results that are kept. */
import { GROUPS, type GroupName, isGroupName } from "../groups.ts";
import { type KeptResult, ranIn } from "./result.ts";

/** Why specs do not pass that the Go kubelet passes in the same place. */
export interface KnownReason {
  /** What their names begin with. */
  readonly begins: string;
  readonly reason: "chosen" | "not built yet";
  /** One sentence. */
  readonly why: string;
  /** The difference, the decision or the row of PARITY, as a link of a page in docs/. */
  readonly link: string;
}

/** A spec that does not pass with nodelet, and why. */
export interface Settled {
  readonly name: string;
  readonly message: string;
  readonly reason: "chosen" | "not built yet" | "the lab" | "open";
  readonly why: string;
  /** Version of the cgroups with which it passes. */
  readonly passesOn?: string;
}

const HEAD = `# Kubernetes' own suites on nodelet

\`\`\`sh
npm run conformance                        # node suite, NodeConformance, in parallel
npm run conformance -- --kubelet go        # the same on the Go kubelet, in the same place
npm run conformance -- --focus 'Probing'   # only what matches
npm run conformance -- --failed            # again what failed the last time
npm run conformance -- --again --keep      # once more: count in how many runs each spec has failed
npm run conformance -- --rest --keep       # what has no result here yet: a group in several parts
npm run conformance -- cluster             # cluster suite, Conformance, in parallel, on two nodes
npm run conformance -- --guest --keep      # in guests with cgroup v2, in parts: several times slower
npm run conformance -- --help
\`\`\`

It needs root on Linux, and Go with its module registry: the suites are packages of the module \`k8s.io/kubernetes\`, built here once
and kept outside the checkout. Images are made from Debian packages and programs of that module, so nothing is pulled. A node is in
namespaces of its own (processes, mounts, network, host name, IPC, cgroups) with its own \`/etc\`, \`/run\`, \`/var\` and \`/tmp\`, containerd
and a registry on loopback. When the command ends, also by Ctrl-C, nothing of it is left.

The group \`node\` takes 26 minutes at least, whichever the kubelet: one spec (\`should cap back-off at MaxContainerBackOff\`) waits so long. It
comes first; with \`--again\` the order differs from run to run. Without the specs marked Slow (\`--skip '\\[Slow\\]'\`) it took 12 minutes
on two CPUs.

A guest of a serial group has swap, which some specs need; \`--cpus 8\` gives it as many CPUs as the largest specs of the CPU manager ask for.
Containers with a CPU limit of a few millicores start there within the timeouts of the specs only with \`--oci-runtime crun\`.

- **Node suite**: one node; small stand-ins play \`systemd-run\`, \`systemctl\`, \`journalctl\` and \`sudo\`.
- **Cluster suite**: two nodes on one wire, both with the kubelet under test. The first also has etcd, kube-apiserver,
  kube-controller-manager, kube-scheduler and the suite. Pods of a node have addresses of its pod CIDR on a CNI bridge, with a route on
  the other node; kube-proxy is a DaemonSet, CoreDNS a Deployment behind the Service \`kube-dns\`.

A spec that does not pass has one of three reasons: **chosen** (a difference that is written down), **not built yet** (a row of
[PARITY.md](PARITY.md)), or **the lab** (the Go kubelet does not pass it in the same place either, its result is kept beside ours; or it
leaves itself out there and passes in another place).
This page is written by the command from [the results](conformance/) that it keeps with \`--keep\`.
`;

/** The whole page. */
export function conformancePage(
  results: readonly KeptResult[],
  reasons: readonly KnownReason[],
): string {
  const groups = Object.keys(GROUPS).filter(isGroupName);
  const sections = groups.flatMap((group) => {
    const all = results.filter((result) => result.group === group);
    const most = Math.max(...all.map((result) => ranIn(result).length));
    const those = Map.groupBy(all, ({ cgroup }) => cgroup);
    return [...those.values()].map((same) => groupSection({ group, most, all }, same, reasons));
  });
  const missing = groups.filter((group) => !results.some((result) => result.group === group));
  const open = missing.map(
    (group) => `- ${GROUPS[group].title} (\`npm run conformance -- ${group}\`)`,
  );
  const rest = open.length === 0 ? "" : `\n## Groups without a result\n\n${open.join("\n")}\n`;
  return `${HEAD}${sections.join("")}${rest}`;
}

function groupSection(
  {
    group,
    most,
    all,
  }: { readonly group: GroupName; readonly most: number; readonly all: readonly KeptResult[] },
  results: readonly KeptResult[],
  reasons: readonly KnownReason[],
): string {
  const rows = results.map((result) => {
    const { kubelet, version, passed, date, minutes, procs } = result;
    const failed = Object.keys(result.failed).length;
    const left = Object.keys(result.leftOut).length;
    const extent = `${ranIn(result).length} of ${most}`;
    return `| ${kubelet} ${version} | ${extent} | ${passed.length} | ${failed} | ${left} | ${date} | ${minutes} | ${procs} |`;
  });
  const [first] = results;
  const ours = results.find(({ kubelet }) => kubelet === "nodelet");
  const theirs = results.find(({ kubelet }) => kubelet === "go");
  const elsewhere = all.filter(({ kubelet }) => kubelet === "nodelet");
  const place = first
    ? `${first.suite} on ${first.runtime}, cgroup ${first.cgroup}, Linux ${first.kernel}; ${first.machine}.`
    : "";
  return `
## ${GROUPS[group].title}${first === undefined || first.cgroup === "v1" ? "" : `, cgroup ${first.cgroup}`}

${GROUPS[group].about} ${place} A spec that does not suit the node leaves itself out.

| Kubelet | specs that ran | passed | failed | left themselves out | date | minutes | at once |
|---|---|---:|---:|---:|---|---:|---:|
${rows.join("\n")}
${ours === undefined ? "" : againText(ours) + flakyText(ours) + settledText(settle(ours, { theirs, elsewhere }, reasons))}`;
}

/** What a result is settled with: the Go kubelet's in the same place, ours in all places. */
interface Beside {
  readonly theirs?: KeptResult | undefined;
  readonly elsewhere?: readonly KeptResult[];
}

/** What does not pass with nodelet, each with its reason. What leaves itself out here may pass in another place. */
export function settle(
  ours: KeptResult,
  { theirs, elsewhere = [] }: Beside,
  reasons: readonly KnownReason[],
): Settled[] {
  const sameThere = { ...theirs?.failed, ...theirs?.leftOut };
  const places = elsewhere.map(({ cgroup, passed }) => ({ cgroup, passed: new Set(passed) }));
  return Object.entries({ ...ours.failed, ...ours.leftOut }).map(([name, message]): Settled => {
    const place = places.find(({ passed }) => passed.has(name));
    const passes = place && { passesOn: place.cgroup };
    if (Object.hasOwn(sameThere, name)) {
      const why = "the Go kubelet does not pass it here either";
      return { name, message, reason: "the lab", why, ...passes };
    }
    if (passes && Object.hasOwn(ours.leftOut, name))
      return { name, message, reason: "the lab", why: "it does not suit the node", ...passes };
    const known = reasons.find(({ begins }) => name.startsWith(begins));
    if (known === undefined) return { name, message, reason: "open", why: "not settled yet" };
    return { name, message, reason: known.reason, why: `${known.why} ([where](${known.link}))` };
  });
}

function againText({ again }: KeptResult): string {
  if (again.length === 0) return "";
  const lines = again.map((name) => `- ${escaped(name)}`);
  return `\n### Run again with nodelet, the later result counts (${again.length})\n\n${lines.join("\n")}\n`;
}

/** Flaky specs: they failed in one run and passed in another. */
function flakyText({ runs = 1, failures = {} }: KeptResult): string {
  if (runs === 1) return "";
  const flaky = Object.entries(failures).filter(([, count]) => count < runs);
  const lines = flaky.map(([name, count]) => `- ${escaped(name)}: ${count} of ${runs}`);
  const list =
    lines.length === 0 ? "Every spec ended in the same way each time." : lines.join("\n");
  return `\n### Failed in some of ${runs} runs with nodelet (${flaky.length})\n\n${list}\n`;
}

function settledText(settled: readonly Settled[]): string {
  if (settled.length === 0) return "\nEverything passes with nodelet.\n";
  const parts = (["chosen", "not built yet", "open", "the lab"] as const).flatMap((reason) => {
    const those = settled.filter((each) => each.reason === reason);
    if (those.length === 0) return [];
    const lines = those.map(
      ({ name, message, why, passesOn }) =>
        `- ${escaped(name)}${aside(reason === "the lab" ? undefined : why, passesOn)}<br>\`${code(message)}\``,
    );
    return [`\n### Does not pass: ${reason} (${those.length})\n\n${lines.join("\n")}\n`];
  });
  return parts.join("");
}

function aside(why: string | undefined, passesOn: string | undefined): string {
  const passes = passesOn && `passes on cgroup ${passesOn}`;
  const parts = [why, passes].filter((each) => each !== undefined);
  return parts.length === 0 ? "" : `: ${parts.join("; ")}`;
}

function escaped(text: string): string {
  return text.replace(/([[\]<>*_])/g, "\\$1");
}

function code(text: string): string {
  return text === "" ? "no message" : text.replaceAll("`", "'");
}
