// pure
import type { Node } from "../../api/generated/types.ts";
import { milliOf, wholeOf } from "../../api/text/quantity.ts";
import { parseYamlDocument } from "../../api/text/yaml.ts";
import { UsageError } from "../../kit/errors.ts";
import type { HostFacts } from "../../outside/host/host.ts";

/** Facts of the machine from a Node object. */
export interface DescribedNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly facts: HostFacts;
  readonly storageBytes: number;
}

const USUAL_PAGE_BYTES = 4096;
const HUGEPAGES = "hugepages-";

/** Page sizes that a machine offers though its Node object has none reserved, by architecture. */
const HUGEPAGE_BYTES: Readonly<Record<string, readonly number[]>> = {
  amd64: [2 ** 21, 2 ** 30],
  arm64: [2 ** 16, 2 ** 21, 2 ** 25, 2 ** 30],
};

/**
 * A machine out of a `v1.Node` (YAML or JSON), as `kubectl get node -o yaml` gives it: `status.capacity` with
 * cpu, memory, ephemeral-storage, hugepages-<size>, and beyond the API `pid`; `status.nodeInfo` for
 * architecture and swap. `UsageError` when it is no such thing.
 */
export function readNode(text: string, path: string): DescribedNode {
  const fail = (why: string) => new UsageError(`${path}: ${why}`);
  const { value } = parseYamlDocument(text);
  const node = value as Partial<Node> & { readonly kind?: unknown };
  if (typeof node !== "object" || node === null || node.kind !== "Node") {
    throw fail("is not a Node; use the output of kubectl get node NAME -o yaml");
  }
  const capacity = node.status?.capacity ?? {};
  for (const name of ["cpu", "memory"]) {
    if (typeof capacity[name] !== "string" && typeof capacity[name] !== "number") {
      throw fail(`status.capacity.${name}: Required value`);
    }
  }
  const amount = (name: string) => {
    const given = capacity[name];
    try {
      return given === undefined ? 0 : wholeOf(String(given));
    } catch {
      throw fail(`status.capacity.${name}: ${JSON.stringify(given)} is not a quantity`);
    }
  };
  const info = node.status?.nodeInfo;
  const architecture = info?.architecture ?? "amd64";
  const cpuCount = milliOf(String(capacity["cpu"])) / 1000;
  return {
    name: node.metadata?.name ?? "node",
    labels: node.metadata?.labels ?? {},
    storageBytes: amount("ephemeral-storage"),
    facts: {
      hostname: node.metadata?.name ?? "node",
      cpuCount,
      physicalCores: cpuCount,
      cpuSockets: 1,
      memoryBytes: amount("memory"),
      swapBytes: info?.swap?.capacity ?? 0,
      kernelVersion: info?.kernelVersion ?? "",
      osImage: info?.osImage ?? "",
      architecture,
      bootId: "",
      machineId: "",
      systemUuid: "",
      pageBytes: USUAL_PAGE_BYTES,
      pidMax: amount("pid"),
      hugepages: hugepages(capacity, architecture, amount),
      thermalThrottleFolders: [],
      inUserNamespace: info?.runningInUserNamespace ?? false,
    },
  };
}

function hugepages(
  capacity: Readonly<Record<string, unknown>>,
  architecture: string,
  amount: (name: string) => number,
): HostFacts["hugepages"] {
  const pages = new Map((HUGEPAGE_BYTES[architecture] ?? []).map((size) => [size, 0]));
  for (const name of Object.keys(capacity)) {
    if (!name.startsWith(HUGEPAGES)) continue;
    const size = wholeOf(name.slice(HUGEPAGES.length));
    pages.set(size, Math.floor(amount(name) / size));
  }
  return [...pages].map(([sizeBytes, count]) => ({ sizeBytes, pages: count }));
}
