import { API_SCHEMA } from "../../api/generated/schema.ts";
import { dumpYaml, parseYamlDocument, YamlError } from "../../api/text/yaml.ts";
import { isOutside, messageOf } from "../../kit/errors.ts";
import { jsonText } from "../../kit/json.ts";
import { withTimeout } from "../../kit/within.ts";
import type { ErrorReply, Exchange } from "../../outside/serving.ts";
import type { TokenDeps } from "../access/tokens.ts";
import type { ObjectsCore } from "../objects/core.ts";
import type { User } from "../objects/object-request.ts";
import type { Descriptions } from "../openapi/definitions.ts";
import { badRequest, StatusError, tooLarge, unsupportedMediaType } from "../status-error.ts";
import { parseJson } from "../wire/parse-json.ts";
import { PROTOBUF, readWireObject, WireFault } from "../wire/read-object.ts";
import type { ResourcePath } from "./request.ts";

export interface ServeDeps {
  readonly core: ObjectsCore;
  readonly tokens: TokenDeps;
  /** Socket of the node's agent, for logs and connections into containers; none without. */
  readonly agentSocket?: string;
  /** For the whole body of a request; default half a minute. */
  readonly bodyWithinMs?: number;
  /** Versions as in `/version`, e.g. `v1.36.2`. */
  readonly version: { readonly kubernetes: string; readonly nodelet: string };
  /** Texts of types and fields, read for each request for the description of the API. */
  readonly readDescriptions: () => Promise<Descriptions>;
}

/** An authorized request for a resource. */
export interface ResourceCall {
  readonly deps: ServeDeps;
  readonly exchange: Exchange;
  readonly user: User;
  readonly at: ResourcePath;
  readonly query: URLSearchParams;
}

/** Longest body (the API server's bound, 3 MiB). */
const MAX_BODY_BYTES = 3 * 1024 * 1024;
const BODY_WITHIN_MS = 30_000;

/** The format of a body, in lower case and without parameters. */
export function contentTypeOf({ headers }: Exchange): string {
  return (headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}

const JSON_TYPES = ["", "application/json"];
const YAML_TYPES = ["application/yaml", "application/apply-patch+yaml"];

/** The body as JSON; undefined when there is none. Throws `StatusError`. */
export async function readBody({ exchange, deps }: ResourceCall): Promise<unknown> {
  const type = contentTypeOf(exchange);
  if (type === PROTOBUF) return readWire(await readBytes(exchange, deps));
  const isJson = JSON_TYPES.includes(type) || type.endsWith("+json");
  if (!isJson && !YAML_TYPES.includes(type))
    throw unsupportedMediaType(["application/json", "application/yaml", PROTOBUF]);
  const text = textOf(await readBytes(exchange, deps));
  if (text.trim() === "") return undefined;
  try {
    return isJson ? parseJson(text) : parseYamlDocument(text).value;
  } catch (error) {
    if (error instanceof YamlError || error instanceof SyntaxError || error instanceof RangeError)
      throw badRequest(`error decoding the body: ${messageOf(error)}`);
    throw error;
  }
}

/** Types of what is sent by kind; of events the core group's are meant. */
function typeOfKind(kind: string): string | undefined {
  const type = kind === "Event" ? "CoreEvent" : kind;
  return Object.hasOwn(API_SCHEMA, type) ? type : undefined;
}

function readWire(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return undefined;
  try {
    return readWireObject(bytes, typeOfKind);
  } catch (error) {
    if (!(error instanceof WireFault) && !(error instanceof SyntaxError)) throw error;
    throw badRequest(`error decoding the body: ${error.message}`);
  }
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw badRequest("the body is not UTF-8");
  }
}

async function readBytes(
  exchange: Exchange,
  { core, bodyWithinMs = BODY_WITHIN_MS }: ServeDeps,
): Promise<Uint8Array> {
  const timeout = { clock: core.clock, ms: bodyWithinMs };
  const read = await withTimeout(timeout, exchange.signal, () =>
    exchange.readBody(MAX_BODY_BYTES),
  ).catch((error: unknown) => {
    throw isOutside(error, "exhausted") ? tooLarge(MAX_BODY_BYTES) : error;
  });
  if (read.kind === "done") return read.value;
  throw new StatusError(408, "Timeout", "timed out while reading the request body");
}

/** How an answer is written. */
interface ReplyForm {
  readonly encoding?: "json" | "yaml";
  readonly warnings?: readonly string[];
}

/** The reply that `replyObject` sends. */
function objectReply(
  status: number,
  body: object,
  { encoding = "json", warnings = [] }: ReplyForm = {},
): ErrorReply {
  const text = encoding === "yaml" ? dumpYaml(body) : jsonText(body);
  const warning = warnings.map((each) => `299 - ${JSON.stringify(printable(each))}`).join(", ");
  const headers = {
    "content-type": `application/${encoding}`,
    "cache-control": "no-cache, private",
    ...(warning === "" ? {} : { warning }),
  };
  return { status, headers, body: text };
}

/** Answers with an object. */
export async function replyObject(
  exchange: Exchange,
  status: number,
  body: object,
  form?: ReplyForm,
): Promise<void> {
  const reply = objectReply(status, body, form);
  await exchange.reply(status, reply.headers, reply.body);
}

const MAX_WARNING_LENGTH = 256;

/** Text that a header can hold. */
function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, MAX_WARNING_LENGTH);
}

/** The reply to what is refused. */
export function statusReply({ status, code }: StatusError): ErrorReply {
  return objectReply(code, status);
}
