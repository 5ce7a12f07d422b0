import { deriveRootLayout } from "../config/derive.ts";
import { gatesInForce } from "../config/gates/feature-gates.ts";
import { pipelinePods } from "../node/pods-api/pipeline-pods.ts";
import { podsApiCounters, startPodsApi } from "../node/pods-api/pods-api.ts";
import type { Pipeline } from "../pipeline/pipeline.ts";
import type { Foundation } from "./foundation.ts";

/** The socket of the pods API; without its gate there are only its counters. */
export function assemblePodsApi(
  { options, outside, scope, metrics }: Foundation,
  pipeline: Pipeline,
): void {
  if (!gatesInForce(options.config).isEnabled("PodsAPI")) {
    podsApiCounters(metrics);
    return;
  }
  const { clock, grpc, host } = outside;
  const { podsApi } = deriveRootLayout(options.rootFolder, options.config.podLogsDir);
  startPodsApi(podsApi.directory, {
    grpc,
    files: host.files,
    clock,
    log: outside.log.child("pods"),
    scope,
    metrics,
    pods: pipelinePods(pipeline),
    seen: pipeline.seen,
  });
}
