/** The side of a process that works for the service: see `worker.ts`. */

/** What the service sends, and what it gets. */
type Question<Work> = { id: number; work: Work }
export type Answer<Result> = { id: number; result: Result } | { id: number; error: string }

/**
 * Says that the process is ready, then does each piece of work and answers with its result or the reason of its
 * failure.
 */
export function serve<Work, Result>(run: (work: Work) => Promise<Result>): void {
  process.on('message', async (message: unknown) => {
    const { id, work } = message as Question<Work>
    const answer = await run(work).then(
      (result): Answer<Result> => ({ id, result }),
      (error: unknown): Answer<Result> => ({ id, error: error instanceof Error ? error.message : String(error) }),
    )
    process.send?.(answer)
  })
  // A terminal and a service manager stop the whole group. The service may still wait for an answer, and ends this
  // process.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  process.on('disconnect', () => process.exit())
  process.send?.('ready')
}
