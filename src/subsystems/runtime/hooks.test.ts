import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { aContainer, aPod } from "../../../test/support/pods.ts";
import type { LifecycleHandler } from "../../api/generated/types.ts";
import { silentLog } from "../../kit/log.ts";
import type { ExecResult, RuntimeService } from "../../outside/cri/cri.ts";
import type { HttpAnswer, HttpExchange, Net } from "../../outside/net/net.ts";
import { createHooks } from "./hooks.ts";

const pod = aPod({
  containers: [aContainer("a", { ports: [{ name: "web", containerPort: 8080 }] })],
});
const AT = { pod, container: "a", containerId: "a-0" };
const { signal } = new AbortController();

/** Hooks over a net and a runtime that answer as the test sets them. */
function hooksWith(answers: {
  readonly http?: HttpAnswer;
  readonly exec?: { exitCode: number; out?: string; err?: string };
}) {
  const asked: HttpExchange[] = [];
  const net: Pick<Net, "http"> = {
    http: async (exchange) => {
      asked.push(exchange);
      return answers.http ?? { kind: "failure", message: "nobody is there" };
    },
  };
  const runtime: Pick<RuntimeService, "execSync"> = {
    execSync: async (): Promise<ExecResult> => {
      const { exitCode = 0, out = "", err = "" } = answers.exec ?? {};
      return { exitCode, stdout: Buffer.from(out), stderr: Buffer.from(err) };
    },
  };
  const clock = new SimClock();
  const hooks = createHooks({
    runtime: runtime as RuntimeService,
    net: net as Net,
    clock,
    log: silentLog,
    podIp: async () => "10.1.0.1",
  });
  return { hooks, asked, clock };
}

const get = (more: Partial<NonNullable<LifecycleHandler["httpGet"]>>): LifecycleHandler => ({
  httpGet: { port: "web", ...more },
});

for (const status of [200, 404, 500, 302])
  test(`run: an HTTP hook is content with any answer: ${status}`, async () => {
    const http = { kind: "response", status, body: "", redirectedAway: false } as const;
    const { hooks } = hooksWith({ http });
    await hooks.run(AT, get({ path: "/bye" }), signal);
  });

test("run: an HTTP hook sends its User-Agent, and parses its path as probes do", async () => {
  const http = { kind: "response", status: 200, body: "", redirectedAway: false } as const;
  const { hooks, asked } = hooksWith({ http });
  await hooks.run(AT, get({ path: "bye?now=a b" }), signal);
  await hooks.run(AT, get({ port: "" }), signal);
  await hooks.run(AT, get({ httpHeaders: [{ name: "user-agent", value: "me" }] }), signal);
  assert.deepEqual(
    asked.map(({ url }) => url),
    ["http://10.1.0.1:8080/bye?now=a%20b", "http://10.1.0.1:80/", "http://10.1.0.1:8080/"],
  );
  const accept = { name: "Accept", value: "*/*" };
  assert.deepEqual(
    asked.map(({ headers }) => headers),
    [
      [{ name: "User-Agent", value: "kube-lifecycle/1.37" }, accept],
      [{ name: "User-Agent", value: "kube-lifecycle/1.37" }, accept],
      [{ name: "User-Agent", value: "me" }, accept],
    ],
  );
});

test("run: failures have the Go kubelet's text", async () => {
  const where = 'for Container "a" in Pod "web_default(uid-1)" failed - error:';
  await assert.rejects(hooksWith({}).hooks.run(AT, get({ path: "/x" }), signal), {
    message: `HTTP lifecycle hook (/x) ${where} nobody is there`,
  });
  await assert.rejects(hooksWith({}).hooks.run(AT, get({ path: "foo:bar" }), signal), {
    message: `HTTP lifecycle hook (foo:bar) ${where} Get "http:bar": http: no Host in request URL`,
  });
  for (const port of ["none", "8080"])
    await assert.rejects(hooksWith({}).hooks.run(AT, get({ path: "/x", port }), signal), {
      message: `HTTP lifecycle hook (/x) ${where} port "${port}" not found`,
    });
  const exec = { exitCode: 7, out: "out", err: "no" };
  const command = ["sh", "-c", "x"];
  await assert.rejects(hooksWith({ exec }).hooks.run(AT, { exec: { command } }, signal), {
    message: `Exec lifecycle hook ([sh -c x]) ${where} command 'sh -c x' exited with 7: no, message: "outno"`,
  });
});

test("runPreStop: a hook has the grace and no more, and counts by whole seconds", async () => {
  const { hooks, clock } = hooksWith({});
  const run = (seconds: number, graceSeconds: number) => {
    const spent = hooks.runPreStop(
      { ...AT, graceSeconds },
      { sleep: { seconds } },
      signal,
      () => {},
    );
    return clock.advance(60_000).then(() => spent);
  };
  assert.equal(await run(3, 30), 3);
  assert.equal(await run(30, 5), 5);
});
