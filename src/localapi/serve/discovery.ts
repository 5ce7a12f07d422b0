// pure
/** API discovery: one document for each group, and all in one. */

import { apiVersionOf } from "../../api/text/api-version.ts";
import type { Kind } from "../kind.ts";
import {
  GROUP_VERSIONS,
  type GroupVersion,
  type Review,
  type Subresource,
  subresourcesOf,
} from "../kinds/offers.ts";
import type { UnsupportedKind } from "../kinds/unsupported-kinds.ts";
import { mediaTypes } from "./negotiate.ts";

/** Discovery document at a path. */
type DiscoveryDocument =
  | { readonly kind: "coreVersions" }
  | { readonly kind: "groups" }
  | { readonly kind: "group"; readonly of: GroupVersion }
  | { readonly kind: "resources"; readonly of: GroupVersion };

/** The document at a path. */
export function documentAt(segments: readonly string[]): DiscoveryDocument | undefined {
  const [root, ...rest] = segments;
  if (root === "api") {
    if (rest.length === 0) return { kind: "coreVersions" };
    const of = GROUP_VERSIONS.find(({ group, version }) => group === "" && version === rest[0]);
    return of && rest.length === 1 ? { kind: "resources", of } : undefined;
  }
  if (root !== "apis") return undefined;
  if (rest.length === 0) return { kind: "groups" };
  const [group, version] = rest;
  const all = GROUP_VERSIONS.filter((each) => each.group === group && group !== "");
  if (rest.length > 2) return undefined;
  const of = all.find((each) => version === undefined || each.version === version);
  if (!of) return undefined;
  return version === undefined ? { kind: "group", of } : { kind: "resources", of };
}

/** The content of a document. `address` is where the server listens, `host:port`. */
export function discoveryContent(document: DiscoveryDocument, address: string): object {
  switch (document.kind) {
    case "coreVersions":
      return {
        kind: "APIVersions",
        versions: ["v1"],
        serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: address }],
      };
    case "groups":
      return {
        kind: "APIGroupList",
        apiVersion: "v1",
        groups: GROUP_VERSIONS.filter((of) => of.group !== "" && isPreferred(of)).map(groupOf),
      };
    case "group":
      return { kind: "APIGroup", apiVersion: "v1", ...groupOf(document.of) };
    case "resources":
      return resourceList(document.of);
  }
}

const versionsOf = (group: string): readonly GroupVersion[] =>
  GROUP_VERSIONS.filter((each) => each.group === group);

const isPreferred = (of: GroupVersion): boolean => versionsOf(of.group)[0] === of;

function groupOf({ group }: GroupVersion): object {
  const versions = versionsOf(group).map(({ version }) => ({
    groupVersion: `${group}/${version}`,
    version,
  }));
  return { name: group, versions, preferredVersion: versions[0] };
}

function resourceList(of: GroupVersion): object {
  return {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion: apiVersionOf(of),
    resources: [
      ...of.kinds.flatMap(resourcesOf),
      ...of.reviews.map(reviewResource),
      ...of.unsupported.map(unsupportedResource),
    ].toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

interface Resource {
  readonly name: string;
  readonly [field: string]: unknown;
}

function resourcesOf(kind: Kind): readonly Resource[] {
  const { plural, singular, namespaced, shortNames, categories, verbs } = kind;
  const own: Resource = {
    name: plural,
    singularName: singular,
    namespaced,
    kind: kind.kind,
    verbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
  };
  const parts = subresourcesOf(kind).map(
    ({ name, group, version, kind: sent, verbs: allowed }) => ({
      name: `${plural}/${name}`,
      singularName: "",
      namespaced,
      ...(group === kind.group ? {} : { group, version }),
      kind: sent,
      verbs: allowed,
    }),
  );
  return [own, ...parts];
}

function reviewResource({ plural, kind, namespaced, verbs }: Review): Resource {
  return { name: plural, singularName: kind.toLowerCase(), namespaced, kind, verbs };
}

/** Versions of the aggregated form, the newest first. */
const AGGREGATED: readonly string[] = ["v2", "v2beta1"];

/** Version of the aggregated form that a client prefers; undefined for the plain form. */
export function aggregatedVersion(accept: string | undefined): string | undefined {
  for (const { type, parameters } of mediaTypes(accept)) {
    const { as: requested, g: group, v: version = "" } = parameters;
    if (requested === undefined) return undefined;
    const fits = type === "application/json" && group === "apidiscovery.k8s.io";
    if (fits && requested === "APIGroupDiscoveryList" && AGGREGATED.includes(version))
      return version;
  }
  return undefined;
}

/** `/api` or `/apis` with everything beneath it in one document. */
export function aggregatedContent(root: "api" | "apis", version: string): object {
  const groups = GROUP_VERSIONS.filter(
    (of) => (of.group === "") === (root === "api") && isPreferred(of),
  );
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map(({ group }) => ({
      metadata: { name: group, creationTimestamp: null },
      versions: versionsOf(group).map((of) => ({
        version: of.version,
        freshness: "Current",
        resources: [
          ...of.kinds.map(discoveredKind),
          ...of.reviews.map(discoveredReview),
          ...of.unsupported.map(discoveredUnsupported),
        ],
      })),
    })),
  };
}

function discoveredKind(kind: Kind): object {
  const { group, version, plural, singular, namespaced, shortNames, categories, verbs } = kind;
  const parts = subresourcesOf(kind);
  return {
    resource: plural,
    responseKind: { group, version, kind: kind.kind },
    scope: namespaced ? "Namespaced" : "Cluster",
    singularResource: singular,
    verbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(parts.length === 0 ? {} : { subresources: parts.map(discoveredPart) }),
  };
}

function discoveredPart({ name, group, version, kind, verbs }: Subresource): object {
  return { subresource: name, responseKind: { group, version, kind }, verbs };
}

function discoveredReview({ plural, kind, group, version, namespaced, verbs }: Review): object {
  return {
    resource: plural,
    responseKind: { group, version, kind },
    scope: namespaced ? "Namespaced" : "Cluster",
    singularResource: kind.toLowerCase(),
    verbs,
  };
}

/** Without verbs, so that lists of what there is leave it out. */
function unsupportedResource({ plural, kind, namespaced, shortNames }: UnsupportedKind): Resource {
  return {
    name: plural,
    singularName: kind.toLowerCase(),
    namespaced,
    kind,
    verbs: [],
    ...(shortNames.length === 0 ? {} : { shortNames }),
  };
}

function discoveredUnsupported(unsupported: UnsupportedKind): object {
  const { plural, kind, group, version, namespaced, shortNames } = unsupported;
  return {
    resource: plural,
    responseKind: { group, version, kind },
    scope: namespaced ? "Namespaced" : "Cluster",
    singularResource: kind.toLowerCase(),
    verbs: [],
    ...(shortNames.length === 0 ? {} : { shortNames }),
  };
}
