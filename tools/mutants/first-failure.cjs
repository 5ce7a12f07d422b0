// A reporter that ends the process with the first failure: nothing more has to be known.
const { writeSync } = require("node:fs");

/** Names the test that failed. */
module.exports = async function* firstFailure(source) {
  for await (const { type, data } of source) {
    if (type !== "test:fail" || data.details?.error?.failureType === "subtestsFailed") continue;
    writeSync(1, `failed: ${data.name}\n`);
    process.exit(1);
  }
  yield "";
};
