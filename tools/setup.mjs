// Makes a checkout ready and then becomes the program that was asked for:
//   node tools/setup.mjs run|build|check|test [-- program arguments…]
// Written so that a Node of any age can read it: all else is loaded by one that is new enough.

/** What Debian 12 and Ubuntu 24.04 bring; everything but the setup itself runs with the Node of the checkout. */
const OLDEST_NODE = 18;

const { node } = process.versions;
if (Number(node.split(".")[0]) < OLDEST_NODE) {
  console.error(
    `setup: Node ${node} is too old to set nodelet up: install Node ${OLDEST_NODE} or newer and npm ` +
      "(apt-get install nodejs npm, from Debian 12 or Ubuntu 24.04 on), then run the command again",
  );
  process.exitCode = 1;
} else {
  import("./setup/set-up.mjs")
    .then(({ setUp }) => setUp(process.argv.slice(2)))
    .catch((error) => {
      console.error(error);
      process.exitCode = 1;
    });
}
