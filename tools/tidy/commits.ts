import { execFileSync } from "node:child_process";

/** The rule holds for commits after this one. */
const SINCE = "bfe5e417d50ad10167446b083e548da57a9d6c98";

const MAX_SUBJECT = 72;

/** `area: do something`: the area may be several words, the rest begins with a verb in the imperative. */
const SUBJECT = /^[A-Za-z][\w .,/-]*: (?<verb>\S+) ?/;

/** Forms of verbs that say what was done rather than what the commit does. */
const NOT_IMPERATIVE =
  /^(?:added|adds|adding|fixed|fixes|fixing|changed|changes|changing|removed|removes|removing|updated|updates|updating)$/i;

/** What is wrong with the subject of a commit (CONTRIBUTING.md); `undefined` when nothing is. */
export function subjectProblem(subject: string): string | undefined {
  const problem = (what: string) => `"${subject}" ${what}`;
  if (subject.length > MAX_SUBJECT) return problem(`has more than ${MAX_SUBJECT} characters`);
  const verb = SUBJECT.exec(subject)?.groups?.["verb"];
  if (verb === undefined) return problem('does not read "area: do something"');
  if (NOT_IMPERATIVE.test(verb)) return problem("is not in the imperative");
  if (subject.endsWith(".")) return problem("ends with a period");
  return undefined;
}

/** Subjects of the checkout's commits for which the rule holds; none where its history is not there. */
export function commitSubjects(root: string): readonly string[] {
  const git = (...args: string[]) =>
    execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  try {
    const text = git("log", "--no-merges", "--format=%s", `${SINCE}..HEAD`);
    return text.split("\n").filter((line) => line !== "");
  } catch {
    // A shallow clone, or an archive without a history.
    return [];
  }
}
