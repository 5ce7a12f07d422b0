/** How the agent ended last time, as recorded by the program that started it: systemd's ExecStopPost=, or `nodelet up`. */
import type { DecisionInputs } from "../api/decisions.ts";
import type { WallMs } from "../kit/clock.ts";
import { isOutside } from "../kit/errors.ts";
import type { Files } from "../outside/host/host.ts";

/** An end of the agent that was not orderly. */
export type LastExit = DecisionInputs["agentExited"] & { readonly atMs: WallMs };

const MAX_BYTES = 200;
const LINE = /^([a-z-]+) ([a-z]*) ([A-Z0-9]*) (\d{1,12})\s*$/;

/** Path of the note below the agent's root folder. */
export const lastExitPath = (rootFolder: string): string => `${rootFolder}/nodelet/last-exit`;

/** The line of a note: systemd's SERVICE_RESULT, EXIT_CODE and EXIT_STATUS, then Unix seconds. */
export function lastExitLine({ result, code, status, atMs }: LastExit): string {
  return `${result} ${code} ${status} ${Math.floor(atMs / 1000)}\n`;
}

/** Parses a note; `undefined` for an orderly exit and for invalid text. */
export function parseLastExit(text: string): LastExit | undefined {
  const [, result = "", code = "", status = "", seconds = ""] = LINE.exec(text) ?? [];
  if (result === "" || result === "success") return undefined;
  return { result, code, status, atMs: (Number(seconds) * 1000) as WallMs };
}

/** Reads the note and removes it; `undefined` when there is none that says anything. Never throws. */
export async function takeLastExit(
  rootFolder: string,
  files: Pick<Files, "readText" | "remove">,
): Promise<LastExit | undefined> {
  const path = lastExitPath(rootFolder);
  try {
    const text = await files.readText(path, { maxBytes: MAX_BYTES });
    if (text === undefined) return undefined;
    await files.remove(path);
    return parseLastExit(text);
  } catch (error) {
    if (!isOutside(error)) throw error;
    return undefined;
  }
}
