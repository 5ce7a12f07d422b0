/** A recorded terminal session: commands with what they printed, as text and as a picture. */

/** One command and its output. */
export interface Step {
  readonly command: string;
  readonly output: string;
}

const PROMPT = "$ ";

/** The recording as text: a line for each command, its output, an empty line. */
export function toText(steps: readonly Step[]): string {
  return steps
    .map(
      ({ command, output }) =>
        `${PROMPT}${command}\n${output === "" ? "" : `${output.trimEnd()}\n`}`,
    )
    .join("\n");
}

/** The steps of such a text. */
export function fromText(text: string): readonly Step[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = "", ...output] = part.trimEnd().split("\n");
      return { command, output: output.join("\n") };
    });
}

/** What differs between two runs of the same program on different machines, replaced by its kind. */
const VARIABLE: readonly (readonly [RegExp, string])[] = [
  // What the checks say of a machine, and steps that a fast one passes unseen.
  [/^(ok|warn) +(\S+) .*\n( {7}.*\n)?/gm, ""],
  // An OCI runtime may be installed that runs no container on this machine.
  [/^nodelet: \S+ is not offered, .*\n/gm, ""],
  [/^\d+ checks? passed.*\n/gm, ""],
  [/^.* node \S+: NotReady .*\n/gm, ""],
  [/^.*\b(?:ContainerCreating|Pending|Running), 0\/1 ready.*\n/gm, ""],
  [/^.* (?:Startup|Readiness) probe failed: .*\n( {21}.*\n)*/gm, ""],
  [/^\d{4}-\d\d-\d\d\n/gm, ""],
  [/^ {2}default\/\S+: stopped$/gm, "  default/POD: stopped"],
  [/\b\d\d:\d\d:\d\d\b/g, "TIME"],
  [/\b\d{1,3}(?:\.\d{1,3}){3}\b/g, "ADDRESS"],
  [/\d+(?:\.\d+)? (?:[KMGT]i)?B\b/g, "BYTES"],
  [/\b(?:\d+[dhms])+\b/g, "AGE"],
  [/\b\d+(?:\.\d+)? (?:seconds?|s|min|ms)\b/g, "AGE"],
  [/\bprocess \d+/g, "process PID"],
  [/\bcontainerd(?::\/\/)?[ /]?\d+\.\d+\.\d+\S*/g, "CONTAINERD"],
  [/\b\d+\.\d+\.\d+(?:[-+~]\S*)?/g, "VERSION"],
  [/\(\d+ times\)/g, "(N times)"],
  [/ {2,}/g, "  "],
  [/ +$/gm, ""],
];

/** A text without what differs from run to run. */
export function withoutVariables(text: string): string {
  return VARIABLE.reduce((all, [pattern, kind]) => all.replace(pattern, kind), text);
}

const CHARACTER = { width: 8.43, height: 19, size: 14 };
const COLUMNS = 100;
const INDENT = "      ";
const MARGIN = 16;
const BAR = 30;
const COMMAND_SECONDS = 1.2;
const FIRST_SECONDS = 0.4;

function escaped(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

/** One line of the picture; it appears after that many seconds. */
function lineElement(line: string, index: number, seconds: number): string {
  const y = BAR + MARGIN + (index + 1) * CHARACTER.height - 5;
  const isCommand = line.startsWith(PROMPT);
  const content = isCommand
    ? `<tspan class="p">$</tspan> <tspan class="c">${escaped(line.slice(PROMPT.length))}</tspan>`
    : escaped(line);
  return `<text x="${MARGIN}" y="${y}" style="animation-delay:${seconds.toFixed(1)}s">${content}</text>`;
}

const STYLE = `text{font:${CHARACTER.size}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d6deeb;white-space:pre;opacity:0;animation:show .2s linear forwards}
.p{fill:#7fdbca}.c{fill:#fff;font-weight:bold}
@keyframes show{to{opacity:1}}
@media (prefers-reduced-motion:reduce){text{animation:none;opacity:1}}`;

/** The line in pieces that fit, the later ones indented. */
function wrapped(line: string): readonly string[] {
  if (line.length <= COLUMNS) return [line];
  const cut = line.lastIndexOf(" ", COLUMNS);
  const at = cut > INDENT.length ? cut : COLUMNS;
  return [line.slice(0, at), ...wrapped(`${INDENT}${line.slice(at).trimStart()}`)];
}

/** The recording as an animated SVG: one command after the other, with its output; it plays once. */
export function toSvg(text: string): string {
  const lines = text.trimEnd().split("\n").flatMap(wrapped);
  const width = Math.ceil(COLUMNS * CHARACTER.width + 2 * MARGIN);
  const height = BAR + 2 * MARGIN + lines.length * CHARACTER.height;
  let seconds = FIRST_SECONDS;
  const elements = lines.map((line, index) => {
    const element = lineElement(line, index, seconds);
    if (line === "" || line.startsWith(PROMPT)) seconds += COMMAND_SECONDS;
    return element;
  });
  const dots = ["#ff5f57", "#febc2e", "#28c840"].map(
    (colour, i) =>
      `<circle cx="${MARGIN + 4 + i * 20}" cy="${BAR / 2 + 2}" r="6" fill="${colour}"/>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="A terminal session with nodelet">`,
    `<style>${STYLE}</style>`,
    `<rect width="100%" height="100%" rx="8" fill="#0b1622"/>`,
    ...dots,
    ...elements,
    "</svg>",
    "",
  ].join("\n");
}

const BLOCK = /<!-- session: (.*?) -->\n```console\n[\s\S]*?```/g;

/** README with the blocks that show a command and its output filled from the recording. */
export function fillBlocks(readme: string, steps: readonly Step[]): string {
  return readme.replace(BLOCK, (_block, command: string) => {
    const step = steps.find((each) => each.command === command);
    if (step === undefined) throw new Error(`the recording has no command "${command}"`);
    return `<!-- session: ${command} -->\n\`\`\`console\n${toText([step])}\`\`\``;
  });
}
