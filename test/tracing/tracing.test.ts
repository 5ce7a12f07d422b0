// Spans arrive at a collector that speaks OTLP over gRPC: our own gRPC server on loopback.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import { silentLog } from "../../src/kit/log.ts";
import { criCaller } from "../../src/outside/cri/call.ts";
import { openChannel } from "../../src/outside/grpc/channel.ts";
import { unaryCall } from "../../src/outside/grpc/grpc.ts";
import { listenGrpc } from "../../src/outside/grpc/server.ts";
import { isTracing, openTracer, type TracingOptions } from "../../src/outside/tracing/tracing.ts";
import { listenOn } from "../server/http.ts";
import { startWorld } from "../server/world.ts";

/** A span as the collector received it. */
interface SeenSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string;
  readonly kind: number;
  readonly failed: boolean;
  readonly attributes: Readonly<Record<string, string>>;
}

/** Reads the messages of one field, as bytes. */
function fieldsOf(bytes: Uint8Array): ReadonlyMap<number, readonly (Uint8Array | number)[]> {
  const reader = new BinaryReader(bytes);
  const fields = new Map<number, (Uint8Array | number)[]>();
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    const list = fields.get(field) ?? [];
    fields.set(field, list);
    if (wireType === 2) list.push(reader.bytes());
    else if (wireType === 0) list.push(Number(reader.int64()));
    else reader.skip(wireType);
  }
  return fields;
}

const bytesOf = (value: Uint8Array | number | undefined) =>
  value instanceof Uint8Array ? value : new Uint8Array();
const textOf = (value: Uint8Array | number | undefined) => new TextDecoder().decode(bytesOf(value));
const hexOf = (value: Uint8Array | number | undefined) =>
  Buffer.from(bytesOf(value)).toString("hex");

/** ExportTraceServiceRequest: resource_spans 1, scope_spans 2, spans 2 (opentelemetry/proto/trace/v1). */
function spansOf(request: Uint8Array): readonly SeenSpan[] {
  const below = (list: readonly (Uint8Array | number)[], field: number) =>
    list.flatMap((one) => fieldsOf(bytesOf(one)).get(field) ?? []);
  const spans = below(below(fieldsOf(request).get(1) ?? [], 2), 2);
  return spans.map((span) => {
    const fields = fieldsOf(bytesOf(span));
    const attributes = (fields.get(9) ?? []).map((pair) => {
      const entry = fieldsOf(bytesOf(pair));
      const value = fieldsOf(bytesOf(entry.get(2)?.[0]));
      return [textOf(entry.get(1)?.[0]), textOf(value.get(1)?.[0])] as const;
    });
    return {
      traceId: hexOf(fields.get(1)?.[0]),
      spanId: hexOf(fields.get(2)?.[0]),
      parentId: hexOf(fields.get(4)?.[0]),
      name: textOf(fields.get(5)?.[0]),
      kind: Number(fields.get(6)?.[0] ?? 0),
      failed: fieldsOf(bytesOf(fields.get(15)?.[0])).get(3)?.[0] === 2,
      attributes: Object.fromEntries(attributes),
    };
  });
}

/** A collector; its socket is reached over TCP, as OTLP exporters do. */
async function startCollector() {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-otlp-"));
  const path = join(folder, "collector.sock");
  const spans: SeenSpan[] = [];
  const method = {
    name: "Export",
    requestType: { decode: (input: Uint8Array) => input },
    responseType: { encode: (_: object) => new BinaryWriter() },
  };
  const service = "opentelemetry.proto.collector.trace.v1.TraceService";
  const call = unaryCall(service, method, async (request: Uint8Array) => {
    spans.push(...spansOf(request));
    return {};
  });
  const grpc = await listenGrpc({ path, calls: [call], onBroken: assert.fail });
  const relay = createServer((from) => {
    const to = connect(path);
    from.on("error", () => to.destroy());
    to.on("error", () => from.destroy());
    from.pipe(to).pipe(from);
  });
  const port = await listenOn(relay);
  return {
    endpoint: `127.0.0.1:${port}`,
    /** Every way to write where it is. */
    endpoints: [
      `127.0.0.1:${port}`,
      `dns:///127.0.0.1:${port}`,
      `dns://10.0.0.7/127.0.0.1:${port}`,
      `unix://${path}`,
    ],
    spans,
    [Symbol.asyncDispose]: async () => {
      relay.close();
      await grpc.close();
      rmSync(folder, { recursive: true });
    },
  };
}

const PROCESS = { nodeName: "node-1", version: "v1.36.2" };
const open = (options: TracingOptions) => openTracer(options, PROCESS, silentLog);

test("isTracing: only what is configured is traced", () => {
  assert.equal(isTracing({}), false);
  assert.equal(isTracing({ endpoint: "localhost:4317" }), true);
  assert.equal(isTracing({ samplingRatePerMillion: 0 }), true);
});

