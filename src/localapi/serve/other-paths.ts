/** Answers requests that are about no object: versions, health, discovery, the description of the API. */
import type { Exchange } from "../../outside/serving.ts";
import { openApiV2 } from "../openapi/v2.ts";
import { V2_PROTOBUF, V2_PROTOBUF_ANSWER, v2Protobuf } from "../openapi/v2-protobuf.ts";
import { openApiV3, openApiV3Index } from "../openapi/v3.ts";
import { methodNotAllowed, unknownPath } from "../status-error.ts";
import { replyObject, type ServeDeps } from "./call.ts";
import { aggregatedContent, aggregatedVersion, discoveryContent, documentAt } from "./discovery.ts";
import { mediaTypes } from "./negotiate.ts";
import type { OtherPath } from "./request.ts";

const HEALTH: ReadonlySet<string> = new Set(["healthz", "livez", "readyz"]);

/** Answers; throws `StatusError` for what is not there. */
export async function replyOther(
  deps: ServeDeps,
  exchange: Exchange,
  { segments }: OtherPath,
): Promise<void> {
  const { method } = exchange;
  if (method !== "GET" && method !== "HEAD") throw methodNotAllowed();
  const [root = ""] = segments;
  if (root === "version" && segments.length === 1)
    return await replyObject(exchange, 200, versionOf(deps));
  if (HEALTH.has(root))
    return await exchange.reply(200, { "content-type": "text/plain; charset=utf-8" }, "ok");
  if (root === "openapi") return await replyOpenApi(deps, exchange, segments);
  const accept = exchange.headers["accept"];
  const aggregated = aggregatedVersion(accept);
  if ((root === "api" || root === "apis") && segments.length === 1 && aggregated !== undefined) {
    const type = `application/json;g=apidiscovery.k8s.io;v=${aggregated};as=APIGroupDiscoveryList`;
    const body = JSON.stringify(aggregatedContent(root, aggregated));
    return await exchange.reply(200, { "content-type": type, vary: "Accept" }, body);
  }
  const document = documentAt(segments);
  if (!document) {
    if (segments.length > 0) throw unknownPath();
    return await replyObject(exchange, 200, {
      paths: ["/api", "/apis", "/healthz", "/openapi/v2", "/openapi/v3", "/version"],
    });
  }
  await replyObject(exchange, 200, discoveryContent(document, exchange.headers["host"] ?? ""));
}

function versionOf({ version }: ServeDeps): object {
  const [, major = "", minor = ""] = /^v(\d+)\.(\d+)/.exec(version.kubernetes) ?? [];
  return {
    major,
    minor,
    gitVersion: `${version.kubernetes}+nodelet-${version.nodelet}`,
    gitCommit: "",
    gitTreeState: "",
    buildDate: "",
    goVersion: "",
    compiler: "",
    platform: "linux/amd64",
  };
}

async function replyOpenApi(
  { version: { kubernetes: version }, readDescriptions }: ServeDeps,
  exchange: Exchange,
  segments: readonly string[],
): Promise<void> {
  const [, form, ...rest] = segments;
  if (form === "v2" && rest.length === 0) {
    const prefersProtobuf = mediaTypes(exchange.headers["accept"])[0]?.type === V2_PROTOBUF;
    const document = openApiV2(version, await readDescriptions());
    if (!prefersProtobuf) return await replyObject(exchange, 200, document);
    const bytes = v2Protobuf(document);
    return await exchange.reply(200, { "content-type": V2_PROTOBUF_ANSWER }, bytes);
  }
  if (form !== "v3") throw unknownPath();
  if (rest.length === 0) return await replyObject(exchange, 200, openApiV3Index());
  const document = openApiV3(rest, version, await readDescriptions());
  if (!document) throw unknownPath();
  await replyObject(exchange, 200, document);
}
