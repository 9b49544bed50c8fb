/** The side of a process that works for the service: see `lane-worker.ts`. */
import { type Profile, type ProfileOptions, profileProcess } from './profile'

/** Messages that the service sends and gets. */
export type Question<Work> = { work: Work } | { profile: ProfileOptions }
export type Answer<Result> = { id: number; result: Result } | { id: number; error: string }

/**
 * Says that the process is ready, then does each piece of work and answers with its result or the reason of its
 * failure.
 */
export function serve<Work, Result>(run: (work: Work) => Promise<Result>): void {
  process.on('message', async (message: unknown) => {
    const { id, ...question } = message as { id: number } & Question<Work>
    const answering = 'work' in question ? run(question.work) : profileProcess(question.profile)
    const answer = await answering.then(
      (result): Answer<Result | Profile> => ({ id, result }),
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
