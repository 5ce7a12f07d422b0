// pure

import { derivedOncePerText } from "../../kit/derived-once.ts";
import { isTree, setOwn, type Tree } from "../../kit/json.ts";
import { API_SCHEMA } from "../generated/schema.ts";
import type {
  Binding,
  CertificateSigningRequest,
  ConfigMap,
  CoreEvent,
  CSINode,
  DeleteOptions,
  EventsEvent,
  Eviction,
  Lease,
  Namespace,
  Node,
  NodeList,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodList,
  PriorityClass,
  RuntimeClass,
  Secret,
  Service,
  ServiceAccount,
  Status,
  StorageClass,
  SubjectAccessReview,
  TokenRequest,
  TokenReview,
} from "../generated/types.ts";
import { nearest } from "../text/nearest.ts";
import { readScalar, type ScalarKind, typeName, zeroScalar } from "./decode-scalars.ts";
import { type FieldProblem, required, unsupported } from "./field-problem.ts";

/** The objects that come in from outside, by the name of their type. */
export interface Decodable {
  readonly Binding: Binding;
  readonly CSINode: CSINode;
  readonly StorageClass: StorageClass;
  readonly CertificateSigningRequest: CertificateSigningRequest;
  readonly ConfigMap: ConfigMap;
  readonly CoreEvent: CoreEvent;
  readonly DeleteOptions: DeleteOptions;
  readonly EventsEvent: EventsEvent;
  readonly Eviction: Eviction;
  readonly Lease: Lease;
  readonly Namespace: Namespace;
  readonly Node: Node;
  readonly NodeList: NodeList;
  readonly PersistentVolume: PersistentVolume;
  readonly PersistentVolumeClaim: PersistentVolumeClaim;
  readonly Pod: Pod;
  readonly PodList: PodList;
  readonly PriorityClass: PriorityClass;
  readonly RuntimeClass: RuntimeClass;
  readonly Secret: Secret;
  readonly Service: Service;
  readonly ServiceAccount: ServiceAccount;
  readonly Status: Status;
  readonly SubjectAccessReview: SubjectAccessReview;
  readonly TokenRequest: TokenRequest;
  readonly TokenReview: TokenReview;
}

/** A decoded object: always of its type, with Go's zero values where the text was wrong. */
export interface Decoded<T> {
  readonly value: T;
  readonly problems: readonly FieldProblem[];
}

/** Maximum number of problems reported; bounds memory for hostile input. */
const MAX_PROBLEMS = 100;

type Kind =
  | { readonly shape: "scalar"; readonly scalar: ScalarKind }
  | { readonly shape: "object"; readonly type: string }
  | { readonly shape: "list" | "map"; readonly of: Kind };

interface Field {
  readonly kind: Kind;
  readonly required: boolean;
}

const SCALARS: ReadonlySet<string> = new Set<ScalarKind>([
  ...(["string", "int32", "int64", "double", "bool", "bytes"] as const),
  ...(["quantity", "time", "microtime", "intOrString", "any"] as const),
]);

function kindFrom(text: string): Kind {
  if (text.startsWith("[]")) return { shape: "list", of: kindFrom(text.slice(2)) };
  if (text.startsWith("{}")) return { shape: "map", of: kindFrom(text.slice(2)) };
  return SCALARS.has(text)
    ? { shape: "scalar", scalar: text as ScalarKind }
    : { shape: "object", type: text };
}

/** The fields of a type, made when first needed. */
const fieldsOf = derivedOncePerText(
  (type): ReadonlyMap<string, Field> =>
    new Map(
      Object.entries(API_SCHEMA[type] ?? {}).map(([name, text]) => [
        name,
        { kind: kindFrom(text.replace(/!$/, "")), required: text.endsWith("!") },
      ]),
    ),
);

const isAbsent = (json: unknown): boolean => json === null || json === undefined;

const child = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);

class Decoder {
  readonly problems: FieldProblem[] = [];

  decode(kind: Kind, json: unknown, path: string): unknown {
    switch (kind.shape) {
      case "scalar":
        return this.#scalar(kind.scalar, json, path);
      case "list":
        return this.#list(kind.of, json, path);
      case "map":
        return this.#map(kind.of, json, path);
      case "object":
        return this.object(kind.type, json, path);
    }
  }

  object(type: string, json: unknown, path: string): object {
    const fields = fieldsOf(type);
    const source = isTree(json) ? json : {};
    if (!isTree(json)) this.#wrongType(path, "an object", json);
    const result: Record<string, unknown> = {};
    for (const [name, { kind, required: needed }] of fields) {
      const value = Object.hasOwn(source, name) ? source[name] : undefined;
      if (!isAbsent(value)) result[name] = this.decode(kind, value, child(path, name));
      else if (needed) {
        if (isTree(json)) this.#add(required(child(path, name)));
        result[name] = zeroOf(kind);
      }
    }
    for (const name of Object.keys(source))
      if (!fields.has(name)) this.#unknown(name, path, fields.keys());
    return result;
  }

