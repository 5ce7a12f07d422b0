import assert from "node:assert/strict";
import { appendFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { OutsideError } from "../../src/kit/errors.ts";
import { answerOf, listenOn } from "./http.ts";
import { type ServedWorld, startWorld } from "./world.ts";

const SLEEP = { kind: "sleep" } as const;
const line = (n: number) =>
  `2026-01-01T00:00:${String(n).padStart(2, "0")}.5Z stdout F line ${n}\n`;
const shown = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `line ${from + i}\n`).join("");

let world: ServedWorld;
let streaming: Server;
let streamingUrl = "";
let handed = "";
before(async () => {
  streaming = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {});
    socket.once("data", (head: Buffer) => {
      handed = head.toString();
      socket.write(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n",
      );
      socket.pipe(socket);
    });
  });
  streamingUrl = `http://127.0.0.1:${await listenOn(streaming)}/exec/TOKEN`;
  world = await startWorld({ streamingUrl: () => streamingUrl });
  await world.run("web", SLEEP);
  await world.run("done", { kind: "exit", code: 3, afterMs: 10 });
  await world.run("waits", SLEEP, { containers: [{ name: "c", image: "nowhere.test/none:1" }] });
  await world.untilPhase("web", "Running");
  await world.untilPhase("done", "Failed");
});
after(async () => {
  await world[Symbol.asyncDispose]();
  streaming.close();
});

describe("/containerLogs", () => {
  beforeEach(() => world.writeLog("web", line(0) + line(1) + line(2)));
  const logs = (pod: string, query = "") => world.local(`/containerLogs/default/${pod}/c${query}`);

  test("shows what is asked for", async () => {
    const table: readonly [string, string][] = [
      ["", shown(0, 3)],
      ["?tailLines=1", shown(2, 3)],
      ["?tail=2", shown(1, 3)],
      ["?limitBytes=8", "line 0\nl"],
      ["?sinceTime=2026-01-01T00:00:01Z", shown(1, 3)],
      ["?tailLines=1&timestamps=true", `2026-01-01T00:00:02.500000000Z line 2\n`],
      ["?stream=Stderr", ""],
    ];
    for (const [query, expect] of table) {
      const answer = await logs("web", query);
      assert.deepEqual([answer.status, answer.body], [200, expect], query);
    }
    const head = await world.local("/containerLogs/default/web/c?follow=true", "HEAD");
    assert.deepEqual([head.status, head.body], [200, ""]);
  });

  test("says with the Go kubelet's text why there is nothing", async () => {
    world.writeLog("done", line(7));
    assert.equal((await logs("done")).body, "line 7\n");
    const table: readonly [string, number, string][] = [
      ["/containerLogs/default/none/c", 404, 'pod "none" does not exist'],
      ["/containerLogs/default/web/x", 404, 'container "x" not found in pod "web"'],
      [
        "/containerLogs/default/web/c?previous=true",
        400,
        'previous terminated container "c" in pod "web" not found',
      ],
      ["/containerLogs/default/web/c?tailLines=-1", 422, '{"message": "Invalid request."}'],
      ["/containerLogs/default/web/c?tailLines=x", 400, '{"message": "Unable to decode query."}'],
    ];
    for (const [path, status, body] of table) {
      const answer = await world.local(path);
      assert.deepEqual([answer.status, answer.body], [status, body], path);
    }
    await world.until(
      async () =>
        /is waiting to start: (image can't be pulled|trying and failing to pull image)$/.test(
          (await logs("waits")).body,
        ),
      "the image cannot be pulled",
    );
    assert.equal((await logs("waits")).status, 400);
  });

  test("follows across a rotation until the container ends", async () => {
    const path = world.writeLog("web", line(0));
    const { text, done } = await following(`/containerLogs/default/web/c?follow=true`);
    await world.until(() => text() === shown(0, 1), "the first line");
    renameSync(path, `${path}.20260101-000001`);
    appendFileSync(`${path}.20260101-000001`, line(1));
    writeFileSync(path, line(2));
    await world.until(() => text() === shown(0, 3), "lines on both sides of the rotation");
    const [id = ""] = [...world.runtime.containers.values()].flatMap((each) =>
      each.config.labels?.["io.kubernetes.pod.name"] === "web" ? [each.id] : [],
    );
    appendFileSync(path, line(3));
    world.runtime.exitContainer(id, 0);
    await done;
    assert.equal(text(), shown(0, 4));
    rmSync(`${path}.20260101-000001`);
    await world.run("web2", SLEEP);
    await world.untilPhase("web2", "Running");
  });

  test("follows no link, and reads nothing outside of the log folder", async () => {
    const secret = join(world.folder, "secret");
    writeFileSync(secret, line(9));
    const path = world.writeLog("done", line(1));
    rmSync(path);
    symlinkSync(secret, path);
    const answer = await logs("done");
    assert.equal(answer.status, 400);
    assert.match(answer.body, /^unable to retrieve container logs for /);
    rmSync(path);
    symlinkSync(secret, `${path}.20260101-000001`);
    writeFileSync(path, line(2));
    assert.equal((await logs("done")).body, "line 2\n");
  });

  test("lets go of everything when the reader leaves", async () => {
    world.writeLog("web2", line(0));
    const { asked, text } = await following("/containerLogs/default/web2/c?follow=1");
    await world.until(() => text() !== "", "a first line");
    assert.equal(world.agent.subsystems.logs.readers, 1);
    asked.destroy();
    await world.until(() => world.agent.subsystems.logs.readers === 0, "nobody reads");
  });

  /** Begins an answer and gathers it. */
  async function following(path: string): Promise<{
    readonly asked: ClientRequest;
    readonly text: () => string;
    readonly done: Promise<void>;
  }> {
    const asked = request({ socketPath: world.socketPath, path, agent: false });
    asked.on("error", () => {});
    asked.end();
    const answer = await new Promise<IncomingMessage>((resolve) => asked.once("response", resolve));
    let text = "";
    answer.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    const done = new Promise<void>((resolve) => answer.once("close", () => resolve()));
    answer.on("error", () => {});
    return { asked, text: () => text, done };
  }
});

