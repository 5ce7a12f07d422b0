import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContainerStatus } from "../../src/api/generated/types.ts";
import { parseTimestampNanos } from "../../src/api/text/timestamps.ts";
import { HttpProblem } from "../../src/server/http-problem.ts";
import { parseLogQuery } from "../../src/server/routes/log-query.ts";
import { bareContainerId, chooseLogSource } from "../../src/server/routes/log-source.ts";
import {
  parsePorts,
  parseStreamOptions,
  translationOfCommand,
  translationOfPortForward,
} from "../../src/server/routes/stream-options.ts";

const DEFAULTS = { follow: false, previous: false, timestamps: false };
const UNDECODABLE = '400 {"message": "Unable to decode query."}';
const INVALID = '422 {"message": "Invalid request."}';

/** What `read` gives, or status and text of its refusal. */
function outcome(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    assert.ok(error instanceof HttpProblem, String(error));
    return `${error.status} ${error.message}`;
  }
}

test("parseLogQuery decodes and validates as the Go kubelet does", () => {
  const table: readonly [string, unknown][] = [
    ["", DEFAULTS],
    ["follow=true&previous=1&timestamps=yes", { follow: true, previous: true, timestamps: true }],
    ["follow&previous=false&timestamps=0", { ...DEFAULTS, follow: true }],
    ["follow=FALSE", DEFAULTS],
    ["tailLines=5", { ...DEFAULTS, tailLines: 5 }],
    ["tailLines=0", { ...DEFAULTS, tailLines: 0 }],
    ["tail=7&tailLines=5", { ...DEFAULTS, tailLines: 7 }],
    ["tail=all&tailLines=5", DEFAULTS],
    ["tailLines=-1", INVALID],
    ["tailLines=x", UNDECODABLE],
    ["tailLines=", UNDECODABLE],
    ["tailLines=1.5", UNDECODABLE],
    ["tailLines=9223372036854775808", UNDECODABLE],
    ["limitBytes=1", { ...DEFAULTS, limitBytes: 1 }],
    ["limitBytes=0", INVALID],
    ["sinceSeconds=10", { ...DEFAULTS, since: { secondsAgo: 10n } }],
    ["sinceSeconds=0", INVALID],
    [
      "sinceTime=2026-01-02T03:04:05Z",
      { ...DEFAULTS, since: { nanos: parseTimestampNanos("2026-01-02T03:04:05Z") } },
    ],
    ["sinceTime=", DEFAULTS],
    ["sinceTime=null", DEFAULTS],
    ["sinceTime=yesterday", UNDECODABLE],
    ["sinceTime=2026-01-02T03:04:05Z&sinceSeconds=1", INVALID],
    ["stream=Stderr", { ...DEFAULTS, stream: "stderr" }],
    ["stream=Stdout", { ...DEFAULTS, stream: "stdout" }],
    ["stream=All&tailLines=1", { ...DEFAULTS, tailLines: 1 }],
    ["stream=Stdout&tailLines=1", INVALID],
    ["stream=stdout", INVALID],
    ["other=1", DEFAULTS],
  ];
  for (const [query, expect] of table)
    assert.deepEqual(
      outcome(() => parseLogQuery(new URLSearchParams(query), true)),
      expect,
      query,
    );
});

test("parseLogQuery ignores the stream without its gate", () => {
  assert.deepEqual(parseLogQuery(new URLSearchParams("stream=Stdout&tailLines=1"), false), {
    ...DEFAULTS,
    tailLines: 1,
  });
});

