// Whole numbers beyond 2^53 in requests: kept where they can be, refused in words where not, never changed.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { LocalApiUnderTest } from "./local-api.ts";

const server = new LocalApiUnderTest();
before(() => server.start());
after(() => server[Symbol.asyncDispose]());

const PODS = "/api/v1/namespaces/default/pods";
const INEXACT =
  "must be from -9007199254740991 to 9007199254740991: whole numbers beyond 2^53 are not kept exactly";

const manifest = (seconds: string, memory = "1") => `{
  "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "web" },
  "spec": { "terminationGracePeriodSeconds": ${seconds}, "nodeName": "edge-1",
    "containers": [{ "name": "c", "image": "i", "resources": { "requests": { "memory": ${memory} } } }] } }`;

for (const contentType of ["application/json", "application/yaml"])
  for (const seconds of ["9007199254740993", "9223372036854775807"])
    test(`${contentType}: ${seconds} seconds are refused, not changed`, async () => {
      using session = server.session();
      const request = { method: "POST", path: PODS, contentType };
      const { status, text } = await session.ask(request, manifest(seconds));
      assert.equal(status, 400, text);
      const { message } = JSON.parse(text) as { readonly message: string };
      assert.ok(
        message.endsWith(`terminationGracePeriodSeconds: Invalid value: ${seconds}: ${INEXACT}`),
        message,
      );
    });

test("a quantity keeps all its digits, and patches with large numbers get an answer", async () => {
  using session = server.session();
  const request = { method: "POST", path: PODS, contentType: "application/json" };
  const { status, text } = await session.ask(request, manifest("5", "9007199254740993"));
  assert.equal(status, 201, text);
  assert.match(text, /"memory":"9007199254740993"/);
  const patch = '{"spec":{"activeDeadlineSeconds":9007199254740993}}';
  for (const type of ["merge-patch", "strategic-merge-patch"]) {
    const contentType = `application/${type}+json`;
    const reply = await session.ask({ method: "PATCH", path: `${PODS}/web`, contentType }, patch);
    assert.equal(reply.status, 400, reply.text);
    assert.ok(reply.text.includes(INEXACT), reply.text);
  }
  const path = "/api/v1/namespaces/default/serviceaccounts/default/token";
  const token = '{"spec":{"expirationSeconds":9223372036854775807}}';
  const refused = await session.ask({ method: "POST", path }, token);
  assert.equal(refused.status, 400, refused.text);
  assert.ok(refused.text.includes(INEXACT), refused.text);
});
