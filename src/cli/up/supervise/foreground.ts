/** The view of `up`: shows the node until the user leaves, and meanwhile keeps agent and runtime going. */

import { AgentClient } from "../../../client/agent-client.ts";
import { followNode } from "../../../client/follow-node.ts";
import type { NodePicture } from "../../../client/node-picture.ts";
import { startTimer } from "../../../kit/clock.ts";
import { spokenDuration } from "../../../present/amounts.ts";
import { EXIT_FAILURE, EXIT_OK } from "../../../present/exit-codes.ts";
import { isReady, notReadyYet } from "../../../present/readiness.ts";
import { counted } from "../../../present/text.ts";
import { writeLines } from "../../io.ts";
import { commandWord } from "../command-link.ts";
import { demoHints, isDemoPod } from "../demo.ts";
import { kubectlHint } from "../kubectl-hint.ts";
import type { UpContext, UpRequest } from "../request.ts";
import { superviseContainerd } from "../runtime/own-containerd.ts";
import { superviseAgent } from "./supervise.ts";
import { createViewer, type NodeState, stateOf, UNKNOWN_NODE } from "./viewers.ts";

/** Whether the agent is supervised, or only observed. */
export type Part = "supervising" | "attached";

function footerOf(part: Part): string {
  const word = commandWord();
  return part === "supervising"
    ? `Ctrl-C stops the agent, pods keep running    ${word} down removes them    ${word} --help`
    : `Ctrl-C ends this view, agent and pods keep running    ${word} down removes them`;
}

type Why = "interrupted" | "ready" | "late";

/** Shows the node until the user leaves, or until it is ready if that was asked for. */
export async function viewNode(
  request: UpRequest,
  context: UpContext,
  part: Part,
): Promise<number> {
  const { paths, untilReady, timeoutMs } = request;
  const { io } = context;
  const leave = new AbortController();
  let why: Why | undefined;
  const end = (reason: Why) => {
    why ??= reason;
    leave.abort();
  };
  const interrupt = context.onInterrupt();
  interrupt.addEventListener("abort", () => end("interrupted"), { once: true });
  const late = untilReady ? startTimer(timeoutMs, () => end("late")) : undefined;
  const viewer = createViewer(io, [footerOf(part)]);
  let last = UNKNOWN_NODE;
  let demoShown = false;
  let hint = part === "supervising" ? kubectlHint(paths, request.agentFlags) : undefined;
  const onPicture = (picture: NodePicture) => {
    const state = stateOf(picture);
    last = state;
    viewer.show(picture);
    if (state.node !== undefined && hint !== undefined) viewer.notice(hint);
    if (state.node !== undefined) hint = undefined;
    const demo = state.pods.find((pod) => isDemoPod(pod) && isReady(pod));
    if (request.demo && demo !== undefined && !demoShown) {
      demoShown = true;
      for (const each of demoHints(demo)) viewer.notice(each);
    }
    if (untilReady && missing(request, state, io.now()).length === 0) end("ready");
  };
  const print = (text: string) => viewer.notice(text);
  const work = [followNode(new AgentClient(paths.agentSocket), onPicture, leave.signal)];
  if (part === "supervising") {
    work.push(superviseAgent({ paths, agentFlags: request.agentFlags, print }, leave.signal));
    work.push(superviseContainerd(paths, print, leave.signal));
  }
  try {
    await Promise.all(work);
  } finally {
    leave.abort();
    late?.();
    await Promise.allSettled(work);
    viewer.close();
  }
  if (io.stdout.isTTY === true) {
    const demo = last.pods.find((pod) => isDemoPod(pod) && isReady(pod));
    if (request.demo && demo !== undefined) writeLines(io.stdout, [...demoHints(demo), ""]);
  }
  writeLines(io.stdout, farewell(part, last));
  if (why !== "late") return EXIT_OK;
  const waiting = missing(request, last, io.now());
  writeLines(io.stderr, [
    `nodelet: not ready after ${spokenDuration(timeoutMs)}`,
    ...waiting.map((line) => `  ${line}`),
  ]);
  return EXIT_FAILURE;
}

/** Text about what is not ready yet. */
export function missing(
  { demo }: Pick<UpRequest, "demo">,
  { node, pods }: NodeState,
  now: number,
): readonly string[] {
  const waiting = notReadyYet(node, pods, now);
  if (waiting.length > 0 || !demo || pods.some(isDemoPod)) return waiting;
  return ["the agent has not read the example's manifest yet"];
}

function farewell(part: Part, { pods }: NodeState): readonly string[] {
  const word = commandWord();
  if (part === "attached") return [`Agent and pods keep running; ${word} down removes them.`];
  const run = pods.length === 1 ? "runs" : "run";
  const left = pods.length === 0 ? "" : `; ${counted(pods.length, "pod")} ${run} on`;
  return [
    `The agent has stopped${left}.`,
    `  ${word} up      supervises them again`,
    `  ${word} down    stops them and cleans up`,
  ];
}
