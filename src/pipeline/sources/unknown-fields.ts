// pure
import { decodeObject } from "../../api/decode/decode.ts";
import type { Pod, PodSpec } from "../../api/generated/types.ts";
import { LATEST_RELEASE } from "../../config/release.ts";
import { derivedOnce } from "../../kit/derived-once.ts";

/** A pod without what this agent's API does not have. */
interface KnownFields<P extends Pod> {
  readonly pod: P;
  /** Paths of the fields that were left out, in the order of decoding. */
  readonly unknown: readonly string[];
}

/**
 * Leaves out the fields of a pod's spec that a later API has and this agent's does not, as decoding into Go's
 * types does. A pod without such fields is given back as it is.
 */
export function knownFields<P extends Pod>(pod: P): KnownFields<P> {
  const { spec, unknown } = pod.spec ? knownSpec(pod.spec) : ALL_KNOWN;
  return { pod: spec ? { ...pod, spec } : pod, unknown };
}

/** A spec without fields that are not known; none where all are. */
interface KnownSpec {
  readonly spec?: PodSpec;
  readonly unknown: readonly string[];
}

const ALL_KNOWN: KnownSpec = { unknown: [] };

const knownSpec = derivedOnce((given: PodSpec): KnownSpec => {
  const { value, problems } = decodeObject("Pod", { spec: given });
  const unknown = problems.flatMap(({ kind, path }) => (kind === "unknownField" ? [path] : []));
  return unknown.length === 0 || !value.spec ? ALL_KNOWN : { spec: value.spec, unknown };
});

/** Paths that one message names. */
const MAX_NAMED = 8;

/** Message of the event about unknown fields. */
export function unknownFieldsMessage(unknown: readonly string[]): string {
  const named = unknown.slice(0, MAX_NAMED).map((path) => JSON.stringify(path));
  const rest = unknown.length - named.length;
  const more = rest === 0 ? "" : ` and ${rest} more`;
  const [fields, are] = unknown.length === 1 ? ["field", "is"] : ["fields", "are"];
  return `unknown ${fields} ${named.join(", ")}${more} ${are} ignored: this agent knows Kubernetes ${LATEST_RELEASE}`;
}
