/**
 * Manual pages (man(7)) from the tree of commands, so that help, completion and manual cannot differ: one page for
 * the program, one for each command at any depth, and the kubelet's flags in the page of `run`.
 */
import { PassThrough } from "node:stream";
import type { Argument, Command, Option } from "commander";
import { buildProgram } from "../../src/cli/cli.ts";
import { renderFlagHelp } from "../../src/config/flags/flag-help.ts";
import { plainPaint } from "../../src/present/text.ts";

/** A page: the name of its file, e.g. `nodelet-get.1`, and its roff source. */
export interface ManPage {
  readonly name: string;
  readonly text: string;
}

/** What does not stand in the tree. */
interface Release {
  readonly version: string;
  /** `YYYY-MM-DD`. */
  readonly date: string;
}

const EXIT_STATUS = [
  ["0", "done"],
  ["1", "failed"],
  ["2", "usage error"],
  ["3", "not found"],
  ["4", "the agent is not running"],
] as const;

/** All pages, the program's own first. */
export function manPages(release: Release): readonly ManPage[] {
  const program = commandTree();
  return [program, ...descendants(program)].map((command) => pageOf(command, program, release));
}

/** The tree of commands without a terminal around it. */
function commandTree(): Command {
  const nowhere = new PassThrough();
  nowhere.resume();
  return buildProgram({
    io: {
      stdin: new PassThrough(),
      stdout: nowhere,
      stderr: nowhere,
      env: {},
      cwd: "/",
      paint: plainPaint,
      now: () => 0,
    },
    onInterrupt: () => new AbortController().signal,
    finish: () => {},
  });
}

function descendants(command: Command): readonly Command[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== "help")
    .flatMap((child) => [child, ...descendants(child)]);
}

function pageOf(command: Command, program: Command, { version, date }: Release): ManPage {
  const name = pathOf(command).join("-");
  const summary = command === program ? "Kubernetes node agent" : summaryOf(command);
  const lines = [
    `.TH ${name.toUpperCase()} 1 "${date}" "nodelet ${version}" "nodelet manual"`,
    ".SH NAME",
    `${escapeRoff(name)} \\- ${escapeRoff(summary)}`,
    ".SH SYNOPSIS",
    `.B ${escapeRoff(pathOf(command).join(" "))}`,
    escapeRoff(usageOf(command)),
    ".SH DESCRIPTION",
    ...paragraphs(command.description()),
    ...argumentsSection(command),
    ...optionsSection(command),
    ...commandsSection(command),
    ...moreSection(command),
    ".SH EXIT STATUS",
    ...EXIT_STATUS.flatMap(([code, meaning]) => [".TP", `.B ${code}`, escapeRoff(meaning)]),
    ".SH SEE ALSO",
    seeAlso(command, program),
  ];
  return { name: `${name}.1`, text: `${lines.join("\n")}\n` };
}

function pathOf(command: Command): readonly string[] {
  return command.parent === null ? [command.name()] : [...pathOf(command.parent), command.name()];
}

function summaryOf(command: Command): string {
  return command.summary() || command.description().replace(/\.$/, "");
}

function usageOf(command: Command): string {
  return command.usage();
}

function argumentsSection(command: Command): readonly string[] {
  const found: readonly Argument[] = command.createHelp().visibleArguments(command);
  if (found.length === 0) return [];
  const help = command.createHelp();
  const entries = found.flatMap((each) =>
    entry(help.argumentTerm(each), help.argumentDescription(each)),
  );
  return [".SH ARGUMENTS", ...entries];
}

function optionsSection(command: Command): readonly string[] {
  const help = command.createHelp();
  const found: readonly Option[] = help.visibleOptions(command);
  const entries = found.flatMap((each) =>
    entry(help.optionTerm(each), help.optionDescription(each)),
  );
  return [".SH OPTIONS", ...entries];
}

function commandsSection(command: Command): readonly string[] {
  const children = command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== "help");
  if (children.length === 0) return [];
  const entries = children.flatMap((child) =>
    entry(child.name(), `${summaryOf(child)}; see ${pathOf(child).join("-")}(1)`),
  );
  return [".SH COMMANDS", ...entries];
}

/** Examples and what else the help has at its end; for `run` the flags. */
function moreSection(command: Command): readonly string[] {
  const flags = pathOf(command).join(" ") === "nodelet run" ? renderFlagHelp("nodelet run") : "";
  const text = `${textAfterHelp(command)}${flags}`.trim();
  if (text === "") return [];
  return [
    flags === "" ? ".SH NOTES" : ".SH FLAGS",
    ".nf",
    ...text.split("\n").map(verbatim),
    ".fi",
  ];
}

function textAfterHelp(command: Command): string {
  let whole = "";
  command.configureOutput({
    writeOut: (text) => {
      whole += text;
    },
  });
  command.outputHelp();
  return whole.slice(command.helpInformation().length);
}

function seeAlso(command: Command, program: Command): string {
  const parent = command.parent ?? undefined;
  const near =
    parent === undefined ? descendants(program).filter((c) => c.parent === program) : [parent];
  return near.map((each) => `.BR ${escapeRoff(pathOf(each).join("-"))} (1)`).join("\n,\n");
}

function entry(term: string, description: string): readonly string[] {
  return [".TP", `.B ${escapeRoff(term)}`, escapeRoff(description) || "\\&"];
}

function paragraphs(text: string): readonly string[] {
  return text.split(/\n\s*\n/).flatMap((part, at) => {
    const body = escapeRoff(part.replaceAll(/\s*\n\s*/g, " ").trim());
    return at === 0 ? [body] : [".PP", body];
  });
}

function verbatim(line: string): string {
  return escapeRoff(line);
}

/** Text as roff shows it literally: a leading dot or quote is no request, a hyphen stays one for those who copy it. */
function escapeRoff(text: string): string {
  const escaped = text.replaceAll("\\", "\\e").replaceAll("-", "\\-");
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}