test("chooseLogSource picks the attempt, or says why there is none, with the Go kubelet's text", () => {
  const ended = (containerID?: string) => ({
    terminated: { exitCode: 0, ...(containerID ? { containerID } : {}) },
  });
  const table: readonly [string, Partial<ContainerStatus> | undefined, boolean, string][] = [
    ["no such container", undefined, false, '400 container "c" in pod "p" is not available'],
    ["running", { state: { running: {} }, containerID: "r://1" }, false, "r://1"],
    [
      "running, previous",
      { state: { running: {} }, containerID: "r://2", lastState: ended("r://1") },
      true,
      "r://1",
    ],
    [
      "running, no previous",
      { state: { running: {} }, containerID: "r://1" },
      true,
      '400 previous terminated container "c" in pod "p" not found',
    ],
    [
      "previous without id",
      { state: { running: {} }, lastState: ended() },
      true,
      '400 previous terminated container "c" in pod "p" not found',
    ],
    ["ended", { state: ended("r://1") }, false, "r://1"],
    [
      "ended, only the one before has an id",
      { state: ended(), lastState: ended("r://0") },
      false,
      "r://0",
    ],
    ["ended without id", { state: ended() }, false, '400 container "c" in pod "p" is terminated'],
    [
      "back-off after an end",
      { state: { waiting: { reason: "CrashLoopBackOff" } }, lastState: ended("r://3") },
      false,
      "r://3",
    ],
    [
      "back-off, the end without id",
      { state: { waiting: {} }, lastState: ended() },
      false,
      '400 container "c" in pod "p" is terminated',
    ],
    [
      "creating",
      { state: { waiting: { reason: "ContainerCreating" } } },
      false,
      '400 container "c" in pod "p" is waiting to start: ContainerCreating',
    ],
    [
      "pull failed",
      { state: { waiting: { reason: "ErrImagePull" } } },
      false,
      '400 container "c" in pod "p" is waiting to start: image can\'t be pulled',
    ],
    [
      "pull back-off",
      { state: { waiting: { reason: "ImagePullBackOff" } } },
      false,
      '400 container "c" in pod "p" is waiting to start: trying and failing to pull image',
    ],
    [
      "nothing known",
      { state: {} },
      false,
      '400 container "c" in pod "p" is waiting to start - no logs yet',
    ],
  ];
  for (const [name, status, previous, expect] of table) {
    const full = { name: "c", image: "", imageID: "", ready: false, restartCount: 0, ...status };
    for (const list of [
      "containerStatuses",
      "initContainerStatuses",
      "ephemeralContainerStatuses",
    ]) {
      const pod = status ? { [list]: [full] } : {};
      const got = outcome(
        () => chooseLogSource(pod, { pod: "p", container: "c" }, previous).containerId,
      );
      assert.equal(got, expect, `${name} in ${list}`);
    }
  }
});

test("bareContainerId leaves the runtime's name out", () => {
  assert.equal(bareContainerId("containerd://abc"), "abc");
  assert.equal(bareContainerId("abc"), "abc");
});

test("parseStreamOptions reads what the API server and what clients write", () => {
  const table: readonly [string, unknown][] = [
    ["output=1&error=1", { stdin: false, stdout: true, stderr: true, tty: false }],
    ["input=1&output=1&tty=1&error=1", { stdin: true, stdout: true, stderr: false, tty: true }],
    ["stdin=true&stdout=true", { stdin: true, stdout: true, stderr: false, tty: false }],
    ["output=0", "400 you must specify at least 1 of stdin, stdout, stderr"],
    ["tty=1&error=1", "400 you must specify at least 1 of stdin, stdout, stderr"],
    ["", "400 you must specify at least 1 of stdin, stdout, stderr"],
  ];
  for (const [query, expect] of table)
    assert.deepEqual(
      outcome(() => parseStreamOptions(new URLSearchParams(query))),
      expect,
      query,
    );
});

test("parsePorts requires ports of a WebSocket only", () => {
  const table: readonly [string, boolean, unknown][] = [
    ["", false, []],
    ["port=1", false, []],
    ["port=80&port=443", true, [80, 443]],
    ["port=80,443", true, [80, 443]],
    ["", true, '400 query parameter "port" is required'],
    ["port=x", true, '400 unable to parse "x" as a port'],
    ["port=70000", true, '400 unable to parse "70000" as a port'],
    ["port=0", true, '400 port "0" must be > 0'],
  ];
  for (const [query, webSocket, expect] of table)
    assert.deepEqual(
      outcome(() => parsePorts(new URLSearchParams(query), webSocket)),
      expect,
      query,
    );
});

test("translationOfCommand, translationOfPortForward: what a WebSocket offers and the runtime cannot", () => {
  const none = { kind: "none" };
  const command = { kind: "command" };
  const tunnel = (...streamProtocols: string[]) => ({ kind: "tunnel", streamProtocols });
  const table: readonly [string | undefined, string | undefined, unknown, unknown][] = [
    ["websocket", "v5.channel.k8s.io", command, none],
    ["websocket", "v4.channel.k8s.io, v5.channel.k8s.io", command, none],
    ["websocket", "v4.channel.k8s.io", none, none],
    ["websocket", "base64.channel.k8s.io", none, none],
    ["websocket", undefined, none, none],
    ["websocket", "SPDY/3.1+portforward.k8s.io", none, tunnel("portforward.k8s.io")],
    ["websocket", "SPDY/3.1+a.k8s.io,x,SPDY/3.1+b.k8s.io", none, tunnel("a.k8s.io", "b.k8s.io")],
    ["websocket", "SPDY/3.1+portforward.test", none, none],
    ["spdy/3.1", "v5.channel.k8s.io", none, none],
    [undefined, "SPDY/3.1+portforward.k8s.io", none, none],
  ];
  for (const [upgrade, protocols, forCommand, forPorts] of table) {
    const offer = { upgrade, headers: { "sec-websocket-protocol": protocols } };
    assert.deepEqual(translationOfCommand(offer), forCommand, `${protocols}`);
    assert.deepEqual(translationOfPortForward(offer), forPorts, `${protocols}`);
  }
});
