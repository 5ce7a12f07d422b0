// pure
import type { Node } from "../../api/generated/types.ts";
import {
  canonicalQuantity,
  quantityFromBytes,
  quantityFromMilli,
} from "../../api/text/quantity.ts";
import { rfc3339 } from "../../api/text/timestamps.ts";
import type { WallMs } from "../../kit/clock.ts";
import type { Overview } from "../shapes.ts";

/** The node as an object of Kubernetes, as far as an agent without a cluster knows it. */
export function nodeObject(overview: Overview): Node {
  const { node, addresses, runtime, startedAtMs } = overview;
  const [name = "", version = ""] = runtime.split(" ");
  const ready = overview.ready ? "True" : "False";
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: node,
      labels: { "kubernetes.io/hostname": node, "kubernetes.io/os": "linux" },
      creationTimestamp: rfc3339(startedAtMs as WallMs),
    },
    status: {
      capacity: amounts(overview.capacity),
      allocatable: amounts(overview.allocatable),
      addresses: [
        ...addresses.map((address) => ({ type: "InternalIP", address })),
        { type: "Hostname", address: node },
      ],
      conditions: [
        ...overview.conditions,
        {
          type: "Ready",
          status: ready,
          reason: overview.ready ? "KubeletReady" : "KubeletNotReady",
          message: overview.ready ? "kubelet is posting ready status" : overview.why,
        },
      ],
      nodeInfo: {
        architecture: "",
        bootID: "",
        containerRuntimeVersion: `${name}://${version}`,
        kernelVersion: "",
        kubeProxyVersion: "",
        kubeletVersion: overview.kubernetesVersion,
        machineID: "",
        operatingSystem: "linux",
        osImage: "",
        systemUUID: "",
      },
    },
  };
}

function amounts(of: Overview["capacity"]): Readonly<Record<string, string>> {
  return {
    cpu: canonicalQuantity(quantityFromMilli(of.cpuMilli)),
    memory: canonicalQuantity(quantityFromBytes(of.memoryBytes)),
    "ephemeral-storage": canonicalQuantity(quantityFromBytes(of.ephemeralStorageBytes)),
    pods: String(of.pods),
    ...Object.fromEntries(
      Object.entries(of.devices ?? {}).map(([resource, amount]) => [resource, String(amount)]),
    ),
  };
}
