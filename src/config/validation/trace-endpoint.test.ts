import assert from "node:assert/strict";
import { test } from "node:test";
import { readTraceEndpoint } from "./trace-endpoint.ts";

test("readTraceEndpoint: where spans go", () => {
  for (const [endpoint, address] of [
    ["localhost:4317", "localhost:4317"],
    ["", "localhost"],
    [":4317", "localhost:4317"],
    ["[fd00::7]:4317", "[fd00::7]:4317"],
    ["host:1/path", "host:1"],
    ["user@host:1", "host:1"],
    ["dns:///a:1", "a:1"],
    ["dns://10.0.0.7/a:1", "a:1"],
    ["dns://a:1", "a:1"],
    ["dns:///", "localhost"],
  ] as const) {
    const target = readTraceEndpoint(endpoint);
    assert.deepEqual(target, { kind: "tcp", address }, endpoint);
    assert.ok(URL.canParse(`http://${address}`), endpoint);
  }
  assert.deepEqual(readTraceEndpoint("unix:///run/a.sock"), {
    kind: "socket",
    path: "/run/a.sock",
  });
});

test("readTraceEndpoint: what is no endpoint", () => {
  const whyOf = (endpoint: string) => {
    const target = readTraceEndpoint(endpoint);
    return target.kind === "fault" ? target.why : "";
  };
  assert.equal(whyOf("a:x"), 'parse "dns://a:x": invalid port ":x" after host');
  assert.equal(whyOf("a b:1"), 'parse "dns://a b:1": invalid character " " in host name');
  assert.match(whyOf("http://a:1"), /^unsupported scheme: http\. /);
  assert.equal(whyOf("a:1:2"), '"a:1:2" is no host with a port');
});
