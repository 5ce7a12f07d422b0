import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServiceDefinition,
} from "@grpc/grpc-js";
import { until } from "../../kit/cell.ts";
import { OutsideError } from "../../kit/errors.ts";
import { type GrpcChannel, type GrpcMethod, openChannel } from "./channel.ts";
import { GrpcError } from "./status.ts";

const SERVICE = "test.v1.Echo";

const text = {
  encode: (message: string) => ({ finish: () => new TextEncoder().encode(message) }),
  decode: (bytes: Uint8Array) => {
    const value = new TextDecoder().decode(bytes);
    if (value === "undecodable") throw new Error("cannot be decoded");
    return value;
  },
};
const SAY: GrpcMethod<string, string> = { name: "Say", requestType: text, responseType: text };
const COUNT: GrpcMethod<string, string> = { name: "Count", requestType: text, responseType: text };

const wire = {
  requestSerialize: (value: string) => Buffer.from(value),
  requestDeserialize: (bytes: Buffer) => bytes.toString(),
  responseSerialize: (value: string) => Buffer.from(value),
  responseDeserialize: (bytes: Buffer) => bytes.toString(),
};
const definition: ServiceDefinition = {
  Say: { path: `/${SERVICE}/Say`, requestStream: false, responseStream: false, ...wire },
  Count: { path: `/${SERVICE}/Count`, requestStream: false, responseStream: true, ...wire },
};

const never = new AbortController().signal;
let folder: string;
let server: Server;
let channel: GrpcChannel;
let cancelled: string[];
let authorities: string[];

const say: handleUnaryCall<string, string> = (call, reply) => {
  authorities.push(call.getHost());
  call.on("cancelled", () => cancelled.push(call.request));
  const code = /^fail (\d+)$/.exec(call.request)?.[1];
  if (code !== undefined) reply({ code: Number(code), details: "as asked" });
  else if (call.request === "big") reply(null, "x".repeat(5 * 1024 * 1024));
  else if (call.request !== "hang") reply(null, call.request);
};

const count: handleServerStreamingCall<string, string> = (call) => {
  call.on("cancelled", () => cancelled.push(call.request));
  for (const word of ["1", "2", "3"]) call.write(word);
  if (call.request === "end") call.end();
  if (call.request === "fail") call.emit("error", { code: 13, details: "gone" });
};

async function serve(): Promise<void> {
  server = new Server();
  server.addService(definition, { Say: say, Count: count });
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix://${folder}/s.sock`, ServerCredentials.createInsecure(), (error) => {
      if (error) reject(error);
      else resolve();
    });
  });
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "channel-"));
  cancelled = [];
  authorities = [];
  await serve();
  channel = openChannel({ target: `unix://${folder}/s.sock` });
});

afterEach(() => {
  channel.close();
  server.forceShutdown();
  rmSync(folder, { recursive: true });
});

const cancellationOf = async (request: string) => {
  for (let i = 0; i < 6_000 && !cancelled.includes(request); i += 1)
    await new Promise((resolve) => setTimeout(resolve, 10));
  assert.ok(cancelled.includes(request), "the server learns of the cancellation");
};

test("unary answers, also with more than the library's default size, and says localhost", async () => {
  assert.equal(await channel.unary(SAY, SERVICE, "hello", { signal: never }), "hello");
  const big = await channel.unary(SAY, SERVICE, "big", { signal: never, timeoutMs: 60_000 });
  assert.equal(big.length, 5 * 1024 * 1024);
  assert.deepEqual(new Set(authorities), new Set(["localhost"]));
  assert.equal(channel.state.get(), "ready");
});

test("openChannel sends the authority it was given", async () => {
  const named = openChannel({ target: `unix://${folder}/s.sock`, authority: "elsewhere" });
  await named.unary(SAY, SERVICE, "x", { signal: never });
  named.close();
  assert.deepEqual(authorities, ["elsewhere"]);
});

