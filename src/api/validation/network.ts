// pure

import { forbidden, invalid, required, tooLong, unsupported } from "../decode/field-problem.ts";
import type { PodSpec } from "../generated/types.ts";
import {
  byteLength,
  dns1123LabelFaults,
  dns1123SubdomainFaults,
  searchDomainFaults,
} from "../text/names.ts";
import { child, eachOf, FINE, faultsAt, ifSet, type Problems } from "./fields.ts";
import { ipProblems } from "./ip.ts";

const DNS_POLICIES = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"] as const;
const MAX_NAMESERVERS = 3;
const MAX_SEARCHES = 32;
const MAX_SEARCH_CHARACTERS = 2048;
const MAX_HOSTNAME_OVERRIDE = 64;

function dnsConfigProblems({ dnsPolicy, dnsConfig }: PodSpec, path: string): Problems {
  const at = (name: string) => child(path, name);
  const { nameservers = [], searches = [], options = [] } = dnsConfig ?? {};
  if (dnsPolicy === "None" && dnsConfig === undefined)
    return [required(path, "must provide `dnsConfig` when `dnsPolicy` is None")];
  if (dnsPolicy === "None" && nameservers.length === 0)
    return [
      required(
        at("nameservers"),
        "must provide at least one DNS nameserver when `dnsPolicy` is None",
      ),
    ];
  return [
    ...(nameservers.length > MAX_NAMESERVERS
      ? [
          invalid(
            at("nameservers"),
            nameservers,
            `must not have more than ${MAX_NAMESERVERS} nameservers`,
          ),
        ]
      : []),
    ...eachOf(nameservers, at("nameservers"), (server, serverPath) =>
      ipProblems(serverPath, server),
    ),
    ...(searches.length > MAX_SEARCHES
      ? [invalid(at("searches"), searches, `must not have more than ${MAX_SEARCHES} search paths`)]
      : []),
    ...(byteLength(searches.join(" ")) > MAX_SEARCH_CHARACTERS
      ? [
          invalid(
            at("searches"),
            searches,
            `must not have more than ${MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list`,
          ),
        ]
      : []),
    ...eachOf(searches, at("searches"), (search, searchPath) => {
      const domain = search.endsWith(".") ? search.slice(0, -1) : search;
      return search === "." ? FINE : faultsAt(searchPath, domain, searchDomainFaults(domain));
    }),
    ...eachOf(options, at("options"), ({ name = "" }, optionPath) =>
      name === "" ? [required(optionPath, "must not be empty")] : FINE,
    ),
  ];
}

function hostnameOverrideProblems(spec: PodSpec, name: string): Problems {
  const path = "spec.hostnameOverride";
  return [
    ...(spec.setHostnameAsFQDN === true
      ? [forbidden(path, "may not be specified when setHostnameAsFQDN is true")]
      : []),
    ...(spec.hostNetwork === true
      ? [forbidden(path, "may not be specified when hostNetwork is true")]
      : []),
    ...(byteLength(name) > MAX_HOSTNAME_OVERRIDE ? [tooLong(path, MAX_HOSTNAME_OVERRIDE)] : []),
    ...faultsAt(path, name, dns1123SubdomainFaults(name)),
  ];
}

/** In the node's network a port of the container is a port of the node. */
const hostNetworkProblems = (spec: PodSpec): Problems =>
  spec.hostNetwork === true
    ? eachOf(spec.containers, "spec.containers", ({ ports }, at) =>
        eachOf(ports, child(at, "ports"), ({ hostPort = 0, containerPort }, portPath) =>
          hostPort === containerPort
            ? FINE
            : [
                invalid(
                  child(portPath, "hostPort"),
                  hostPort,
                  "must match `containerPort` when `hostNetwork` is true",
                ),
              ],
        ),
      )
    : FINE;

const HOST_NAMESPACES = ["hostNetwork", "hostPID", "hostIPC"] as const;

/** How the pod is called, what it resolves names with, and which namespaces of the node it shares. */
export function networkProblems(spec: PodSpec, userNamespacesHostNetwork = false): Problems {
  const { dnsPolicy = "" } = spec;
  const label = (name: "hostname" | "subdomain"): Problems => {
    const text = spec[name] ?? "";
    return text === "" ? FINE : faultsAt(`spec.${name}`, text, dns1123LabelFaults(text));
  };
  return [
    ...hostNetworkProblems(spec),
    ...(dnsPolicy === ""
      ? [required("spec.dnsPolicy")]
      : (DNS_POLICIES as readonly string[]).includes(dnsPolicy)
        ? []
        : [unsupported("spec.dnsPolicy", dnsPolicy, DNS_POLICIES)]),
    ...dnsConfigProblems(spec, "spec.dnsConfig"),
    ...(spec.hostUsers === false
      ? HOST_NAMESPACES.filter((name) => spec[name] === true)
          .filter((name) => name !== "hostNetwork" || !userNamespacesHostNetwork)
          .map((name) => forbidden(`spec.${name}`, "when `hostUsers` is false"))
      : []),
    ...ifSet(spec.hostnameOverride, (name) => hostnameOverrideProblems(spec, name)),
    ...label("hostname"),
    ...label("subdomain"),
    ...eachOf(spec.hostAliases, "spec.hostAliases", ({ ip, hostnames }, at) => [
      ...ipProblems(child(at, "ip"), ip),
      ...eachOf(hostnames, child(at, "hostnames"), (name, namePath) =>
        faultsAt(namePath, name, dns1123SubdomainFaults(name)),
      ),
    ]),
  ];
}
