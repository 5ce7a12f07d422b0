import { durationMs, formatDuration } from "../../api/text/duration.ts";
import type { Reading } from "../../kit/cell.ts";
import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import type { HealthRegistry } from "../../kit/health/health.ts";
import { type Call, replyText } from "../call.ts";
import { HttpProblem } from "../http-problem.ts";

/** One health check; returns its problem, or `undefined`. */
export interface ServedCheck {
  readonly name: string;
  /** Shown, but no reason to restart the agent: `/healthz` does not fail for it. */
  readonly warns?: boolean;
  check(): string | undefined;
}

/** Oldest listing of the runtime that counts (threshold of the Go kubelet's PLEG). */
const LISTING_MAX_MS = 180_000;

/** The checks: ping, log, and that pods are synchronized. */
export function healthChecks(deps: {
  readonly clock: Clock;
  /** When the runtime was last listed, and whether listing works. */
  readonly lastListing: Reading<MonotonicMs | undefined>;
  readonly startedAt: MonotonicMs;
  /** Problems with the socket of device plugins; absent where there is none. */
  readonly devicePlugins: Reading<string | undefined> | undefined;
  /** Checks of others. */
  readonly registry: Pick<HealthRegistry, "list">;
}): () => readonly ServedCheck[] {
  const own = ownChecks(deps);
  return () => [
    ...own,
    ...deps.registry.list().map(({ name, severity, problem }) => ({
      name,
      warns: severity === "warning",
      check: () => problem,
    })),
  ];
}

/** Those that the Go kubelet has, judged at the moment in which they are asked for. */
function ownChecks({
  clock,
  lastListing,
  startedAt,
  devicePlugins,
}: Omit<Parameters<typeof healthChecks>[0], "registry">): readonly ServedCheck[] {
  return [
    { name: "ping", check: () => undefined },
    // Lines are written within the turn of the event loop that logs them: who answers has written.
    { name: "log", check: () => undefined },
    {
      name: "syncloop",
      check: () => {
        const ageMs = clock.monotonic() - (lastListing.get() ?? startedAt);
        if (ageMs <= LISTING_MAX_MS) return undefined;
        const age = formatDuration(durationMs(Math.round(ageMs / 1000) * 1000));
        return `pods were last listed ${age} ago; threshold is ${formatDuration(durationMs(LISTING_MAX_MS))}`;
      },
    },
    ...(devicePlugins ? [{ name: "device-plugin", check: () => devicePlugins.get() }] : []),
  ];
}

/**
 * `/healthz`: all checks at once, with `?verbose` each by name and with what is wrong, without those of
 * `?exclude=`. What only warns is shown as failed, and the whole passes.
 */
export async function replyHealth(call: Call, checks: readonly ServedCheck[]): Promise<void> {
  const excluded = new Set(call.query.getAll("exclude"));
  const lines: string[] = [];
  const verbose = call.query.has("verbose");
  let failed = false;
  for (const { name, check, warns } of checks) {
    if (excluded.has(name)) {
      lines.push(`[+]${name} excluded: ok\n`);
      continue;
    }
    const problem = check();
    if (problem !== undefined && !warns) failed = true;
    const reason = verbose ? problem : "reason withheld";
    lines.push(problem === undefined ? `[+]${name} ok\n` : `[-]${name} failed: ${reason}\n`);
  }
  if (failed) await replyText(call, 500, `${lines.join("")}healthz check failed\n`);
  else if (verbose) await replyText(call, 200, `${lines.join("")}healthz check passed\n`);
  else await replyText(call, 200, "ok");
}

/** `/healthz/{check}`: one check, with what is wrong. */
export async function replyHealthCheck(call: Call, checks: readonly ServedCheck[]): Promise<void> {
  const found = checks.find(({ name }) => name === call.params["check"]);
  if (!found) throw new HttpProblem(404, "404 page not found\n");
  const problem = found.check();
  if (problem === undefined) await replyText(call, 200, "ok");
  else await replyText(call, 500, `internal server error: ${problem}\n`);
}
