import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseTarget } from "../../src/outside/net/serve/request-target.ts";
import { matchRoute, type Route, routeLabel, verbOf } from "../../src/server/route-table.ts";

const route = (
  pattern: string,
  methods: string[] = ["GET"],
  endpoints = ["secure"],
): Route<string> => ({
  pattern,
  methods,
  endpoints: endpoints as Route<string>["endpoints"],
  access: { subresources: ["proxy"] },
  handler: pattern,
});

const ROUTES = [
  route("/healthz", ["GET"], ["secure", "health"]),
  route("/healthz/{check}"),
  route("/runningpods"),
  route("/exec/{namespace}/{pod}/{container}", ["GET", "POST"]),
  route("/exec/{namespace}/{pod}/{uid}/{container}", ["GET", "POST"]),
  route("/run/{namespace}/{pod}/{container}", ["POST"]),
];

test("matchRoute finds what a path and a method mean", () => {
  const table: readonly [string, string, string, object?][] = [
    ["GET", "/healthz", "/healthz", {}],
    ["HEAD", "/healthz", "/healthz", {}],
    ["GET", "/healthz/", "/healthz", {}],
    ["GET", "/healthz/ping", "/healthz/{check}", { check: "ping" }],
    ["GET", "/runningpods/", "/runningpods", {}],
    [
      "POST",
      "/exec/ns/pod/c",
      "/exec/{namespace}/{pod}/{container}",
      { namespace: "ns", pod: "pod", container: "c" },
    ],
    [
      "GET",
      "/exec/ns/pod/uid/c",
      "/exec/{namespace}/{pod}/{uid}/{container}",
      { namespace: "ns", pod: "pod", uid: "uid", container: "c" },
    ],
    [
      "GET",
      "/exec/n%20s/p%2Fq/c",
      "/exec/{namespace}/{pod}/{container}",
      { namespace: "n s", pod: "p/q", container: "c" },
    ],
    ["DELETE", "/healthz", "405"],
    ["HEAD", "/run/ns/pod/c", "405"],
    ["GET", "/", "404"],
    ["GET", "//healthz", "404"],
    ["GET", "/healthz//", "404"],
    ["GET", "/x/../healthz", "404"],
    ["GET", "/exec/ns/%zz/c", "404"],
    ["GET", "/exec//pod/c", "404"],
    ["GET", "/Healthz", "404"],
  ];
  for (const [method, path, expect, params] of table) {
    const match = matchRoute(ROUTES, "secure", method, parseTarget(path));
    const got =
      match.kind === "found" ? match.route.pattern : match.kind === "wrongMethod" ? "405" : "404";
    assert.equal(got, expect, `${method} ${path}`);
    if (match.kind === "found") assert.deepEqual(match.params, params, path);
  }
});

test("matchRoute keeps the endpoints apart", () => {
  assert.equal(matchRoute(ROUTES, "health", "GET", parseTarget("/healthz")).kind, "found");
  assert.equal(matchRoute(ROUTES, "health", "GET", parseTarget("/healthz/ping")).kind, "unknown");
  assert.equal(matchRoute(ROUTES, "readOnly", "GET", parseTarget("/healthz")).kind, "unknown");
});

test("matchRoute says which methods there are", () => {
  const match = matchRoute(ROUTES, "secure", "PUT", parseTarget("/exec/a/b/c"));
  assert.deepEqual(match.kind === "wrongMethod" && match.allow, ["GET", "POST", "HEAD"]);
});

function isDecodable(target: string): boolean {
  try {
    decodeURIComponent(target.split("?")[0] ?? "");
    return true;
  } catch {
    return false;
  }
}

test("parseTarget and matchRoute take anything without throwing", () => {
  fc.assert(
    fc.property(fc.string(), fc.webPath(), (text, path) => {
      for (const target of [text, path, `/${text}`]) {
        const parsed = parseTarget(target);
        matchRoute(ROUTES, "secure", "GET", parsed);
        if (!parsed) assert.ok(!target.startsWith("/") || !isDecodable(target));
      }
    }),
  );
  assert.equal(parseTarget(`/${"a".repeat(5_000)}`), undefined);
  assert.equal(parseTarget("/a".repeat(64)), undefined);
  assert.equal(parseTarget("/%zz"), undefined);
  assert.equal(parseTarget("http://evil/healthz"), undefined);
  assert.equal(parseTarget("*"), undefined);
  assert.equal(parseTarget("/a?b=c?d")?.query.get("b"), "c?d");
});

test("verbOf follows the Go kubelet", () => {
  const table = {
    GET: "get",
    HEAD: "get",
    POST: "create",
    PUT: "update",
    PATCH: "patch",
    DELETE: "delete",
    OPTIONS: "",
    CONNECT: "",
  };
  for (const [method, verb] of Object.entries(table)) assert.equal(verbOf(method), verb);
});

test("routeLabel keeps only what is fixed", () => {
  assert.equal(routeLabel("/exec/{namespace}/{pod}/{container}"), "exec");
  assert.equal(routeLabel("/nodelet/v1/pods/{namespace}/{name}"), "nodelet/v1/pods");
});
