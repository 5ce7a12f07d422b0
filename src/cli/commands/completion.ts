import { Argument, type Command } from "commander";
import type { Pod, PodList } from "../../api/generated/types.ts";
import { EVICTION_SIGNALS } from "../../api/node/eviction-signals.ts";
import { allContainers } from "../../api/pod/pod.ts";
import { AgentClient } from "../../client/agent-client.ts";
import { parsePodReference, pickPod } from "../../client/pick-pod.ts";
import { agentSocket } from "../../client/socket.ts";
import {
  type Completion,
  type CompletionCandidate,
  complete,
  matching,
} from "../completion/candidates.ts";
import { completionScript, FILES_LINE, SHELLS, type Shell } from "../completion/scripts.ts";
import type { CliContext } from "../context.ts";
import { writeLines } from "../io.ts";
import { findResource, RESOURCES } from "./get/resources.ts";

/** `nodelet completion`. */
export function addCompletionCommand(program: Command, context: CliContext): void {
  const { io } = context;
  program
    .command("completion")
    .summary("print the script that completes nodelet in a shell")
    .description(
      "Prints the shell script that completes nodelet's commands, options and pod names.",
    )
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .addHelpText("after", INSTALL)
    .action((shell: Shell) => {
      io.stdout.write(completionScript(shell));
    });
}

/** Word that completion scripts call; not a command of the tree, as its arguments are another command line. */
export const COMPLETE_WORD = "__complete";

const INSTALL = `
Install:
  bash   nodelet completion bash > /etc/bash_completion.d/nodelet
  zsh    nodelet completion zsh > "\${fpath[1]}/_nodelet"
  fish   nodelet completion fish > ~/.config/fish/completions/nodelet.fish
`;

/** Writes what can stand at the cursor behind `words`, one a line with what it means behind a tab. */
export async function answerCompletion(
  words: readonly string[],
  program: Command,
  context: CliContext,
): Promise<void> {
  const asked = complete(program, words);
  const completion = asked.kind === "ask" ? await askAgent(asked, context) : asked;
  const lines =
    completion.kind === "candidates"
      ? completion.candidates.map(({ text, about }) => `${text}\t${about.replaceAll("\n", " ")}`)
      : [FILES_LINE];
  writeLines(context.io.stdout, lines);
}

type Asked = Extract<Completion, { kind: "ask" }>;
type Answer = Exclude<Completion, Asked>;

/** Values that the tree of commands does not hold. */
async function askAgent(asked: Asked, context: CliContext): Promise<Answer> {
  const { prefix, word } = asked;
  const candidates = await valuesOf(asked, context);
  const whole = candidates.map(({ text, about }) => ({ text: prefix + text, about }));
  return matching(whole, prefix + word) as Answer;
}

async function valuesOf(
  asked: Asked,
  context: CliContext,
): Promise<readonly CompletionCandidate[]> {
  const { command, value, before } = asked;
  const { positional } = before;
  switch (`${command} ${value}`) {
    case "get what":
      return RESOURCES.map(({ words, kind }) => ({ text: words[0], about: `list ${kind}s` }));
    case "get names":
      return findResource(positional[0] ?? "")?.kind === "pod"
        ? await podNames(asked, context)
        : [];
    case "describe what":
      return [
        { text: "pod", about: "a pod" },
        { text: "node", about: "this node" },
      ];
    case "describe name":
      return /^po/.test(positional[0] ?? "") ? await podNames(asked, context) : [];
    case "logs pod":
    case "why pod":
    case "probes pod":
      return await podNames(asked, context);
    case "events for":
      return await eventObjects(asked, context);
    case "exec pod":
      return positional.length === 0 ? await podNames(asked, context) : [];
    case "plan evict":
      return EVICTION_SIGNALS.map((signal) => ({ text: `${signal}=`, about: "a hard threshold" }));
    case "logs container":
      return await containerNames(asked, context);
    default:
      break;
  }
  if (value === "namespace") return await namespaces(asked, context);
  if (value === "container") return await containerNames(asked, context);
  if (value === "containerd") return [bare("auto"), bare("own")];
  return [];
}

function bare(text: string): CompletionCandidate {
  return { text, about: "" };
}

async function podNames(
  asked: Asked,
  context: CliContext,
): Promise<readonly CompletionCandidate[]> {
  const namespace = namespaceOf(asked);
  const pods = await knownPods(asked, context);
  return pods
    .filter(({ metadata }) => metadata?.namespace === namespace)
    .map(({ metadata, status }) => ({ text: metadata?.name ?? "", about: status?.phase ?? "" }));
}

async function eventObjects(
  asked: Asked,
  context: CliContext,
): Promise<readonly CompletionCandidate[]> {
  const pods = await knownPods(asked, context);
  const words = pods.map(({ metadata }) => `pod/${metadata?.namespace}/${metadata?.name}`);
  return [...words, "node"].map(bare);
}

async function namespaces(
  asked: Asked,
  context: CliContext,
): Promise<readonly CompletionCandidate[]> {
  const pods = await knownPods(asked, context);
  return [...new Set(pods.map(({ metadata }) => metadata?.namespace ?? ""))].map(bare);
}

async function containerNames(
  asked: Asked,
  context: CliContext,
): Promise<readonly CompletionCandidate[]> {
  try {
    const reference = parsePodReference(asked.before.positional[0] ?? "", namespaceOf(asked));
    const pod = pickPod(await knownPods(asked, context), reference);
    return allContainers(pod).map(({ container }) => bare(container.name));
  } catch {
    // A pod that does not exist has nothing to complete with.
    return [];
  }
}

function namespaceOf({ before }: Asked): string {
  return before.options["--namespace"] ?? "default";
}

/** Pods of the agent; none when it cannot be asked, since a shell is no place for complaints. */
async function knownPods({ before }: Asked, { io }: CliContext): Promise<readonly Pod[]> {
  const socket = before.options["--socket"] ?? agentSocket(io.env);
  try {
    return (await new AgentClient(socket).json<PodList>("/nodelet/v1/pods")).items;
  } catch {
    return [];
  }
}