test("spans arrive with their parents, attributes and failures", async () => {
  await using collector = await startCollector();
  const tracer = await open({ endpoint: collector.endpoint, samplingRatePerMillion: 1_000_000 });
  let headers: Readonly<Record<string, string>> = {};
  await tracer.run("syncPod", { attributes: { "k8s.pod.name": "web" } }, async () => {
    await new Promise(setImmediate);
    const inner = tracer.run("PullImage", { kind: "client" }, async () => {
      headers = tracer.headers();
      throw new Error("no such image");
    });
    await assert.rejects(inner, /no such image/);
  });
  assert.deepEqual(tracer.headers(), {});
  await tracer.close();
  const [sync, pull] = ["syncPod", "PullImage"].map((name) =>
    collector.spans.find((span) => span.name === name),
  );
  assert.ok(sync && pull);
  assert.deepEqual([sync.parentId, pull.parentId, pull.traceId], ["", sync.spanId, sync.traceId]);
  assert.deepEqual([sync.failed, pull.failed, pull.kind], [false, true, 3]);
  assert.equal(sync.attributes["k8s.pod.name"], "web");
  assert.equal(headers["traceparent"], `00-${pull.traceId}-${pull.spanId}-01`);
});

test("spans arrive by every kind of endpoint", async () => {
  await using collector = await startCollector();
  for (const endpoint of collector.endpoints) {
    collector.spans.length = 0;
    const tracer = await open({ endpoint, samplingRatePerMillion: 1_000_000 });
    await tracer.run("syncPod", {}, async () => {});
    await tracer.close();
    assert.equal(collector.spans.length, 1, endpoint);
  }
  const unset = await open({ endpoint: "", samplingRatePerMillion: 0 });
  await unset.close();
});

const CALLER = "0af7651916cd43dd8448eb211c80319c";
const SAMPLING: readonly (readonly [
  name: string,
  rate: number,
  traceparent: string | undefined,
  recorded: boolean,
])[] = [
  ["nothing begins here by default", 0, undefined, false],
  ["all begins here at a million", 1_000_000, undefined, true],
  ["a recorded caller is continued", 0, `00-${CALLER}-b7ad6b7169203331-01`, true],
  ["a caller that is not recorded is not", 1_000_000, `00-${CALLER}-b7ad6b7169203331-00`, false],
  ["a header that is none is left aside", 0, "nonsense", false],
];

test("sampling follows the caller, else the rate", async () => {
  await using collector = await startCollector();
  for (const [name, rate, traceparent, recorded] of SAMPLING) {
    collector.spans.length = 0;
    const tracer = await open({ endpoint: collector.endpoint, samplingRatePerMillion: rate });
    await tracer.run(name, { kind: "server", from: { traceparent } }, async () => {});
    await tracer.close();
    assert.equal(collector.spans.length, recorded ? 1 : 0, name);
    if (recorded && traceparent !== undefined)
      assert.deepEqual(
        [collector.spans[0]?.traceId, collector.spans[0]?.parentId],
        [CALLER, "b7ad6b7169203331"],
      );
  }
});

test("a collector that is away holds up neither work nor end", async () => {
  const tracer = await open({ endpoint: "127.0.0.1:1", samplingRatePerMillion: 1_000_000 });
  const value = await tracer.run("syncPod", {}, async () => 7);
  assert.equal(value, 7);
  await tracer.close();
});

test("syncs of pods with their actions, requests to the server and CRI calls are spans", async () => {
  await using collector = await startCollector();
  const tracer = await open({ endpoint: collector.endpoint, samplingRatePerMillion: 1_000_000 });
  const traceparent = `00-${CALLER}-b7ad6b7169203331-01`;
  {
    await using world = await startWorld({ tracer });
    await world.run("web", { kind: "sleep" });
    await world.untilPhase("web", "Running");
    await world.local("/pods", "GET", { headers: { traceparent } });
  }
  const folder = mkdtempSync(join(tmpdir(), "nodelet-cri-"));
  const path = join(folder, "cri.sock");
  const empty = {
    name: "Version",
    requestType: { encode: (_: object) => new BinaryWriter(), decode: () => ({}) },
    responseType: { encode: (_: object) => new BinaryWriter(), decode: () => ({}) },
  };
  const service = "runtime.v1.RuntimeService";
  const answering = unaryCall(service, empty, async () => ({}));
  const runtime = await listenGrpc({ path, calls: [answering], onBroken: assert.fail });
  const channel = openChannel({ target: `unix://${path}` });
  const cri = criCaller(channel, service, { timeoutMs: 5_000, tracer });
  await tracer.run("outer", {}, () => cri.call(empty, {}, AbortSignal.timeout(5_000)));
  channel.close();
  await runtime.close();
  rmSync(folder, { recursive: true });
  await tracer.close();
  const named = (name: string) => collector.spans.filter((span) => span.name === name);
  const [start] = named("startContainer");
  assert.equal(start?.attributes["k8s.container.name"], "c");
  assert.ok(start?.attributes["nodelet.rule"]);
  const sync = named("syncPod").find(({ spanId }) => spanId === start?.parentId);
  assert.equal(sync?.attributes["k8s.pod"], "default/web");
  const [served] = named("GET /pods");
  assert.deepEqual([served?.traceId, served?.kind], [CALLER, 2]);
  const [call] = named(`${service}/Version`);
  assert.deepEqual([call?.parentId, call?.kind], [named("outer")[0]?.spanId, 3]);
});
