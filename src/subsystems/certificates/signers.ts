// pure
import type { Node } from "../../api/generated/types.ts";
import type { AlternativeNames, CertificateSubject } from "../../outside/x509/x509.ts";
import type { RotationOptions } from "./rotate.ts";

/** Names of the files of both certificates. */
export const CLIENT_STORE = "kubelet-client";
/** See `CLIENT_STORE`. */
export const SERVING_STORE = "kubelet-server";

/** No names: a client's certificate needs none. */
export const NO_NAMES: AlternativeNames = { dnsNames: [], ipAddresses: [] };

/** User and group of a node (node authorizer). */
export function nodeSubject(nodeName: string): CertificateSubject {
  return { commonName: `system:node:${nodeName}`, organizations: ["system:nodes"] };
}

/** The certificate by which the node is known to the API server. */
export function clientRotation(nodeName: string): RotationOptions {
  return {
    what: "client",
    signerName: "kubernetes.io/kube-apiserver-client-kubelet",
    usages: ["digital signature", "client auth"],
    subject: nodeSubject(nodeName),
    names: () => NO_NAMES,
  };
}

/** The certificate of the HTTPS port. `node` is the node's object, as soon as there is one. */
export function servingRotation(nodeName: string, node: () => Node | undefined): RotationOptions {
  return {
    what: "serving",
    signerName: "kubernetes.io/kubelet-serving",
    usages: ["digital signature", "server auth"],
    subject: nodeSubject(nodeName),
    names: () => namesOf(node()),
  };
}

/** Names and addresses of the node's object; undefined while it has none (addressesToHostnamesAndIPs). */
function namesOf(node: Node | undefined): AlternativeNames | undefined {
  const dnsNames = new Set<string>();
  const ipAddresses = new Set<string>();
  for (const { type, address } of node?.status?.addresses ?? []) {
    if (address === "") continue;
    const isAddress = type === "InternalIP" || type === "ExternalIP" || isIpText(address);
    (isAddress ? ipAddresses : dnsNames).add(address);
  }
  if (dnsNames.size + ipAddresses.size === 0) return undefined;
  return { dnsNames: [...dnsNames].sort(), ipAddresses: [...ipAddresses].sort() };
}

function isIpText(text: string): boolean {
  return text.includes(":") || /^\d+(\.\d+){3}$/.test(text);
}
