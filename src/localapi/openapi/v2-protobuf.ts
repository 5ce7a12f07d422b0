// pure
/**
 * OpenAPI v2 in the binary form that clients before 1.27 insist on. Source of the numbers:
 * github.com/google/gnostic, openapiv2/OpenAPIv2.proto. Only what our document uses is written.
 */

import { dumpYaml } from "../../api/text/yaml.ts";
import type { Tree } from "../../kit/json.ts";
import { isTree } from "../../kit/json.ts";
import { treeOf } from "../api-object.ts";
import type { Schema } from "./definitions.ts";
import type { OpenApiV2 } from "./v2.ts";

/** How clients ask for it. */
export const V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
/** How it is called in answers: old clients refuse the `@`. */
export const V2_PROTOBUF_ANSWER = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

const DOCUMENT = { swagger: 1, info: 2, paths: 8, definitions: 9 };
const INFO = { title: 1, version: 2 };
const NAMED = { name: 1, value: 2 };
const SCHEMA = {
  ref: 1,
  format: 2,
  description: 4,
  required: 19,
  additionalProperties: 21,
  type: 22,
  items: 23,
  properties: 25,
  extension: 31,
};
const PATHS = { path: 2 };
const PATH_ITEM = { patch: 8 };
const OPERATION = { consumes: 7, parameters: 8, responses: 9, extension: 13 };
const PARAMETERS_ITEM = { parameter: 1 };
const PARAMETER = { nonBody: 2 };
const NON_BODY = { query: 3 };
const QUERY = { in: 2, name: 4, type: 6, uniqueItems: 20 };
const RESPONSES = { code: 1 };
const RESPONSE_VALUE = { response: 1 };
const RESPONSE = { description: 1 };
const ANY = { yaml: 2 };

const encoder = new TextEncoder();

function varint(value: number): readonly number[] {
  const bytes: number[] = [];
  let left = value;
  while (left > 127) {
    bytes.push((left % 128) | 128);
    left = Math.floor(left / 128);
  }
  bytes.push(left);
  return bytes;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** A field that holds bytes: a text or another message. */
function field(number: number, content: Uint8Array | string): Uint8Array {
  const bytes = typeof content === "string" ? encoder.encode(content) : content;
  return joined([Uint8Array.from([...varint(number * 8 + 2), ...varint(bytes.length)]), bytes]);
}

function flag(number: number): Uint8Array {
  return Uint8Array.from([...varint(number * 8), 1]);
}

function named(number: number, name: string, value: Uint8Array): Uint8Array {
  return field(number, joined([field(NAMED.name, name), field(NAMED.value, value)]));
}

function extensions(number: number, of: Tree): readonly Uint8Array[] {
  return Object.entries(of)
    .filter(([name]) => name.startsWith("x-"))
    .map(([name, value]) => named(number, name, field(ANY.yaml, dumpYaml(value))));
}

function texts(number: number, values: unknown): readonly Uint8Array[] {
  return Array.isArray(values) ? values.map((value) => field(number, String(value))) : [];
}

function text(number: number, value: unknown): readonly Uint8Array[] {
  return typeof value === "string" ? [field(number, value)] : [];
}

function schemaBytes(schema: Schema): Uint8Array {
  const { $ref, format, description, required, additionalProperties, type, items, properties } =
    schema;
  return joined([
    ...text(SCHEMA.ref, $ref),
    ...text(SCHEMA.format, format),
    ...text(SCHEMA.description, description),
    ...texts(SCHEMA.required, required),
    ...(isTree(additionalProperties)
      ? [field(SCHEMA.additionalProperties, field(1, schemaBytes(additionalProperties)))]
      : []),
    ...(typeof type === "string" ? [field(SCHEMA.type, field(1, type))] : []),
    ...(isTree(items) ? [field(SCHEMA.items, field(1, schemaBytes(items)))] : []),
    ...(isTree(properties) ? [field(SCHEMA.properties, schemaList(1, properties))] : []),
    ...extensions(SCHEMA.extension, schema),
  ]);
}

function schemaList(number: number, schemas: Tree): Uint8Array {
  const entries = Object.entries(schemas);
  return joined(entries.map(([name, schema]) => named(number, name, schemaBytes(treeOf(schema)))));
}

function parameterBytes(parameter: Tree): Uint8Array {
  const { name, in: place, type, uniqueItems } = parameter;
  const query = joined([
    ...text(QUERY.in, place),
    ...text(QUERY.name, name),
    ...text(QUERY.type, type),
    ...(uniqueItems === true ? [flag(QUERY.uniqueItems)] : []),
  ]);
  const parameterOf = field(PARAMETER.nonBody, field(NON_BODY.query, query));
  return field(PARAMETERS_ITEM.parameter, parameterOf);
}

function operationBytes(operation: Tree): Uint8Array {
  const { consumes, parameters, responses } = operation;
  const codes = Object.entries(treeOf(responses)).map(([code, response]) => {
    const description = field(RESPONSE.description, String(treeOf(response)["description"]));
    return named(RESPONSES.code, code, field(RESPONSE_VALUE.response, description));
  });
  return joined([
    ...texts(OPERATION.consumes, consumes),
    ...(Array.isArray(parameters)
      ? parameters.map((each) => field(OPERATION.parameters, parameterBytes(treeOf(each))))
      : []),
    field(OPERATION.responses, joined(codes)),
    ...extensions(OPERATION.extension, operation),
  ]);
}

/** The document as bytes. */
export function v2Protobuf(document: OpenApiV2): Uint8Array {
  const { swagger, info, paths, definitions } = document;
  const items = Object.entries(paths).map(([path, item]) =>
    named(PATHS.path, path, field(PATH_ITEM.patch, operationBytes(treeOf(item["patch"])))),
  );
  return joined([
    field(DOCUMENT.swagger, swagger),
    field(
      DOCUMENT.info,
      joined([field(INFO.title, info.title), field(INFO.version, info.version)]),
    ),
    field(DOCUMENT.paths, joined(items)),
    field(DOCUMENT.definitions, schemaList(1, definitions)),
  ]);
}
