import { isOutside } from "../../kit/errors.ts";
import type { ProfileKind, Profiler } from "../../outside/serving.ts";
import { type Call, replyText, TEXT_HEADERS } from "../call.ts";
import { HttpProblem } from "../http-problem.ts";

/** Seconds that a profile takes when the caller does not say: of the processor as in Go, of allocations less. */
const DEFAULT_SECONDS: Readonly<Record<ProfileKind, number>> = { profile: 30, heap: 5, allocs: 5 };
/** A longer profile would keep too many samples in memory. */
const MAX_SECONDS = 300;

const KINDS: ReadonlyMap<string, string> = new Map([
  ["allocs", "what was allocated while the profile was taken (?seconds=)"],
  ["cmdline", "the command line of the process"],
  ["heap", "what was allocated while the profile was taken and is still in use (?seconds=)"],
  ["profile", "time on the processor by function (?seconds=)"],
]);

interface ProfileDeps {
  readonly profiler: Profiler;
  /** The command line of the process. */
  readonly commandLine: readonly string[];
}

/** `/debug/pprof/`: which profiles there are. */
export async function replyProfileIndex(call: Call): Promise<void> {
  if (!call.path.endsWith("/"))
    return await call.exchange.reply(301, { ...TEXT_HEADERS, location: "./pprof/" }, "");
  const rows = [...KINDS].map(
    ([name, about]) => `<tr><td><a href="${name}">${name}</a><td>${about}`,
  );
  const page = `<!doctype html>\n<title>/debug/pprof/</title>\n<table>\n${rows.join("\n")}\n</table>\n`;
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "x-content-type-options": "nosniff",
  };
  await call.exchange.reply(200, headers, page);
}

/** `/debug/pprof/<profile>`, in the format of pprof (net/http/pprof). */
export async function replyProfile(call: Call, deps: ProfileDeps): Promise<void> {
  const name = call.params["path"] ?? "";
  if (name === "cmdline") return await replyText(call, 200, deps.commandLine.join("\0"));
  if (name !== "profile" && name !== "heap" && name !== "allocs")
    throw new HttpProblem(404, `Unknown profile; there are ${[...KINDS.keys()].join(", ")}\n`);
  const seconds = secondsOf(call.query, DEFAULT_SECONDS[name]);
  try {
    const bytes = await deps.profiler.take(name, seconds, call.signal);
    const headers = {
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename="${name}"`,
      "x-content-type-options": "nosniff",
    };
    await call.exchange.reply(200, headers, bytes);
  } catch (error) {
    if (!isOutside(error, "exhausted")) throw error;
    throw new HttpProblem(500, "Could not enable profiling: profiling already in use\n", error);
  }
}

function secondsOf(query: URLSearchParams, usual: number): number {
  const text = query.get("seconds") ?? "";
  if (text === "") return usual;
  const seconds = Number(text);
  if (!/^\d{1,9}$/.test(text) || seconds < 1 || seconds > MAX_SECONDS)
    throw new HttpProblem(400, `seconds=${text}: write a number from 1 to ${MAX_SECONDS}\n`);
  return seconds;
}
