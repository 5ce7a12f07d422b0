import type { Command } from "commander";
import type { CliContext } from "../context.ts";
export function addCompletionCommands(_program: Command, _context: CliContext): void {}
