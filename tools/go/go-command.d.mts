/** Types of go-command.mjs, which is plain JavaScript so that any Node can run it. */
export class Unavailable extends Error {}
export function goCommand(
  environment?: Readonly<Record<string, string | undefined>>,
): string | undefined;
export function goObstacle(
  environment?: Readonly<Record<string, string | undefined>>,
): string | undefined;
export function goVersion(command: string): string;
export function obstacleIn(output: string): string | undefined;
