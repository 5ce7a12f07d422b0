// Generates src/api/generated/: the TypeScript types of the Kubernetes objects we use and a compact
// description of their fields for decoding, and assets/api-descriptions.json.br: what `kubectl explain` shows. Source: the OpenAPI models (release 1.36) that the
// development dependency @kubernetes/client-node carries.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";
import { ADDED_FIELDS } from "./added-fields.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const modelsDir = join(root, "node_modules/@kubernetes/client-node/dist/gen/models");
const outDir = join(root, "src/api/generated");
const assetsDir = join(root, "assets");

/** The objects from which everything else is reached. */
const ROOTS = [
  "V1Pod",
  "V1PodList",
  "V1Node",
  "V1NodeList",
  "V1Namespace",
  "V1NamespaceList",
  "CoreV1Event",
  "CoreV1EventList",
  "EventsV1Event",
  "V1ConfigMap",
  "V1Secret",
  "V1ServiceAccount",
  "V1Service",
  "V1Lease",
  "V1PersistentVolume",
  "V1PersistentVolumeClaim",
  "V1RuntimeClass",
  "V1PriorityClass",
  "V1CertificateSigningRequest",
  "V1beta1PodCertificateRequest",
  "V1beta1ClusterTrustBundle",
  "V1TokenReview",
  "V1SubjectAccessReview",
  "V1SelfSubjectAccessReview",
  "V1SelfSubjectReview",
  "V1SelfSubjectRulesReview",
  "AuthenticationV1TokenRequest",
  "V1Binding",
  "V1Eviction",
  "V1Status",
  "V1CSINode",
  "V1CSIDriver",
  "V1VolumeAttachment",
  "V1StorageClass",
  "V1DeviceClass",
  "ResourceV1ResourceClaim",
  "V1ResourceClaimTemplate",
  "V1ResourceSlice",
];

/** Maps of quantities: the OpenAPI says only "string", the API also takes numbers here. */
const QUANTITY_MAPS = new Set([
  "limits",
  "requests",
  "capacity",
  "allocatable",
  "overhead",
  "allocatedResources",
  "podFixed",
  "resources",
  "consumedCapacity",
  "hard",
  "used",
]);
/** Single quantities. */
const QUANTITIES = new Set(["sizeLimit", "divisor"]);
/** Single quantities whose names are those of other fields elsewhere. */
const QUANTITIES_OF = {
  V1CapacityRequestPolicy: ["default", "validValues"],
  V1CapacityRequestPolicyRange: ["max", "min", "step"],
  V1Counter: ["value"],
  V1DeviceCapacity: ["value"],
  V1NodeAllocatableResourceMapping: ["allocationMultiplier"],
};

/** Fields of beta types that their stable versions have not. */
const REMOVED_FIELDS = {
  V1beta1PodCertificateRequestSpec: ["pkixPublicKey", "proofOfPossession"],
};

const shortName = (name) => {
  if (name === "CoreV1Event") return "CoreEvent";
  if (name === "CoreV1EventList") return "CoreEventList";
  if (name === "CoreV1EventSeries") return "CoreEventSeries";
  if (name === "ResourceV1ResourceClaim") return "DynamicResourceClaim";
  if (name === "StorageV1TokenRequest") return "CSITokenRequest";
  return name.replace(
    /^(Authentication|Core|Events|Discovery|Storage|Flowcontrol|Admissionregistration)?V1(?:beta1)?(?=[A-Z])/,
    (_, group) => (group === "Events" ? "Events" : ""),
  );
};

const models = new Map();
/** Texts of every type: its own under the empty name, and those of its fields. */
const descriptions = {};