describe("exec, attach, port-forward and run", () => {
  const UPGRADE = { connection: "Upgrade", upgrade: "SPDY/3.1" };
  const ask = (path: string, headers: object = UPGRADE, method = "POST") =>
    answerOf(
      request({
        socketPath: world.socketPath,
        path,
        method,
        headers: { ...headers },
        agent: false,
      }),
    );

  test("hand the connection over to the runtime", async () => {
    for (const path of [
      "/exec/default/web2/c?command=cat&input=1&output=1",
      "/exec/default/web2/uid-web2/c?command=cat&output=1",
      "/attach/default/web2/c?output=1",
      "/portForward/default/web2",
      "/portForward/default/web2/uid-web2",
    ]) {
      const text = await exchange(path, "ping");
      assert.match(text, /^HTTP\/1\.1 101 Switching Protocols\r\n[\s\S]*\r\n\r\nping$/, path);
      assert.match(handed, /^POST \/exec\/TOKEN HTTP\/1\.1\r\n/, path);
    }
  });

  test("say what is wrong before anything is handed over", async () => {
    const table: readonly [string, object, number, string][] = [
      ["/exec/default/none/c?command=x&output=1", UPGRADE, 404, "pod does not exist"],
      ["/exec/default/web2/x?command=x&output=1", UPGRADE, 500, 'container not found ("x")\n'],
      ["/exec/default/done/c?command=x&output=1", UPGRADE, 500, 'container not found ("c")\n'],
      [
        "/exec/default/web2/other/c?command=x&output=1",
        UPGRADE,
        500,
        'container not found ("c")\n',
      ],
      [
        "/exec/default/web2/c?command=x",
        UPGRADE,
        400,
        "you must specify at least 1 of stdin, stdout, stderr",
      ],
      ["/exec/default/web2/c?command=x&output=1", {}, 400, "Upgrade request required"],
      [
        "/attach/default/web2/x?output=1",
        UPGRADE,
        500,
        "container x not found in pod web2_default\n",
      ],
      ["/portForward/default/web2/other", UPGRADE, 500, 'pod not found ("web2_default")\n'],
      ["/portForward/default/done", UPGRADE, 500, 'pod not found ("done_default")\n'],
    ];
    for (const [path, headers, status, body] of table) {
      const answer = await ask(path, headers);
      assert.deepEqual([answer.status, answer.body], [status, body], path);
    }
  });

  test("refuse a streaming server that is not on loopback", async () => {
    const before = streamingUrl;
    streamingUrl = "http://192.0.2.1:8080/exec";
    const answer = await ask("/exec/default/web2/c?command=x&output=1");
    streamingUrl = before;
    assert.equal(answer.status, 500);
    assert.match(answer.body, /only plain HTTP on loopback is used/);
  });

  test("answer the runtime's errors with their statuses", async () => {
    const { service } = world.agent.subsystems.runtime;
    const original = service.exec;
    const statuses: number[] = [];
    for (const code of ["notFound", "exhausted", "unavailable"] as const) {
      Object.assign(service, {
        exec: async () => {
          throw new OutsideError(code, `says ${code}`);
        },
      });
      const answer = await ask("/exec/default/web2/c?command=x&output=1");
      assert.equal(answer.body, `says ${code}\n`);
      statuses.push(answer.status);
    }
    Object.assign(service, { exec: original });
    assert.deepEqual(statuses, [404, 429, 500]);
  });

  test("run answers with the output, and with the code of a failure", async () => {
    const { service } = world.agent.subsystems.runtime;
    const original = service.execSync;
    const ran: (readonly string[])[] = [];
    Object.assign(service, {
      execSync: async (_: string, command: readonly string[]) => {
        ran.push(command);
        const exitCode = command[0] === "false" ? 1 : 0;
        return { exitCode, stdout: Buffer.from("out "), stderr: Buffer.from("err") };
      },
    });
    const run = (command: string) =>
      world.local(`/run/default/web2/c?cmd=${encodeURIComponent(command)}`, "POST");
    const good = await run("ls -l");
    assert.deepEqual([good.status, good.body], [200, "out err"]);
    const failed = await run("false -x");
    assert.deepEqual([failed.status, failed.body], [500, "command 'false -x' exited with 1: err"]);
    assert.deepEqual(ran, [
      ["ls", "-l"],
      ["false", "-x"],
    ]);
    Object.assign(service, { execSync: original });
    assert.equal((await world.local("/run/default/web2/c?cmd=true")).status, 405);
  });

  /** Everything that comes back when `sent` follows an upgrade request, after our end. */
  function exchange(path: string, sent: string): Promise<string> {
    return new Promise((resolve, reject) => {
      let text = "";
      const socket = connect({ path: world.socketPath, allowHalfOpen: true }, () => {
        socket.write(
          `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n`,
        );
      });
      socket.on("data", (chunk: Buffer) => {
        if (text === "") socket.end(sent);
        text += chunk.toString();
      });
      socket.on("error", reject);
      socket.on("end", () => resolve(text));
    });
  }
});
