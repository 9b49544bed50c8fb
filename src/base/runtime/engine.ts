/** Asks the JavaScript engine for memory, and for the lines in which its time goes. */

/** Samples the stacks of this process while work runs. Standard twin: `Profiler` of `node:inspector`, of V8 alone. */
export { profile as sampleStacks } from 'bun:jsc'

/** Collects garbage now. Standard twin: `globalThis.gc` of an engine that was started with `--expose-gc`. */
export function collectGarbage(): void {
  Bun.gc(true)
}

/** Gives back what is only cached, such as code compiled for speed. Standard twin: none is needed to be right. */
export function dropCaches(): void {
  Bun.shrink()
}
