/** Shell: goes on for ever, runs the trap of a signal at once, and starts a process only every hour. */
export const WAIT_FOREVER = "while :; do sleep 3600 & wait $!; done";

/** Shell: runs until it is asked to end, and ends well then. */
export const STAY = `trap 'exit 0' TERM; ${WAIT_FOREVER}`;