  #scalar(scalar: ScalarKind, json: unknown, path: string): unknown {
    const reading = readScalar(scalar, json);
    if (reading.ok) return reading.value;
    const shown = typeof json === "object" ? {} : { value: json };
    const kind = reading.typeWrong ? "typeInvalid" : "invalid";
    this.#add({ path, kind, ...shown, message: reading.message });
    return zeroScalar(scalar);
  }

  #list(of: Kind, json: unknown, path: string): readonly unknown[] {
    if (!Array.isArray(json)) {
      this.#wrongType(path, "a list", json);
      return [];
    }
    return json.map((item: unknown, i) => this.#element(of, item, `${path}[${i}]`));
  }

  #map(of: Kind, json: unknown, path: string): object {
    const result = {};
    if (!isTree(json)) {
      this.#wrongType(path, "an object", json);
      return result;
    }
    for (const [key, value] of Object.entries(json))
      setOwn(result, key, this.#element(of, value, `${path}[${key}]`));
    return result;
  }

  /** `null` inside a list or map is a zero value, not a missing one. */
  #element(of: Kind, json: unknown, path: string): unknown {
    if (!isAbsent(json)) return this.decode(of, json, path);
    return of.shape === "object" ? this.object(of.type, {}, path) : zeroOf(of);
  }

  #unknown(name: string, path: string, known: Iterable<string>): void {
    const meant = nearest(name, known);
    const message = meant === undefined ? "" : `did you mean "${meant}"?`;
    this.#add({ path: child(path, name), kind: "unknownField", message });
  }

  #wrongType(path: string, expected: string, json: unknown): void {
    const shown = typeof json === "object" ? {} : { value: json };
    const message = `expected ${expected}, got ${typeName(json)}`;
    this.#add({ path, kind: "typeInvalid", ...shown, message });
  }

  #add(problem: FieldProblem): void {
    if (this.problems.length < MAX_PROBLEMS) this.problems.push(problem);
  }
}

function zeroOf(kind: Kind): unknown {
  switch (kind.shape) {
    case "scalar":
      return zeroScalar(kind.scalar);
    case "list":
      return [];
    case "map":
      return {};
    case "object":
      return new Decoder().object(kind.type, {}, "");
  }
}

/**
 * Decodes plain JSON (or what `parseYaml` made of a text) into an object of the API. Like Go: `null` is
 * the same as absent. Unlike Go: what the type does not know is a problem, not silence. The result holds
 * known fields only, quantities and times in the API's own spelling. Never throws.
 */
export function decodeObject<K extends keyof Decodable>(
  typeName: K,
  json: unknown,
  path = "",
): Decoded<Decodable[K]> {
  const decoder = new Decoder();
  const value = decoder.object(typeName, json, path) as Decodable[K];
  return { value, problems: decoder.problems };
}

/** The pods of a document, and everything wrong with it. */
interface DecodedPods {
  readonly pods: readonly Pod[];
  readonly problems: readonly FieldProblem[];
}

function typeProblems(json: Tree): readonly FieldProblem[] {
  const problems: FieldProblem[] = [];
  const { apiVersion, kind } = json;
  if (isAbsent(apiVersion)) problems.push(required("apiVersion", 'must be "v1"'));
  else if (apiVersion !== "v1") problems.push(unsupported("apiVersion", apiVersion, ["v1"]));
  if (isAbsent(kind)) problems.push(required("kind", 'must be "Pod" or "PodList"'));
  else if (kind !== "Pod" && kind !== "PodList")
    problems.push(unsupported("kind", kind, ["Pod", "PodList"]));
  return problems;
}

/**
 * Decodes a document that holds a `Pod` or a `PodList` of version `v1`. When it is something else there
 * are no pods, only problems. Problems of a list's pods have paths below `items[i]`.
 */
export function decodePodDocument(json: unknown): DecodedPods {
  if (!isTree(json)) {
    const message = `expected a Pod or PodList, got ${typeName(json)}`;
    return { pods: [], problems: [{ path: "kind", kind: "typeInvalid", message }] };
  }
  const wrong = typeProblems(json);
  if (wrong.length > 0) return { pods: [], problems: wrong };
  if (json["kind"] === "Pod") {
    const { value, problems } = decodeObject("Pod", json);
    return { pods: [value], problems };
  }
  const { value, problems } = decodeObject("PodList", json);
  const foreign = value.items.flatMap(({ kind }, i) =>
    kind === undefined || kind === "Pod" ? [] : [unsupported(`items[${i}].kind`, kind, ["Pod"])],
  );
  return { pods: value.items, problems: [...foreign, ...problems] };
}
