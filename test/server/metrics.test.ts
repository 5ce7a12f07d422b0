// What a live agent serves as metrics, compared with what Kubernetes documents for a kubelet.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { METRICS, UNSERVED_METRICS } from "../../src/api/metrics/metrics.ts";
import { documentedMetrics } from "../support/documented-metrics.ts";
import { type PageMetric, parseMetrics, parseSamples } from "../support/metric-page.ts";
import { missingSeries } from "./mixin.ts";
import { MIXIN, MIXIN_CLAIMS } from "./mixin.vectors.ts";
import { type ServedWorld, startWorld } from "./world.ts";

const DOCUMENTED = documentedMetrics();
const PATHS = ["/metrics", "/metrics/resource", "/metrics/probes", "/metrics/slis"] as const;

/** As many as dashboards are tried with. */
const PODS = 20;

let world: ServedWorld;
let pages: ReadonlyMap<string, ReadonlyMap<string, PageMetric>>;

before(async () => {
  world = await startWorld({ cluster: true, config: { showHiddenMetricsForVersion: "1.36" } });
  const volumes = [{ name: "data", emptyDir: {} }];
  const names = Array.from({ length: PODS }, (_, i) => `web-${i}`);
  for (const name of names) await world.run(name, { kind: "sleep" }, { volumes });
  for (const name of names) await world.untilPhase(name, "Running");
  await world.local("/healthz");
  const read = new Map<string, ReadonlyMap<string, PageMetric>>();
  for (const path of PATHS) read.set(path, parseMetrics((await world.local(path)).body));
  pages = read;
});
after(() => world[Symbol.asyncDispose]());

test("every documented metric is served at its path, or has a reason why not", () => {
  const served = DOCUMENTED.filter(({ name, endpoint }) => pages.get(endpoint)?.has(name));
  const missing = DOCUMENTED.filter((metric) => !served.includes(metric)).map(({ name }) => name);
  assert.deepEqual(missing.sort(), Object.keys(UNSERVED_METRICS).sort());
  assert.ok(served.length >= 169, `${served.length} of ${DOCUMENTED.length}`);
});

test("type, stability, labels and buckets are the documented ones", () => {
  const faults: string[] = [];
  for (const { name, endpoint, type, stability, labels, buckets } of DOCUMENTED) {
    const metric = pages.get(endpoint)?.get(name);
    if (!metric) continue;
    if (type !== "custom" && metric.type !== type) faults.push(`${name} is a ${metric.type}`);
    if (!metric.help.startsWith(`[${stability}] `)) faults.push(`${name}: ${metric.help}`);
    const known = [...metric.labels].sort();
    if (known.length > 0 && known.join() !== [...labels].sort().join())
      faults.push(`${name} has the labels ${known.join()}, not ${labels.join()}`);
    if (metric.buckets.length > 0 && buckets.length > 0)
      assert.deepEqual(metric.buckets, buckets, name);
  }
  assert.deepEqual(faults, []);
});

test("nothing else has a stability, and nothing is served twice", () => {
  const all = [...pages].flatMap(([path, metrics]) =>
    [...metrics].map(([name, { help }]) => ({ path, name, isStable: /^\[[A-Z]+\] /.test(help) })),
  );
  const odd = all.filter(({ name, isStable }) => isStable && !(name in METRICS));
  assert.deepEqual(odd, []);
});

test("the release, the feature gates and the health checks are exposed", async () => {
  const samples = parseSamples((await world.local("/metrics")).body);
  const one = (name: string) => samples.find((sample) => sample.name === name);
  const { git_version, major, minor, compiler } = one("kubernetes_build_info")?.labels ?? {};
  assert.deepEqual(
    [git_version, major, minor, compiler],
    ["v1.36.2+nodelet.0.0.0", "1", "36", "v8"],
  );
  assert.equal(one("version_info")?.labels["min_compat"], "1.35");
  const gate = samples.find(
    ({ name, labels }) => name === "kubernetes_feature_enabled" && labels["name"] === "PodsAPI",
  );
  assert.deepEqual([gate?.labels["stage"], gate?.value], ["BETA", 1]);
  const engines = ["go_goroutines", "nodejs_active_resources_total", "go_threads", "go_info"];
  for (const name of engines) assert.ok((one(name)?.value ?? 0) > 0, name);
  const slis = (await world.local("/metrics/slis")).body;
  assert.match(slis, /^kubernetes_healthcheck\{name="ping",type="healthz"\} 1$/m);
  assert.match(
    slis,
    /^kubernetes_healthchecks_total\{name="syncloop",status="success",type="healthz"\} [1-9]/m,
  );
});

test("work on pods, listings and requests are counted by the agent that does them", async () => {
  const samples = parseSamples((await world.local("/metrics")).body);
  const sum = (name: string) =>
    samples.filter((each) => each.name === name).reduce((total, { value }) => total + value, 0);
  for (const name of [
    "kubelet_started_pods_total",
    "kubelet_started_containers_total",
    "kubelet_run_podsandbox_duration_seconds_count",
    "kubelet_pod_start_duration_seconds_count",
    "kubelet_pod_worker_duration_seconds_count",
    "kubelet_pod_worker_start_duration_seconds_count",
    "kubelet_pleg_relist_duration_seconds_count",
    "kubelet_pleg_pod_relist_duration_seconds_count",
    "kubelet_pleg_last_seen_seconds",
    "kubelet_containers_per_pod_count_count",
    "rest_client_requests_total",
    "rest_client_response_size_bytes_count",
    "informer_processing_latency_seconds_count",
    "registered_metrics_total",
  ])
    assert.ok(sum(name) > 0, name);
});

test("every alert and panel of kubernetes-mixin about kubelets finds its series", async () => {
  const samples = parseSamples((await world.local("/metrics")).body);
  assert.deepEqual(missingSeries(MIXIN, samples), []);
  const metrics = pages.get("/metrics");
  for (const { name, labels = {} } of Object.values(MIXIN_CLAIMS).flat()) {
    assert.ok(metrics?.has(name), name);
    const known: readonly string[] = METRICS[name as keyof typeof METRICS].labels;
    assert.deepEqual(Object.keys(labels).sort(), [...known].sort(), name);
  }
});
