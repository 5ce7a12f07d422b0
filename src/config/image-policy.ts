// pure
/** The file of `--image-policy`: the owner's rules for keeping images. nodelet's own; the kubelet has no such thing. */

import { parseDuration } from "../api/text/duration.ts";
import { type LabelRequirements, parseLabelSelector } from "../api/text/labels.ts";
import { didYouMean } from "../api/text/nearest.ts";
import { parseYamlDocument, type YamlValue } from "../api/text/yaml.ts";
import { messageOf } from "../kit/errors.ts";

/** The rules as the file gives them. */
interface ImagePolicyFile {
  readonly order: "leastRecentlyUsed" | "value";
  readonly keep: {
    readonly names: readonly string[];
    readonly labels: readonly LabelRequirements[];
    readonly wantedWithinMs: number;
    readonly unreachableRegistries: boolean;
  };
}

/** A policy, or what is wrong with the file by path. */
type ImagePolicyReading =
  | { readonly kind: "policy"; readonly policy: ImagePolicyFile }
  | { readonly kind: "faults"; readonly faults: readonly string[] };

const API_VERSION = "nodelet.dev/v1alpha1";
const KIND = "ImagePolicy";
const ORDERS = { LeastRecentlyUsed: "leastRecentlyUsed", Value: "value" } as const;
const TOP = ["apiVersion", "kind", "order", "keep"];
const KEEP = ["names", "labels", "wantedWithin", "unreachableRegistries"];
const MAX_ENTRIES = 1_000;

type Fields = { readonly [key: string]: YamlValue };
type Fault = (path: string, why: string) => void;

/** Reads the text of the file, YAML or JSON. */
export function readImagePolicy(text: string): ImagePolicyReading {
  const faults: string[] = [];
  const fault: Fault = (path, why) => faults.push(`${path}: ${why}`);
  let root: Fields;
  try {
    root = fieldsOf(parseYamlDocument(text).value) ?? {};
  } catch (error) {
    return { kind: "faults", faults: [messageOf(error)] };
  }
  if (root["apiVersion"] !== API_VERSION) fault("apiVersion", `must be ${API_VERSION}`);
  if (root["kind"] !== KIND) fault("kind", `must be ${KIND}`);
  checkNames(root, TOP, "", fault);
  const keep = fieldsOf(root["keep"]) ?? {};
  if (root["keep"] !== undefined && !fieldsOf(root["keep"])) fault("keep", "must be a map");
  checkNames(keep, KEEP, "keep.", fault);
  const policy: ImagePolicyFile = {
    order: orderOf(root["order"], fault),
    keep: {
      names: textsOf(keep["names"], "keep.names", fault),
      labels: selectorsOf(keep["labels"], fault),
      wantedWithinMs: durationOf(keep["wantedWithin"], fault),
      unreachableRegistries: booleanOf(keep["unreachableRegistries"], fault),
    },
  };
  return faults.length > 0 ? { kind: "faults", faults } : { kind: "policy", policy };
}

function fieldsOf(value: YamlValue | undefined): Fields | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : undefined;
}

function checkNames(fields: Fields, known: readonly string[], path: string, fault: Fault): void {
  for (const name of Object.keys(fields))
    if (!known.includes(name)) fault(`${path}${name}`, `unknown field${didYouMean(name, known)}`);
}

function orderOf(value: YamlValue | undefined, fault: Fault): ImagePolicyFile["order"] {
  if (value === undefined || value === null) return "leastRecentlyUsed";
  const order = typeof value === "string" && Object.hasOwn(ORDERS, value);
  if (order) return ORDERS[value as keyof typeof ORDERS];
  fault("order", "must be LeastRecentlyUsed or Value");
  return "leastRecentlyUsed";
}

function textsOf(value: YamlValue | undefined, path: string, fault: Fault): readonly string[] {
  if (value === undefined || value === null) return [];
  const list: readonly YamlValue[] = Array.isArray(value) ? value : [];
  if (!Array.isArray(value) || list.length > MAX_ENTRIES)
    fault(path, `must be a list of at most ${MAX_ENTRIES} strings`);
  return list.flatMap((entry, at) => {
    if (typeof entry === "string" && entry !== "") return [entry];
    fault(`${path}[${at}]`, "must be a non-empty string");
    return [];
  });
}

function selectorsOf(value: YamlValue | undefined, fault: Fault): readonly LabelRequirements[] {
  return textsOf(value, "keep.labels", fault).flatMap((text, at) => {
    const reading = parseLabelSelector(text);
    if (reading.kind === "selector") return [reading.selector];
    fault(`keep.labels[${at}]`, reading.message);
    return [];
  });
}

function durationOf(value: YamlValue | undefined, fault: Fault): number {
  if (value === undefined || value === null || value === 0) return 0;
  const parsed = typeof value === "string" ? parseDuration(value) : undefined;
  if (parsed?.ok && parsed.ms >= 0) return parsed.ms;
  fault("keep.wantedWithin", "must be a duration such as 24h");
  return 0;
}

function booleanOf(value: YamlValue | undefined, fault: Fault): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value === "boolean") return value;
  fault("keep.unreachableRegistries", "must be true or false");
  return false;
}
