// The worked example as a table: 3 CPUs, 8 GiB, one pod of each class, qosReserved memory=100%.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const folder = join(import.meta.dirname, "testdata");

/** Paths of the files that make the example. */
export const EXAMPLE_FILES = {
  pods: join(folder, "worked-example.yaml"),
  node: join(folder, "node.yaml"),
  config: join(folder, "kubelet.yaml"),
} as const;

/** The three manifests, each with the name of its pod. */
export function exampleManifests(): readonly { readonly name: string; readonly text: string }[] {
  const documents = readFileSync(EXAMPLE_FILES.pods, "utf8").split(/^---$/m);
  return documents.map((text) => ({ name: /name: (\w+), uid/.exec(text)?.[1] ?? "", text }));
}

/** "No limit" as the kernel shows it. */
export const FREE = { 1: "9223372036854771712", 2: "max" } as const;

/** Values by file, for the two versions. */
export interface ExampleRow {
  /** Below the root; a container's last part is its name. */
  readonly path: string;
  readonly container?: true;
  readonly 1: Readonly<Record<string, string>>;
  readonly 2: Readonly<Record<string, string>>;
}

type Limits = readonly [quota: string, memory: string];

function row(
  path: string,
  [shares, weight]: readonly [string, string],
  [quota, memory]: Limits,
): ExampleRow {
  return {
    path,
    1: {
      "cpu.shares": shares,
      "cpu.cfs_quota_us": quota,
      "cpu.cfs_period_us": "100000",
      "memory.limit_in_bytes": memory === "free" ? FREE[1] : memory,
    },
    2: {
      "cpu.weight": weight,
      "cpu.max": `${quota === "-1" ? "max" : quota} 100000`,
      "memory.max": memory === "free" ? FREE[2] : memory,
    },
  };
}

const container = (...given: Parameters<typeof row>): ExampleRow => ({
  ...row(...given),
  container: true,
});

/** Weights of containers by the formula of their runtime. */
const WEIGHTS = {
  linear: { "1024": "39", "2": "1" },
  quadratic: { "1024": "100", "2": "1" },
} as const;

/** Every group of the example, value for value; the limits of the classes may be given. */
export function exampleRows(
  weights: "linear" | "quadratic" = "quadratic",
  limits: readonly [burstable: string, bestEffort: string] = ["7516192768", "5368709120"],
): readonly ExampleRow[] {
  const one = WEIGHTS[weights]["1024"];
  return [
    row("/kubepods", ["3072", "118"], ["-1", "8589934592"]),
    row("/kubepods/podg", ["1024", "39"], ["100000", "1073741824"]),
    container("/kubepods/podg/container3", ["1024", one], ["100000", "1073741824"]),
    row("/kubepods/burstable", ["2048", "79"], ["-1", limits[0]]),
    row("/kubepods/burstable/podb", ["2048", "79"], ["300000", "3221225472"]),
    container("/kubepods/burstable/podb/container1", ["1024", one], ["100000", "1073741824"]),
    container("/kubepods/burstable/podb/container2", ["1024", one], ["200000", "2147483648"]),
    row("/kubepods/besteffort", ["2", "1"], ["-1", limits[1]]),
    row("/kubepods/besteffort/podbe", ["2", "1"], ["-1", "free"]),
    container("/kubepods/besteffort/podbe/container", ["2", "1"], ["-1", "free"]),
  ];
}

/** A path of the example as the systemd driver spells it; containers keep their names. */
export function asSlices(path: string): string {
  const parts = path.split("/").slice(1);
  const isGroup = (part: string) => /^(kubepods|burstable|besteffort|pod.*)$/.test(part);
  const groups = parts.filter(isGroup);
  const slices = groups.map((_, i) => `${groups.slice(0, i + 1).join("-")}.slice`);
  return `/${[...slices, ...parts.filter((part) => !isGroup(part))].join("/")}`;
}
