import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import type { HttpAnswer, Net } from "../../outside/net/net.ts";
import { followHttp } from "./http-source.ts";
import { manifestReader } from "./manifest.ts";

const EVERY_MS = 20_000;
const ORIGIN = "http://manifests.test/pods";

const body = (text: string, status = 200): HttpAnswer => ({
  kind: "response",
  status,
  body: text,
  redirectedAway: false,
});
const podOf = (name: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { containers: [{ name: "a", image: "i:1" }] },
});
const ONE = body(JSON.stringify(podOf("one")));
const EMPTY_LIST = body('{"apiVersion":"v1","kind":"PodList","items":[]}');

/** Names of the pods as last reported, "not known" without an answer, and the problem. */
type Seen = readonly [pods: string, problem: string | undefined];

/** What is reported after each of these answers. */
async function reportsOf(answers: readonly HttpAnswer[]): Promise<readonly Seen[]> {
  const clock = new SimClock();
  const leave = new AbortController();
  const seen: Seen[] = [];
  const left = [...answers];
  const net: Net = {
    http: async () => left.shift() ?? assert.fail("asked too often"),
    tcpConnect: () => assert.fail("no connection is made"),
    grpcHealth: () => assert.fail("no connection is made"),
  };
  const ended = followHttp(
    { url: ORIGIN, headers: [], everyMs: EVERY_MS },
    {
      net,
      clock,
      readManifest: manifestReader("node", () => "2026-01-01T00:00:00Z"),
      onChange: (pods, problems) => {
        const names = pods?.map(({ pod }) => pod.metadata.name).join() ?? "not known";
        seen.push([names, problems[0]?.message]);
      },
      onRead: () => {},
    },
    leave.signal,
  );
  await clock.settle();
  for (const _ of answers.slice(1)) await clock.advance(EVERY_MS);
  leave.abort(new Error("leaving"));
  await clock.settle();
  await ended;
  return seen;
}

/** Answers that say nothing of pods, with the problem that is reported. */
const NOTHING: readonly (readonly [name: string, answer: HttpAnswer, problem: RegExp])[] = [
  ["a refused connection", { kind: "failure", message: "connection refused" }, /refused/],
  ["a timeout", { kind: "timeout", message: "context deadline exceeded" }, /deadline/],
  ["a 404", body("not found", 404), /returned status 404/],
  ["an empty 503", body("", 503), /returned status 503/],
  ["a 204", body("", 204), /returned status 204/],
  ["a text of another kind", body("<html>"), /expected a Pod or PodList/],
  ["white space", body(" \n"), /contains no pods/],
  ["a pod that is not valid", body(JSON.stringify({ ...podOf("x"), spec: {} })), /spec/],
  ["too much", body("x".repeat(2 ** 20 + 1)), /returned more than/],
];

for (const [name, answer, problem] of NOTHING) {
  test(`followHttp: ${name} is no answer at first, and keeps the pods later`, async () => {
    const [first, second, third] = await reportsOf([answer, ONE, answer]);
    assert.equal(first?.[0], "not known");
    assert.match(first?.[1] ?? "", problem);
    assert.deepEqual(second, ["one-node", undefined]);
    assert.equal(third?.[0], "one-node");
    assert.match(third?.[1] ?? "", problem);
  });
}

for (const [name, none] of [
  ["an empty body", body("")],
  ["an empty list", EMPTY_LIST],
] as const) {
  test(`followHttp: ${name} takes all pods away, and they come back with the same body`, async () => {
    assert.deepEqual(await reportsOf([ONE, none, none, ONE]), [
      ["one-node", undefined],
      ["", undefined],
      ["", undefined],
      ["one-node", undefined],
    ]);
    assert.deepEqual(await reportsOf([none]), [["", undefined]], "it is an answer at first, too");
  });
}