test("unary maps every status to an OutsideError with Go's text", async () => {
  const expected: readonly [number, string, string][] = [
    [1, "aborted", "Canceled"],
    [2, "io", "Unknown"],
    [3, "invalid", "InvalidArgument"],
    [4, "deadline", "DeadlineExceeded"],
    [5, "notFound", "NotFound"],
    [6, "alreadyExists", "AlreadyExists"],
    [7, "denied", "PermissionDenied"],
    [8, "exhausted", "ResourceExhausted"],
    [9, "precondition", "FailedPrecondition"],
    [10, "aborted", "Aborted"],
    [11, "invalid", "OutOfRange"],
    [12, "unimplemented", "Unimplemented"],
    [13, "io", "Internal"],
    [14, "unavailable", "Unavailable"],
    [15, "io", "DataLoss"],
    [16, "denied", "Unauthenticated"],
  ];
  for (const [status, code, name] of expected) {
    const error = await channel.unary(SAY, SERVICE, `fail ${status}`, { signal: never }).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof GrpcError && error instanceof OutsideError, name);
    assert.equal(error.code, code, name);
    assert.equal(error.status, status);
    assert.equal(error.details, "as asked");
    assert.equal(error.message, `rpc error: code = ${name} desc = as asked`);
  }
});

test("unary ends with deadline when the server hangs, and cancels at the server", async () => {
  // Connected, so that the deadline passes at the server and not on the way to it.
  await channel.unary(SAY, SERVICE, "hello", { signal: never });
  await assert.rejects(channel.unary(SAY, SERVICE, "hang", { signal: never, timeoutMs: 500 }), {
    code: "deadline",
    retryable: true,
  });
  await cancellationOf("hang");
});

test("unary ends with the signal's reason, before and during the call", async () => {
  const reason = new Error("enough");
  const stop = new AbortController();
  const call = channel.unary(SAY, SERVICE, "hang", { signal: stop.signal });
  while (authorities.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  stop.abort(reason);
  await assert.rejects(call, reason);
  await cancellationOf("hang");
  await assert.rejects(channel.unary(SAY, SERVICE, "x", { signal: stop.signal }), reason);
});

test("unary refuses an answer that cannot be decoded", async () => {
  await assert.rejects(channel.unary(SAY, SERVICE, "undecodable", { signal: never }), {
    code: "io",
  });
});

test("unary to a method that the server does not have is unimplemented", async () => {
  const missing = { ...SAY, name: "Missing" };
  await assert.rejects(channel.unary(missing, SERVICE, "x", { signal: never }), {
    code: "unimplemented",
  });
});

test("serverStream yields all and returns, or throws the status", async () => {
  const read: string[] = [];
  for await (const word of channel.serverStream(COUNT, SERVICE, "end", { signal: never }))
    read.push(word);
  assert.deepEqual(read, ["1", "2", "3"]);
  await assert.rejects(
    async () => {
      for await (const word of channel.serverStream(COUNT, SERVICE, "fail", { signal: never }))
        read.push(word);
    },
    { code: "io", details: "gone" },
  );
});

test("serverStream is cancelled when the reader leaves and when the signal is aborted", async () => {
  for await (const word of channel.serverStream(COUNT, SERVICE, "left", { signal: never })) {
    if (word === "2") break;
  }
  await cancellationOf("left");
  const stop = new AbortController();
  const reason = new Error("enough");
  await assert.rejects(async () => {
    for await (const word of channel.serverStream(COUNT, SERVICE, "stopped", {
      signal: stop.signal,
    })) {
      if (word === "3") stop.abort(reason);
    }
  }, reason);
  await cancellationOf("stopped");
});

test("state and calls follow a server that goes and comes back", async () => {
  const limit = AbortSignal.timeout(30_000);
  await until(channel.state, (link) => link === "ready", limit);
  const seen: string[] = [];
  channel.state.subscribe((link) => seen.push(link));
  const hanging = channel.unary(SAY, SERVICE, "hang", { signal: never });
  server.forceShutdown();
  await assert.rejects(hanging, OutsideError);
  rmSync(join(folder, "s.sock"), { force: true });
  await until(channel.state, (link) => link === "broken", limit);
  await assert.rejects(channel.unary(SAY, SERVICE, "x", { signal: never }), {
    code: "unavailable",
    retryable: true,
  });
  await serve();
  await until(channel.state, (link) => link === "ready", limit);
  assert.equal(await channel.unary(SAY, SERVICE, "again", { signal: never }), "again");
  assert.deepEqual(seen, ["connecting", "broken", "ready"]);
});

test("openChannel is broken while nobody listens, and calls on a closed channel fail", async () => {
  const lone = openChannel({ target: `unix://${folder}/nobody.sock` });
  await until(lone.state, (link) => link === "broken", AbortSignal.timeout(30_000));
  lone.close();
  assert.equal(lone.state.get(), "broken");
  await assert.rejects(lone.unary(SAY, SERVICE, "x", { signal: never }), OutsideError);
});
