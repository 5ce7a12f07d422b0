// What node:test reports about its files, as lines of JSON on descriptor 3, for run-file.mjs.
const { writeSync } = require("node:fs");
const { inspect } = require("node:util");

const REPORT_DESCRIPTOR = 3;

/** How node:test reports an error that nobody caught after the test that caused it. */
const LATE_ERROR = /generated asynchronous activity after the test ended/;

/** A reporter as node:test expects it; what it yields would go to standard output, which is the test's own. */
module.exports = async function* report(source) {
  const names = [];
  for await (const { type, data } of source) {
    if (type === "test:start") names[data.nesting] = data.name;
    // Such an error ends the process with code 1 though every test has passed.
    if (type === "test:diagnostic" && LATE_ERROR.test(data.message))
      write({ strayError: data.message });
    if (type !== "test:pass" && type !== "test:fail") continue;
    const error = data.details.error;
    const line = {
      passed: type === "test:pass",
      names: [...names.slice(0, data.nesting), data.name],
      line: data.line,
      seconds: data.nesting === 0 ? data.details.duration_ms / 1000 : 0,
      suite: data.details.type === "suite",
      skip: data.skip,
      todo: data.todo,
      onlySubtests: error?.failureType === "subtestsFailed",
      error: error && inspect(error.cause ?? error, { depth: 8 }),
    };
    write(line);
  }
  yield "";
};

function write(line) {
  writeSync(REPORT_DESCRIPTOR, `${JSON.stringify(line)}\n`);
}
