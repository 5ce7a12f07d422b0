import type { GcGoal, GcResult, ReportedImage } from "../../subsystems/images/images.ts";
import { type Call, replyJson, type ServedRoute } from "../call.ts";
import { HttpProblem } from "../http-problem.ts";
import type { ServedNode } from "../served-node.ts";

/** Result of a requested image collection. */
export interface CollectionAnswer {
  readonly removed: readonly Pick<ReportedImage, "id" | "tags" | "digests" | "sizeBytes">[];
  readonly spared: readonly Pick<ReportedImage, "id" | "tags" | "digests" | "sizeBytes">[];
  readonly freedBytes: number;
  readonly errors: readonly string[];
}

/** All images with what would become of them, and removing some; on the agent's own socket only. */
export function imageRoutes({ subsystems }: ServedNode): readonly ServedRoute[] {
  const { images } = subsystems;
  const local = { endpoints: ["local"], access: { subresources: ["proxy"] } } as const;
  return [
    {
      ...local,
      pattern: "/nodelet/v1/images",
      methods: ["GET"],
      handler: async (call) => replyJson(call, await images.report(goalOf(call), call.signal)),
    },
    {
      ...local,
      pattern: "/nodelet/v1/images/gc",
      methods: ["POST"],
      longRunning: true,
      handler: async (call) => {
        const goal = goalOf(call);
        if (goal.kind === "periodic")
          throw new HttpProblem(400, "say how much is to be freed: free, to or unused\n");
        await replyJson(call, answerOf(await images.collect(goal, call.signal)));
      },
    },
  ];
}

function answerOf({ removed, spared, freedBytes, errors }: GcResult): CollectionAnswer {
  const shown = (all: GcResult["removed"]) =>
    all.map(({ id, tags, digests, sizeBytes }) => ({ id, tags, digests, sizeBytes }));
  return { removed: shown(removed), spared: shown(spared), freedBytes, errors };
}

/** `free=<bytes>`, `to=<percent>`, `unused=true`; without any the periodic pass is meant. */
function goalOf({ query }: Call): GcGoal {
  const free = query.get("free");
  const to = query.get("to");
  if (query.get("unused") === "true") return { kind: "unused" };
  if (free !== null)
    return { kind: "free", bytes: wholeNumber("free", free, Number.MAX_SAFE_INTEGER) };
  if (to !== null) return { kind: "usage", percent: wholeNumber("to", to, 100) };
  return { kind: "periodic" };
}

function wholeNumber(name: string, text: string, most: number): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (value <= most) return value;
  throw new HttpProblem(
    400,
    `${name}=${text.slice(0, 40)}: write a whole number, at most ${most}\n`,
  );
}