function readDescriptions(name, declaration) {
  const plain = (text) => text.replace(/\\(["'`\\])/g, "$1").trim();
  const texts = {};
  const ofType = /^\/\*\*\n\* (.*)\n\*\/\nexport declare class /m.exec(declaration)?.[1];
  if (ofType) texts[""] = plain(ofType);
  for (const [, text, field] of declaration.matchAll(
    /^ {4}\/\*\*\n {4}\* (.*)\n {4}\*\/\n {4}'([^']+)'/gm,
  ))
    texts[field.replace(/^_/, "")] = plain(text);
  descriptions[shortName(name)] = texts;
}

async function load(name) {
  if (models.has(name)) return;
  models.set(name, undefined);
  const { [name]: model } = await import(join(modelsDir, `${name}.js`));
  const declaration = readFileSync(join(modelsDir, `${name}.d.ts`), "utf8");
  readDescriptions(name, declaration);
  const fields = [];
  const removed = REMOVED_FIELDS[name] ?? [];
  for (const { baseName, name: property, type, format } of model.attributeTypeMap) {
    if (removed.includes(baseName)) continue;
    const required = new RegExp(`^    '${property.replace("$", "\\$")}': `, "m").test(declaration);
    const isQuantity = QUANTITIES_OF[name]?.includes(baseName) === true;
    fields.push({ name: baseName, type, format, required, isQuantity });
    const referenced = type
      .replace(/^Array<(.*)>$/, "$1")
      .replace(/^\{ \[key: string\]: (.*); \}$/, "$1")
      .replace(/^Array<(.*)>$/, "$1");
    if (/^[A-Z]/.test(referenced) && !["Date", "IntOrString", "V1MicroTime"].includes(referenced))
      await load(referenced);
  }
  for (const { text, number: _, ...field } of ADDED_FIELDS[name] ?? []) {
    fields.push({ required: false, ...field });
    descriptions[shortName(name)][field.name] = text;
  }
  models.set(name, name in ADDED_FIELDS ? fields.sort(byName) : fields);
}

const byName = (a, b) => (a.name < b.name ? -1 : 1);

/** Our spelling of a field's type: a scalar, `[]T`, `{}T` or the name of another model. */
function kindOf(field) {
  const { name, type, format, isQuantity } = field;
  const array = /^Array<(.*)>$/.exec(type);
  if (array) return `[]${kindOf({ ...field, type: array[1] })}`;
  const map = /^\{ \[key: string\]: (.*); \}$/.exec(type);
  if (map)
    return `{}${QUANTITY_MAPS.has(name) && map[1] === "string" ? "quantity" : kindOf({ ...field, type: map[1] })}`;
  switch (type) {
    case "string":
      if (isQuantity || QUANTITIES.has(name)) return "quantity";
      return format === "byte" ? "bytes" : "string";
    case "number":
      return format === "int64" ? "int64" : format === "int32" ? "int32" : "double";
    case "boolean":
      return "bool";
    case "Date":
      return "time";
    case "V1MicroTime":
      return "microtime";
    case "IntOrString":
      return "intOrString";
    case "object":
    case "any":
      return "any";
    default:
      return shortName(type);
  }
}

const SCALARS = {
  string: "string",
  bytes: "string",
  quantity: "string",
  int32: "number",
  int64: "number",
  double: "number",
  bool: "boolean",
  time: "string",
  microtime: "string",
  intOrString: "number | string",
  any: "JsonValue",
};

function typeOf(kind) {
  if (kind.startsWith("[]")) {
    const inner = typeOf(kind.slice(2));
    return inner.includes(" ") ? `readonly (${inner})[]` : `readonly ${inner}[]`;
  }
  if (kind.startsWith("{}")) return `Readonly<Record<string, ${typeOf(kind.slice(2))}>>`;
  return SCALARS[kind] ?? kind;
}

for (const name of ROOTS) await load(name);
const sorted = [...models.entries()]
  .map(([name, fields]) => [shortName(name), fields])
  .sort(([a], [b]) => (a < b ? -1 : 1));
const duplicate = sorted.find(([name], i) => i > 0 && sorted[i - 1][0] === name);
if (duplicate) throw new Error(`two models would be called ${duplicate[0]}`);

const banner =
  "// pure\n// Generated by tools/generate/generate-api.mjs from the OpenAPI of Kubernetes 1.36. Do not edit.\n";
let types = `${banner}\n/** Anything JSON can say. */\nexport type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };\n`;
let schema = `${banner}\n/**\n * The fields of every object, by type name. A field's kind is a scalar (\`string int32 int64 double bool\n * bytes quantity time microtime intOrString any\`), a type name, \`[]kind\` or \`{}kind\`; a trailing \`!\` marks\n * a field the API requires.\n */\nexport const API_SCHEMA: Readonly<Record<string, Readonly<Record<string, string>>>> = {\n`;
for (const [name, fields] of sorted) {
  types += `\nexport interface ${name} {\n`;
  schema += `  ${name}: {`;
  for (const field of fields) {
    const kind = kindOf(field);
    const key = /^[A-Za-z_]\w*$/.test(field.name) ? field.name : JSON.stringify(field.name);
    types += `  readonly ${key}${field.required ? "" : "?"}: ${typeOf(kind)};\n`;
    schema += ` ${key}: "${kind}${field.required ? "!" : ""}",`;
  }
  types += "}\n";
  schema += " },\n";
}
schema += "};\n";
mkdirSync(outDir, { recursive: true });
writeFileSync(join(outDir, "types.ts"), types);
writeFileSync(join(outDir, "schema.ts"), schema);
mkdirSync(assetsDir, { recursive: true });
const inOrder = Object.fromEntries(
  Object.entries(descriptions).sort(([a], [b]) => (a < b ? -1 : 1)),
);
const params = { [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS };
writeFileSync(
  join(assetsDir, "api-descriptions.json.br"),
  brotliCompressSync(JSON.stringify(inOrder), { params }),
);
console.log(`${sorted.length} types written to src/api/generated`);
